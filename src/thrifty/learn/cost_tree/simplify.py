"""Routes that use no more than they need, and thresholds where they cost least.

At a node each row has a price on the left and a price on the right: the loss of the answer that
it would get there, plus the bill. The best threshold is where the sum over the rows is least. An
input is dropped from the route if, with the best threshold, the rows are not worse off.

Branches that do not pay are cut (Xu 2014, sec. 3.4.5).

From the bottom up, a node may become a leaf, or one of its children may take its place; the
simpler tree stays if the rows that decide are not worse off with it. The thesis prunes the
initial tree; what a branch is worth shows only once it is learnt, so here it is pruned then.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.cost_tree.leaf_fit import Parabola, answered, fit_answer
from thrifty.learn.cost_tree.objective import SoftObjective

__all__ = ["best_threshold", "prune_branches", "thin"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

MARGIN = 1e-10


def best_threshold(values: Floats, gap: Floats) -> tuple[float, float]:
    """Threshold above which the sum of `gap` is least, and that sum.

    It lies midway between two values; below all, or at the largest, where one side is best for
    every row.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.cost_tree.simplify import best_threshold
    >>> best_threshold(np.array([1.0, 4.0, 2.0]), np.array([5.0, -3.0, -1.0]))
    (1.5, -4.0)
    """
    order = np.argsort(values, kind="stable")
    found = values[order]
    above = np.append(gap[order][::-1].cumsum()[::-1], 0.0)
    # Cut k sends rows k, k + 1, ... right; equal values are not told apart.
    cuts = np.append(np.flatnonzero(np.diff(found, prepend=-np.inf) > 0), len(found))
    best = int(cuts[np.argmin(above[cuts])])
    if best == 0:
        return float(found[0] - 1.0), float(above[0])
    if best == len(found):
        return float(found[-1]), 0.0
    middle = 0.5 * (found[best - 1] + found[best])
    # Two neighbors may have no number between them.
    return float(middle if middle < found[best] else found[best - 1]), float(above[best])


def thin(objective: SoftObjective, tree: HardTree, node: int, rows: Rows) -> None:
    """Drop what the route of a node does not need, and set its threshold; in place."""
    fork = _Fork(objective, tree, node, rows)
    best = fork.settle(tree)
    parabola = fork.answers(tree)
    for bundle in _bundles(objective, tree, node):
        drop = np.flatnonzero(bundle & tree.uses[node])
        trial = tree.copy()
        fork.drop(trial, drop, parabola)
        if not fork.saves(tree, trial):
            continue
        value = fork.settle(trial)
        if value <= best + MARGIN and trial.route[node].any():
            best = min(best, value)
            fork.drop(tree, drop, parabola)
            tree.threshold[node] = trial.threshold[node]
            if parabola is not None:
                parabola.drop(np.searchsorted(fork.inputs, drop))


def _bundles(objective: SoftObjective, tree: HardTree, node: int) -> list[NDArray[np.bool_]]:
    """Sets of inputs to try without, the largest first; of one size, those of small weight."""
    bundles = objective.terms.bundles & tree.uses[node]
    bundles = bundles[bundles.any(axis=1)]
    weight = bundles @ np.abs(tree.route[node])
    return list(bundles[np.lexsort((weight, -bundles.sum(axis=1)))])


class _Fork:
    """The rows at a node, and what they come to on either side."""

    def __init__(self, objective: SoftObjective, tree: HardTree, node: int, rows: Rows) -> None:
        self.objective, self.node, self.rows = objective, node, rows
        self.inputs = np.flatnonzero(tree.uses[node])
        self.Z = objective.Z[np.ix_(rows, self.inputs)]
        children = (int(tree.shape.left[node]), int(tree.shape.right[node]))
        # What lies below does not depend on the node.
        self.ends = [
            np.full(len(rows), node) if child < 0 else tree.ends(objective.Z, rows, child)
            for child in children
        ]
        self.losses = [
            None if child < 0 else tree.losses(objective, rows, ends)
            for child, ends in zip(children, self.ends, strict=True)
        ]

    def answers(self, tree: HardTree) -> Parabola | None:
        """How the answer of a node with an exit depends on its inputs."""
        if all(losses is not None for losses in self.losses):
            return None
        leave = answered(self.objective, tree, self.node, self.rows)
        problem = fit_answer(self.objective, tree, self.node, leave)
        assert problem is not None
        return Parabola(problem, tree.answer[self.node, self.inputs], float(tree.bias[self.node]))

    def drop(self, tree: HardTree, drop: NDArray[np.intp], parabola: Parabola | None) -> None:
        """Take inputs out of a node; its answer, if it has an exit, is fitted anew; in place."""
        node = self.node
        tree.route[node, drop] = tree.answer[node, drop] = 0.0
        if parabola is not None:
            point = parabola.without(np.searchsorted(self.inputs, drop))
            tree.answer[node, self.inputs], tree.bias[node] = point[:-1], point[-1]

    def saves(self, tree: HardTree, trial: HardTree) -> bool:
        """Whether any exit is cheaper in a trial."""
        return bool(np.any(trial.tolls(self.objective) < tree.tolls(self.objective)))

    def settle(self, tree: HardTree) -> float:
        """Move the threshold to its best, in place; the price of all rows then."""
        on, node = self.objective, self.node
        tolls = tree.tolls(on)
        left, right = (self._price(tree, tolls, side) for side in (0, 1))
        values = self.Z @ tree.route[node, self.inputs]
        now = float((right - left)[values > tree.threshold[node]].sum())
        threshold, least = best_threshold(values, right - left)
        if least < now - MARGIN:
            tree.threshold[node], now = threshold, least
        return float(left.sum()) + now

    def _price(self, tree: HardTree, tolls: Floats, side: int) -> Floats:
        ends, losses = self.ends[side], self.losses[side]
        if losses is None:  # the node itself answers
            losses = tree.losses(self.objective, self.rows, ends)
        return np.asarray(losses + self.objective.weight[self.rows] * tolls[ends])


def prune_branches(
    tree: HardTree, judge: SoftObjective, refit: Callable[[HardTree, int], None]
) -> HardTree:
    """The tree without branches that do not pay on the rows of `judge`.

    `refit` fits the answer of a node, in place, to the rows that are learnt from.
    """
    node = len(tree.shape)
    while node > 0:
        node = min(node - 1, len(tree.shape) - 1)
        if not tree.shape.is_leaf(node):
            tree = _best(tree, judge, refit, node)
    return tree


def _best(
    tree: HardTree, judge: SoftObjective, refit: Callable[[HardTree, int], None], node: int
) -> HardTree:
    leaf = tree.leaf(node)
    refit(leaf, node)
    children = (int(tree.shape.left[node]), int(tree.shape.right[node]))
    simpler = [leaf, *(tree.without(node, child) for child in children if child >= 0)]
    values = [trial.value(judge) for trial in simpler]
    best = int(np.argmin(values))
    return simpler[best] if values[best] <= tree.value(judge) + MARGIN else tree
