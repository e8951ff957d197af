"""Small hand-made predictors whose purchases and predictions can be checked by hand."""

from __future__ import annotations

import numpy as np

from thrifty import Predictor, Prices
from thrifty.bundle import Schema
from thrifty.model import Forest, LinearTree
from thrifty.model.encoding import Encoding
from thrifty.model.forest.nodes import empty_nodes

# --- one regression tree -----------------------------------------------------

NAMES = ["age", "$bmi$", "thal"]
TABLE = {"age": [-1.0, 1.0, 1.0, -2.0], "$bmi$": [0.0, 1.0, -1.0, 0.0], "thal": [0.0] * 4}
PRICES = Prices({"age": 1.0, "$bmi$": 2.5, "thal": 9.0}, groups={"scale": ["$bmi$"]},
                shared={"scale": 0.75}, unit="EUR")  # fmt: skip


def make_tree(nodes, values, link="sum", d=3) -> Forest:
    """A forest of one tree; nodes are (threshold, left child, feature), None for a leaf."""
    array = empty_nodes(len(nodes))
    for i, node in enumerate(nodes):
        if node:
            array[i] = node
    zero = np.zeros(1, dtype=np.int64)
    return Forest(array, np.array(values, dtype=float)[:, None], zero, zero, np.zeros(1), link, d)


def regression_of(nodes, values) -> Predictor:
    return Predictor(make_tree(nodes, values), Schema.of(TABLE), PRICES.bind(NAMES))


# age <= 0: stop; else $bmi$ <= 0: stop; else stop. The third column is never read.
STUMP = regression_of([(0.0, 1, 0), None, (0.0, 3, 1), None, None], [0, 1, 0, 2, 3])

# --- classifiers on two features ---------------------------------------------

CLASSES = np.array(["down", "up"])


def logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def confident(p: float, feature: int) -> Forest:
    """A model that predicts the sign of a feature with probability p."""
    return make_tree([(0.0, 1, feature), None, None], [0.0, -logit(p), logit(p)], "sigmoid", 2)


def classifier_of(model) -> Predictor:
    return Predictor(model, Schema.of(np.zeros((1, 2))), Prices([1.0, 2.0]).bind(2), CLASSES)


# --- a tree of linear models -------------------------------------------------

LINEAR_PRICES = Prices([1.0, 2.0, 4.0, 8.0], groups={"g": [1, 2]}, shared={"g": 0.5}, unit="$")
LINEAR_X = np.array([[-1.0, 0, 0, 0], [-1.0, 0, 0, 0], [-1.0, 0, 0, 0], [1.0, 5.0, 0, 0]])


def linear_tree_of(**changes) -> Predictor:
    """The root reads 0; left leaf 1 and 2; right node reads 1 and stops up to 2, else reads 3."""
    columns = np.arange(4)
    table = Encoding(columns, np.full(4, -1), np.zeros(4), np.ones(4), np.zeros(4))
    parts = {
        "left": np.array([1, -1, -1, -1]), "right": np.array([2, -1, 3, -1]),
        "starts": np.array([0, 1, 3, 4, 5]), "inputs": np.array([0, 1, 2, 1, 3]),
        "route": np.array([1.0, 0, 0, 1.0, 0]), "threshold": np.array([0.0, 0, 2.0, 0]),
        "weights": np.ones((5, 1)), "bias": np.zeros((4, 1)), "link": "sum", "n_features": 4,
        "encoding": table,
    }  # fmt: skip
    tree = LinearTree(**{**parts, **changes})
    return Predictor(tree, Schema.of(np.zeros((2, 4))), LINEAR_PRICES.bind(4))
