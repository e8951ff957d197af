"""Trees in any order of nodes become forests; what is no tree is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import DataError
from thrifty.learn.adopt.trees import SourceTree, freeze, leaf_means


def make(left, right, **changes):
    m = len(left)
    parts = {
        "left": np.array(left), "right": np.array(right), "feature": np.zeros(m, np.int64),
        "threshold": np.arange(m, dtype=float), "missing_left": np.zeros(m, bool),
        "values": np.arange(m, dtype=float)[:, np.newaxis],
    }  # fmt: skip
    return SourceTree(**{**parts, **changes})


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_the_nodes_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    left, right = [1, 3, -1, -1, 5, -1, -1], [2, 4, -1, -1, 6, -1, -1]
    tree = make(left, right, feature=rng.integers(0, 3, 7), threshold=rng.normal(size=7),
                missing_left=rng.random(7) < 0.5)  # fmt: skip
    new = np.concatenate([[0], 1 + rng.permutation(6)])  # the root stays
    old = np.argsort(new)
    shuffled = SourceTree(
        *(np.where(side[old] < 0, -1, new[side[old]]) for side in (tree.left, tree.right)),
        tree.feature[old], tree.threshold[old], tree.missing_left[old], tree.values[old],
    )  # fmt: skip
    X = rng.normal(size=(50, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    one, other = (freeze([t], [0.0], "sum", 3) for t in (tree, shuffled))
    np.testing.assert_array_equal(one.score(X), other.score(X))


def test_inner_nodes_are_worth_the_mean_of_their_leaves():
    left, right = np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1])
    values = np.array([[99.0], [1.0], [99.0], [4.0], [8.0]])
    cover = np.array([10.0, 5.0, 5.0, 4.0, 1.0])
    means = leaf_means(left, right, values, cover)
    np.testing.assert_allclose(means[:, 0], [(5 * 1 + 5 * 4.8) / 10, 1, 4.8, 4, 8])


def test_leaves_without_cover_count_alike():
    means = leaf_means(np.array([1, -1, -1]), np.array([2, -1, -1]),
                       np.array([[0.0], [2.0], [4.0]]), np.zeros(3))  # fmt: skip
    assert means[0, 0] == 3.0


@pytest.mark.parametrize(
    ("left", "right"),
    [([0, -1, -1], [1, -1, -1]), ([1, 2, 1], [2, 1, 2]), ([1, -1, -1], [9, -1, -1]),
     ([1, -1, -1], [-1, -1, -1]), ([1, -1], [1, -1])],
)  # fmt: skip
def test_nodes_that_are_no_tree_are_refused(left, right):
    with pytest.raises(DataError, match="no trees|one parent"):
        freeze([make(left, right)], [0.0], "sum", 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"values": np.array([[0.0], [np.nan], [1.0]])}, "finite"),
     ({"threshold": np.array([np.inf, 0.0, 0.0])}, "thresholds must be finite"),
     ({"feature": np.array([7, 0, 0])}, "beyond the 1")],
)  # fmt: skip
def test_what_no_forest_may_hold_is_refused(changes, message):
    with pytest.raises(DataError, match=message):
        freeze([make([1, -1, -1], [2, -1, -1], **changes)], [0.0], "sum", 1)


def test_a_forest_may_have_no_trees():
    assert freeze([], [1.5], "sum", 2).score(np.zeros((3, 2))).tolist() == [1.5, 1.5, 1.5]
