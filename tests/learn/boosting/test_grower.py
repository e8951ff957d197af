"""Growing trees: gains, purchases and Newton steps of the last tree."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.purchases import Purchases


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 1.0], 50), rng.normal(size=100)])
    return Binned.of(X, np.zeros(2, dtype=bool), None)


def grower(table, **settings):
    purchases = Purchases(Prices([3.0, 1.0]).bind(2), 100, "model")
    return Grower(table, purchases, **{"max_depth": 1, "min_samples_leaf": 1, **settings})


def test_the_gain_of_a_split_is_the_squared_error_that_it_removes(table):
    target = np.repeat([-1.0, 1.0], 50)
    growing = grower(table)
    assert growing.gains(target)[0] == pytest.approx(100.0)
    assert growing.purchases.features.tolist() == [0, 0]  # nothing is bought


def test_a_split_is_taken_if_its_gain_exceeds_twice_the_penalty_of_all_rows(table):
    target = np.repeat([-1.0, 1.0], 50)  # a gain of 100; the feature costs 3 for each of 100 rows
    assert grower(table, penalty=0.16).grow(target).left.size == 3
    assert grower(table, penalty=0.17).grow(target).left.size == 1


def test_what_a_tree_buys_is_free_for_the_next(table):
    growing = grower(table, penalty=0.16)
    growing.grow(np.repeat([-1.0, 1.0], 50))
    assert growing.purchases.features.tolist() == [1, 0]
    assert growing.grow(np.repeat([-0.1, 0.1], 50)).left.size == 3


def test_values_are_newton_steps_and_are_added_to_the_rows_of_their_leaves(table):
    target = np.repeat([-1.0, 1.0], 50)
    growing = grower(table)
    growing.grow(target)
    values = growing.values(target, np.full(100, 2.0), damping=100.0)
    out = np.zeros(100)
    growing.add(values, out)
    np.testing.assert_allclose(out, target * 50 / (2 * 50 + 100))


def test_trees_may_be_limited_to_some_features(table):
    growth = grower(table, features=np.array([1])).grow(np.repeat([-1.0, 1.0], 50))
    assert growth.feature[0] == 1
