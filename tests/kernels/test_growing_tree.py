"""Nodes are split alike, compiled and uncompiled, and a tree keeps no more room than it needs."""

from __future__ import annotations

import numpy as np
import pytest
from greedy_tree import Case
from uncompiled import agree

from thrifty.kernels import deep_tree
from thrifty.learn.budget_forest.impurities import ThresholdPairs


@pytest.mark.parametrize("splits", ["minimax", "stumps"])
@pytest.mark.parametrize("categorical", [0, 1, 6])
def test_compiled_and_uncompiled_agree(splits, categorical):
    case = Case.draw(5, classes=3, missing=0.2, categorical=categorical, weighted=True)
    agree("deep_tree", lambda module: case.grow_with(module, ThresholdPairs(0), splits))


def test_a_tree_is_as_long_as_its_nodes():
    case = Case.draw(4, classes=3, categorical=2)
    tree = case.grow_with(deep_tree, ThresholdPairs(0))
    size = len(tree.left)
    assert size == 2 * np.sum(tree.left >= 0) + 1
    for part in tree[1:-1]:
        assert len(part) == size
    subsets = tree.threshold[(tree.left >= 0) & case.categorical[tree.feature]]
    assert sorted(subsets) == list(range(len(tree.subsets)))
    assert all(part.base is None for part in tree)


def test_leaves_ask_for_nothing():
    tree = Case.draw(4).grow_with(deep_tree, ThresholdPairs(0))
    leaves = tree.left < 0
    assert not tree.feature[leaves].any()
    assert not tree.threshold[leaves].any()
    assert not tree.missing_left[leaves].any()
