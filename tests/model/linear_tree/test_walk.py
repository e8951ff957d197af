"""The walk of one example down a tree of linear models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from linear_trees import INPUTS, LINKS, SEEDS, draw_tree, quadrants


def walk_to_the_end(tree, x, order=()):
    """Values in some order first, then whatever the walk asks for."""
    walk = tree.walk()
    for feature in order:
        walk.tell({int(feature): float(x[feature])})
    while walk.asks:
        walk.tell({feature: float(x[feature]) for feature in walk.asks})
    return walk


@given(SEEDS, LINKS, INPUTS, st.booleans())
def test_a_walk_ends_with_the_bits_of_the_batch(seed, link, inputs, shuffled):
    rng, tree, X = draw_tree(seed, link, inputs, rows=8)
    scores, used, evaluations = tree.score(X), tree.used(X), tree.evaluations(X)
    for row, x in enumerate(X):
        walk = walk_to_the_end(tree, x, rng.permutation(tree.n_features) if shuffled else ())
        assert np.array_equal(walk.scores, np.atleast_1d(scores[row]))
        assert set(walk.touched) == set(np.flatnonzero(used[row]))
        assert len(set(walk.touched)) == len(walk.touched)
        assert walk.evaluations == evaluations[row]


def test_a_walk_asks_node_by_node_and_scores_with_the_last_complete_node():
    walk = quadrants().walk()
    assert walk.scores.tolist() == [7.0]  # the root's bias
    assert (walk.asks, walk.evaluations) == ((0,), 0)
    walk.tell({0: 4.0})
    assert walk.scores.tolist() == [9.0]  # the root's output
    assert (walk.asks, walk.evaluations) == ((2,), 1)  # column 0 is paid for
    walk.tell({2: 1.0})
    assert walk.scores.tolist() == [106.0]
    assert (walk.asks, walk.touched, walk.evaluations) == ((), (0, 2), 2)


def test_a_walk_asks_for_the_cheapest_first():
    tree = replace(quadrants(), left=np.full(1, -1), right=np.full(1, -1), starts=np.array([0, 4]),
                   threshold=np.zeros(1), bias=np.zeros((1, 1)))  # fmt: skip
    assert tree.walk({0: 3.0, 1: 1.0, 2: 1.0}.__getitem__).asks == (1, 2, 0)


def test_an_early_value_is_read_only_if_a_node_needs_it():
    walk = quadrants().walk()
    walk.tell({1: 5.0, 2: 1.0})
    assert (walk.touched, walk.asks) == ((), (0,))
    walk.tell({0: 4.0})
    assert (walk.touched, walk.asks) == ((0, 2), ())
