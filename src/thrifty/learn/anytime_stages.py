"""Moments of a training become the stages of a frozen model.

The trees of a stage are those of the stage before and more, so that a stage reads what the one
before has read. Only their weights differ: those of the stage's own machine, calibrated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.anytime_training import Snapshot
from thrifty.learn.platt import Scaling, platt
from thrifty.model import Forest
from thrifty.model.nodes import INDEX, empty_nodes, is_leaf

__all__ = ["affordable_rung", "moderate", "prior", "stage"]

Floats = NDArray[np.float64]

# A model with more stages than this keeps the best that each of so many budgets pays for.
STAGES = 40
TINY = 1e-12


def prior(shares: Floats, n_features: int) -> Forest:
    """What is answered before anything is bought: the shares of the classes."""
    logs = np.log(np.clip(shares, TINY, 1.0))
    base, link = (logs[1:] - logs[0], "sigmoid") if len(shares) == 2 else (logs, "softmax")
    none = np.zeros(0, dtype=np.int64)
    return Forest(empty_nodes(0), np.zeros((0, 1)), none, none, base, link, n_features)


def stage(
    trees: Forest, snapshot: Snapshot, codes: NDArray[np.int64], weight: Floats, classes: int
) -> Forest:
    """The forest of one moment, calibrated on the held-out rows: their classes and weights.

    Output ``k * room + s`` of `trees` is dimension s of machine k.
    """
    room = len(trees.base) // len(snapshot.betas)
    coefficients = np.zeros((len(snapshot.betas), room))
    for row, beta in zip(coefficients, snapshot.betas, strict=True):
        row[: len(beta)] = beta
    scaling = platt(np.column_stack(snapshot.outputs), codes, weight, classes)
    return _weighted(trees.prefix(snapshot.trees), coefficients, scaling)


def moderate(snapshots: Sequence[Snapshot], prices: BoundPrices) -> list[Snapshot]:
    """All of the moments, or the best that each of a geometric range of budgets pays for."""
    if len(snapshots) <= STAGES:
        return list(snapshots)
    bills = prices.bill(np.array([snapshot.bought > 0 for snapshot in snapshots]))
    least = bills[bills > 0].min()
    # Multiples of the least price: the choice does not depend on the unit.
    budgets = np.geomspace(1.0, bills[-1] / least, STAGES - 1) * (1.0 + TINY)
    chosen = np.unique([0, *np.searchsorted(bills / least, budgets, side="right") - 1])
    return [snapshots[k] for k in chosen]


def affordable_rung(
    rungs: Sequence[Forest], prices: BoundPrices, X: NDArray[np.floating], budget: float
) -> NDArray[np.int64]:
    """Last stage that each row comes to without ever risking more than its budget.

    A row goes on to a stage if all that the new trees may read, and that it has not bought,
    can be paid from what it has left: which of it they will read is not known before.
    """
    used = np.zeros((len(X), rungs[0].n_features), dtype=bool)
    rung, rows = np.zeros(len(X), dtype=np.int64), np.arange(len(X))
    nodes = evaluations = 0
    for number, forest in enumerate(rungs):
        evaluations += forest.most_evaluations
        most = prices.bill(used[rows] | _support(forest, nodes), evaluations)
        rows, nodes = rows[most <= budget], len(forest.nodes)
        if not len(rows):
            break
        rung[rows], used[rows] = number, forest.used(X[rows])
    return rung


def _support(forest: Forest, first: int) -> NDArray[np.bool_]:
    """What splits from node `first` on may read."""
    nodes = forest.nodes[first:]
    support = np.zeros(forest.n_features, dtype=bool)
    support[nodes["feature"][~is_leaf(forest.nodes)[first:]] & INDEX] = True
    return support


def _weighted(trees: Forest, coefficients: Floats, scaling: Scaling) -> Forest:
    sizes = np.diff(trees.roots, append=len(trees.nodes))
    factor = np.repeat(coefficients.ravel()[trees.outputs] * scaling.scale, sizes)
    return Forest(
        nodes=trees.nodes,
        values=trees.values * factor[:, np.newaxis],
        roots=trees.roots,
        outputs=trees.outputs // coefficients.shape[1],
        base=coefficients[:, 0] * scaling.scale + scaling.offset,
        link="sigmoid" if len(coefficients) == 1 else "softmax",
        n_features=trees.n_features,
        subsets=trees.subsets,
    )
