"""One target learnt by a tree of linear models, at one penalty or at many.

The relaxed cost of a weight below 1 is less than its price, so a soft tree learnt at the penalty
itself may not be thrifty enough to start from, and the objective has many valleys. So it is learnt
at multiples of the penalty too, and of the hard trees that come of these the one with the least
exact objective is taken.

Learning a soft tree: from the top down at first, then node by node until nothing falls.

Block coordinate descent on the objective (Xu 2014, algorithm 5): each node in turn is minimized with
the others fixed, and is kept only where the objective falls, so it never rises.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.cost_tree.harden import harden
from thrifty.learn.cost_tree.inputs import Inputs, Scale
from thrifty.learn.cost_tree.leaf_fit import polish
from thrifty.learn.cost_tree.leaf_step import LeafProblem, solve_leaf
from thrifty.learn.cost_tree.objective import SoftObjective
from thrifty.learn.cost_tree.soft_tree import Shape, SoftTree
from thrifty.learn.cost_tree.split_step import FLATTEST, STEEPEST, SplitProblem, solve_split
from thrifty.model import Frozen

__all__ = ["LinearTask", "initial_tree", "sweep", "sweeps"]

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
    """Each node as if it were a leaf, from the root down (Xu 2014, sec. 3.4.3, node initialization)."""
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


# Multiples of the penalty that soft trees are learnt at; one that was learnt at about the same
# penalty before will do.
STRENGTHS = (10.0, 3.0, 1.0)
ABOUT = 0.7
# Sweeps at those above 1: the next one goes on from there.
FEW = 3


@dataclass(frozen=True, eq=False)
class LinearTask:
    """What one tree is learnt from.

    Parameters
    ----------
    inputs : Inputs
    objective : SoftObjective
        On the rows to learn from, at any penalty.
    held_out : SoftObjective or None
        On the rows that say which branches are cut.
    shape : Shape
        The tree before it is cut.
    max_sweeps : int
    scale : Scale
        The penalty is in units of the model's loss, the objective's in those of the learner.
    constant : Frozen
        The model that reads nothing.
    """

    inputs: Inputs
    objective: SoftObjective
    held_out: SoftObjective | None
    shape: Shape
    max_sweeps: int
    scale: Scale
    constant: Frozen

    def models(self, penalties: Sequence[float]) -> Iterator[Frozen]:
        """Models at falling penalties, each from what was learnt at the one before."""
        if not self.objective.Z.shape[1]:  # no split of the table paid, so there are no trees
            yield from [self.constant] * len(penalties)
            return
        soft: list[SoftTree] = []
        last = np.inf
        for penalty in penalties:
            on = self.objective.at(penalty / self.scale.factor**2)
            for strength in STRENGTHS if penalty > 0 else STRENGTHS[-1:]:
                if strength * on.penalty < ABOUT * last:
                    last = strength * on.penalty
                    limit = self.max_sweeps if strength == 1.0 else min(FEW, self.max_sweeps)
                    soft.append(self._learn(on.at(last), soft[-1] if soft else None, limit))
            judge = on if self.held_out is None else self.held_out.at(on.penalty)
            trees = [self._hard(on, tree) for tree in soft[-len(STRENGTHS) :]]
            best = min(trees, key=lambda tree: tree.value(judge))
            polish(on, best)
            yield self._freeze(best)

    @property
    def dearest(self) -> float:
        """The largest penalty at which a single input pays, by the parabola of the loss."""
        on = self.objective
        prices = np.array([self._price(j) for j in range(on.Z.shape[1])])
        mean = np.average(on.y, weights=on.loss_weight)
        slope = on.Z.T @ (on.loss_weight * (on.y - mean))
        spread = on.loss_weight @ np.square(on.Z - on.loss_weight @ on.Z / on.loss_weight.sum())
        gain = 0.5 * np.square(slope) / np.maximum(spread, np.finfo(float).tiny)
        worth = np.divide(gain, prices, out=np.zeros_like(gain), where=prices > 0)
        return float(worth.max(initial=0.0)) * self.scale.factor**2

    def _price(self, j: int) -> float:
        terms = self.objective.terms
        return float(terms.prices @ terms.members[:, [j]].toarray()[:, 0])

    def _learn(self, objective: SoftObjective, warm: SoftTree | None, limit: int) -> SoftTree:
        """From the top down, or from a tree of another penalty if that is ahead."""
        tree = initial_tree(objective, self.shape)
        if warm is not None and objective.value(warm) < objective.value(tree):
            tree = warm.copy()
        sweeps(objective, tree, limit)
        return tree

    def _hard(self, objective: SoftObjective, tree: SoftTree) -> HardTree:
        held_out = None if self.held_out is None else self.held_out.at(objective.penalty)
        return harden(objective, tree, held_out)

    def _freeze(self, tree: HardTree) -> Frozen:
        if len(tree.shape) == 1 and not tree.uses.any():
            return self.constant
        return self.inputs.freeze(tree, self.objective.loss.link, self.scale)
