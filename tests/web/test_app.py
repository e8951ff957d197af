"""The app: which routes there are, and how it ends."""

from __future__ import annotations

import asyncio
import threading

import pytest
from starlette.testclient import TestClient

from thrifty.errors import DataError, LedgerError
from thrifty.serve import Cases, FunctionSource, Ledger, Runtime
from thrifty.web import app as app_module
from thrifty.web import create_app


def test_without_sources_there_are_no_cases(client):
    assert client.post("/v1/cases", json={}).status_code == 404
    assert "/v1/cases" not in client.get("/openapi.json").json()["paths"]


def test_without_cases_the_first_page_describes_the_api(client):
    assert client.get("/").url.path == "/docs"


def test_it_is_alive_and_ready(client):
    assert [client.get(path).text for path in ("/healthz", "/readyz")] == ["ok\n", "ok\n"]


def test_purchases_under_way_settle_before_it_ends(predictor, heart_table, still_clock):
    release, bought = threading.Event(), []

    async def slow(query):
        still_clock.now += 1.0
        await asyncio.to_thread(release.wait)
        bought.append(query.features)
        return dict.fromkeys(query.features)

    source = FunctionSource("lab", slow, list(heart_table.columns))
    with Ledger.temporary() as ledger:
        runtime = Runtime(predictor, [source], ledger)
        app = create_app(predictor, runtime=runtime)
        with TestClient(app, base_url="http://localhost") as client:
            client.post("/v1/cases", json={"deadline": 0.5})
            assert bought == [] and runtime.open_purchases == 1
            threading.Timer(0.05, release.set).start()  # while it ends
        assert bought
        assert runtime.open_purchases == 0
        assert ledger.open_purchases() == []


def test_a_server_looks_for_expired_cases_now_and_then(predictor, monkeypatch):
    calls, looked_twice = [], threading.Event()

    async def expire(cases):
        calls.append(cases)
        if len(calls) == 1:
            raise LedgerError("it is not there at the moment")
        looked_twice.set()

    monkeypatch.setattr(Cases, "expire", expire)
    monkeypatch.setattr(app_module, "EXPIRE_SECONDS", 0.0)
    with Ledger.temporary() as ledger:
        runtime = Runtime(predictor, [], ledger, asked=predictor.schema.names)
        app = create_app(predictor, runtime=runtime)
        with TestClient(app, base_url="http://localhost"):
            assert looked_twice.wait(60)


def test_it_is_not_ready_without_its_ledger(predictor):
    with Ledger.temporary() as ledger:
        runtime = Runtime(predictor, [], ledger, asked=predictor.schema.names)
        client = TestClient(create_app(predictor, runtime=runtime), base_url="http://localhost")
        assert client.get("/readyz").status_code == 200
    found = client.get("/readyz")
    assert (found.status_code, found.json()["title"]) == (503, "The ledger cannot record purchases")
    assert client.get("/healthz").status_code == 200
    assert "thrifty_open_cases" not in client.get("/metrics").text


def test_cases_without_a_ledger_are_refused(predictor):
    with pytest.raises(DataError, match="cases wait in a ledger"):
        create_app(predictor, runtime=Runtime(predictor, [], asked=predictor.schema.names))
