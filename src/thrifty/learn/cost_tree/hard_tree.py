"""A tree of linear models as it predicts: hard thresholds, and outputs separate from routes.

Its quality is the exact objective (Xu 2014, eq. 3.11) without the norm: the loss of each row where
it exits, plus the penalty times the exact bill of its path.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.objective import SoftObjective
from thrifty.learn.cost_tree.soft_tree import SoftTree, TreeShape

__all__ = ["WEIGHT_TOL", "HardTree", "best_threshold", "linear_values"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Smaller weights are set to 0: inputs have unit scale, and the smoothed root leaves such weights
# where the thesis would have exact zeros.
WEIGHT_TOL = 1e-3


@dataclass(eq=False)
class HardTree:
    """The parameters of a tree that routes by hard thresholds.

    Parameters
    ----------
    shape : TreeShape
    route : array of shape (N, q)
        A row goes right at a node if its inputs times these are above the threshold.
    threshold : array of shape (N,)
    weights : array of shape (N, q)
        The inputs of a row times these, plus the bias, are the output of the node where it exits.
    bias : array of shape (N,)
    """

    shape: TreeShape
    route: Floats
    threshold: Floats
    weights: Floats
    bias: Floats

    @classmethod
    def of(cls, tree: SoftTree) -> Self:
        """Copy a soft tree, with tiny weights set to 0."""
        weights = np.where(np.abs(tree.weights) >= WEIGHT_TOL, tree.weights, 0.0)
        route = weights.copy()
        route[[node for node in range(len(tree.shape)) if tree.shape.is_leaf(node)]] = 0.0
        return cls(tree.shape, route, tree.threshold.copy(), weights, tree.bias.copy())

    def copy(self) -> HardTree:
        """Copy the parameters."""
        names = ("route", "threshold", "weights", "bias")
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    @property
    def uses(self) -> NDArray[np.bool_]:
        """Inputs that each node uses, in its route or its output, (N, q)."""
        return np.asarray((self.route != 0) | (self.weights != 0))

    def rows_at_nodes(self, Z: Floats, start: int = 0) -> list[Rows]:
        """Return the rows of Z that reach each node if all enter at `start`."""
        below = self.shape.subtree(start)
        rows = [np.arange(0)] * len(self.shape)
        rows[start] = np.arange(len(Z))
        values = Z @ self.route[below].T
        right = values > self.threshold[below]
        for place, node in enumerate(below):
            goes = right[rows[node], place]
            for child, side in ((self.shape.left[node], ~goes), (self.shape.right[node], goes)):
                if child >= 0:
                    rows[child] = rows[node][side]
        return rows

    def exit_nodes(self, Z: Floats, rows: Rows, start: int) -> NDArray[np.intp]:
        """Return the node at which each of the `rows` of Z exits if it enters at `start`."""
        nodes = np.empty(len(rows), dtype=np.intp)
        reached = self.rows_at_nodes(Z if len(rows) == len(Z) else Z[rows], start)
        for node in self.shape.subtree(start):
            nodes[reached[node]] = node  # a child comes after its parent
        return nodes

    def path_costs(self, objective: SoftObjective) -> Floats:
        """Return penalty times exact cost of the path to each node, (N,)."""
        bought = (self.shape.ancestry.astype(float) @ self.uses) > 0
        paid = (objective.terms.members @ bought.T.astype(float)) > 0
        prices = (paid * objective.weighted_prices[:, np.newaxis]).sum(axis=0)
        visits = objective.weighted_visit_price * self.shape.ancestry.sum(axis=1)
        return np.asarray(prices + visits)

    def losses(self, objective: SoftObjective, rows: Rows, nodes: NDArray[np.intp]) -> Floats:
        """Return the weighted loss of each of the `rows`, which exit at `nodes`."""
        losses = np.empty(len(rows))
        for node in np.unique(nodes):
            here = np.flatnonzero(nodes == node)
            some = rows[here]
            f = linear_values(objective.Z, some, self.weights[node]) + self.bias[node]
            losses[here] = objective.loss_weight[some] * objective.loss.value(f, objective.y[some])
        return losses

    def outputs(self, Z: Floats) -> Floats:
        """Return the output of each row where it exits, (n,)."""
        nodes = self.exit_nodes(Z, np.arange(len(Z)), 0)
        return np.asarray(np.einsum("ij,ij->i", Z, self.weights[nodes]) + self.bias[nodes])

    def loss_and_cost(self, objective: SoftObjective) -> tuple[float, float]:
        """Return the mean loss of the rows where they exit, and penalty times their mean bill."""
        rows = np.arange(len(objective.Z))
        nodes = self.exit_nodes(objective.Z, rows, 0)
        cost = objective.weight @ self.path_costs(objective)[nodes]
        return float(self.losses(objective, rows, nodes).sum()), float(cost)

    def value(self, objective: SoftObjective) -> float:
        """Return the exact objective: eq. 3.11 without the norm."""
        return sum(self.loss_and_cost(objective))

    def collapse(self, node: int, child: int | None = None) -> HardTree:
        """Return the tree in which a node is a leaf, or is replaced by one of its children."""
        left, right = self.shape.left.copy(), self.shape.right.copy()
        dropped = set(self.shape.subtree(node))
        if child is None:
            dropped -= {node}
            left[node] = right[node] = -1
        else:
            dropped -= set(self.shape.subtree(child))
            parent = int(self.shape.parents[node])
            for side in (left, right):
                if parent >= 0 and side[parent] == node:
                    side[parent] = child
        kept = [k for k in range(len(left)) if k not in dropped]
        number = np.full(len(left) + 1, -1)  # the last entry is that of child -1
        number[kept] = np.arange(len(kept))
        shape = TreeShape(number[left[kept]], number[right[kept]])
        route = self.route[kept]
        route[[k for k in range(len(shape)) if shape.is_leaf(k)]] = 0.0
        return HardTree(shape, route, self.threshold[kept], self.weights[kept], self.bias[kept])


def linear_values(Z: Floats, rows: Rows, weights: Floats) -> Floats:
    """Return the product of some rows of Z and weights (q,), without a copy if it is all rows."""
    return np.asarray((Z if len(rows) == len(Z) else Z[rows]) @ weights)


def best_threshold(values: Floats, gap: Floats) -> tuple[float, float]:
    """Return the threshold above which the sum of `gap` is least, and that sum.

    It lies midway between two values. If one side is best for every row, it is 1 below the
    smallest value, or equal to the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.cost_tree.hard_tree import best_threshold
    >>> best_threshold(np.array([1.0, 4.0, 2.0]), np.array([5.0, -3.0, -1.0]))
    (1.5, -4.0)
    """
    order = np.argsort(values)
    ordered = values[order]
    above = np.append(gap[order][::-1].cumsum()[::-1], 0.0)
    # Cut k sends rows k, k + 1, ... right; it may not separate equal values.
    cuts = np.append(np.flatnonzero(np.diff(ordered, prepend=-np.inf) > 0), len(ordered))
    best = int(cuts[np.argmin(above[cuts])])
    if best == 0:
        return float(ordered[0] - 1.0), float(above[0])
    if best == len(ordered):
        return float(ordered[-1]), 0.0
    middle = 0.5 * (ordered[best - 1] + ordered[best])
    # There may be no floating-point number between two neighbors.
    threshold = middle if middle < ordered[best] else ordered[best - 1]
    return float(threshold), float(above[best])
