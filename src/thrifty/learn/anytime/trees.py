"""The trees of all representations, in the order they are grown; they share their purchases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.binned_descent import follow
from thrifty.learn.boosting.ensemble import ForestBuilder
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.folds import sample_half
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest

__all__ = ["DimensionTrees", "TreeCheckpoint"]


class TreeCheckpoint(NamedTuple):
    """A state of `DimensionTrees` that can be restored."""

    trees: int
    """Number of trees."""

    bought: NDArray[np.uint8]
    """(d,): 1 for each feature that was bought."""


class DimensionTrees:
    """Grow trees, each for one dimension of one representation, and undo the last ones.

    Parameters
    ----------
    grower : Grower
        Grows on the training and validation rows.
    stopping_bins : uint8 array of shape (d, m)
        Bins of the early stopping rows, which follow the other rows in every output.
    learning_rate : float
        Factor for each tree (eta).
    row_hash : uint64 array of shape (n,)
        Hashes of the training and validation rows, for subsampling.
    """

    def __init__(
        self,
        grower: Grower,
        stopping_bins: NDArray[np.uint8],
        learning_rate: float,
        row_hash: NDArray[np.uint64],
    ) -> None:
        self.grower, self.stopping_bins, self.learning_rate = grower, stopping_bins, learning_rate
        self.row_hash = row_hash
        self.builder = ForestBuilder(grower.binned)
        self._draws = 0
        d, m = stopping_bins.shape
        # Buffers of `follow`: leaf of each row, features it read, and scratch space.
        self._follow_buffers = (
            np.empty(m, np.int64),
            np.zeros((m, d), np.uint8),
            np.empty(m + 1, np.int64),
        )

    @property
    def purchases(self) -> Purchases:
        """What the trees have bought."""
        return self.grower.purchases

    @property
    def count(self) -> int:
        """Number of trees."""
        return len(self.builder.trees)

    def set_penalty(self, penalty: float) -> None:
        """Set the gain that one unit of price must bring from now on (lambda)."""
        self.grower.penalty = penalty

    def subsample(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the target (n,) doubled on half of the rows, and 0 on the others.

        Every call takes another half, also after trees were undone, because trees for nearly the
        same penalties on the same rows would be nearly the same trees. Doubling keeps the mean.
        """
        half = sample_half(self.row_hash, self._draws)
        self._draws += 1
        return target * (2.0 * half)

    def grow(self, target: NDArray[np.float64], column: int, out: NDArray[np.float64]) -> bool:
        """Fit a tree to `target` (n,) for one output column, and add its values to `out` (n + m,).

        Returns False, and changes nothing, if no split is worth its price.
        """
        tree = self.grower.grow(target)
        if len(tree.left) == 1:
            return False
        values = self.learning_rate * self.grower.values(target, None, 0.0)
        n = len(target)
        self.grower.add(values, out[:n])
        buffers = self._follow_buffers
        follow(self.stopping_bins, tree.left, tree.feature, tree.goes_left, *buffers)
        out[n:] += values[buffers[0]]
        self.builder.add(tree, values, column)
        return True

    def checkpoint(self) -> TreeCheckpoint:
        """Return the present state."""
        return TreeCheckpoint(self.count, self.purchases.features.copy())

    def restore(self, checkpoint: TreeCheckpoint) -> None:
        """Drop the trees and the purchases made since a checkpoint."""
        if self.count > checkpoint.trees:
            self.builder.drop(self.count - checkpoint.trees)
        # In place: the grower holds the same array.
        self.purchases.features[:] = checkpoint.bought

    def freeze(self, columns: int) -> Forest:
        """Return all trees as a forest with one output for each column."""
        return self.builder.freeze(np.zeros(columns), "sum")
