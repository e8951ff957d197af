"""Without a ledger, everything is granted and nothing is remembered."""

from __future__ import annotations

import asyncio

from thrifty.serve.ledger.none import NoLedger
from thrifty.serve.ledger.records import Intent, Settlement


def test_everything_is_granted_and_nothing_remembered():
    none = NoLedger()
    header = none.header("a", None, "model", None)
    for _ in range(2):
        grants = none.intend(header, [Intent("x", 1.0)], limit=0.0).result()
        assert list(grants.mine) == ["x"]
    settlement = Settlement("a", "x", "me", "settled", 1.0, "delivered")
    assert none.settle([settlement]).result() == [True]
    assert none.find(header, 60.0).result().entries == {}
    assert asyncio.run(none.wait("a", ["x"])) == {}
    assert none.flush().result() is None


def test_a_key_is_stable_while_the_process_lives():
    none = NoLedger()
    assert none.idempotency_key("a", "x") == none.idempotency_key("a", "x")
    assert none.idempotency_key("a", "x") != NoLedger().idempotency_key("a", "x")
