"""One price in place of several: its bills are weighted sums."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.costs.combined import combine


@pytest.mark.parametrize("names", [["a", "b", "c", "d"], 4])
def test_bills_are_weighted_sums(names):
    keys = names if isinstance(names, list) else range(4)
    a, b, c, d = keys
    prices = Prices(
        {a: 1, b: 2, c: 3, d: 4}, groups={"g": [a, b]}, shared={"g": 5}, evaluation=0.5,
        calls={"remote": 2}, unit="CAD", requires={c: [d]}, panels=["g"], delays={a: 3},
        also={"ms": Prices({a: 10, d: 30}, shared={"g": 7}, evaluation=1, calls={"remote": 6})},
    ).bind(names)  # fmt: skip
    one = combine(prices, {"CAD": 2.0, "ms": 0.5}).bind(names)
    used = np.random.default_rng(0).random((20, 4)) < 0.5
    calls = {"remote": used[:, 0]}
    parts = {name: each.bill(used, 3, calls) for name, each in prices.currencies.items()}
    assert one.bill(used, 3, calls) == pytest.approx(2.0 * parts["CAD"] + 0.5 * parts["ms"])
    assert one.structure == prices.structure
    assert one.delays.tolist() == prices.delays.tolist()


def test_a_currency_without_a_weight_does_not_count():
    prices = Prices([1, 2], also={"ms": Prices([10, 0])}).bind(2)
    assert combine(prices, {"ms": 1.0}) == Prices({0: 10, 1: 0})
