"""Learning an anytime representation (Xu 2014, algorithm 4): the same loops, one machine a class.

Moments of a training become the stages of a frozen model.

The trees of a stage are those of the stage before and more, so that a stage reads what the one
before has read. Only their weights differ: those of the stage's own machine, calibrated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.anytime.representation import Machine
from thrifty.learn.anytime.trees import DimensionTrees
from thrifty.learn.calibration import Scaling, platt
from thrifty.model import Forest
from thrifty.model.forest.nodes import INDEX, empty_nodes, is_leaf

__all__ = ["Snapshot", "affordable_rung", "moderate", "prior", "stage", "train"]

Floats = NDArray[np.float64]


class Snapshot(NamedTuple):
    """The model at one moment: the first `trees` trees and the weights of their dimensions.

    `outputs` are those of each machine on the held-out rows.
    """

    trees: int
    betas: tuple[Floats, ...]
    outputs: tuple[Floats, ...]
    bought: NDArray[np.uint8]
    loss: float


class _Album:
    """The best moment of each set of bought features, in the order they were bought."""

    def __init__(self, trees: DimensionTrees, machines: Sequence[Machine]) -> None:
        self.trees, self.machines = trees, machines
        self.snapshots: list[Snapshot] = []

    def take(self) -> None:
        """Keep this moment if it is the first, or the best, with what is bought now."""
        betas = tuple(machine.svm.beta for machine in self.machines)
        outputs = tuple(machine.held_outputs for machine in self.machines)
        loss = sum(machine.loss for machine in self.machines)
        mark = self.trees.mark()
        if self.snapshots and np.array_equal(self.snapshots[-1].bought, mark.bought):
            if self.snapshots[-1].loss <= loss:
                return
            self.snapshots.pop()
        self.snapshots.append(Snapshot(mark.trees, betas, outputs, mark.bought, loss))

    def settle(self) -> None:
        """Forget moments whose trees were taken back."""
        while self.snapshots and self.snapshots[-1].trees > self.trees.count:
            self.snapshots.pop()
        self.take()


def train(
    trees: DimensionTrees,
    machines: Sequence[Machine],
    penalties: Sequence[float],
    dimensions: int,
    rounds: int,
) -> list[Snapshot]:
    """Widen and refine every machine at each penalty; the best moments, cheapest first.

    A moment that a cheaper one equals on the held-out rows is left out.
    """
    album = _Album(trees, machines)
    album.take()
    for penalty in penalties:
        trees.set_penalty(penalty)
        before = trees.count
        for machine in machines:
            _improve(machine, album, dimensions, rounds)
        if trees.count == before and not trees.bought.due().any():
            break  # all is bought, so a smaller penalty would change nothing
    return _falling(album.snapshots)


def _improve(machine: Machine, album: _Album, dimensions: int, rounds: int) -> None:
    """New dimensions at the penalty of the day, and trees added to each."""
    first = machine.size
    for _ in machine.widen(dimensions):
        album.take()
    album.settle()
    for dimension in range(first, machine.size):
        for _ in machine.refine(dimension, rounds):
            album.take()


def _falling(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    kept = list(snapshots[:1])
    for snapshot in snapshots[1:]:
        if snapshot.loss < kept[-1].loss:
            kept.append(snapshot)
    return kept


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
