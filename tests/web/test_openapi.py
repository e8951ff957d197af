"""The description of the API is that of the app."""

from __future__ import annotations

from starlette.routing import Route

from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.model import Forest
from thrifty.web.openapi import Operation, describe_api, field_docs
from thrifty.wire import Next, Predict, Predictions, Question, Standing

TOKEN = "a-token-of-the-tests"


def test_every_route_is_described(client):
    described = set(client.get("/openapi.json").json()["paths"])
    routes = {route.path for route in client.app._app.routes if isinstance(route, Route)}
    assert routes - described == {"/", "/openapi.json", "/docs", "/static/page.css"}


def test_every_reference_leads_somewhere(client):
    document = client.get("/openapi.json").json()
    text = str(document)
    for name in text.split("#/components/schemas/")[1:]:
        assert name.split("'")[0] in document["components"]["schemas"]


def test_a_token_is_part_of_the_description(guarded):
    headers = {"authorization": f"Bearer {TOKEN}"}
    document = guarded(token=TOKEN).get("/openapi.json", headers=headers).json()
    assert document["security"] == [{"token": []}]
    assert "401" in document["paths"]["/v1/next"]["post"]["responses"]


def test_fields_are_described_by_the_text_below_them(client):
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["Next"]["properties"]["told"]["description"] == "Values bought since."
    assert "description" not in schemas["Prediction"]["properties"]["answer"]


def test_a_class_has_the_fields_of_its_bases():
    assert {"categories", "why"} <= set(field_docs(Question))


def test_the_features_of_the_model_are_described(predictor):
    step = Operation("POST", "/v1/next", "The next step", Standing, Next)
    rows = Operation("POST", "/v1/predict", "Predict rows", Predictions, Predict)
    schemas = describe_api([step, rows], False, predictor)["components"]["schemas"]
    assert schemas["Feature"]["enum"] == list(predictor.schema.names)
    assert schemas["Values"]["properties"]["age"] == {"type": ["number", "boolean", "null"]}
    assert schemas["Values"]["additionalProperties"] is False
    assert set(schemas["Row"]["required"]) < set(schemas["Row"]["properties"])
    told = schemas["Next"]["properties"]["told"]
    assert told["$ref"] == "#/components/schemas/Values"
    assert told["description"] == "Values bought since."
    assert schemas["Next"]["properties"]["skipped"]["items"]["$ref"].endswith("/Feature")
    assert schemas["Predict"]["properties"]["rows"]["items"]["$ref"].endswith("/Row")


def test_categories_are_shown_and_others_allowed():
    schema = Schema.of({"sex": ["female", "male"], "age": [1.0, 2.0]})
    constant = Forest.constant([4.5], "sum", n_features=2)
    predictor = Predictor(constant, schema, Prices([1.0, 1.0]).bind(["sex", "age"]))
    step = Operation("POST", "/v1/next", "The next step", Standing, Next)
    values = describe_api([step], False, predictor)["components"]["schemas"]["Values"]
    sex = values["properties"]["sex"]
    assert sex["examples"] == ["female", "male"] and "string" in sex["type"]
