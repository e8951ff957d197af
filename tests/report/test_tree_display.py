"""The picture of a tree of linear models: what it tells is what the rows do."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from thrifty import GreedyMiserRegressor, Predictor, Prices, SubmodularTreeClassifier, TreeDisplay
from thrifty.bundle import Schema
from thrifty.errors import DataError
from thrifty.frontier.splits import Rows
from thrifty.model import Forest, LinearTree
from thrifty.model.encoding import Encoding
from thrifty.model.forest.nodes import empty_nodes
from thrifty.report import facts_of, page
from thrifty.report.branches import branches, similarity

PRICES = Prices([1.0, 2.0, 4.0, 8.0], groups={"g": [1, 2]}, shared={"g": 0.5}, unit="$")
X = np.array([[-1.0, 0, 0, 0], [-1.0, 0, 0, 0], [-1.0, 0, 0, 0], [1.0, 5.0, 0, 0]])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def tree_of(inputs=None, **changes) -> Predictor:
    """The root reads 0; left leaf 1 and 2; right node reads 1 and exits below 2, else reads 3."""
    columns = np.arange(4)
    table = Encoding(columns, np.full(4, -1), np.zeros(4), np.ones(4), np.zeros(4))
    parts = {
        "left": np.array([1, -1, -1, -1]), "right": np.array([2, -1, 3, -1]),
        "starts": np.array([0, 1, 3, 4, 5]), "slots": np.array([0, 1, 2, 1, 3]),
        "route": np.array([1.0, 0, 0, 1.0, 0]), "threshold": np.array([0.0, 0, 2.0, 0]),
        "weights": np.ones((5, 1)), "bias": np.zeros((4, 1)), "link": "sum", "n_features": 4,
        "encoding": table,
    }  # fmt: skip
    tree = LinearTree(**{**parts, **changes})
    return Predictor(tree, Schema.of(np.zeros((2, 4))), PRICES.bind(4))


def test_every_node_tells_who_comes_and_what_is_new() -> None:
    told = branches(tree_of(), X)
    assert [(b.node, b.parent, b.depth, b.side) for b in told] == [
        (0, -1, 0, ""), (1, 0, 1, "left"), (2, 0, 1, "right"), (3, 2, 2, "right")
    ]  # fmt: skip
    assert [b.share for b in told] == [1.0, 0.75, 0.25, 0.25]
    assert [b.exits for b in told] == [0.0, 0.75, 0.0, 0.25]
    assert [b.bought for b in told] == [(0,), (1, 2), (1,), (3,)]
    assert [b.price for b in told] == [1.0, 6.5, 2.5, 8.0]
    assert [b.threshold for b in told] == [0.0, None, 2.0, None]


def test_what_is_bought_adds_up_to_the_bills() -> None:
    predictor = tree_of()
    told = branches(predictor, X)
    mean = sum(branch.share * branch.price for branch in told)
    assert mean == pytest.approx(predictor.bill(X).mean())
    assert sum(branch.exits for branch in told) == 1.0


def test_a_node_that_no_row_comes_to_says_so() -> None:
    told = {branch.node: branch for branch in branches(tree_of(), X[:3])}
    assert (told[3].share, told[3].bought, told[3].price) == (0.0, (), 0.0)
    assert told[3].answer == "no rows"


def test_similarity_is_the_share_of_features_in_common() -> None:
    exits, alike = similarity(tree_of())
    assert exits == (1, 2, 3)  # a node with one child has an exit too
    # {0, 1, 2}, {0, 1}, {0, 1, 3}
    assert np.allclose(alike, [[1, 2 / 3, 2 / 4], [2 / 3, 1, 2 / 3], [2 / 4, 2 / 3, 1]])


def test_ways_that_read_nothing_are_alike() -> None:
    nothing = {"starts": np.zeros(5, int), "slots": np.zeros(0, int), "route": np.zeros(0),
               "weights": np.zeros((0, 1))}  # fmt: skip
    assert np.array_equal(similarity(tree_of(**nothing))[1], np.ones((3, 3)))


def test_trees_as_inputs_are_told_by_the_features_that_they_read() -> None:
    nodes = empty_nodes(5)
    nodes[0], nodes[1] = (0.0, 1, 0), (0.0, 3, 3)
    base = Forest(nodes, np.arange(5.0)[:, None], np.array([0]), np.array([0]), np.zeros(1), "sum",
                  4)  # fmt: skip
    one = {"left": np.array([-1]), "right": np.array([-1]), "starts": np.array([0, 1]),
           "slots": np.array([0]), "route": np.zeros(1), "threshold": np.zeros(1),
           "weights": np.ones((1, 1)), "bias": np.zeros((1, 1)), "encoding": None,
           "base": base}  # fmt: skip
    (told,) = branches(tree_of(**one), X)
    assert told.bought == (0, 3)
    assert told.price == 1.0 + 0.75 * 8.0  # three rows of four read column 3


def test_the_picture_has_a_box_for_every_node_and_a_line_for_every_child() -> None:
    ax = Figure().add_subplot()
    display = TreeDisplay.from_predictor(tree_of(), X, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert display.nodes_[1].get_text().splitlines()[:2] == [
        "1: 75 % of the rows", "+ 1, 2 ($ 6.50)"
    ]  # fmt: skip
    wide = [line.get_linewidth() for line in ax.lines]
    assert len(wide) == 3 and wide[0] > wide[1] == wide[2]
    texts = [text.get_text() for text in ax.texts]
    assert "\u2264 0" in texts and "> 0" in texts and "> 2" in texts
    places = {node: text.get_position() for node, text in display.nodes_.items()}
    assert len(set(places.values())) == 4
    assert places[0][0] < places[1][0] == places[2][0] < places[3][0]
    assert not any(text.get_parse_math() for text in display.nodes_.values())


def test_the_similarity_is_drawn_with_its_numbers() -> None:
    display = TreeDisplay.from_predictor(tree_of(), X)
    ax = display.plot_similarity()
    assert [text.get_text() for text in ax.texts][:3] == ["1.00", "0.67", "0.50"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]


def test_a_fitted_classifier_is_drawn_and_told_in_the_report() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(400, 4))
    y = np.where(table[:, 0] + 0.2 * table[:, 1] > 0, "yes", "<no>")
    model = SubmodularTreeClassifier(PRICES, node_budget=3, max_depth=3).fit(table, y)
    display = TreeDisplay.from_estimator(model, table)
    assert len(display.branches) == len(model.model_.left)
    assert display.branches[0].answer.startswith("yes: ")
    told = facts_of(model.predictor_, Rows(np.arange(400), table, y))
    assert json.loads(json.dumps(told["tree"], allow_nan=False)) == told["tree"]
    html = page(told)
    assert "<h2>The tree</h2>" in html and "up to the threshold of 0" in html


def test_another_kind_of_model_is_refused_and_has_no_tree_in_the_report() -> None:
    table = np.random.default_rng(0).normal(size=(100, 2))
    model = GreedyMiserRegressor(n_estimators=3).fit(table, table[:, 0])
    with pytest.raises(DataError, match="is a Forest, not a tree of linear models"):
        TreeDisplay.from_estimator(model, table)
    told = facts_of(model.predictor_, Rows(np.arange(100), table, table[:, 0]))
    assert told["tree"] == []
    assert "<h2>The tree</h2>" not in page(told)
