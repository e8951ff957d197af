"""Sums without rounding: equal to `math.fsum`, in any order."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thrifty.costs.exact import split, subset_sums

PRICES = st.lists(st.one_of(st.floats(0, 1e3), st.floats(0, 1e100)), max_size=40)


@given(PRICES)
def test_the_parts_of_a_price_add_up_to_it(prices):
    parts = split(np.array(prices, dtype=float))
    assert [math.fsum(row) for row in parts.tolist()] == prices


@given(PRICES)
def test_any_prefix_of_a_column_of_parts_adds_up_without_rounding(prices):
    for column in split(np.array(prices, dtype=float)).T:
        for order in (column, column[::-1], np.sort(column)):
            assert float(np.cumsum(order)[-1] if len(order) else 0.0) == math.fsum(column)


@given(PRICES, st.data())
def test_a_subset_sum_is_correctly_rounded(prices, data):
    chosen = data.draw(arrays(bool, (3, len(prices))))
    sums = subset_sums(chosen.astype(float), split(np.array(prices, dtype=float)))
    kept = [[p for p, taken in zip(prices, row, strict=True) if taken] for row in chosen]
    assert sums.tolist() == [math.fsum(row) for row in kept]


def test_ordinary_prices_need_at_most_two_parts():
    rng = np.random.default_rng(0)
    assert split(np.ones(1000)).shape == (1000, 1)
    assert split(rng.uniform(0.01, 1000, size=1000)).shape == (1000, 2)


def test_prices_far_apart_are_added_exactly():
    prices = np.array([1e100, 1.0, 5e-324])
    assert split(prices).shape[1] > 2
    assert subset_sums(np.eye(3), split(prices)).tolist() == prices.tolist()
