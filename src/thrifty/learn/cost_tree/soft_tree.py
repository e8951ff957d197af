"""A tree of linear models while it learns: every row goes both ways, more or less (Xu 2014, sec. 3.4).

A row goes right at a node with probability sigmoid(slope * (value - threshold)) (eq. 3.5). The
thesis has slope 1; here it is learnt too, because how steep a sigmoid should be depends on the
scale of the values, and prediction is by hard thresholds. Cascades are trees with an exit at
every node (sec. 3.5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["Exit", "Shape", "SoftTree"]

Floats = NDArray[np.float64]


class Exit(NamedTuple):
    """A terminal element: the node that answers, and the sides (left, right) that lead here."""

    node: int
    left: bool
    right: bool


@dataclass(frozen=True, eq=False)
class Shape:
    """Children of the nodes, -1 where a row exits; a child comes after its parent."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @classmethod
    def full(cls, depth: int) -> Self:
        """A balanced tree with `depth` decisions on every path."""
        nodes = np.arange(2 ** (depth + 1) - 1)
        inner = nodes < 2**depth - 1
        return cls(np.where(inner, 2 * nodes + 1, -1), np.where(inner, 2 * nodes + 2, -1))

    @classmethod
    def chain(cls, stages: int) -> Self:
        """A cascade: whoever is not above the threshold exits."""
        follows = np.arange(1, stages + 1)
        return cls(np.full(stages, -1), np.where(follows < stages, follows, -1))

    def __len__(self) -> int:
        return len(self.left)

    def is_leaf(self, node: int) -> bool:
        """Whether every row exits here."""
        return bool(self.left[node] < 0 and self.right[node] < 0)

    @cached_property
    def exits(self) -> tuple[Exit, ...]:
        """Terminal elements; the two sides of a leaf are one."""
        found = []
        for node in range(len(self)):
            left, right = bool(self.left[node] < 0), bool(self.right[node] < 0)
            if left or right:
                found.append(Exit(node, left, right))
        return tuple(found)

    @cached_property
    def parents(self) -> NDArray[np.int64]:
        """Parent of each node; -1 for the root."""
        parents = np.full(len(self), -1)
        for child in (self.left, self.right):
            has = np.flatnonzero(child >= 0)
            parents[child[has]] = has
        return parents

    @cached_property
    def ancestry(self) -> NDArray[np.bool_]:
        """Which nodes lie on the way to each node, itself included, (N, N)."""
        table = np.eye(len(self), dtype=bool)
        for node in range(1, len(self)):
            table[node] |= table[self.parents[node]]
        return table

    @cached_property
    def paths(self) -> NDArray[np.bool_]:
        """Which nodes lie on the way to each exit, (L, N)."""
        return self.ancestry[[found.node for found in self.exits]]

    def below(self, node: int) -> list[int]:
        """A node and its descendants, increasing."""
        return np.flatnonzero(self.ancestry[:, node]).tolist()


@dataclass(eq=False)
class SoftTree:
    """Shape and parameters: weights (N, q), and a bias, threshold and slope for each node."""

    shape: Shape
    weights: Floats
    bias: Floats
    threshold: Floats
    slope: Floats

    @classmethod
    def blank(cls, shape: Shape, inputs: int) -> Self:
        """Nothing learnt yet."""
        n = len(shape)
        return cls(shape, np.zeros((n, inputs)), np.zeros(n), np.zeros(n), np.ones(n))

    def copy(self) -> SoftTree:
        """Parameters that can be changed on their own."""
        names = ("weights", "bias", "threshold", "slope")
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    def rightness(self, linear: Floats) -> Floats:
        """Probability of going right at each node, from the values (n, N) before the bias."""
        return np.asarray(expit(self.slope * (linear - self.threshold)))

    def coming(self, linear: Floats, node: int) -> Floats:
        """Probability of coming to one node, (n,)."""
        found = np.ones(len(linear))
        for above in np.flatnonzero(self.shape.ancestry[node])[:-1].tolist():
            right = self.shape.right[above]
            side = 1.0 if right >= 0 and self.shape.ancestry[node, right] else -1.0
            found *= expit(side * self.slope[above] * (linear[:, above] - self.threshold[above]))
        return found

    def reach(self, rightness: Floats, start: int = 0) -> Floats:
        """Probability of coming to each node from `start` on, (n, N)."""
        reach = np.zeros_like(rightness)
        reach[:, start] = 1.0
        for node in self.shape.below(start):
            left, right = self.shape.left[node], self.shape.right[node]
            if left >= 0:
                reach[:, left] = reach[:, node] * (1.0 - rightness[:, node])
            if right >= 0:
                reach[:, right] = reach[:, node] * rightness[:, node]
        return reach

    def leaving(self, reach: Floats, rightness: Floats) -> Floats:
        """Probability of each exit, (n, L)."""
        found = np.empty((len(reach), len(self.shape.exits)))
        for number, (node, left, right) in enumerate(self.shape.exits):
            share = (1.0 - rightness[:, node]) * left + rightness[:, node] * right
            found[:, number] = reach[:, node] * (1.0 if left and right else share)
        return found
