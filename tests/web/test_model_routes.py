"""The stateless routes agree with the library, and refuse what they cannot use."""

from __future__ import annotations

import json

import numpy as np
import pytest
from starlette.testclient import TestClient

from thrifty import LadderRegressor, Prices
from thrifty.web import create_app


def plain_rows(table, n: int) -> list[dict]:
    return json.loads(table.head(n).to_json(orient="records"))


def test_a_batch_is_predicted_as_by_the_library(client, predictor, heart_table):
    rows = heart_table.head(20)
    found = client.post("/v1/predict", json={"rows": plain_rows(heart_table, 20)}).json()
    assert [each["answer"] for each in found["predictions"]] == predictor.predict(rows).tolist()
    assert [each["bill"] for each in found["predictions"]] == predictor.bill(rows).tolist()
    proba = predictor.predict_proba(rows).max(axis=1).tolist()
    assert [each["probability"] for each in found["predictions"]] == proba


def test_a_model_of_values_is_served(heart_table):
    X = heart_table[["age", "chol"]].dropna().head(60)
    y = X["age"] * 2.0
    prices = Prices({"age": 1, "chol": 5})
    model = LadderRegressor(prices, effort="fast", random_state=0).fit(X, y)
    client = TestClient(create_app(model.predictor_), base_url="http://localhost")
    found = client.post("/v1/predict", json={"rows": plain_rows(X, 3)}).json()["predictions"]
    assert [each["answer"] for each in found] == model.predict(X.head(3)).tolist()
    assert [each["probability"] for each in found] == [None] * 3


def test_no_rows_give_no_predictions(client):
    assert client.post("/v1/predict", json={"rows": []}).json() == {"predictions": []}


def test_a_walk_step_by_step_ends_with_the_answer_and_bill_of_the_batch(
    client, predictor, heart_table
):
    for row, raw in enumerate(plain_rows(heart_table, 10)):
        told: dict = {}
        step = client.post("/v1/next", json={"told": told}).json()
        while not step["done"]:
            told |= {each["feature"]: raw[each["feature"]] for each in step["asks"]}
            step = client.post("/v1/next", json={"told": told}).json()
        assert step["best"] == predictor.predict(heart_table.iloc[[row]])[0]
        assert step["spent"] == predictor.bill(heart_table.iloc[[row]])[0]


def test_known_values_are_free_and_skipped_features_are_not_asked_again(client):
    first = client.post("/v1/next", json={}).json()["asks"][0]["feature"]
    known = client.post("/v1/next", json={"known": {first: None}}).json()
    skipped = client.post("/v1/next", json={"skipped": [first]}).json()
    for step in (known, skipped):
        assert step["spent"] == 0.0
        assert first not in [each["feature"] for each in step["asks"]]


def test_a_feature_that_is_asked_for_has_its_price_and_its_categories(client, predictor):
    features = client.get("/v1/model").json()["features"]
    own = dict(zip(predictor.schema.names, predictor.prices.own.tolist(), strict=True))
    assert {each["feature"]: each["price"] for each in features} == own
    asked = client.post("/v1/next", json={}).json()["asks"][0]
    walk = predictor.walk()
    assert (asked["feature"], asked["price"]) == (walk.asks[0], walk.price(walk.asks[0]))


def test_the_model_is_described(client, predictor):
    found = client.get("/v1/model").json()
    assert found["name"] == "heart"
    assert found["classes"] == ["no", "yes"]
    assert (found["unit"], found["full"]) == ("CAD", predictor.prices.full)
    assert found["largest"] == predictor.ceiling


def test_a_table_without_names_goes_by_index(unnamed):
    client = TestClient(create_app(unnamed), base_url="http://localhost")
    rows = [{"0": 0.1, "1": 0.0}, {"0": 3.0, "1": 0.0}]
    found = client.post("/v1/predict", json={"rows": rows}).json()["predictions"]
    assert [each["answer"] for each in found] == [False, True]
    step = client.post("/v1/next", json={"told": {"0": 3.0}}).json()
    assert (step["done"], step["best"], step["spent"]) == (True, True, 1.0)


def test_all_problems_of_a_batch_are_reported_at_once(client):
    response = client.post("/v1/predict", json={"rows": [{"ages": 3}]})
    assert response.status_code == 422
    detail = response.json()["detail"]
    assert "no feature 'ages'" in detail
    assert "'age' is missing" in detail


def test_too_many_rows_are_refused(guarded):
    response = guarded(max_rows=2).post("/v1/predict", json={"rows": [{}, {}, {}]})
    assert response.status_code == 413


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"told": {"age": NaN}}', 400),
        (b'{"told": {"age": 1e400}}', 400),
        (b'{"told": {"age": 1, "age": 2}}', 400),
        (b'{"told": {}, "told": {}}', 400),
        (b'{"told": {"age": "\\ud800"}}', 400),
        (b'{"told": {"age": [1]}}', 422),
        (b'{"tolds": {}}', 422),
        (b"[]", 422),
        (b"", 400),
        (b"\xff", 400),
        (b'{"told": {"years": 1}}', 422),
        (b'{"told": {"age": "old"}}', 422),
        (b'{"skipped": ["years"]}', 422),
    ],
)
def test_a_body_that_cannot_be_used_is_a_problem(client, body, status):
    response = client.post("/v1/next", content=body)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["status"] == status
    assert response.json()["detail"]


def test_the_answer_to_a_step_is_that_of_the_walk(client, predictor):
    walk = predictor.walk()
    walk.tell({walk.asks[0]: 1.0})
    step = client.post("/v1/next", json={"told": walk.told}).json()
    assert step["scores"] == walk.scores.tolist()
    assert step["probability"] == walk.probability == np.max(walk.scores)


@pytest.mark.parametrize(
    "body",
    [{"known": {"age": 1}, "told": {"age": 2}}, {"told": {"age": 1}, "skipped": ["age", "sex"]}],
)
def test_a_feature_that_is_given_in_two_ways_is_a_contradiction(client, body):
    found = client.post("/v1/next", json=body)
    assert found.status_code == 409
    assert "'age'" in found.json()["detail"] and "'sex'" not in found.json()["detail"]


def test_a_value_that_is_sent_twice_is_no_contradiction(client):
    assert (
        client.post("/v1/next", json={"known": {"age": 1}, "told": {"age": 1}}).status_code == 200
    )
