"""A source behind HTTP: requests, pointers, and everything that can go wrong."""

from __future__ import annotations

import asyncio
import json

import pytest
from scripted import NAMES, chain_predictor

from thrifty.errors import DataError
from thrifty.serve import (
    Case,
    HttpSource,
    NotFoundError,
    Query,
    RefusedError,
    ReplaySource,
    Runtime,
    UnclearError,
    UnsentError,
    UnusableError,
)
from thrifty.serve.sources.http import ABSENT, find_pointer


def fetch(source, *features, **query):
    async def run():
        try:
            return await source.fetch(Query(features or source.terms.features, **query))
        finally:
            await source.close()

    return asyncio.run(run())


def test_values_come_from_one_request_by_their_pointers(server):
    server.replies = [(200, {"data": {"score": 7, "lines": [3, None]}})]
    source = HttpSource(
        "bureau", server.url + "/people/{who}?lang={lang}",
        {"score": "/data/score", "lines": "/data/lines/0", "late": "/data/lines/1", "x": "/data/x"},
        headers={"Authorization": "Bearer t0p"},
    )  # fmt: skip
    found = fetch(source, context={"who": "ann & bob", "lang": "en"})
    assert found == {"score": 7, "lines": 3, "late": None}  # empty is delivered, absent is not
    ((method, path, headers, _),) = server.requests
    assert (method, path) == ("GET", "/people/ann%20%26%20bob?lang=en")
    assert headers["authorization"] == "Bearer t0p"
    assert source.needs == ["lang", "who"]


def test_a_body_holds_values_with_their_types(server):
    server.replies = [(200, {"score": 1})]
    source = HttpSource(
        "bureau", server.url, {"score": "/score"}, method="POST",
        body={"who": "{who}", "age": "{age}", "list": ["no. {age}", 1, None]},
    )  # fmt: skip
    fetch(source, values={"age": 63}, context={"who": "ann"})
    assert json.loads(server.requests[0][3]) == {
        "who": "ann",
        "age": 63,
        "list": ["no. 63", 1, None],
    }


def test_the_key_of_the_purchase_is_sent_if_there_is_a_header_for_it(server):
    server.replies = [(200, {"score": 1})]
    source = HttpSource("bureau", server.url, {"score": "/score"}, idempotency_header="X-Key")
    fetch(source, key="k17")
    assert server.requests[0][2]["x-key"] == "k17" and source.terms.idempotent


def test_what_the_case_lacks_is_named_and_nothing_is_sent(server):
    source = HttpSource("bureau", server.url + "/{who}", {"score": "/score"})
    with pytest.raises(UnsentError, match="'who' is needed: pass it in the context"):
        fetch(source)
    for empty in (None, "", "..", "."):
        with pytest.raises(UnsentError, match="'who' is needed: it is empty"):
            fetch(source, context={"who": empty})
    assert not server.requests


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ((500, {}), RefusedError),
        ((503, {}), RefusedError),
        ((429, {}), RefusedError),
        ((401, {}), RefusedError),
        ((302, {}), RefusedError),
        ((404, {}), NotFoundError),
        ((422, {}), NotFoundError),
        ("close", UnclearError),
        ("half", UnclearError),
        ((200, b"<html>"), UnusableError),
        ((200, b'{"score": NaN}'), UnusableError),
        ((200, b'{"score": 1e400}'), UnusableError),
        ((200, b'{"score": 1, "score": 2}'), UnusableError),
        ((200, b"\xff\xfe"), UnusableError),
        ((200, b"[" * 100_000), UnusableError),
        ((200, b" " * (2 << 20)), UnusableError),
    ],
)
def test_every_failure_is_of_a_kind(server, reply, error):
    server.replies = [reply]
    source = HttpSource("bureau", server.url + "?token=s3cret", {"score": "/score"})
    with pytest.raises(error) as caught:
        fetch(source)
    assert "s3cret" not in str(caught.value) and "'bureau'" in str(caught.value)


def test_a_server_that_is_not_there_was_not_asked():
    source = HttpSource("bureau", "http://127.0.0.1:1/", {"score": "/score"}, timeout=1.0)
    with pytest.raises(UnsentError, match="ConnectError"):
        fetch(source)


def test_a_body_that_is_compressed_wrongly_is_unusable(server):
    server.replies = ["gzip"]

    async def reply(_, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope")
        await writer.drain()
        return True

    server._reply = reply
    with pytest.raises(UnusableError, match="decoded"):
        fetch(HttpSource("bureau", server.url, {"score": "/score"}))


def test_connections_are_kept_in_a_loop_and_made_anew_in_another(server):
    server.replies = [(200, {"score": 1})]
    source = HttpSource("bureau", server.url, {"score": "/score"})
    for _ in range(2):
        assert fetch(source) == {"score": 1}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"url": "ftp://example.com"}, "is not a URL of a server"),
        ({"url": "nowhere"}, "is not a URL of a server"),
        ({"method": "BREW"}, "method: 'BREW' is not one of"),
        ({"body": {}}, "a GET request has none"),
        ({"values": {"score": "data/score"}}, "no JSON pointer"),
    ],
)
def test_what_cannot_work_is_refused_at_once(arguments, problem):
    with pytest.raises(DataError, match=problem):
        HttpSource(**{"name": "b", "url": "http://x", "values": {"score": "/s"}, **arguments})


def test_a_pointer_follows_names_and_positions():
    document = {"a/b": {"m~n": [1, {"": 2}]}}
    assert find_pointer(document, "") is document
    assert find_pointer(document, "/a~1b/m~0n/0") == 1
    assert find_pointer(document, "/a~1b/m~0n/1/") == 2
    for absent in ("/a", "/a~1b/m~0n/2", "/a~1b/m~0n/-1", "/a~1b/m~0n/0/x"):
        assert find_pointer(document, absent) is ABSENT


# --- with a runtime: every case ends in time with an answer and a true receipt


@pytest.mark.parametrize(
    ("replies", "outcome", "paid", "requests"),
    [
        ([(200, {"score": 7})], "delivered", 1.0, 1),
        ([(200, {"score": None})], "delivered", 1.0, 1),
        ([(200, {"score": "seven"})], "invalid", 1.0, 1),
        ([(200, {})], "failed", 0.0, 1),
        ([(200, b"<html>")], "invalid", 1.0, 1),
        ([(500, {})], "failed", 0.0, 3),
        ([(429, {}), (200, {"score": 7})], "delivered", 1.0, 2),
        ([(404, {})], "failed", 0.0, 1),
        (["close"], "assumed", 1.0, 1),
        (["half"], "assumed", 1.0, 1),
        (["late"], "open", 1.0, 1),
        (["hang"], "open", 1.0, 1),
    ],
)
def test_a_case_ends_in_time_with_a_true_receipt(
    server, replies, outcome, paid, requests, still_clock
):
    server.replies, server.clock = replies, still_clock
    source = HttpSource("bureau", server.url, {"age": "/score"}, retries=2, pause=0.0, timeout=0.4)
    others = ReplaySource("rest", dict.fromkeys(NAMES[1:], 1.0), NAMES[1:])
    runtime = Runtime(chain_predictor(), [source, others], linger=0.1)

    async def run():
        async with runtime:
            receipt = await runtime.serve(Case(deadline=5.0))
            server.release.set()
            return receipt

    receipt = asyncio.run(run())
    assert receipt.stopped == "complete" and receipt.answer == "ill"
    charge = next(charge for charge in receipt.charges if charge.item == "bureau")
    assert (charge.outcome, charge.paid) == (outcome, paid)
    assert receipt.spent == 18.0 + paid
    assert len(server.requests) == requests
