"""Buying several items of one source."""

from __future__ import annotations

import asyncio

from scripted import NAMES, chain_predictor, each

from thrifty.serve.runtime.catalog import Catalog
from thrifty.serve.runtime.purchase import Order, buy, settlements
from thrifty.serve.sources.breaker import Breaker


def order_from(source, patience=5.0):
    predictor = chain_predictor()
    offers = tuple(Catalog(predictor, [source], ()).by_item.values())
    keys = {offer.item: f"key of {offer.item}" for offer in offers}
    order = Order(source, offers, dict.fromkeys(keys, 1.0), keys, {}, {}, patience)

    async def run():
        return await buy(order, predictor.schema, Breaker(5, 30.0), asyncio.Semaphore(4))

    return asyncio.run(run())


def test_several_items_are_asked_for_at_once():
    source = each("lab", *NAMES)
    results = order_from(source)
    assert [query.features for query in source.asked] == [tuple(NAMES)]
    assert {result.outcome for result in results.values()} == {"delivered"}


def test_a_source_that_tells_requests_apart_by_their_keys_is_asked_one_by_one():
    source = each("lab", *NAMES, idempotent=True)
    order_from(source)
    assert {(query.features, query.key) for query in source.asked} == {
        ((name,), f"key of lab/{name}") for name in NAMES
    }


def test_some_may_come_and_others_not():
    source = each("lab", *NAMES, act=lambda query: {"age": 1.0, "chol": None, "fbs": "?"})
    results = order_from(source)
    assert [results[f"lab/{name}"].outcome for name in NAMES] == [
        "delivered", "delivered", "invalid", "failed"
    ]  # fmt: skip
    assert [results[f"lab/{name}"].state for name in NAMES] == ["settled"] * 3 + ["void"]
    records = settlements("case", dict.fromkeys(results, "me"), results)
    assert [record.values for record in records] == [
        '[["age", 1.0]]', '[["chol", null]]', None, None
    ]  # fmt: skip


def test_a_retry_that_would_come_too_late_is_not_made():
    def act(query):
        raise ConnectionError

    source = each("lab", *NAMES, act=act, retries=5, pause=10.0)
    results = order_from(source, patience=1.0)
    assert len(source.asked) == 1 and results["lab/age"].error == "ConnectionError"
