"""Random objectives and soft trees, and the objective of the thesis written out row by row."""

from __future__ import annotations

import numpy as np

from thrifty import Prices
from thrifty.learn.cost_tree.cost_terms import ROOT_SMOOTHING, CostTerms
from thrifty.learn.cost_tree.objective import HalfSquaredError, LogisticLoss, SoftObjective
from thrifty.learn.cost_tree.soft_tree import SoftTree, TreeShape

# Column 1 has two encoded columns; columns 1 and 2 share the price of a group.
COLUMNS = np.array([0, 1, 1, 2, 3])
PRICES = Prices(
    [1.0, 2.0, 0.0, 4.0], groups={"g": [1, 2]}, shared={"g": 3.0}, evaluation=0.25
).bind(4)
# Shape, and whether the loss of a node counts only for the rows that exit there.
SHAPES = {
    "tree": (TreeShape.full(2), False),
    "cascade": (TreeShape.chain(3), True),
    "tree at exit": (TreeShape.full(2), True),
}
LOSSES = {"squared": HalfSquaredError("sum"), "logistic": LogisticLoss()}


def random_objective(rng, loss, at_exit=False, n=30, penalty=0.05):
    """An objective with random rows, weights of rows and weights of classes."""
    Z = rng.normal(size=(n, len(COLUMNS)))
    y = np.where(Z[:, 0] * Z[:, 1] + rng.normal(size=n) > 0, 1.0, -1.0)
    weight = rng.random(n)
    weight /= weight.sum()
    terms = CostTerms.of_columns(COLUMNS, PRICES)
    return SoftObjective(
        Z, y, weight, weight * rng.uniform(0.5, 2.0, n), loss, terms, penalty, 0.01, at_exit
    )


def random_tree(rng, shape):
    """A soft tree with random parameters."""
    tree = SoftTree.zero(shape, len(COLUMNS))
    tree.weights = rng.normal(size=tree.weights.shape)
    tree.bias, tree.threshold = rng.normal(size=(2, len(shape)))
    tree.slope = np.exp(rng.normal(size=len(shape)))
    return tree


def rounded_root(x):
    return np.sqrt(x + ROOT_SMOOTHING**2) - ROOT_SMOOTHING


def plain_objective(on, tree):
    """Eq. 3.13 or 3.21, row by row and path by path."""
    shape, total = tree.shape, 0.0
    costs = {}
    for node in range(len(shape)):
        path = np.flatnonzero(shape.ancestry[node])
        squares = np.square(tree.weights[path]).sum(axis=0)
        # The own prices of columns 0, 1 and 3 (column 2 has none), then that of the group.
        terms = np.array([squares[0], squares[1:3].sum(), squares[4], squares[1:4].sum()])
        prices = rounded_root(terms) @ [1.0, 2.0, 4.0, 3.0]
        costs[node] = on.penalty * (prices + 0.25 * len(path))
    for i in range(len(on.Z)):
        reach = {0: 1.0}
        for node in range(len(shape)):
            value = float(on.Z[i] @ tree.weights[node])
            right = 1.0 / (1.0 + np.exp(-tree.slope[node] * (value - tree.threshold[node])))
            sides = {"left": 1.0 - right, "right": right}
            p_exit = 0.0
            for side, share in sides.items():
                child = int(getattr(shape, side)[node])
                if child < 0:
                    p_exit += reach[node] * share
                else:
                    reach[child] = reach[node] * share
            f, y = value + tree.bias[node], on.y[i]
            squared = isinstance(on.loss, HalfSquaredError)
            loss = 0.5 * (f - y) ** 2 if squared else np.log1p(np.exp(-y * f))
            total += on.loss_weight[i] * (p_exit if on.at_exit else reach[node]) * loss
            total += on.weight[i] * p_exit * costs[node]
    norm = on.shrinkage * rounded_root(np.square(tree.weights)).sum()
    return total + norm + 0.5 * on.loss.bias_ridge * np.square(tree.bias).sum()
