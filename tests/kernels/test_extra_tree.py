"""An extra-tree equals a plain one in NumPy, compiled or not; its leaves give its answers."""

from __future__ import annotations

import numpy as np
import pytest
from plain_extra_tree import Case
from uncompiled import agree

from thrifty.kernels import extra_tree

KINDS = {
    "two classes": {"n_classes": 2},
    "many classes": {"n_classes": 9},
    "values": {"n_classes": 0},
    "missing values": {"missing": 0.2},
    "missing values of a regression": {"missing": 0.2, "n_classes": 0},
    "categories": {"categorical": 3, "missing": 0.1, "levels": 90},
    "all features": {"max_features": 5},
    "some features": {"features": np.array([0, 3])},
    "one feature": {"features": np.array([4]), "max_features": 1},
    "no feature": {"features": np.empty(0, dtype=np.int64)},
    "large leaves": {"min_rows": 4, "max_features": 5},
    "few draws": {"n_draws": 10},
    "groups": {"groups": np.arange(60) // 7},
    "weights": {"weight": np.arange(60) % 4 / 2.0},
    "weights of a regression": {"weight": np.arange(60) % 4 / 2.0, "n_classes": 0},
}
kinds = pytest.mark.parametrize("kind", KINDS)


def assert_equal_trees(case, seed):
    (tree, leaves), plain = case.grow_with(extra_tree, seed), case.plain(seed)
    np.testing.assert_array_equal(leaves, plain.leaves())
    expected = plain.tree()
    for name in ("left", "feature", "place", "missing_left", "weight", "subsets", "classes"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), name)
    np.testing.assert_allclose(tree.shares, expected.shares, rtol=1e-14)
    np.testing.assert_allclose(tree.decrease, expected.decrease, rtol=1e-9)


@kinds
def test_a_tree_equals_that_in_numpy(kind):
    for seed in range(8):
        assert_equal_trees(Case.draw(seed, **KINDS[kind]), seed)


@pytest.mark.parametrize("n_classes", [0, 2, 5])
def test_a_tree_on_many_rows_equals_that_in_numpy(n_classes):
    assert_equal_trees(Case.draw(1, n=1500, n_classes=n_classes, levels=400, missing=0.02), 3)


@kinds
def test_compiled_and_uncompiled_agree(kind):
    case = Case.draw(2, **KINDS[kind])
    agree("extra_tree", case.grow_with)


def test_compiled_and_uncompiled_agree_on_many_rows():
    agree("extra_tree", Case.draw(1, n=500, missing=0.02).grow_with)


def test_a_pure_bag_is_a_leaf():
    case = Case.draw(0)
    case.y[:] = 1
    tree, leaves = case.grow_with(extra_tree)
    assert tree.left.tolist() == [-1]
    assert (tree.classes.tolist(), tree.shares.tolist()) == ([1], [1.0])
    assert set(leaves.tolist()) == {-1, 0}


def test_leaves_of_equal_values_have_that_value():
    case = Case.draw(0, n_classes=0, weight=np.full(60, 0.7))
    case.y[:] = 0.1
    tree, _ = case.grow_with(extra_tree)
    assert tree.shares.tolist() == [0.1]


@pytest.mark.parametrize("min_rows", [1, 3, 10])
def test_a_leaf_has_enough_rows(min_rows):
    case = Case.draw(3, n=200, min_rows=min_rows)
    tree, _ = case.grow_with(extra_tree)
    # Rows drawn twice weigh twice, and count once.
    assert tree.weight[tree.left < 0].min() >= min_rows
    assert len(tree.left) > 3


# --- answers ------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 4])
def test_the_answer_of_a_node_is_that_of_the_rows_below_it_uncompiled_too(n_classes):
    tree, _ = Case.draw(4, n_classes=n_classes, min_rows=3).grow_with(extra_tree)
    values = np.empty((len(tree.left), max(n_classes, 1)))
    extra_tree.fill_values(tree, values)
    leaf = tree.left < 0
    for node in np.flatnonzero(~leaf):
        below, waiting = [], [node]
        while waiting:
            place = waiting.pop()
            if leaf[place]:
                below.append(place)
            else:
                waiting += [tree.left[place], tree.left[place] + 1]
        expected = np.average(values[below], axis=0, weights=tree.weight[below])
        np.testing.assert_allclose(values[node], expected, rtol=1e-12)

    def fill(module):
        filled = np.empty_like(values)
        module.fill_values(tree, filled)
        return filled

    agree("extra_tree", fill)


@pytest.mark.parametrize("n_classes", [0, 4])
def test_leaves_are_added_to_the_sums_of_their_rows_uncompiled_too(n_classes):
    tree, leaves = Case.draw(4, n_classes=n_classes, min_rows=3).grow_with(extra_tree)
    values = np.empty((len(tree.left), max(n_classes, 1)))
    extra_tree.fill_values(tree, values)

    def add(module):
        sums, counts = np.ones((60, values.shape[1])), np.ones(60)
        module.add_leaves(tree, leaves, sums, counts)
        return sums, counts

    sums, counts = add(extra_tree)
    out = leaves >= 0
    np.testing.assert_array_equal(counts, 1.0 + out)
    np.testing.assert_array_equal(sums[~out], 1.0)
    np.testing.assert_array_equal(sums[out], 1.0 + values[leaves[out]])
    agree("extra_tree", add)
