"""Learn one tree of linear models, at one penalty or at many.

A soft tree is learned by block coordinate descent (Xu 2014, algorithm 5): it is initialized from
the root down, then each node in turn is minimized with the others fixed. A node changes only if
the objective decreases.

The relaxed cost of a weight below 1 is less than its price, so a soft tree learned at the penalty
itself may buy too much, and the objective has many local minima. So soft trees are also learned at
multiples of the penalty, and the hard tree with the least exact objective is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.harden import harden
from thrifty.learn.cost_tree.inputs import Inputs, OutputScale
from thrifty.learn.cost_tree.leaf_fit import polish
from thrifty.learn.cost_tree.leaf_step import LeafProblem, solve_leaf
from thrifty.learn.cost_tree.objective import SoftObjective
from thrifty.learn.cost_tree.soft_tree import SoftTree, TreeShape
from thrifty.learn.cost_tree.split_step import MAX_SLOPE, MIN_SLOPE, SplitProblem, solve_split
from thrifty.model import Frozen

__all__ = ["TreeLearner", "descend", "initial_tree", "sweep"]

Floats = NDArray[np.float64]

# Descent ends with the first sweep that lowers the objective by a smaller share than this.
SWEEP_TOL = 1e-4
# Rows that reach a node with this probability or less are left out of its problem, if those that
# remain are few enough to be worth a copy.
MIN_REACH = 1e-10
MAX_COPIED_SHARE = 0.8
# Initial slope of a sigmoid, in standard deviations of the values: a row one deviation above the
# threshold goes right with a probability of 95 %.
INITIAL_SLOPE = 3.0
# Soft trees are learned at these multiples of the penalty, unless one was learned at about the
# same penalty before: at 1.4 times it or less.
PENALTY_FACTORS = (10.0, 3.0, 1.0)
MIN_DECREASE = 0.7
# Sweeps at factors above 1, whose trees are only a warm start for the next factor.
N_SWEEPS_WARM = 3


@dataclass(frozen=True, eq=False)
class TreeLearner:
    """Learns a tree for one target.

    Parameters
    ----------
    inputs : Inputs
        Inputs of the nodes.
    objective : SoftObjective
        On the training rows; its penalty is replaced.
    on_validation : SoftObjective or None
        On the validation set, where branches are pruned; None to prune on the training rows.
    shape : TreeShape
        The tree before it is pruned.
    max_sweeps : int
    scale : OutputScale
        Penalties are in units of the model's loss; the objective has the units of scaled outputs.
    constant : Frozen
        The model that buys nothing.
    """

    inputs: Inputs
    objective: SoftObjective
    on_validation: SoftObjective | None
    shape: TreeShape
    max_sweeps: int
    scale: OutputScale
    constant: Frozen

    def models(self, penalties: Sequence[float]) -> Iterator[Frozen]:
        """Yield the frozen tree at each of some decreasing penalties, warm-starting the next."""
        if not self.objective.Z.shape[1]:  # no split of the table paid, so there are no base trees
            yield from [self.constant] * len(penalties)
            return
        soft_trees: list[SoftTree] = []
        last_penalty = np.inf
        for penalty in penalties:
            on_train = self.objective.at(penalty / self.scale.factor**2)
            if np.isinf(on_train.penalty):  # nothing pays
                yield self.constant
                continue
            for factor in PENALTY_FACTORS if penalty > 0 else PENALTY_FACTORS[-1:]:
                if factor * on_train.penalty < MIN_DECREASE * last_penalty:
                    last_penalty = factor * on_train.penalty
                    n_sweeps = self.max_sweeps if factor == 1.0 else min(
                        N_SWEEPS_WARM, self.max_sweeps
                    )  # fmt: skip
                    objective = on_train.at(last_penalty)
                    tree = initial_tree(objective, self.shape)
                    if soft_trees and objective.value(soft_trees[-1]) < objective.value(tree):
                        tree = soft_trees[-1].copy()
                    descend(objective, tree, n_sweeps)
                    soft_trees.append(tree)
            judge = self.on_validation and self.on_validation.at(on_train.penalty)
            candidates = [
                harden(on_train, tree, judge) for tree in soft_trees[-len(PENALTY_FACTORS) :]
            ]
            best = min(candidates, key=lambda tree: tree.value(judge or on_train))
            polish(on_train, best)
            if len(best.shape) == 1 and not best.uses.any():
                yield self.constant
            else:
                yield self.inputs.freeze(best, self.objective.loss.link, self.scale)

    def largest_penalty(self) -> float:
        """Return the largest penalty at which a single input pays, by least squares."""
        on, terms = self.objective, self.objective.terms
        prices = np.array([
            float(terms.prices @ terms.members[:, [j]].toarray()[:, 0])
            for j in range(on.Z.shape[1])
        ])  # fmt: skip
        mean = np.average(on.y, weights=on.loss_weight)
        gradient = on.Z.T @ (on.loss_weight * (on.y - mean))
        centers = on.loss_weight @ on.Z / on.loss_weight.sum()
        curvature = on.loss_weight @ np.square(on.Z - centers)
        gain = 0.5 * np.square(gradient) / np.maximum(curvature, np.finfo(float).tiny)
        per_price = np.divide(gain, prices, out=np.zeros_like(gain), where=prices > 0)
        return float(per_price.max(initial=0.0)) * self.scale.factor**2


def initial_tree(objective: SoftObjective, shape: TreeShape) -> SoftTree:
    """Fit each node as if it were a leaf, from the root down (Xu 2014, sec. 3.4.3).

    The threshold of a node is the mean of its values, and its slope goes with their deviation.
    """
    tree = SoftTree.zero(shape, objective.Z.shape[1])
    values = objective.node_values(tree)
    for node in range(len(shape)):
        reach = tree.node_probability(values, node)
        problem = _leaf_problem(objective, tree, reach, node)
        tree.weights[node], tree.bias[node] = solve_leaf(problem, tree.weights[node], 0.0)
        values[:, node] = objective.Z @ tree.weights[node]
        weight = objective.weight * reach
        total = float(weight.sum())
        if total > 0.0:
            mean = float(weight @ values[:, node]) / total
            deviation = float(np.sqrt(weight @ np.square(values[:, node] - mean) / total))
            tree.threshold[node] = mean
            if deviation > 0.0:
                tree.slope[node] = np.clip(INITIAL_SLOPE / deviation, MIN_SLOPE, MAX_SLOPE)
    return tree


def descend(objective: SoftObjective, tree: SoftTree, max_sweeps: int) -> list[float]:
    """Sweep over a tree, in place, until it converges.

    Returns the objective before the first and after each sweep.
    """
    values = [objective.value(tree)]
    for _ in range(max_sweeps):
        sweep(objective, tree)
        values.append(objective.value(tree))
        if values[-2] - values[-1] <= SWEEP_TOL * abs(values[-2]):
            break
    return values


def sweep(objective: SoftObjective, tree: SoftTree) -> None:
    """Minimize each node once with the others fixed, from the root down; in place."""
    all_values = objective.node_values(tree)
    for node in range(len(tree.shape)):
        on, values = objective, all_values
        reach = tree.node_probability(values, node)
        rows = np.flatnonzero(reach > MIN_REACH)
        if len(rows) <= MAX_COPIED_SHARE * len(values):
            on, values, reach = objective.take(rows), values[rows], reach[rows]
        if tree.shape.is_leaf(node):
            problem = _leaf_problem(on, tree, reach, node)
            tree.weights[node], tree.bias[node] = solve_leaf(
                problem, tree.weights[node], float(tree.bias[node])
            )
        else:
            rest = [tree.bias[node], tree.threshold[node], np.log(tree.slope[node])]
            start = np.concatenate([tree.weights[node], rest])
            x = solve_split(SplitProblem.of(on, values, tree, node), start)
            tree.weights[node], tree.bias[node], tree.threshold[node] = x[:-3], x[-3], x[-2]
            tree.slope[node] = np.exp(x[-1])
        all_values[:, node] = objective.Z @ tree.weights[node]


def _leaf_problem(
    objective: SoftObjective, tree: SoftTree, reach: Floats, node: int
) -> LeafProblem:
    """Return the problem of a node as a leaf, given the probability (n,) of reaching it."""
    above = tree.shape.ancestry[node].copy()
    above[node] = False
    path_squares = objective.terms.input_sums @ np.square(tree.weights[above]).sum(axis=0)
    share = float(objective.weight @ reach)
    return LeafProblem(objective, objective.loss_weight * reach, share, path_squares)
