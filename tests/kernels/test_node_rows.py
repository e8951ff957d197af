"""The rows of a node are read, counted and ranked alike, compiled and uncompiled."""

from __future__ import annotations

import pytest
from greedy_tree import Case, Mine
from hypothesis import given, settings
from hypothesis import strategies as st
from uncompiled import agree, assert_same, uncompiled

import thrifty.kernels.deep_tree as deep_tree
from thrifty.learn.budget_forest.impurities import Powers, ThresholdPairs


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


@given(
    seed=st.integers(0, 9),
    size=st.integers(1, 300),
    near=st.sampled_from([0, 1, 20, 4096]),
    classes=st.sampled_from([2, 5]),
    splits=st.sampled_from(["minimax", "expected", "stumps"]),
    bootstrap=st.booleans(),
    impurity=st.sampled_from([ThresholdPairs(1), Powers(2), Mine()]),
)
@settings(max_examples=40)
def test_a_table_in_any_parts_gives_the_same_trees(
    seed, size, near, classes, splits, bootstrap, impurity
):
    n = 40 if isinstance(impurity, Mine) else 250
    case = Case.draw(seed, classes=classes, n=n, missing=0.1, categorical=1, weighted=seed % 2 > 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deep_tree, "NEAR", near)
        whole, parts = (
            case.trees(splits, bootstrap, size=each).grow(impurity, [1, 2]) for each in (None, size)
        )
    assert_same(whole, parts)


@pytest.mark.parametrize("size", [13, 40])
def test_tables_in_parts_are_read_uncompiled_too(size, monkeypatch):
    for module in (deep_tree, uncompiled("deep_tree")):
        monkeypatch.setattr(module, "NEAR", 20)
    grow_both_ways(Case.draw(2, classes=5, n=90, missing=0.1, categorical=1), size=size)
