"""The app: which routes there are, and how it ends."""

from __future__ import annotations

import asyncio

from starlette.testclient import TestClient

from thrifty.serve import FunctionSource, Runtime
from thrifty.web import create_app


def test_without_sources_there_are_no_cases(client):
    assert client.post("/v1/cases", json={}).status_code == 404
    assert "/v1/cases" not in client.get("/openapi.json").json()["paths"]


def test_it_is_alive_and_ready(client):
    assert [client.get(path).text for path in ("/healthz", "/readyz")] == ["ok\n", "ok\n"]


def test_purchases_under_way_settle_before_it_ends(predictor, heart_table):
    bought = []

    async def slow(query):
        await asyncio.sleep(0.2)
        bought.append(query.features)
        return dict.fromkeys(query.features)

    source = FunctionSource("lab", slow, list(heart_table.columns))
    runtime = Runtime(predictor, [source])
    app = create_app(predictor, runtime=runtime)
    with TestClient(app, base_url="http://localhost") as client:
        client.post("/v1/cases", json={"deadline": 0.01})
        assert bought == []
    assert bought
    assert runtime.open_purchases == 0
