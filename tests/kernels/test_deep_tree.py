"""A deep tree counts its rows, stops where it must, and depends on its seed alone."""

from __future__ import annotations

import numpy as np
import pytest
from greedy_tree import Brute, Case, Mine, sides
from uncompiled import agree

from thrifty.costs import Prices
from thrifty.kernels.threads import threads
from thrifty.learn.budget_forest.impurities import ThresholdPairs


@pytest.mark.parametrize("settings", [{}, {"bootstrap": True}, {"max_features": 2}], ids=str)
def test_the_plain_version_grows_the_same_trees(settings):
    # Two levels: one cut a feature, so that no tie between cuts is left to either version.
    for seed in range(8):
        case = Case.draw(seed, classes=3, levels=2, n=60)
        trees = case.trees(**settings)
        for mine, ours in zip(
            trees.grow(Mine(), [1, 2]), trees.grow(ThresholdPairs(0), [1, 2]), strict=True
        ):
            for part, other in zip(mine, ours, strict=True):
                np.testing.assert_array_equal(part, other)


@pytest.mark.parametrize("impurity", [ThresholdPairs(0), Mine()], ids=["compiled", "plain"])
def test_stumps_divide_every_impure_node(impurity):
    for seed in range(6):
        case = Case.draw(seed, classes=3, missing=0.2, categorical=1, levels=30)
        tree = case.trees("stumps").grow(impurity, [seed])[0]
        brute = Brute(case, impurity)
        waiting = [(0, np.arange(len(case.codes)))]
        while waiting:
            node, rows = waiting.pop()
            if tree.left[node] < 0:
                twins = len(np.unique(np.nan_to_num(case.X[rows], nan=-1), axis=0)) == 1
                assert twins or impurity.value(brute.counts(rows)) == 0
                continue
            left = sides(tree, case, node, rows)
            assert 0 < left.sum() < len(rows)
            waiting += [(tree.left[node], rows[left]), (tree.left[node] + 1, rows[~left])]


def test_stumps_of_a_column_with_one_value_part_the_missing_ones():
    X = np.array([[1.0], [np.nan]] * 10)
    case = Case(X, np.arange(20) % 2, 2, np.zeros(1, bool), None, Prices())
    for impurity in (ThresholdPairs(0), Mine()):
        tree = case.trees("stumps").grow(impurity, [0])[0]
        assert len(tree.left) == 3
        assert not tree.missing_left[0]


def test_stumps_put_no_node_of_missing_values_alone_on_the_left():
    # They are alone on the right instead, so that no split is tried twice.
    for seed in range(6):
        case = Case.draw(seed, n=200, missing=0.3, levels=3)
        tree = case.trees("stumps").grow(ThresholdPairs(0), [seed])[0]
        waiting = [(0, np.arange(len(case.codes)))]
        while waiting:
            node, rows = waiting.pop()
            if tree.left[node] >= 0:
                left = sides(tree, case, node, rows)
                assert not np.isnan(case.X[rows[left], tree.feature[node]]).all()
                waiting += [(tree.left[node], rows[left]), (tree.left[node] + 1, rows[~left])]


def test_counts_are_those_of_the_rows_drawn():
    case = Case.draw(2, classes=5)
    tree = case.trees(bootstrap=True).grow(ThresholdPairs(0), [9])[0]
    counts = np.stack([tree.counts >> 32, tree.counts & 0xFFFFFFFF], axis=2).reshape(-1, 6)[:, :5]
    assert counts[0].sum() == len(case.codes)
    inner = np.flatnonzero(tree.left >= 0)
    np.testing.assert_array_equal(
        counts[inner], counts[tree.left[inner]] + counts[tree.left[inner] + 1]
    )


def test_a_row_of_twice_the_weight_is_drawn_twice_as_often():
    n = 4000
    weight = np.where(np.arange(n) < n // 2, 2.0, 1.0)
    case = Case(
        np.zeros((n, 1)), (np.arange(n) < n // 2) * 1, 2, np.zeros(1, bool), weight, Prices()
    )
    tree = case.trees(bootstrap=True).grow(ThresholdPairs(0), [0])[0]
    assert (tree.counts[0, 0] & 0xFFFFFFFF) / n == pytest.approx(2 / 3, abs=0.03)


def test_a_tree_stops_at_its_depth():
    case = Case.draw(4, n=300)
    tree = case.trees(max_depth=2).grow(ThresholdPairs(0), [0])[0]
    assert 3 < len(tree.left) <= 7


def test_a_seed_gives_one_tree_for_any_number_of_threads():
    case = Case.draw(5, classes=3, n=400)
    trees = case.trees(bootstrap=True, max_features=1)
    grown = []
    for count in (1, 2, 3):
        with threads(count):
            grown.append(trees.grow(ThresholdPairs(0), list(range(6))))
    for one, two, three in zip(*grown, strict=True):
        for a, b, c in zip(one, two, three, strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(a, c)
    assert len({len(tree.left) for tree in grown[0]}) > 1


def test_the_threshold_lies_in_the_middle_of_the_gap():
    X = np.array([[0.0], [1.0], [2.0], [6.0], [7.0], [8.0]])
    inner = np.array([0, 2, 3, 5])
    case = Case(X, np.array([0, 0, 0, 1, 1, 1]), 2, np.zeros(1, bool), None, Prices())
    assert case.trees().grow(ThresholdPairs(0), [0])[0].threshold[0] == 4.0
    # The rows of weight 0 keep their bins, 1 and 7, which are empty in the tree.
    case.weight = np.isin(np.arange(6), inner).astype(float)
    case.codes = np.array([0, 0, 1, 1, 1, 1])
    assert case.trees().grow(ThresholdPairs(0), [0])[0].threshold[0] == 1.0


@pytest.mark.parametrize("settings", [{}, {"max_features": 1}, {"max_depth": 2}], ids=str)
@pytest.mark.parametrize("seed", [2, 3])
def test_compiled_and_uncompiled_agree(seed, settings):
    # Odd seeds have a group with a shared price.
    case = Case.draw(seed, classes=3, n=60)
    agree("deep_tree", lambda deep_tree: case.grow_with(deep_tree, ThresholdPairs(0), **settings))


def test_uncompiled_kernels_agree_on_features_with_one_value_and_on_empty_ones():
    case = Case.draw(1, classes=2, n=40)
    case.X[:, 0] = 1.0
    case.X[:, 1] = np.nan
    agree("deep_tree", lambda deep_tree: case.grow_with(deep_tree, ThresholdPairs(0)))


def test_uncompiled_kernels_agree_where_no_feature_helps():
    case = Case.draw(1, classes=2, n=40)
    case.X[:] = 0.0

    def run(deep_tree):
        tree = case.grow_with(deep_tree, ThresholdPairs(0))
        assert tree.left.tolist() == [-1]
        return tree

    agree("deep_tree", run)


def test_uncompiled_kernels_agree_on_more_than_64_features():
    case = Case.draw(1, classes=2, n=30)
    rng = np.random.default_rng(0)
    case.X = rng.integers(0, 2, size=(30, 70)).astype(float)
    case.categorical = np.zeros(70, dtype=bool)
    case.prices = Prices([1.0] * 70, groups={"last": [68, 69]}, shared={"last": 0.5})
    agree("deep_tree", lambda deep_tree: case.grow_with(deep_tree, ThresholdPairs(0)))
