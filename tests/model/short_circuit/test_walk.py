"""A walk down a short-circuited forest ends like the batch."""

from __future__ import annotations

import numpy as np
import pytest
from face_laws import assert_batch, state_is_the_values_told, values_arrive_in_any_order
from forests import Shape, draw_forest
from hypothesis import given
from hypothesis import strategies as st
from short_circuits import CLASSES, GRAINS, SEEDS, draw, stumps

from thrifty.model import ShortCircuit


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]), GRAINS)
def test_a_walk_ends_like_the_batch(seed, link, grain):
    rng, forest, X = draw(seed, link, grain, rows=1)
    tolerance = 2.0 * float(rng.random()) if link == "sum" else 0.0
    model = ShortCircuit.of(forest, rng.permutation(len(forest.roots)), tolerance)
    walk = model.walk()
    while walk.asks:
        (feature,) = walk.asks
        walk.tell({feature: float(X[0, feature])})
        assert walk.touched[-1] == feature
    assert_batch(walk, model, X)


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]), GRAINS)
def test_values_may_arrive_in_any_order_and_unrequested(seed, link, grain):
    rng, forest, X = draw(seed, link, grain, rows=1)
    model = ShortCircuit.of(
        forest, rng.permutation(len(forest.roots)), 1.0 if link == "sum" else 0.0
    )
    values_arrive_in_any_order(rng, model, X)


@given(SEEDS, st.sampled_from(CLASSES))
def test_the_state_of_a_walk_is_the_set_of_values_told(seed, link):
    rng, forest, X = draw(seed, link, rows=1)
    state_is_the_values_told(rng, ShortCircuit.of(forest), X)


def test_a_walk_requests_what_the_first_unfinished_tree_needs():
    forest = stumps([([1, 0], [0, 1])] * 3, "vote")
    walk = ShortCircuit.of(forest, [2, 0, 1]).walk()
    requested = []
    while walk.asks:
        requested.append(walk.asks)
        walk.tell({walk.asks[0]: 1.0})
    assert requested == [(2,), (0,)]
    assert walk.scores.argmax() == 1


def test_a_value_told_early_is_read_only_when_its_tree_needs_it():
    forest = stumps([([1, 0], [0, 1])] * 3, "vote")
    walk = ShortCircuit.of(forest).walk()
    walk.tell({1: 1.0, 2: 1.0})
    assert (walk.asks, walk.touched) == ((0,), ())
    walk.tell({0: 1.0})
    assert (walk.asks, walk.touched) == ((), (0, 1))  # two of three votes are enough


@pytest.mark.parametrize("shape", [Shape(trees=0), Shape(depth=0)], ids=["no trees", "leaves"])
def test_a_forest_that_reads_nothing_is_done_at_once(shape):
    forest = draw_forest(np.random.default_rng(0), shape)
    model, X = ShortCircuit.of(forest), np.zeros((1, shape.features))
    assert_batch(model.walk(), model, X)
    np.testing.assert_array_equal(model.score(X), forest.score(X))
