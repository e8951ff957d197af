"""Fit the outputs of the nodes of a hard tree to the rows that exit there.

This is the fine-tuning of Xu (2014, sec. 3.4.4): the inputs are chosen, but the relaxed cost has
shrunk their weights, so they are fitted again without it. A leaf also drops inputs that do not pay
by the exact objective, by backward elimination. How much the loss increases when an input is
dropped and the others are fitted again follows from the inverse Hessian, without another pass over
the rows; that is exact if the loss is quadratic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.hard_tree import WEIGHT_TOL, HardTree, linear_values
from thrifty.learn.cost_tree.leaf_step import (
    RELATIVE_RIDGE,
    TO_CONVERGENCE,
    Effort,
    LeafProblem,
    solve_leaf,
)
from thrifty.learn.cost_tree.objective import SoftObjective

__all__ = [
    "LeafPrices",
    "QuadraticModel",
    "exiting_rows",
    "fit_node",
    "fit_nodes",
    "fit_output",
    "inputs_worth_keeping",
    "polish",
]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# A change of the objective, which is about 1, below which rounding may be the cause.
VALUE_TOL = 1e-10


def fit_nodes(objective: SoftObjective, tree: HardTree) -> None:
    """Fit every node with `fit_node`; in place."""
    for node, rows in enumerate(tree.rows_at_nodes(objective.Z)):
        fit_node(objective, tree, node, rows)


def fit_node(objective: SoftObjective, tree: HardTree, node: int, rows: Rows | None = None) -> None:
    """Fit the output of a node; if it is a leaf, drop the inputs that do not pay; in place.

    `rows` are those that reach the node; they are computed if left out.
    """
    rows = tree.rows_at_nodes(objective.Z)[node] if rows is None else rows
    inputs = np.flatnonzero(tree.uses[node])
    problem = fit_output(objective, tree, node, exiting_rows(objective, tree, node, rows))
    if problem is None or not tree.shape.is_leaf(node) or not len(inputs):
        return
    model = QuadraticModel(problem, tree.weights[node, inputs], float(tree.bias[node]))
    # A tiny weight is worth nothing, and it keeps the nodes above from dropping the input.
    tiny = np.abs(tree.weights[node, inputs]) < WEIGHT_TOL
    model.drop(np.flatnonzero(tiny))
    above = tree.shape.ancestry[node].copy()
    above[node] = False
    terms = objective.terms
    prices = LeafPrices(
        problem.share * objective.weighted_prices,
        terms.members[:, inputs].toarray(),
        terms.members @ tree.uses[above].any(axis=0).astype(float),
        terms.droppable_sets[:, inputs].T,
    )
    kept = ~tiny & inputs_worth_keeping(model, prices)
    if not kept.all():
        tree.weights[node, inputs[~kept]] = 0.0
        fit_output(objective, tree, node, rows)


def fit_output(
    objective: SoftObjective, tree: HardTree, node: int, rows: Rows, effort: Effort | None = None
) -> LeafProblem | None:
    """Fit the output of a node to some rows, with the inputs that it uses; in place.

    Returns the problem that was solved, or None if there are no rows.
    """
    if not len(rows):
        return None
    inputs = np.flatnonzero(tree.uses[node])
    part = replace(
        objective, Z=objective.Z[np.ix_(rows, inputs)], y=objective.y[rows],
        weight=objective.weight[rows], loss_weight=objective.loss_weight[rows],
        terms=objective.terms.without_prices(inputs),
    )  # fmt: skip
    ridge = objective.output_ridge if objective.loss.link == "sigmoid" else 0.0
    problem = LeafProblem(part, part.loss_weight, float(part.weight.sum()), np.empty(0), ridge)
    start = tree.weights[node, inputs], float(tree.bias[node])
    tree.weights[node, inputs], tree.bias[node] = solve_leaf(problem, *start, effort)
    return problem


def exiting_rows(objective: SoftObjective, tree: HardTree, node: int, rows: Rows) -> Rows:
    """Return those of the rows at a node that exit there; all of them if none does."""
    right = linear_values(objective.Z, rows, tree.route[node]) > tree.threshold[node]
    exits = np.where(right, tree.shape.right[node] < 0, tree.shape.left[node] < 0)
    return rows[exits] if exits.any() else rows


def polish(objective: SoftObjective, tree: HardTree) -> None:
    """Fit every node to convergence, with the inputs that it uses; in place."""
    for node, rows in enumerate(tree.rows_at_nodes(objective.Z)):
        exiting = exiting_rows(objective, tree, node, rows)
        fit_output(objective, tree, node, exiting, TO_CONVERGENCE)


@dataclass(frozen=True, eq=False)
class LeafPrices:
    """What a leaf saves by dropping some of its m inputs.

    Parameters
    ----------
    weighted_prices : array of shape (A,)
        Penalty times the price of each term, times the share of the rows that reach the leaf.
    members : array of shape (A, m)
        1 where an input of the leaf belongs to a term.
    used_above : array of shape (A,)
        Number of inputs of each term that the nodes above use anyway.
    droppable_sets : bool array of shape (m, C)
        Sets of inputs that may be dropped together.
    """

    weighted_prices: Floats
    members: Floats
    used_above: Floats
    droppable_sets: NDArray[np.bool_]

    def savings(self, kept: NDArray[np.bool_], dropped: Floats) -> Floats:
        """Return what dropping each of some sets, the columns of (m, C), would save now."""
        count = self.used_above + self.members @ kept
        after = count[:, np.newaxis] - self.members @ dropped
        return np.asarray(self.weighted_prices @ ((count > 0)[:, np.newaxis] & (after <= 0)))


class QuadraticModel:
    """The minimum of a leaf's loss, and how it moves when inputs are dropped.

    Parameters
    ----------
    problem : LeafProblem
        Of the inputs of the leaf, without prices.
    beta : array of shape (m,)
    bias : float
        Weights and bias that minimize the loss.

    Attributes
    ----------
    solution : array of shape (m + 1,)
        Weights and, last, the bias; 0 for inputs that were dropped.
    inverse : array of shape (m + 1, m + 1)
        Inverse of the Hessian.
    """

    def __init__(self, problem: LeafProblem, beta: Floats, bias: float) -> None:
        hessian = problem.loss_model(beta, bias)[1]
        diagonal = np.diag_indices_from(hessian)
        largest = max(float(hessian[diagonal].max()), np.finfo(float).tiny)
        hessian[diagonal] += RELATIVE_RIDGE * largest
        self.solution = np.append(beta, bias)
        self.inverse = np.linalg.inv(hessian)

    def loss_increase(self, dropped: NDArray[np.intp]) -> float:
        """Return how much the loss increases without some inputs, the others fitted again."""
        gone = self.solution[dropped]
        if len(dropped) == 1:
            return float(0.5 * gone[0] ** 2 / self.inverse[dropped[0], dropped[0]])
        return float(0.5 * gone @ np.linalg.solve(self.inverse[np.ix_(dropped, dropped)], gone))

    def solution_without(self, dropped: NDArray[np.intp]) -> Floats:
        """Return the weights and, last, the bias without some inputs."""
        return self.project(self.solution, dropped)

    def project(self, linear: Floats, dropped: NDArray[np.intp]) -> Floats:
        """Return the linear function without some inputs that is nearest to a given one.

        `linear` has the weights and, last, the bias; the distance is that of the Hessian.
        """
        projected = linear - linear[dropped] @ self._elimination(dropped)
        projected[dropped] = 0.0
        return np.asarray(projected)

    def drop(self, dropped: NDArray[np.intp]) -> None:
        """Drop some inputs; in place."""
        elimination = self._elimination(dropped)
        self.solution = self.solution_without(dropped)
        self.inverse = self.inverse - self.inverse[:, dropped] @ elimination
        # Decouple what was dropped from the rest, so that dropping it again changes nothing.
        self.inverse[dropped] = self.inverse[:, dropped] = 0.0
        self.inverse[dropped, dropped] = 1.0

    def _elimination(self, dropped: NDArray[np.intp]) -> Floats:
        """Return the rows of the inverse of some inputs, times the inverse of their block."""
        return np.linalg.solve(self.inverse[np.ix_(dropped, dropped)], self.inverse[dropped])


def inputs_worth_keeping(model: QuadraticModel, prices: LeafPrices) -> NDArray[np.bool_]:
    """Eliminate inputs that save more than they help, the best saving first.

    Returns which of the m inputs are kept; `model` is left without the others.
    """
    kept = np.ones(len(model.solution) - 1, dtype=bool)
    while kept.any():
        candidates = prices.droppable_sets & kept[:, np.newaxis]
        net = prices.savings(kept, candidates.astype(float))
        for c in np.flatnonzero(net > VALUE_TOL):
            net[c] -= model.loss_increase(np.flatnonzero(candidates[:, c]))
        best = int(np.argmax(net))
        if net[best] <= VALUE_TOL:
            break
        dropped = np.flatnonzero(candidates[:, best])
        model.drop(dropped)
        kept[dropped] = False
    return kept
