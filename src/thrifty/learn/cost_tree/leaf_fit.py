"""Answers of the nodes of a hard tree, fitted to the rows that get them.

Fine-tuning without the cost (Xu 2014, sec. 3.4.4): the choice of inputs is made, and the relaxed cost
has shrunk their weights. A leaf also drops inputs that do not pay by the exact objective.

Which inputs of a leaf pay: backward elimination on the exact objective.

What the loss gains when an input goes and the others are fitted anew follows from the inverse
hessian alone, without a look at the rows; it is exact where the loss is a parabola.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.hard_tree import CRUMB, HardTree, weighed
from thrifty.learn.cost_tree.leaf_step import PROP, THOROUGH, Effort, LeafProblem, solve_leaf
from thrifty.learn.cost_tree.objective import SoftObjective

__all__ = [
    "LeafTolls",
    "Parabola",
    "answer_all",
    "answer_node",
    "answered",
    "fit_answer",
    "polish",
    "worth",
]

Floats = NDArray[np.float64]

# More than rounding.
MARGIN = 1e-10


@dataclass(frozen=True, eq=False)
class LeafTolls:
    """What a leaf saves by dropping inputs.

    Parameters
    ----------
    tolls : array (A,)
        Penalty times price of each term, times the share of the rows that come to the leaf.
    members : array (A, m)
        Which of the leaf's inputs belong to each term.
    elsewhere : array (A,)
        Inputs of each term that the way to the leaf weighs anyway.
    bundles : bool array (m, C)
        Sets of inputs that may go together.
    """

    tolls: Floats
    members: Floats
    elsewhere: Floats
    bundles: NDArray[np.bool_]

    def saved(self, alive: NDArray[np.bool_], groups: Floats) -> Floats:
        """What each of some sets of inputs (m, C) would save now."""
        count = self.elsewhere + self.members @ alive
        after = count[:, np.newaxis] - self.members @ groups
        return np.asarray(self.tolls @ ((count > 0)[:, np.newaxis] & (after <= 0)))


class Parabola:
    """The least point of a leaf's loss, and where it moves when inputs go, by the inverse hessian.

    Parameters
    ----------
    problem : LeafProblem
        Of the leaf's inputs, free of charge.
    beta, bias
        Where the loss is least.
    """

    def __init__(self, problem: LeafProblem, beta: Floats, bias: float) -> None:
        hessian = problem.parabola(beta, bias)[1]
        diagonal = np.diag_indices_from(hessian)
        hessian[diagonal] += PROP * max(float(hessian[diagonal].max()), np.finfo(float).tiny)
        self.point = np.append(beta, bias)
        self.inverse = np.linalg.inv(hessian)

    def rise(self, drop: NDArray[np.intp]) -> float:
        """How much the loss rises without some inputs, the others fitted anew."""
        gone = self.point[drop]
        if len(drop) == 1:
            return float(0.5 * gone[0] ** 2 / self.inverse[drop[0], drop[0]])
        return float(0.5 * gone @ np.linalg.solve(self.inverse[np.ix_(drop, drop)], gone))

    def without(self, drop: NDArray[np.intp]) -> Floats:
        """Weights and bias, the last, without some inputs."""
        point = self.point - self.point[drop] @ self._gain(drop)
        point[drop] = 0.0
        return np.asarray(point)

    def drop(self, drop: NDArray[np.intp]) -> None:
        """Let inputs go; in place."""
        gain = self._gain(drop)
        self.point = self.without(drop)
        self.inverse = self.inverse - self.inverse[:, drop] @ gain
        # What is gone is out of the way of the others, and can go again.
        self.inverse[drop] = self.inverse[:, drop] = 0.0
        self.inverse[drop, drop] = 1.0

    def _gain(self, drop: NDArray[np.intp]) -> Floats:
        return np.linalg.solve(self.inverse[np.ix_(drop, drop)], self.inverse[drop])


def worth(parabola: Parabola, tolls: LeafTolls) -> NDArray[np.bool_]:
    """Inputs (m,) that stay: what saves more than it helps goes, the best bargain first."""
    alive = np.ones(len(parabola.point) - 1, dtype=bool)
    while alive.any():
        groups = tolls.bundles & alive[:, np.newaxis]
        net = tolls.saved(alive, groups.astype(float))
        for c in np.flatnonzero(net > MARGIN):
            net[c] -= parabola.rise(np.flatnonzero(groups[:, c]))
        best = int(np.argmax(net))
        if net[best] <= MARGIN:
            break
        drop = np.flatnonzero(groups[:, best])
        parabola.drop(drop)
        alive[drop] = False
    return alive


Rows = NDArray[np.intp]


def answer_all(objective: SoftObjective, tree: HardTree) -> None:
    """Fit every node; in place."""
    for node, rows in enumerate(tree.arrivals(objective.Z)):
        answer_node(objective, tree, node, rows)


def answer_node(
    objective: SoftObjective, tree: HardTree, node: int, rows: Rows | None = None
) -> None:
    """Fit a node to the `rows` that come to it; a leaf keeps inputs that pay; in place."""
    rows = tree.arrivals(objective.Z)[node] if rows is None else rows
    inputs = np.flatnonzero(tree.uses[node])
    problem = fit_answer(objective, tree, node, answered(objective, tree, node, rows))
    if problem is None or not tree.shape.is_leaf(node) or not len(inputs):
        return
    parabola = Parabola(problem, tree.answer[node, inputs], float(tree.bias[node]))
    # A crumb is worth nothing, and keeps nodes above from dropping the input.
    crumbs = np.abs(tree.answer[node, inputs]) < CRUMB
    parabola.drop(np.flatnonzero(crumbs))
    kept = ~crumbs & worth(parabola, _leaf_tolls(objective, tree, node, problem.share, inputs))
    if not kept.all():
        tree.answer[node, inputs[~kept]] = 0.0
        fit_answer(objective, tree, node, rows)


def answered(objective: SoftObjective, tree: HardTree, node: int, rows: Rows) -> Rows:
    """Rows that a node has to answer: those that exit there; all, if none does."""
    right = weighed(objective.Z, rows, tree.route[node]) > tree.threshold[node]
    leaves = np.where(right, tree.shape.right[node] < 0, tree.shape.left[node] < 0)
    return rows[leaves] if leaves.any() else rows


def polish(objective: SoftObjective, tree: HardTree) -> None:
    """Fit every node to the last digits, with the inputs that it has; in place."""
    for node, rows in enumerate(tree.arrivals(objective.Z)):
        fit_answer(objective, tree, node, answered(objective, tree, node, rows), THOROUGH)


def fit_answer(
    objective: SoftObjective, tree: HardTree, node: int, rows: Rows, effort: Effort | None = None
) -> LeafProblem | None:
    """Fit the answer of a node to some rows, with the inputs that it weighs; in place."""
    if not len(rows):
        return None
    inputs = np.flatnonzero(tree.uses[node])
    part = replace(
        objective, Z=objective.Z[np.ix_(rows, inputs)], y=objective.y[rows],
        weight=objective.weight[rows], loss_weight=objective.loss_weight[rows],
        terms=objective.terms.free(inputs),
    )  # fmt: skip
    problem = LeafProblem(part, part.loss_weight, float(part.weight.sum()), np.empty(0))
    start = tree.answer[node, inputs], float(tree.bias[node])
    tree.answer[node, inputs], tree.bias[node] = solve_leaf(problem, *start, effort)
    return problem


def _leaf_tolls(
    objective: SoftObjective, tree: HardTree, node: int, share: float, inputs: NDArray[np.intp]
) -> LeafTolls:
    above = tree.shape.ancestry[node].copy()
    above[node] = False
    elsewhere = objective.terms.members @ tree.uses[above].any(axis=0).astype(float)
    members = objective.terms.members[:, inputs].toarray()
    bundles = objective.terms.bundles[:, inputs].T
    return LeafTolls(share * objective.tolls, members, elsewhere, bundles)
