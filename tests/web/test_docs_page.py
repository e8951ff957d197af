"""The page that describes the API: its examples can be run as they are."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from urllib.parse import urlsplit

import pytest

from thrifty.web.app import OPERATIONS
from thrifty.web.case_routes import CASE_OPERATIONS
from thrifty.web.docs_page import api_operations, example_bodies
from thrifty.web.openapi import describe_api

DOCUMENT = describe_api([*OPERATIONS, *CASE_OPERATIONS], has_token=False)


def run(client, command: str, case: str):
    """Send the request of a curl command."""
    words = shlex.split(command)
    assert words.pop(0) == "curl"
    body = words[words.index("--json") + 1] if "--json" in words else None
    path = urlsplit(words[-1]).path.replace("{case}", case)
    return client.get(path) if body is None else client.post(path, content=body)


def commands(page) -> list[str]:
    return [unescape(each) for each in re.findall("<pre[^>]*><code>(.*?)</code>", page.text, re.S)]


@pytest.mark.parametrize("name", ["predictor", "hostile", "unnamed"])
def test_every_command_on_the_page_works(browse, name, request):
    client = browse(request.getfixturevalue(name))
    page = client.get("/docs")
    found = commands(page)
    assert len(found) == len(OPERATIONS) + len(CASE_OPERATIONS)
    for command in found:
        case = client.post("/v1/cases", json={"id": command}).json()["case"]
        asked = client.get(f"/v1/cases/{case}").json()["asks"][0]["feature"]
        if command.endswith("back'") or "/back" in command:
            client.post(f"/v1/cases/{case}/skip", json={"features": [str(asked)]})
        response = run(client, command, case)
        assert response.status_code == 200, (command, response.text)


def test_every_operation_with_a_body_has_an_example(predictor):
    bodies = example_bodies(predictor)
    with_body = {
        entry["operationId"]
        for methods in DOCUMENT["paths"].values()
        for entry in methods.values()
        if "requestBody" in entry
    }
    assert with_body == set(bodies)


def test_fields_are_described(client):
    text = client.get("/docs").text
    assert "Values known beforehand; they are free." in text
    assert "<code>asks[].price</code>" in text


def test_types_are_in_words(predictor):
    operations = api_operations(DOCUMENT, example_bodies(predictor), "http://localhost")
    fields = {(op.id, field.name): field for op in operations for field in op.body}
    assert fields["post_v1_predict", "rows"].type == "list of values or nulls by name"
    assert fields["post_v1_cases", "cap"].type == "number or null"
    assert fields["post_v1_cases", "cap"].default == json.dumps(None)
    assert fields["post_v1_next", "skipped"].type == "list of strings"


def test_a_token_is_part_of_the_commands(browse, predictor):
    client = browse(predictor, token="a-token-of-the-tests")
    page = client.get("/docs", headers={"authorization": "Bearer a-token-of-the-tests"})
    assert all("$THRIFTY_TOKEN" in command for command in commands(page))
    assert "a-token-of-the-tests" not in page.text
