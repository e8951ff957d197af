"""The walk of a policy: one item at a time, and early values wait."""

from __future__ import annotations

import numpy as np

from thrifty.model import Forest, Policy


def make_policy(**settings):
    """Return a policy that wants feature 2, then 0, then 1, and is never certain."""
    value = Forest.constant([0.5, 0.2, 0.9], "softmax", 3)
    predictor = Forest.constant([0.3], "sigmoid", 3)
    return Policy.of(predictor, value, prices=[1.0] * 3, **settings)


def test_it_asks_for_the_best_feature_first():
    walk, asked = make_policy().walk(), []
    while walk.asks:
        asked += walk.asks
        walk.tell({walk.asks[0]: 0.0})
    assert asked == [2, 0, 1]
    assert walk.touched == (2, 0, 1)


def test_a_value_that_was_not_asked_for_waits():
    walk = make_policy(cap=2.0).walk()
    walk.tell({1: 5.0, 0: 4.0})
    assert (walk.asks, walk.touched) == ((2,), ())
    walk.tell({2: 3.0})
    assert (walk.asks, walk.touched) == ((), (2, 0))


def test_known_features_are_asked_for_first():
    walk = make_policy().with_known([1]).walk()
    assert walk.asks == (1,)
    assert walk.evaluations == 0
    walk.tell({1: 0.0})
    assert walk.asks == (2,)


def test_scores_are_there_from_the_start():
    walk = make_policy().walk()
    np.testing.assert_allclose(walk.scores.sum(), 1.0)
