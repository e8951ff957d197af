"""Learning a soft tree: from the top down at first, then node by node until nothing falls.

Block coordinate descent on the objective (002 algorithm 5): each node in turn is minimized with
the others fixed, and is kept only where the objective falls, so it never rises.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.soft_leaf import LeafProblem, solve_leaf
from thrifty.learn.soft_objective import SoftObjective
from thrifty.learn.soft_split import FLATTEST, STEEPEST, SplitProblem, solve_split
from thrifty.learn.soft_tree import Shape, SoftTree

__all__ = ["initial_tree", "sweep", "sweeps"]

Floats = NDArray[np.float64]

# A sweep that lowers the objective by a smaller share than this is the last.
SETTLED = 1e-4
# Rows that come to a node with this probability or less are left out of its problem, if that
# leaves few enough to be worth a copy: deep nodes see few rows.
NEVER = 1e-10
WORTH_COPYING = 0.8
# Slope at the start: values one deviation off the threshold go their way with 95 %.
SPREAD = 3.0


def initial_tree(objective: SoftObjective, shape: Shape) -> SoftTree:
    """Each node as if it were a leaf, from the root down (002 sec. 3.4.3, node initialization)."""
    tree = SoftTree.blank(shape, objective.Z.shape[1])
    linear = objective.linear(tree)
    for node in range(len(shape)):
        reach = tree.coming(linear, node)
        beta, bias = solve_leaf(_leaf(objective, tree, reach, node), tree.weights[node], 0.0)
        linear[:, node] = objective.Z @ beta
        tree.weights[node], tree.bias[node] = beta, bias
        _part(tree, linear[:, node], objective.weight * reach, node)
    return tree


def sweeps(objective: SoftObjective, tree: SoftTree, limit: int) -> list[float]:
    """Sweep over a tree, in place, until it settles; the objective before and after each sweep."""
    values = [objective.value(tree)]
    for _ in range(limit):
        sweep(objective, tree)
        values.append(objective.value(tree))
        if values[-2] - values[-1] <= SETTLED * abs(values[-2]):
            break
    return values


def sweep(objective: SoftObjective, tree: SoftTree) -> None:
    """Every node once, from the root down, in place."""
    linear = objective.linear(tree)
    for node in range(len(tree.shape)):
        if tree.shape.is_leaf(node):
            _move_leaf(objective, tree, linear, node)
        else:
            _move_split(objective, tree, linear, node)
        linear[:, node] = objective.Z @ tree.weights[node]


def _move_leaf(objective: SoftObjective, tree: SoftTree, linear: Floats, node: int) -> None:
    objective, linear = _nearby(objective, tree, linear, node)
    problem = _leaf(objective, tree, tree.coming(linear, node), node)
    tree.weights[node], tree.bias[node] = solve_leaf(
        problem, tree.weights[node], float(tree.bias[node])
    )


def _move_split(objective: SoftObjective, tree: SoftTree, linear: Floats, node: int) -> None:
    problem = SplitProblem.of(*_nearby(objective, tree, linear, node), tree, node)
    rest = [tree.bias[node], tree.threshold[node], np.log(tree.slope[node])]
    x = solve_split(problem, np.concatenate([tree.weights[node], rest]))
    tree.weights[node], tree.bias[node], tree.threshold[node] = x[:-3], x[-3], x[-2]
    tree.slope[node] = np.exp(x[-1])


def _nearby(
    objective: SoftObjective, tree: SoftTree, linear: Floats, node: int
) -> tuple[SoftObjective, Floats]:
    """The rows that come to a node with a probability that counts."""
    rows = np.flatnonzero(tree.coming(linear, node) > NEVER)
    if len(rows) > WORTH_COPYING * len(linear):
        return objective, linear
    return objective.part(rows), linear[rows]


def _leaf(objective: SoftObjective, tree: SoftTree, reach: Floats, node: int) -> LeafProblem:
    """The problem of a node whose descendants, if any, are cut off."""
    above = tree.shape.ancestry[node].copy()
    above[node] = False
    squares = np.square(tree.weights[above]).sum(axis=0)
    paid = objective.terms.members @ squares
    share = float(objective.weight @ reach)
    return LeafProblem(objective, objective.loss_weight * reach, share, paid)


def _part(tree: SoftTree, values: Floats, mass: Floats, node: int) -> None:
    """Threshold at the mean of the values, and a slope that goes with their spread."""
    total = float(mass.sum())
    if total <= 0.0:
        return
    mean = float(mass @ values) / total
    spread = float(np.sqrt(mass @ np.square(values - mean) / total))
    tree.threshold[node] = mean
    if spread > 0.0:
        tree.slope[node] = np.clip(SPREAD / spread, FLATTEST, STEEPEST)
