"""The description of the API is that of the app."""

from __future__ import annotations

from starlette.routing import Route

from thrifty.web.openapi import field_docs
from thrifty.wire import Question

TOKEN = "a-token-of-the-tests"


def test_every_route_is_described(client):
    described = set(client.get("/openapi.json").json()["paths"])
    routes = {route.path for route in client.app._app.routes if isinstance(route, Route)}
    assert routes - described == {"/openapi.json", "/docs", "/static/page.css"}


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
