"""Feature order: what gains least per price goes first; groups are bought by trial."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.costs import Prices
from thrifty.learn.ladder.feature_order import (
    drop_features,
    order_features,
    order_groups,
    price_of,
    price_ratio,
    sold_in_groups,
    thin_sets,
)

NAMES = ["a", "b", "c", "d"]


def bound(own, **more):
    return Prices(dict(zip(NAMES, own, strict=False)), **more).bind(NAMES[: len(own)])


# --- backward, by gain per price ---------------------------------------------


def test_the_least_gain_per_price_is_dropped_first():
    prices = bound([1.0, 2.0, 4.0])
    gain = np.array([1.0, 9.0, 5.0])  # per price 1, 4.5 and 1.25
    assert drop_features(np.arange(3), gain, prices, 0.9).tolist() == [1, 2]
    assert drop_features(np.array([1, 2]), gain, prices, 0.9).tolist() == [1]


def test_a_feature_without_gain_goes_whatever_its_price():
    prices = bound([1.0, 0.0, 1.0])
    assert drop_features(np.arange(3), np.array([1.0, 0.0, 2.0]), prices, 0.99).tolist() == [2]


def test_the_rest_costs_at_most_the_ratio():
    prices = Prices().bind(20)
    left = drop_features(np.arange(20), np.arange(1.0, 21.0), prices, 0.75)
    assert left.tolist() == list(range(5, 20))


def test_the_last_member_of_a_group_saves_the_shared_price_too():
    prices = bound([1.0, 1.0, 1.0, 1.0], groups={"blood": ["c", "d"]}, shared={"blood": 10.0})
    assert price_of(np.array([2]), prices) == 11.0
    # Alone, c gains 3 for 11; a and b gain 2 for 1.
    left = drop_features(np.array([0, 1, 2]), np.array([2.0, 2.0, 3.0, 0.0]), prices, 0.9)
    assert left.tolist() == [0, 1]


def test_a_group_whose_members_have_no_price_is_dropped_as_a_whole():
    prices = bound([1.0, 0.0, 0.0, 0.0], groups={"g": ["b", "c", "d"]}, shared={"g": 3.0})
    gain = np.array([2.0, 1.0, 1.0, 1.0])
    assert drop_features(np.arange(4), gain, prices, 0.9).tolist() == [0]
    # Dropping one member would save nothing: the other feature goes, or the whole group.
    gain = np.array([0.5, 1.0, 1.0, 1.0])
    assert drop_features(np.arange(4), gain, prices, 0.9).tolist() == [1, 2, 3]


def test_an_expensive_feature_is_left_to_the_next_rung_once_something_went():
    prices = bound([1.0, 1.0, 20.0, 20.0])
    gain = np.array([5.0, 0.1, 30.0, 20.0])
    # b goes first, then d; c would lead from 21 to 1 at once, and waits.
    assert drop_features(np.arange(4), gain, prices, 0.4).tolist() == [0, 2]
    assert drop_features(np.array([0, 2]), gain, prices, 0.4).tolist() == [0]


def test_free_features_stay_longest():
    prices = bound([0.0, 1.0, 1.0])
    gain = np.array([0.001, 5.0, 9.0])
    assert drop_features(np.array([0, 1]), gain, prices, 0.5).tolist() == [0]


@given(st.integers(0, 2**32 - 1), st.floats(0.2, 0.95))
def test_sets_are_nested_and_come_to_an_end(seed, ratio):
    rng = np.random.default_rng(seed)
    own = rng.choice([0.0, 1.0, 2.0, 30.0], size=8)
    prices = Prices(own.tolist(), groups={"g": [0, 1, 2]}, shared={"g": 5.0}).bind(8)
    features, count = np.arange(8), 0
    while len(features) and price_of(features, prices) > 0:
        less = drop_features(features, rng.random(8), prices, ratio)
        assert set(less.tolist()) < set(features.tolist())
        features, count = less, count + 1
    assert count <= 8


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_what_goes_first_gains_least_per_price_of_all_features_and_groups(seed, has_requirements):
    rng = np.random.default_rng(seed)
    own = rng.choice([0.0, 1.0, 2.0, 30.0], size=8)
    own[3] = 2.0
    requires = {4: [3]} if has_requirements else {}
    prices = Prices(own.tolist(), groups={"g": [0, 1, 2]}, shared={"g": 5.0}, requires=requires)
    bound, gain = prices.bind(8), rng.random(8)
    sets = [[j, 4] if has_requirements and j == 3 else [j] for j in range(8) if own[j] > 0]
    worth = [(gain[some].sum() / own[some].sum(), some) for some in sets]
    worth.append((gain[:3].sum() / (5.0 + own[:3].sum()), [0, 1, 2]))
    gone = np.setdiff1d(np.arange(8), drop_features(np.arange(8), gain, bound, 0.999))
    assert set(min(worth)[1]) <= set(gone.tolist())


@pytest.mark.parametrize(("n_rungs", "ratio"), [(1, 1 / 16), (2, 1 / 4), (4, 1 / 2)])
def test_prices_are_geometric_from_the_cheapest_feature_to_all(n_rungs, ratio):
    assert price_ratio(Prices().bind(16), n_rungs) == pytest.approx(ratio)


def test_a_table_with_one_price_or_none_has_a_ratio_too():
    assert price_ratio(Prices().bind(1), 5) == 0.5
    assert price_ratio(Prices([0.0, 0.0]).bind(2), 5) == 0.5


# --- forward, group by group -------------------------------------------------

GROUPS = {"cheap": [0], "expensive": [1, 2], "middle": [3]}
SHARED = {"cheap": 1.0, "expensive": 20.0, "middle": 4.0}
NO_OWN_PRICE = {j: 0.0 for j in range(5)}


def bound_groups(own=NO_OWN_PRICE, shared=SHARED):
    return Prices(own, groups=GROUPS, shared=shared).bind(5)


def test_the_best_group_for_its_price_comes_first_and_sets_are_nested():
    worth = {0: 1.0, 1: 6.0, 2: 6.0, 3: 2.0, 4: 0.0}

    def loss_of(features):
        return 20.0 - sum(worth[j] for j in features.tolist())

    order = [features.tolist() for features in order_groups(bound_groups(), loss_of)]
    # The groups save 1 for 1, 12 for 20, 2 for 4; column 4 is free.
    assert order == [[4], [0, 4], [0, 1, 2, 4], [0, 1, 2, 3, 4]]


def test_a_group_that_adds_nothing_to_another_one_is_worth_nothing():
    def loss_of(features):
        return 0.0 if {1, 3} & set(features.tolist()) else 5.0  # expensive and middle agree

    assert order_groups(bound_groups(), loss_of)[1].tolist() == [3, 4]


def test_only_tables_that_are_sold_in_a_few_groups_are_tried():
    assert sold_in_groups(bound_groups())
    assert not sold_in_groups(bound_groups(own={**NO_OWN_PRICE, 4: 1.0}))
    assert not sold_in_groups(bound_groups(shared={"cheap": 1.0}))
    many = Prices(
        [0.0] * 20,
        groups={f"g{j}": [j] for j in range(20)},
        shared={f"g{j}": 1.0 for j in range(20)},
    )
    assert not sold_in_groups(many.bind(20))


# --- forward, feature by feature ---------------------------------------------


def test_features_are_bought_by_what_they_save_per_price_after_the_free_ones():
    worth = np.array([6.0, 4.0, 1.0, 0.5])
    prices = Prices([6.0, 2.0, 0.0, 1.0]).bind(4)
    order = order_features(np.arange(4), prices, lambda features: -worth[features].sum())
    assert [each.tolist() for each in order] == [[2], [1, 2], [0, 1, 2], [0, 1, 2, 3]]


def test_a_feature_whose_group_is_bought_comes_at_its_own_price():
    worth = np.array([9.0, 3.0, 4.0])
    prices = Prices([0.0, 0.0, 2.0], groups={"g": [0, 1]}, shared={"g": 4.0}).bind(3)
    order = order_features(np.arange(3), prices, lambda features: -worth[features].sum())
    assert [each.tolist() for each in order] == [[], [0], [0, 1], [0, 1, 2]]


def test_only_the_features_left_are_ordered():
    order = order_features(
        np.array([1, 3]), Prices().bind(4), lambda features: 3.0 - features.sum()
    )
    assert [each.tolist() for each in order] == [[], [3], [1, 3]]


@pytest.mark.parametrize(
    ("ratio", "sizes"), [(0.9, [0, 1, 2, 3, 4, 5, 6, 7]), (0.5, [0, 1, 2, 4]), (0.01, [0, 1])]
)
def test_thinned_sets_cost_about_the_same_share_of_the_next(ratio, sizes):
    sets = [np.arange(size) for size in range(9)]
    assert [len(each) for each in thin_sets(sets, Prices().bind(8), ratio)] == sizes
