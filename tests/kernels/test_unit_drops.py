"""Dropping each unit of a forest in one pass: the same as dropping them one by one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from uncompiled import agree

from thrifty.kernels.closure.problem import find_parents
from thrifty.kernels.unit_drops import drop_each_unit
from thrifty.learn.adopt import adopt_forest
from thrifty.learn.pruning.closure_problem import prune
from thrifty.model.forest.nodes import INDEX, is_leaf


@pytest.fixture(scope="module")
def case():
    """A forest of five features, and what the kernel reads; features 3 and 4 are one unit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] > 0).astype(np.int64) + (X[:, 4] > 1)
    forest = adopt_forest(RandomForestClassifier(4, random_state=0).fit(X, y))
    unit_of = np.array([0, 1, 2, 3, 3])
    feature = np.where(is_leaf(forest.nodes), -1, forest.nodes["feature"] & INDEX)
    return X, y, forest, unit_of, feature


def arguments(case):
    X, y, forest, unit_of, feature = case
    unit = np.append(unit_of, -1)[feature].astype(np.int32)
    weight, price = np.linspace(0.5, 2.0, len(y)), np.array([1.0, 2.0, 5.0, 3.0])
    parent = find_parents(forest.nodes["child"])
    return forest.leaves(X), parent, unit, forest.values, forest.base, y, weight, price


def test_dropping_a_unit_changes_errors_and_bills_as_a_pruned_forest_does(case):
    X, y, forest, unit_of, feature = case
    *_, weight, price = arguments(case)
    errors, savings = drop_each_unit(*arguments(case))
    parent = find_parents(forest.nodes["child"])

    def measure(dropped):
        keep = feature >= 0
        for node in range(len(keep)):  # parents come first
            above = parent[node] < 0 or keep[parent[node]]
            keep[node] &= above and unit_of[feature[node]] != dropped
        smaller = prune(forest, keep)
        used = smaller.used(X)
        units = np.stack([used[:, unit_of == u].any(axis=1) for u in range(4)], axis=1)
        return weight @ (smaller.score(X).argmax(axis=1) != y), (units @ price).sum()

    error, bill = measure(-1)
    for unit in range(4):
        new_error, new_bill = measure(unit)
        np.testing.assert_allclose(errors[unit], new_error - error, atol=1e-9)
        np.testing.assert_allclose(savings[unit], bill - new_bill)


def test_dropping_units_agrees_uncompiled(case):
    agree("unit_drops", lambda kernel: kernel.drop_each_unit(*arguments(case)))
