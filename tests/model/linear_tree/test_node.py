"""One node, and its two kinds of inputs: encoded columns and trees."""

from __future__ import annotations

import numpy as np
import pytest
from forests import draw_forest, draw_table, leaves_and_used
from linear_trees import SHAPE, plain_columns

from thrifty.model.linear_tree.node import ColumnInputs, ColumnRequest, LinearNode, TreeInputs


def test_encoded_columns_read_only_their_columns():
    inputs = ColumnInputs(plain_columns([4, 1, 4]), n_features=6)
    X = np.arange(12.0).reshape(2, 6)
    assert inputs.read(X, np.array([1])).tolist() == [[10.0, 7.0, 10.0]]
    assert np.flatnonzero(inputs.support).tolist() == [1, 4]
    assert inputs.used(X, np.array([0, 1])).tolist() == [inputs.support.tolist()] * 2


def test_a_column_request_asks_for_the_cheapest_missing_column_first():
    request = ColumnRequest([1, 4], {1: 2.0, 4: 1.0}.__getitem__)
    assert request.asks == (4, 1)
    request.tell({3: 0.0, 1: 5.0})
    assert (request.asks, request.touched) == ((4,), (1,))


@pytest.mark.parametrize("rows", [np.array([3]), np.arange(20)], ids=["one row", "a batch"])
def test_trees_are_read_in_the_order_of_the_node(rows):
    rng = np.random.default_rng(0)
    forest, X = draw_forest(rng, SHAPE), draw_table(rng, SHAPE, rows=20)
    trees = np.array([5, 0, 2])
    leaves, _ = leaves_and_used(forest, X)
    inputs = TreeInputs(forest, trees)
    expected = forest.values[leaves[trees][:, rows], 0].T
    assert np.array_equal(inputs.read(X, rows), expected)
    assert not (inputs.used(X, rows) & ~inputs.support).any()


def test_a_node_goes_right_above_its_threshold_and_adds_its_bias():
    node = LinearNode(
        ColumnInputs(plain_columns([0, 1]), 2), np.array([1.0, -1.0]), 0.5,
        np.array([[2.0], [0.0]]), np.array([10.0]), left=-1, right=1,
    )  # fmt: skip
    Z = np.array([[1.0, 0.5], [2.0, 0.0]])
    assert node.goes_right(Z).tolist() == [False, True]
    assert node.outputs(Z).tolist() == [[12.0], [14.0]]
    assert not node.is_leaf
