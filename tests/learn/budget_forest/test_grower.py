"""Greedy trees: the known answers of the paper, and the guarantee on the most expensive path."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.data import binary_points
from thrifty.learn.budget_forest.classifier import BudgetForestClassifier
from thrifty.learn.budget_forest.impurities import Powers, ThresholdPairs

PRICES = Prices([1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.01)
GREEDY = {"n_estimators": 1, "bootstrap": False, "max_features": 1.0, "random_state": 0}


def draw(seed, n=250, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    return X, np.digitize(value, [0.0] if classes == 2 else [-0.8, 0.8])


# --- the paper's known answers -----------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_two_features_leave_4_errors_in_1024_points_and_depth_10_none(seed):
    table = binary_points(random_state=seed)
    shallow = BudgetForestClassifier(**GREEDY, max_depth=2).fit(table.X, table.y)
    assert np.sum(shallow.predict(table.X) != table.y) == 4
    assert shallow.used(table.X).any(axis=0).nonzero()[0].tolist() == [0, 1]
    deep = BudgetForestClassifier(**GREEDY).fit(table.X, table.y)
    assert np.sum(deep.predict(table.X) != table.y) == 0
    assert deep.bill(table.X).max() == 10


def test_a_threshold_lets_the_4_errors_be():
    table = binary_points()
    model = BudgetForestClassifier(**GREEDY, impurity=ThresholdPairs(2)).fit(table.X, table.y)
    assert np.sum(model.predict(table.X) != table.y) == 4
    assert model.bill(table.X).max() == 2


def optimum(X, y, own):
    """Least possible largest bill of a tree with pure leaves, over all trees, by exhaustion.

    Features are binary, so no tree needs one twice.
    """
    X, y = X.astype(bool), np.asarray(y)

    @cache
    def least(rows):
        inside = list(rows)
        if len(set(y[inside])) == 1:
            return 0.0
        best = math.inf
        for t in range(X.shape[1]):
            left = tuple(i for i in rows if X[i, t])
            right = tuple(i for i in rows if not X[i, t])
            if left and right:
                best = min(best, own[t] + max(least(left), least(right)))
        return best

    return least(tuple(range(len(y))))


@pytest.mark.parametrize("seed", range(40))
def test_the_dearest_path_is_within_log_f_plus_1_of_the_optimum(seed):
    rng = np.random.default_rng(seed)
    X = np.unique(rng.integers(0, 2, size=(int(rng.integers(6, 20)), 6)), axis=0)
    y = np.arange(len(X)) % int(rng.integers(2, 4))
    y = rng.permutation(y)
    own = rng.choice([1.0, 2.0, 3.0, 5.0], size=6)
    for impurity in (ThresholdPairs(), Powers(3)):
        model = BudgetForestClassifier(Prices(own.tolist()), **GREEDY, impurity=impurity).fit(X, y)
        assert np.array_equal(model.predict(X), y)
        # Counted so that the least impurity above 0 is 1: of two rows, F = 2^l - 2 for powers.
        whole = impurity.value(np.bincount(y).astype(float))
        whole /= impurity.value(np.array([1.0, 1.0]))
        ratio = model.bill(X).max() / optimum(X, y, own)
        assert 1.0 <= ratio <= math.log(whole) + 1.0
