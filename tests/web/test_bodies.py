"""Bodies are read strictly, and routes read them whole."""

from __future__ import annotations

import asyncio
import json

import pytest

from thrifty.web.bodies import JsonRoute, by_feature, read_body
from thrifty.web.problems import ProblemError
from thrifty.wire import Next, Predictions


def test_a_body_becomes_what_it_describes():
    body = read_body(b'{"told": {"age": 63, "sex": null}}', Next, max_body=100)
    assert (body.told, body.known, body.skipped) == ({"age": 63, "sex": None}, {}, [])


@pytest.mark.parametrize(
    ("body", "status"), [(b"{", 400), (b'{"a": 1, "a": 1}', 400), (b'{"told": 3}', 422)]
)
def test_a_body_that_describes_nothing_is_a_problem(body, status):
    with pytest.raises(ProblemError) as caught:
        read_body(body, Next, max_body=100)
    assert caught.value.status == status


def test_a_body_beyond_the_limit_is_not_parsed():
    with pytest.raises(ProblemError, match="larger than 10 bytes"):
        read_body(b" " * 11, Next, max_body=10)


def test_features_of_a_table_without_names_go_by_index(unnamed, predictor):
    assert by_feature(unnamed, {"0": 1.5, "x": 2.0}) == {0: 1.5, "x": 2.0}
    assert by_feature(predictor, {"0": 1.5}) == {"0": 1.5}


def call(route, messages) -> list[dict]:
    sent = []

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    asyncio.run(route({"type": "http"}, receive, send))
    return sent


def test_a_body_that_comes_in_parts_is_read_whole():
    seen = []
    route = JsonRoute(lambda data: seen.append(data) or Predictions([]))
    parts = [
        {"type": "http.request", "body": b"ab", "more_body": True},
        {"type": "http.request", "body": b"cd"},
    ]
    sent = call(route, parts)
    assert seen == [b"abcd"]
    assert json.loads(sent[1]["body"]) == {"predictions": []}


def test_a_client_that_has_gone_gets_nothing():
    route = JsonRoute(lambda data: Predictions([]))
    assert call(route, [{"type": "http.disconnect"}]) == []
