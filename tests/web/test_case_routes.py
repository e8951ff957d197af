"""Cases over HTTP: fetched or asked for, capped, in time, never bought twice."""

from __future__ import annotations

import asyncio
import json

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
        await asyncio.Event().wait()
        return row

    found = make_client(slow).post("/v1/cases", json={"deadline": 0.05}).json()
    assert found["stopped"] == "deadline"


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


# --- cases that wait for their client


@pytest.fixture
def led(predictor):
    """A client of an app that has no sources: it asks for everything."""
    with Ledger.temporary() as ledger:
        runtime = Runtime(predictor, [], ledger, asked=predictor.schema.names)
        app = create_app(predictor, "heart", runtime=runtime)
        yield TestClient(app, base_url="http://localhost")


def step(client, state, name, **body):
    found = client.post(f"/v1/cases/{state['case']}/{name}", json=body)
    assert found.status_code == 200, found.text
    return found.json()


def problem(response, status: int) -> str:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    return response.json()["detail"]


def test_a_case_led_by_its_client_is_answered_as_the_batch(led, row, predictor, heart_table):
    state = led.post("/v1/cases", json={"id": "visit-1"}).json()
    while not state["done"]:
        assert state["stopped"] is None and state["asks"][0]["why"]
        first = state["asks"][0]["feature"]
        state = step(led, state, "values", values={first: row[first]})
    assert state["answer"] == predictor.predict(heart_table.iloc[[3]])[0]
    assert state["spent"] == state["total"] == predictor.bill(heart_table.iloc[[3]])[0]
    assert state["asks"] == [] and "visit-1" not in state["case"]


def test_a_case_that_has_expired_is_gone_but_for_its_receipt(predictor, monkeypatch):
    with Ledger.temporary() as ledger:
        runtime = Runtime(predictor, [], ledger, asked=predictor.schema.names)
        app = create_app(predictor, "heart", Settings(max_open=1), runtime)
        client = TestClient(app, base_url="http://localhost")
        path = f"/v1/cases/{client.post('/v1/cases', json={}).json()['case']}"
        later = ledger._clock() + 8 * 86_400
        monkeypatch.setattr(ledger, "_clock", lambda: later)
        assert client.post("/v1/cases", json={}).status_code == 200  # there is room again
        assert client.get(path).json()["stopped"] == "expired"
        gone = client.post(f"{path}/stop", json={})
        assert "start another one" in problem(gone, 410)
        assert gone.json()["title"] == "The case has expired"
        assert 'thrifty_cases_total{stopped="expired"} 1\n' in client.get("/metrics").text


def test_a_question_has_price_and_categories(led):
    state = led.post("/v1/cases", json={}).json()
    assert set(state["asks"][0]) == {"feature", "price", "categories", "why"}
    prices = {f["feature"]: f["price"] for f in led.get("/v1/model").json()["features"]}
    assert all(ask["price"] >= prices[ask["feature"]] for ask in state["asks"])


def test_every_step_is_there(led, row):
    start = led.post("/v1/cases", json={"cap": 50.0}).json()
    first = start["asks"][0]["feature"]
    skipped = step(led, start, "skip", features=[first])
    assert skipped["skipped"] == [first]
    back = step(led, start, "back")
    assert (back["asks"], back["spent"], back["left"]) == (start["asks"], 0.0, 50.0)
    known = step(led, start, "values", known={first: row[first]})
    assert known["spent"] == 0.0
    second = known["asks"][0]
    told = step(led, start, "values", values={second["feature"]: row[second["feature"]]})
    assert told["spent"] == second["price"] and told["left"] == 50.0 - second["price"]
    end = step(led, start, "stop")
    assert (end["done"], end["stopped"], end["answer"]) == (True, "stopped", told["answer"])
    assert led.get(f"/v1/cases/{start['case']}").json()["stopped"] == "stopped"


def test_an_unknown_case_is_a_404(led):
    nobody = "/v1/cases/" + "0" * 64
    for response in (led.get(nobody), led.post(f"{nobody}/back", json={}), led.get("/v1/cases/x")):
        problem(response, 404)


def test_a_conflict_is_a_409_and_changes_nothing(led):
    state = led.post("/v1/cases", json={"known": {"age": 50}}).json()
    case = f"/v1/cases/{state['case']}"
    words = problem(led.post(f"{case}/values", json={"values": {"age": 51}}), 409)
    assert "'age' has another value already" in words
    problem(led.post(f"{case}/back", json={}), 409)
    step(led, state, "stop")
    assert "ended" in problem(led.post(f"{case}/values", json={"values": {"sex": 1}}), 409)


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("values", {"values": {"agee": 1}, "known": {"sex": []}}, "$.known"),
        ("values", {"values": {"agee": 1, "chol": "x"}}, "2 problems"),
        ("values", {"value": {}}, "unknown field"),
        ("skip", {}, "features"),
        ("skip", {"features": ["nothing"]}, "no feature 'nothing'"),
        ("stop", {"now": 1}, "unknown field"),
    ],
)
def test_what_cannot_be_used_is_a_422_and_changes_nothing(led, name, body, words):
    state = led.post("/v1/cases", json={}).json()
    case = f"/v1/cases/{state['case']}"
    assert words in problem(led.post(f"{case}/{name}", json=body), 422)
    after = led.get(case).json()
    assert (after["asks"], after["charges"]) == (state["asks"], [])


def test_a_body_that_is_not_json_is_a_400(led):
    case = led.post("/v1/cases", json={}).json()["case"]
    for text in (b"{", b'{"values": {"age": NaN}}', b'{"values": {"age": 1, "age": 2}}'):
        problem(led.post(f"/v1/cases/{case}/values", content=text), 400)


def test_open_cases_are_listed(led):
    cases = [led.post("/v1/cases", json={"id": str(i)}).json() for i in range(3)]
    step(led, cases[1], "stop")
    step(led, cases[2], "values", values={"age": 50})
    found = led.get("/v1/cases").json()["cases"]
    assert [(c["case"], c["n_answers"]) for c in found] == [
        (cases[0]["case"], 0),
        (cases[2]["case"], 1),
    ]
    assert len(led.get("/v1/cases?limit=1").json()["cases"]) == 1
    for limit in ("0", "many", "1001", "-1", "²"):
        problem(led.get("/v1/cases", params={"limit": limit}), 422)


def test_features_without_names_go_by_their_index(unnamed):
    with Ledger.temporary() as ledger:
        runtime = Runtime(unnamed, [], ledger, asked=unnamed.schema.names)
        client = TestClient(create_app(unnamed, runtime=runtime), base_url="http://localhost")
        state = client.post("/v1/cases", json={}).json()
        assert state["asks"][0]["feature"] == 0
        assert step(client, state, "values", values={"0": 3.5})["done"]
        problem(client.post("/v1/cases", json={"known": {"9" * 5000: 1}}), 422)


def test_what_clients_spend_and_open_cases_are_in_the_metrics(led):
    state = led.post("/v1/cases", json={}).json()
    spent = step(led, state, "values", values={"age": 50})["spent"]
    text = led.get("/metrics").text
    assert f'thrifty_spent_total{{source="client"}} {spent:.12g}\n' in text
    assert "thrifty_open_cases 1\n" in text
    step(led, state, "stop")
    text = led.get("/metrics").text
    assert 'thrifty_cases_total{stopped="stopped"} 1\n' in text
    assert "thrifty_open_cases 0\n" in text


def test_a_case_that_is_sent_again_is_not_counted_again(make_client):
    client = make_client()
    spent = client.post("/v1/cases", json={"id": "a"}).json()["spent"]
    client.post("/v1/cases", json={"id": "a"})
    text = client.get("/metrics").text
    assert f'thrifty_spent_total{{source="lab"}} {spent:.12g}\n' in text
    assert text.count("thrifty_cases_total{") == 1 and '"} 1\n' in text


def test_every_route_of_cases_is_described(led):
    from starlette.routing import Route

    described = {
        (method.upper(), path)
        for path, entry in led.get("/openapi.json").json()["paths"].items()
        for method in entry
    }
    routes = {
        (method, route.path)
        for route in led.app._app.routes
        if isinstance(route, Route) and route.path.startswith("/v1/cases")
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert routes <= described and len(routes) == 7


def test_a_value_cannot_be_bought_and_known_at_once(make_client, row):
    client = make_client()
    with client:
        case = client.post("/v1/cases", json={}).json()["case"]
        body = {"values": {"age": 1}, "known": {"age": 1}}
        assert client.post(f"/v1/cases/{case}/values", json=body).status_code == 409


def test_an_empty_key_is_refused(make_client):
    with make_client() as client:
        found = client.post("/v1/cases", json={"id": "x"}, headers={"idempotency-key": ""})
    assert found.status_code == 422


def test_a_wrong_method_is_told_of_all_that_there_are(make_client):
    with make_client() as client:
        allowed = client.delete("/v1/cases").headers["allow"]
    assert {"GET", "POST"} <= set(allowed.split(", "))
