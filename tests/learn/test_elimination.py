"""The order of purchases: what gains least for its price goes first, groups as a whole too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.costs import Prices
from thrifty.learn.ladder.feature_order import fewer, price_of, step

NAMES = ["a", "b", "c", "d"]


def bound(own, **more):
    return Prices(dict(zip(NAMES, own, strict=False)), **more).bind(NAMES[: len(own)])


def test_the_least_gain_per_price_is_dropped_first():
    prices = bound([1.0, 2.0, 4.0])
    gain = np.array([1.0, 9.0, 5.0])  # per price 1, 4.5 and 1.25
    assert fewer(np.arange(3), gain, prices, 0.9).tolist() == [1, 2]
    assert fewer(np.array([1, 2]), gain, prices, 0.9).tolist() == [1]


def test_a_feature_without_gain_goes_whatever_its_price():
    prices = bound([1.0, 0.0, 1.0])
    assert fewer(np.arange(3), np.array([1.0, 0.0, 2.0]), prices, 0.99).tolist() == [2]


def test_what_is_left_costs_at_most_the_ratio():
    prices = Prices().bind(20)
    left = fewer(np.arange(20), np.arange(1.0, 21.0), prices, 0.75)
    assert left.tolist() == list(range(5, 20))


def test_the_last_member_of_a_group_takes_the_shared_price_along():
    prices = bound([1.0, 1.0, 1.0, 1.0], groups={"blood": ["c", "d"]}, shared={"blood": 10.0})
    assert price_of(np.array([2]), prices) == 11.0
    # Alone, c gains 3 for 11; a and b gain 2 for 1.
    assert fewer(np.array([0, 1, 2]), np.array([2.0, 2.0, 3.0, 0.0]), prices, 0.9).tolist() \
        == [0, 1]  # fmt: skip


def test_a_group_whose_members_cost_nothing_more_is_dropped_as_a_whole():
    prices = bound([1.0, 0.0, 0.0, 0.0], groups={"g": ["b", "c", "d"]}, shared={"g": 3.0})
    gain = np.array([2.0, 1.0, 1.0, 1.0])
    assert fewer(np.arange(4), gain, prices, 0.9).tolist() == [0]
    # Dropping one of the members would save nothing: the other goes, or none of them.
    assert fewer(np.arange(4), np.array([0.5, 1.0, 1.0, 1.0]), prices, 0.9).tolist() == [1, 2, 3]


def test_a_dear_thing_is_left_to_the_next_rung_once_something_went():
    prices = bound([1.0, 1.0, 20.0, 20.0])
    gain = np.array([5.0, 0.1, 30.0, 20.0])
    # b goes first, then d; c would lead from 21 to 1 at one go and waits.
    assert fewer(np.arange(4), gain, prices, 0.4).tolist() == [0, 2]
    assert fewer(np.array([0, 2]), gain, prices, 0.4).tolist() == [0]


def test_free_features_stay_longest():
    prices = bound([0.0, 1.0, 1.0])
    gain = np.array([0.001, 5.0, 9.0])
    assert fewer(np.array([0, 1]), gain, prices, 0.5).tolist() == [0]


@given(st.integers(0, 2**32 - 1), st.floats(0.2, 0.95))
def test_sets_are_nested_and_end(seed, ratio):
    rng = np.random.default_rng(seed)
    own = rng.choice([0.0, 1.0, 2.0, 30.0], size=8)
    prices = Prices(own.tolist(), groups={"g": [0, 1, 2]}, shared={"g": 5.0}).bind(8)
    features, count = np.arange(8), 0
    while len(features) and price_of(features, prices) > 0:
        less = fewer(features, rng.random(8), prices, ratio)
        assert set(less.tolist()) < set(features.tolist())
        features, count = less, count + 1
    assert count <= 8


@pytest.mark.parametrize(("rungs", "ratio"), [(1, 1 / 16), (2, 1 / 4), (4, 1 / 2)])
def test_steps_are_geometric_from_the_cheapest_feature_to_all(rungs, ratio):
    assert step(Prices().bind(16), rungs) == pytest.approx(ratio)


def test_a_table_of_one_price_or_none_has_a_step_too():
    assert step(Prices().bind(1), 5) == 0.5
    assert step(Prices([0.0, 0.0]).bind(2), 5) == 0.5
