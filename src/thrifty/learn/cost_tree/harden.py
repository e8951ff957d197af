"""Turn a soft tree into one that predicts: fit its outputs, simplify its routes, prune branches.

This is done node by node; `elimination` takes steps that concern several nodes at once.

The relaxed cost selects what a node may use, but it also shrinks weights, and it leaves inputs in
the nodes that do not pay. Here the exact objective (Xu 2014, eq. 3.11) decides.

- Routes: at a node each row has a cost on the left and one on the right, the loss of the output
  that it would get there plus its bill. The best threshold minimizes the sum over the rows. An
  input is dropped from the route if the sum, at the best threshold, does not increase.
- Branches (sec. 3.4.5): from the bottom up, a node may become a leaf, or be replaced by one of its
  children, unless that makes the objective worse on the validation set. The thesis prunes the
  initial tree, but how useful a branch is shows only after training, so here pruning comes last.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.hard_tree import HardTree, best_threshold
from thrifty.learn.cost_tree.leaf_fit import (
    VALUE_TOL,
    QuadraticModel,
    exiting_rows,
    fit_node,
    fit_nodes,
    fit_output,
)
from thrifty.learn.cost_tree.objective import SoftObjective
from thrifty.learn.cost_tree.soft_tree import SoftTree

__all__ = ["harden", "prune_branches", "simplify_route"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Rounds of fitting outputs and simplifying routes; each depends on the other.
N_PASSES = 2


def harden(
    objective: SoftObjective, tree: SoftTree, on_validation: SoftObjective | None = None
) -> HardTree:
    """Return the hard tree of a soft one.

    Branches are pruned on the validation set; without one, on the training rows.
    """
    hard = HardTree.of(tree)
    for _ in range(N_PASSES):
        fit_nodes(objective, hard)
        rows = hard.rows_at_nodes(objective.Z)
        # From the bottom up, because the costs of a node depend on the routes below it.
        for node in reversed(range(len(hard.shape))):
            if len(rows[node]) and not hard.shape.is_leaf(node):
                simplify_route(objective, hard, node, rows[node])
    fit_nodes(objective, hard)
    hard = prune_branches(objective, hard, on_validation or objective)
    fit_nodes(objective, hard)
    return hard


def simplify_route(objective: SoftObjective, tree: HardTree, node: int, rows: Rows) -> None:
    """Set the best threshold of a node, and drop inputs that its route does not need; in place.

    `rows` are those that reach the node.
    """
    split = _Split(objective, tree, node, rows)
    best = split.set_threshold(tree)
    # If rows exit at the node, its output must be fitted again whenever an input is dropped.
    output_model = None
    if any(losses is None for losses in split.losses):
        exiting = exiting_rows(objective, tree, node, rows)
        problem = fit_output(objective, tree, node, exiting)
        assert problem is not None
        output_model = QuadraticModel(
            problem, tree.weights[node, split.inputs], float(tree.bias[node])
        )
    # The largest sets of inputs are tried first; of equal ones, those of the smallest weights.
    candidates = objective.terms.droppable_sets & tree.uses[node]
    candidates = candidates[candidates.any(axis=1)]
    total_weight = candidates @ np.abs(tree.route[node])
    for inputs in candidates[np.lexsort((total_weight, -candidates.sum(axis=1)))]:
        dropped = np.flatnonzero(inputs & tree.uses[node])
        trial = tree.copy()
        split.drop(trial, dropped, output_model)
        if not np.any(trial.path_costs(objective) < tree.path_costs(objective)):
            continue
        value = split.set_threshold(trial)
        if value <= best + VALUE_TOL and trial.route[node].any():
            best = min(best, value)
            split.drop(tree, dropped, output_model)
            tree.threshold[node] = trial.threshold[node]
            if output_model is not None:
                output_model.drop(np.searchsorted(split.inputs, dropped))


class _Split:
    """The rows at an inner node, and where they exit if they go left or right.

    Parameters are those of `simplify_route`.

    Attributes
    ----------
    inputs : int array of shape (m,)
        Inputs that the node uses before any is dropped.
    Z : array of shape (n, m)
        These inputs of the rows.
    exits : list of two int arrays of shape (n,)
        Node at which each row exits if it goes left, and if it goes right.
    losses : list of two arrays of shape (n,), or None
        Weighted loss of each row there; None on a side where rows exit at the node itself, because
        that changes with its output.
    """

    def __init__(self, objective: SoftObjective, tree: HardTree, node: int, rows: Rows) -> None:
        self.objective, self.node, self.rows = objective, node, rows
        self.inputs = np.flatnonzero(tree.uses[node])
        self.Z = objective.Z[np.ix_(rows, self.inputs)]
        children = (int(tree.shape.left[node]), int(tree.shape.right[node]))
        self.exits = [
            np.full(len(rows), node) if child < 0 else tree.exit_nodes(objective.Z, rows, child)
            for child in children
        ]
        self.losses = [
            None if child < 0 else tree.losses(objective, rows, exits)
            for child, exits in zip(children, self.exits, strict=True)
        ]

    def drop(
        self, tree: HardTree, dropped: NDArray[np.intp], output_model: QuadraticModel | None
    ) -> None:
        """Drop inputs from the node, and fit its output again if it has a model; in place."""
        tree.route[self.node, dropped] = tree.weights[self.node, dropped] = 0.0
        if output_model is not None:
            solution = output_model.solution_without(np.searchsorted(self.inputs, dropped))
            tree.weights[self.node, self.inputs] = solution[:-1]
            tree.bias[self.node] = solution[-1]

    def set_threshold(self, tree: HardTree) -> float:
        """Move the threshold of the node to its best, in place; return the cost of all rows."""
        path_costs = tree.path_costs(self.objective)
        costs = []
        for exits, losses in zip(self.exits, self.losses, strict=True):
            if losses is None:
                losses = tree.losses(self.objective, self.rows, exits)
            costs.append(np.asarray(losses + self.objective.weight[self.rows] * path_costs[exits]))
        left, right = costs
        values = self.Z @ tree.route[self.node, self.inputs]
        current = float((right - left)[values > tree.threshold[self.node]].sum())
        threshold, least = best_threshold(values, right - left)
        if least < current - VALUE_TOL:
            tree.threshold[self.node], current = threshold, least
        return float(left.sum()) + current


def prune_branches(objective: SoftObjective, tree: HardTree, judge: SoftObjective) -> HardTree:
    """Return the tree without branches that do not pay by the exact objective of `judge`.

    The output of a node that becomes a leaf is fitted on `objective`, the training rows.
    """
    node = len(tree.shape)
    while node > 0:
        node = min(node - 1, len(tree.shape) - 1)
        if tree.shape.is_leaf(node):
            continue
        leaf = tree.collapse(node)
        fit_node(objective, leaf, node)
        children = (int(tree.shape.left[node]), int(tree.shape.right[node]))
        simpler = [leaf, *(tree.collapse(node, child) for child in children if child >= 0)]
        values = [candidate.value(judge) for candidate in simpler]
        best = int(np.argmin(values))
        if values[best] <= tree.value(judge) + VALUE_TOL:
            tree = simpler[best]
    return tree
