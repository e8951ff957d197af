"""A tree of linear models as it predicts: hard thresholds, answers apart from routes.

What it is measured by is the exact objective (Xu 2014, eq. 3.11) without the norm: loss of the answer
that each row gets, plus penalty times the exact bill of its path.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.objective import SoftObjective
from thrifty.learn.cost_tree.soft_tree import Shape, SoftTree

__all__ = ["CRUMB", "HardTree", "weighed"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Weights this small are 0: inputs are of unit scale, and the rounded root leaves such crumbs.
CRUMB = 1e-3


@dataclass(eq=False)
class HardTree:
    """Routes (N, q) with thresholds (N,), answers (N, q) with biases (N,)."""

    shape: Shape
    route: Floats
    threshold: Floats
    answer: Floats
    bias: Floats

    @classmethod
    def of(cls, tree: SoftTree) -> Self:
        """The soft tree without crumbs."""
        weights = np.where(np.abs(tree.weights) >= CRUMB, tree.weights, 0.0)
        route = weights.copy()
        route[[node for node in range(len(tree.shape)) if tree.shape.is_leaf(node)]] = 0.0
        return cls(tree.shape, route, tree.threshold.copy(), weights, tree.bias.copy())

    def copy(self) -> HardTree:
        """Parameters that can be changed on their own."""
        names = ("route", "threshold", "answer", "bias")
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    @property
    def uses(self) -> NDArray[np.bool_]:
        """Inputs that each node weighs, (N, q)."""
        return np.asarray((self.route != 0) | (self.answer != 0))

    def arrivals(self, Z: Floats) -> list[Rows]:
        """Rows that come to each node."""
        return self._sent(Z, 0)

    def ends(self, Z: Floats, rows: Rows, start: int) -> NDArray[np.intp]:
        """Node that answers each of the `rows` that enter at `start`."""
        ends = np.empty(len(rows), dtype=np.intp)
        found = self._sent(Z if len(rows) == len(Z) else Z[rows], start)
        for node in self.shape.below(start):
            ends[found[node]] = node  # a child comes after its parent
        return ends

    def _sent(self, Z: Floats, start: int) -> list[Rows]:
        """Rows that come to each node when all enter at `start`."""
        below = self.shape.below(start)
        found = [np.arange(0)] * len(self.shape)
        found[start] = np.arange(len(Z))
        values = Z @ self.route[below].T
        right = values > self.threshold[below]
        for place, node in enumerate(below):
            goes = right[found[node], place]
            for child, side in ((self.shape.left[node], ~goes), (self.shape.right[node], goes)):
                if child >= 0:
                    found[child] = found[node][side]
        return found

    def tolls(self, objective: SoftObjective) -> Floats:
        """Penalty times the exact cost of the way to each node, (N,)."""
        bought = (self.shape.ancestry.astype(float) @ self.uses) > 0
        hit = (objective.terms.members @ bought.T.astype(float)) > 0
        lengths = self.shape.ancestry.sum(axis=1)
        return np.asarray(
            (hit * objective.tolls[:, np.newaxis]).sum(axis=0) + objective.toll * lengths
        )

    def losses(self, objective: SoftObjective, rows: Rows, ends: NDArray[np.intp]) -> Floats:
        """Weighted loss of `rows` that are answered by the nodes `ends`."""
        found = np.empty(len(rows))
        for node in np.unique(ends):
            here = np.flatnonzero(ends == node)
            mine = rows[here]
            f = weighed(objective.Z, mine, self.answer[node]) + self.bias[node]
            found[here] = objective.loss_weight[mine] * objective.loss.value(f, objective.y[mine])
        return found

    def value(self, objective: SoftObjective) -> float:
        """Eq. 3.11 without the norm."""
        rows = np.arange(len(objective.Z))
        ends = self.ends(objective.Z, rows, 0)
        cost = objective.weight @ self.tolls(objective)[ends]
        return float(self.losses(objective, rows, ends).sum() + cost)

    def leaf(self, node: int) -> HardTree:
        """The tree in which a node has no descendants."""
        return self._graft(node, None)

    def without(self, node: int, child: int) -> HardTree:
        """The tree in which one child has taken the place of its parent."""
        return self._graft(node, child)

    def _graft(self, node: int, child: int | None) -> HardTree:
        """Put `child` and what is below it in the place of `node`; None leaves a leaf."""
        left, right = self.shape.left.copy(), self.shape.right.copy()
        gone = set(self.shape.below(node)) - ({node} if child is None else set())
        if child is None:
            left[node] = right[node] = -1
        else:
            gone -= set(self.shape.below(child))
            parent = int(self.shape.parents[node])
            for side in (left, right):
                if parent >= 0 and side[parent] == node:
                    side[parent] = child
        return self._keep([k for k in range(len(left)) if k not in gone], left, right)

    def _keep(self, kept: list[int], left: NDArray[np.int64], right: NDArray[np.int64]) -> HardTree:
        number = np.full(len(left) + 1, -1)
        number[kept] = np.arange(len(kept))
        shape = Shape(number[left[kept]], number[right[kept]])
        route = self.route[kept]
        route[[node for node in range(len(shape)) if shape.is_leaf(node)]] = 0.0
        return HardTree(shape, route, self.threshold[kept], self.answer[kept], self.bias[kept])


def weighed(Z: Floats, rows: Rows, weights: Floats) -> Floats:
    """Some rows times weights."""
    return np.asarray((Z if len(rows) == len(Z) else Z[rows]) @ weights)
