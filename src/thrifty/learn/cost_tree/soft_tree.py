"""A tree of linear models during training: each row takes every path, with a probability.

At a node, a row goes right with probability sigmoid(slope * (value - threshold)) (Xu 2014,
eq. 3.5). The thesis has a slope of 1. Here it is learned too, because how steep a sigmoid should
be depends on the scale of the values, and predictions use hard thresholds. A cascade is a tree
with an exit at every node (sec. 3.5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["Exit", "SoftTree", "TreeShape"]

Floats = NDArray[np.float64]


class Exit(NamedTuple):
    """A place where rows leave the tree: a node, and on which of its sides they leave."""

    node: int
    left: bool
    right: bool


@dataclass(frozen=True, eq=False)
class TreeShape:
    """The children of N nodes; node 0 is the root, and a child comes after its parent.

    Parameters
    ----------
    left, right : int64 arrays of shape (N,)
        Children of each node; -1 where rows exit.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @classmethod
    def full(cls, depth: int) -> Self:
        """Return a balanced tree with `depth` decisions on every path."""
        nodes = np.arange(2 ** (depth + 1) - 1)
        inner = nodes < 2**depth - 1
        return cls(np.where(inner, 2 * nodes + 1, -1), np.where(inner, 2 * nodes + 2, -1))

    @classmethod
    def chain(cls, stages: int) -> Self:
        """Return a cascade: rows that are not above the threshold of a node exit there."""
        following = np.arange(1, stages + 1)
        return cls(np.full(stages, -1), np.where(following < stages, following, -1))

    def __len__(self) -> int:
        return len(self.left)

    def is_leaf(self, node: int) -> bool:
        """Return whether all rows that reach a node exit there."""
        return bool(self.left[node] < 0 and self.right[node] < 0)

    @cached_property
    def exits(self) -> tuple[Exit, ...]:
        """The L exits; a leaf, where rows exit on both sides, is one."""
        sides = zip((self.left < 0).tolist(), (self.right < 0).tolist(), strict=True)
        return tuple(
            Exit(node, left, right) for node, (left, right) in enumerate(sides) if left or right
        )

    @cached_property
    def parents(self) -> NDArray[np.int64]:
        """Parent of each node, (N,); -1 for the root."""
        parents = np.full(len(self), -1)
        for child in (self.left, self.right):
            inner = np.flatnonzero(child >= 0)
            parents[child[inner]] = inner
        return parents

    @cached_property
    def ancestry(self) -> NDArray[np.bool_]:
        """Which nodes are on the path to each node, itself included, (N, N)."""
        table = np.eye(len(self), dtype=bool)
        for node in range(1, len(self)):
            table[node] |= table[self.parents[node]]
        return table

    @cached_property
    def exit_paths(self) -> NDArray[np.bool_]:
        """Which nodes are on the path to each exit, (L, N)."""
        return self.ancestry[[found.node for found in self.exits]]

    def subtree(self, node: int) -> list[int]:
        """Return a node and its descendants in increasing order."""
        return np.flatnonzero(self.ancestry[:, node]).tolist()


@dataclass(eq=False)
class SoftTree:
    """The parameters of a tree of linear models of q inputs.

    Parameters
    ----------
    shape : TreeShape
    weights : array of shape (N, q)
        Both route a row and predict it.
    bias : array of shape (N,)
        Added to the value of a node when it predicts.
    threshold, slope : arrays of shape (N,)
        Of the sigmoid that routes a row.
    """

    shape: TreeShape
    weights: Floats
    bias: Floats
    threshold: Floats
    slope: Floats

    @classmethod
    def zero(cls, shape: TreeShape, n_inputs: int) -> Self:
        """Return a tree whose weights are all 0 and whose slopes are 1."""
        n = len(shape)
        return cls(shape, np.zeros((n, n_inputs)), np.zeros(n), np.zeros(n), np.ones(n))

    def copy(self) -> SoftTree:
        """Copy the parameters."""
        names = ("weights", "bias", "threshold", "slope")
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    def split(self, leaf: int) -> SoftTree:
        """Return the tree in which a leaf has two children, the last nodes, whose weights are 0."""
        n = len(self.shape)
        left, right = (np.append(side, [-1, -1]) for side in (self.shape.left, self.shape.right))
        left[leaf], right[leaf] = n, n + 1
        grown = SoftTree.zero(TreeShape(left, right), self.weights.shape[1])
        for name in ("weights", "bias", "threshold", "slope"):
            getattr(grown, name)[:n] = getattr(self, name)
        return grown

    def right_probability(self, values: Floats) -> Floats:
        """Return the probability of going right at each node, given its values (n, N)."""
        return np.asarray(expit(self.slope * (values - self.threshold)))

    def node_probability(self, values: Floats, node: int) -> Floats:
        """Return the probability of reaching one node, (n,), given the values (n, N)."""
        probability = np.ones(len(values))
        for above in np.flatnonzero(self.shape.ancestry[node])[:-1].tolist():
            right = self.shape.right[above]
            sign = 1.0 if right >= 0 and self.shape.ancestry[node, right] else -1.0
            margin = values[:, above] - self.threshold[above]
            probability *= expit(sign * self.slope[above] * margin)
        return probability

    def reach_probability(self, p_right: Floats, start: int = 0) -> Floats:
        """Return the probability of reaching each node from `start`, (n, N)."""
        reach = np.zeros_like(p_right)
        reach[:, start] = 1.0
        for node in self.shape.subtree(start):
            left, right = self.shape.left[node], self.shape.right[node]
            if left >= 0:
                reach[:, left] = reach[:, node] * (1.0 - p_right[:, node])
            if right >= 0:
                reach[:, right] = reach[:, node] * p_right[:, node]
        return reach

    def exit_probability(self, reach: Floats, p_right: Floats) -> Floats:
        """Return the probability of each exit, (n, L)."""
        probability = np.empty((len(reach), len(self.shape.exits)))
        for number, (node, left, right) in enumerate(self.shape.exits):
            share = (1.0 - p_right[:, node]) * left + p_right[:, node] * right
            probability[:, number] = reach[:, node] * (1.0 if left and right else share)
        return probability
