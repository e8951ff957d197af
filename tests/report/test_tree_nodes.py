"""The nodes of a tree of linear models: rows, purchases and predictions add up."""

from __future__ import annotations

import numpy as np
import pytest
from report_models import LINEAR_X as X
from report_models import linear_tree_of

from thrifty import GreedyMiserRegressor, SubmodularTreeClassifier
from thrifty.errors import DataError
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes
from thrifty.report.tree_nodes import exit_similarity, tree_nodes


def test_every_node_has_its_rows_and_its_new_purchases() -> None:
    nodes = tree_nodes(linear_tree_of(), X)
    assert [(n.node, n.parent, n.depth, n.side) for n in nodes] == [
        (0, -1, 0, ""), (1, 0, 1, "left"), (2, 0, 1, "right"), (3, 2, 2, "right")
    ]  # fmt: skip
    assert [n.share for n in nodes] == [1.0, 0.75, 0.25, 0.25]
    assert [n.exits for n in nodes] == [0.0, 0.75, 0.0, 0.25]
    assert [n.bought for n in nodes] == [(0,), (1, 2), (1,), (3,)]
    assert [n.price for n in nodes] == [1.0, 6.5, 2.5, 8.0]
    assert [n.threshold for n in nodes] == [0.0, None, 2.0, None]


def test_purchases_add_up_to_the_bills() -> None:
    predictor = linear_tree_of()
    nodes = tree_nodes(predictor, X)
    mean = sum(node.share * node.price for node in nodes)
    assert mean == pytest.approx(predictor.bill(X).mean())
    assert sum(node.exits for node in nodes) == 1.0


def test_a_node_that_no_row_reaches_says_so() -> None:
    nodes = {node.node: node for node in tree_nodes(linear_tree_of(), X[:3])}
    assert (nodes[3].share, nodes[3].bought, nodes[3].price) == (0.0, (), 0.0)
    assert nodes[3].prediction == "no rows"


def test_predictions_are_summarized_by_class() -> None:
    table = np.random.default_rng(0).normal(size=(400, 2))
    two = np.where(table[:, 0] > 0, "yes", "no")
    model = SubmodularTreeClassifier(node_budget=2, max_depth=1).fit(table, two)
    assert tree_nodes(model.predictor_, table[two == "yes"])[0].prediction.startswith("yes: ")
    three = np.where(table[:, 0] > 1, "high", two)
    model = SubmodularTreeClassifier(node_budget=2, max_depth=1).fit(table, three)
    (root,) = tree_nodes(model.predictor_, table[table[:, 0] < -1])
    assert root.prediction == "no: 100%"


def test_similarity_is_the_share_of_features_in_common() -> None:
    exits, similarity = exit_similarity(linear_tree_of())
    assert exits == (1, 2, 3)  # a node with one child has an exit too
    # {0, 1, 2}, {0, 1}, {0, 1, 3}
    assert np.allclose(similarity, [[1, 2 / 3, 2 / 4], [2 / 3, 1, 2 / 3], [2 / 4, 2 / 3, 1]])


def test_paths_that_read_nothing_are_alike() -> None:
    nothing = {"starts": np.zeros(5, int), "inputs": np.zeros(0, int), "route": np.zeros(0),
               "weights": np.zeros((0, 1))}  # fmt: skip
    assert np.array_equal(exit_similarity(linear_tree_of(**nothing))[1], np.ones((3, 3)))


def test_trees_as_inputs_count_by_the_features_that_they_read() -> None:
    nodes = empty_nodes(5)
    nodes[0], nodes[1] = (0.0, 1, 0), (0.0, 3, 3)
    base = Forest(nodes, np.arange(5.0)[:, None], np.array([0]), np.array([0]), np.zeros(1), "sum",
                  4)  # fmt: skip
    one = {"left": np.array([-1]), "right": np.array([-1]), "starts": np.array([0, 1]),
           "inputs": np.array([0]), "route": np.zeros(1), "threshold": np.zeros(1),
           "weights": np.ones((1, 1)), "bias": np.zeros((1, 1)), "encoding": None,
           "base": base}  # fmt: skip
    (node,) = tree_nodes(linear_tree_of(**one), X)
    assert node.bought == (0, 3)
    assert node.price == 1.0 + 0.75 * 8.0  # three rows of four read column 3


def test_another_kind_of_model_is_rejected() -> None:
    table = np.random.default_rng(0).normal(size=(100, 2))
    model = GreedyMiserRegressor(n_estimators=3).fit(table, table[:, 0])
    for function in (lambda p: tree_nodes(p, table), exit_similarity):
        with pytest.raises(DataError, match="is a Forest, not a tree of linear models"):
            function(model.predictor_)
