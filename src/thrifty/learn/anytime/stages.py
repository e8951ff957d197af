"""From checkpoints of a training to the stages of a frozen model, and how far a budget gets.

The trees of a stage are those of the stage before and more, so a stage reads what the one before
has read. Only the weights of the trees differ: they are those of the stage's own SVM, calibrated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.anytime.training import Checkpoint
from thrifty.learn.calibration import fit_platt_scaling
from thrifty.learn.dataset import TrainingSet
from thrifty.model import Forest
from thrifty.model.forest.nodes import INDEX, is_leaf

__all__ = ["affordable_stage", "constant_stage", "freeze_stage", "thin_checkpoints"]

Floats = NDArray[np.float64]

# Number of stages of a model, with the constant.
MAX_STAGES = 40
# Keeps the logarithm of the share of a class without weight finite.
MIN_CLASS_SHARE = 1e-12
# Relative tolerance of a budget, for the rounding of bills.
BUDGET_TOL = 1e-12


def constant_stage(train: TrainingSet) -> Forest:
    """Return the stage that reads nothing and predicts the class shares."""
    logs = np.log(np.clip(train.class_shares, MIN_CLASS_SHARE, 1.0))
    if len(logs) == 2:
        return Forest.constant(logs[1:] - logs[0], "sigmoid", train.n_features)
    return Forest.constant(logs, "softmax", train.n_features)


def thin_checkpoints(checkpoints: Sequence[Checkpoint], prices: BoundPrices) -> list[Checkpoint]:
    """Return the checkpoints, or if they are too many those that a range of budgets can reach.

    Budgets are geometrically spaced, in multiples of the smallest bill, so that the choice does
    not depend on the unit of the prices. The first and the last checkpoint are always kept.
    """
    if len(checkpoints) <= MAX_STAGES:
        return list(checkpoints)
    bills = prices.bill(np.array([checkpoint.bought > 0 for checkpoint in checkpoints]))
    smallest = bills[bills > 0].min()
    budgets = np.geomspace(1.0, bills[-1] / smallest, MAX_STAGES - 1) * (1.0 + BUDGET_TOL)
    chosen = np.unique([0, *np.searchsorted(bills / smallest, budgets, side="right") - 1])
    return [checkpoints[k] for k in chosen]


def freeze_stage(
    trees: Forest,
    checkpoint: Checkpoint,
    codes: NDArray[np.int64],
    weight: Floats,
    n_classes: int,
) -> Forest:
    """Return the forest of one checkpoint, with calibrated outputs (Platt 1999).

    Parameters
    ----------
    trees : Forest
        All trees. Its output ``k * width + s`` is dimension s of SVM k.
    checkpoint : Checkpoint
        Says how many of the trees to take, and the weights of the dimensions.
    codes, weight : arrays of shape (m,)
        Class codes and sample weights of the early stopping rows.
    n_classes : int
    """
    width = len(trees.base) // len(checkpoint.betas)
    coefficients = np.zeros((len(checkpoint.betas), width))
    for row, beta in zip(coefficients, checkpoint.betas, strict=True):
        row[: len(beta)] = beta
    scaling = fit_platt_scaling(np.column_stack(checkpoint.outputs), codes, weight, n_classes)
    part = trees.prefix(checkpoint.trees)
    n_nodes = np.diff(part.roots, append=len(part.nodes))
    factor = np.repeat(coefficients.ravel()[part.outputs] * scaling.scale, n_nodes)
    return Forest(
        nodes=part.nodes,
        values=part.values * factor[:, np.newaxis],
        roots=part.roots,
        outputs=part.outputs // width,
        base=coefficients[:, 0] * scaling.scale + scaling.offset,
        link="sigmoid" if len(coefficients) == 1 else "softmax",
        n_features=part.n_features,
        subsets=part.subsets,
    )


def affordable_stage(
    stages: Sequence[Forest], prices: BoundPrices, X: NDArray[np.floating], budget: float
) -> NDArray[np.int64]:
    """Return the last stage (n,) that each row reaches without the risk of exceeding the budget.

    A row goes on to a stage only if its budget covers everything that the new trees may read. Which
    of it they will read is known only afterwards.
    """
    used = np.zeros((len(X), stages[0].n_features), dtype=bool)
    last, rows = np.zeros(len(X), dtype=np.int64), np.arange(len(X))
    n_nodes = 0
    for number, forest in enumerate(stages):
        splits = forest.nodes["feature"][n_nodes:][~is_leaf(forest.nodes)[n_nodes:]]
        may_read = np.zeros(forest.n_features, dtype=bool)
        may_read[splits & INDEX] = True
        worst_bill = prices.bill(used[rows] | may_read, forest.most_evaluations)
        rows, n_nodes = rows[worst_bill <= budget], len(forest.nodes)
        if not len(rows):
            break
        last[rows], used[rows] = number, forest.used(X[rows])
    return last
