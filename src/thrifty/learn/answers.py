"""Answers of the nodes of a hard tree, fitted to the rows that get them.

Fine-tuning without the cost (002 sec. 3.4.4): the choice of inputs is made, and the relaxed cost
has shrunk their weights. A leaf also drops inputs that do not pay by the exact objective.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.hard_tree import CRUMB, HardTree, weighed
from thrifty.learn.leaf_elimination import LeafTolls, Parabola, worth
from thrifty.learn.soft_leaf import THOROUGH, Effort, LeafProblem, solve_leaf
from thrifty.learn.soft_objective import SoftObjective

__all__ = ["answer_all", "answer_node", "answered", "fit_answer", "polish"]

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
