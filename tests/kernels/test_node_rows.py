"""The rows of a node are read, counted and ranked alike, compiled and uncompiled."""

from __future__ import annotations

import pytest
from greedy_tree import Case
from uncompiled import agree

from thrifty.learn.budget_forest.impurities import ThresholdPairs


def grow_both_ways(case, **settings):
    agree("deep_tree", lambda deep_tree: case.grow_with(deep_tree, ThresholdPairs(0), **settings))


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("n", [90, 600], ids=["by rows", "by features"])
def test_bins_are_read_by_rows_and_by_features_uncompiled_too(n, classes):
    grow_both_ways(Case.draw(2, classes=classes, n=n), max_depth=3)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("splits", ["minimax", "expected"])
def test_missing_values_are_counted_uncompiled_too(classes, splits):
    grow_both_ways(Case.draw(2, classes=classes, missing=0.3), splits=splits)


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_categories_are_ranked_uncompiled_too(classes, missing):
    # The largest class is that of the even or the odd half of any word.
    for largest in range(classes):
        case = Case.draw(largest, classes=classes, missing=missing, categorical=6)
        case.codes[:40] = largest
        grow_both_ways(case)
