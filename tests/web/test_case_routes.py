"""Cases over HTTP: fetched, capped, in time, never bought twice."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from starlette.testclient import TestClient

from thrifty.serve import FunctionSource, Ledger, Runtime
from thrifty.web import Settings, create_app


@pytest.fixture
def row(heart_table) -> dict:
    return json.loads(heart_table.iloc[[3]].to_json(orient="records"))[0]


@pytest.fixture
def make_client(predictor, row, tmp_path):
    """Return a function that makes a client of an app whose only source has one row."""
    opened = []

    def make(fetch=None, **settings) -> TestClient:
        source = FunctionSource("lab", fetch or (lambda query: row), list(row))
        opened.append(Ledger.open(tmp_path / "purchases.db"))
        runtime = Runtime(predictor, [source], opened[-1])
        app = create_app(predictor, "heart", Settings(**settings), runtime)
        return TestClient(app, base_url="http://localhost")

    yield make
    for ledger in opened:
        ledger.close()


def test_a_case_is_answered_with_a_receipt(make_client, predictor, heart_table):
    found = make_client().post("/v1/cases", json={}).json()
    assert found["answer"] == predictor.predict(heart_table.iloc[[3]])[0]
    assert found["total"] == found["spent"] == predictor.bill(heart_table.iloc[[3]])[0]
    assert found["unit"] == "CAD"
    assert {charge["source"] for charge in found["charges"]} == {"lab"}


def test_known_values_are_free(make_client, row):
    found = make_client().post("/v1/cases", json={"known": row}).json()
    assert (found["spent"], found["charges"]) == (0.0, [])


def test_a_case_stays_under_its_cap(make_client):
    found = make_client().post("/v1/cases", json={"cap": 1.5}).json()
    assert 0 < found["spent"] <= 1.5
    assert found["stopped"] == "cap"


@pytest.mark.parametrize("how", ["id", "header"])
def test_a_case_that_is_sent_again_buys_nothing(make_client, row, how):
    fetched = []
    client = make_client(lambda query: fetched.append(query.features) or row)
    body = {"id": "visit-1"} if how == "id" else {}
    headers = {} if how == "id" else {"idempotency-key": "visit-1"}
    with client:
        first = client.post("/v1/cases", json=body, headers=headers).json()
        count = len(fetched)
        again = client.post("/v1/cases", json=body, headers=headers).json()
    assert again["answer"] == first["answer"]
    assert len(fetched) == count > 0


def test_a_slow_source_does_not_hold_up_the_answer(make_client, row):
    async def slow(query):
        await asyncio.sleep(5)
        return row

    start = time.perf_counter()
    found = make_client(slow).post("/v1/cases", json={"deadline": 0.05}).json()
    assert found["stopped"] == "deadline"
    assert time.perf_counter() - start < 4


def test_a_failing_source_costs_the_value_and_not_the_answer(make_client):
    def down(query):
        raise RuntimeError("no connection")

    found = make_client(down).post("/v1/cases", json={}).json()
    assert found["answer"] in ("no", "yes")
    assert found["skipped"]


@pytest.mark.parametrize(
    ("body", "status"),
    [({"cap": -1}, 422), ({"known": {"years": 1}}, 422), ({"caps": 1}, 422), ({"id": ""}, 422)],
)
def test_a_case_that_cannot_be_used_is_a_problem_and_buys_nothing(make_client, body, status):
    fetched = []
    client = make_client(lambda query: fetched.append(query) or {})
    assert client.post("/v1/cases", json=body).status_code == status
    assert fetched == []


def test_only_so_many_cases_are_open_at_a_time(make_client):
    nested = []

    def fetch_and_ask_again(query):
        nested.append(client.post("/v1/cases", json={}))
        return dict.fromkeys(query.features)

    client = make_client(fetch_and_ask_again, max_open=1)
    client.post("/v1/cases", json={})
    assert nested[0].status_code == 503
    assert nested[0].headers["retry-after"] == "1"


def test_what_was_spent_is_in_the_metrics(make_client):
    client = make_client()
    spent = client.post("/v1/cases", json={}).json()["spent"]
    text = client.get("/metrics").text
    assert f'thrifty_spent_total{{source="lab"}} {spent:.12g}\n' in text
    assert "thrifty_open_cases 0\n" in text
    assert 'thrifty_cases_total{stopped="' in text
