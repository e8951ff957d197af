"""Rows go down the trees in NumPy as one row at a time does."""

from __future__ import annotations

import numpy as np
import pytest
from forests import Shape, draw_forest, draw_table, leaves_and_used

from thrifty.model.forest.descent import descend, next_nodes
from thrifty.model.forest.nodes import CATEGORICAL, MISSING_LEFT, empty_nodes


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [Shape(), Shape(depth=0), Shape(trees=0)], ids=str)
def test_leaves_are_those_of_each_row_by_itself(shape, dtype):
    rng = np.random.default_rng(0)
    forest, X = draw_forest(rng, shape), draw_table(rng, shape, dtype=dtype)
    leaves = descend(forest.nodes, forest.subsets, forest.roots, X)
    assert leaves.dtype == np.int32
    np.testing.assert_array_equal(leaves, leaves_and_used(forest, X)[0])


def children(threshold, feature, values, subsets=()):
    """Return where one split, whose children are nodes 1 and 2, sends some values."""
    nodes = empty_nodes(3)
    nodes[0] = (threshold, 1, feature)
    X = np.array(values)[:, np.newaxis]
    subsets = np.array(subsets, dtype=np.uint64).reshape(-1, 4)
    return next_nodes(nodes, subsets, X, np.arange(len(X)), np.zeros(len(X), np.int32)).tolist()


def test_values_up_to_the_threshold_go_left():
    assert children(0.5, 0, [-1.0, 0.5, 0.6]) == [1, 1, 2]


@pytest.mark.parametrize(("flag", "child"), [(0, 2), (MISSING_LEFT, 1)])
def test_a_missing_value_goes_where_the_flag_says(flag, child):
    assert children(0.5, flag, [np.nan]) == [child]
    assert children(0.0, flag | CATEGORICAL, [np.nan], [[1, 0, 0, 0]]) == [child]


def test_codes_of_the_subset_go_left_and_what_is_no_code_goes_right():
    subset = [1, 0, 0, 1 << 63]
    values = [0.0, 255.0, 1.0, 256.0, -1.0, 0.5]
    assert children(0.0, CATEGORICAL, values, [subset]) == [1, 1, 2, 2, 2, 2]
