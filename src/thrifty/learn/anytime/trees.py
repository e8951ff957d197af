"""The trees of all dimensions of all machines, in the order they are grown, from one purse."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.descent import follow
from thrifty.learn.boosting.ensemble import ForestBuilder
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.purchases import Bought
from thrifty.learn.folds import Lots, half
from thrifty.model import Forest

__all__ = ["DimensionTrees", "Mark"]


class Mark(NamedTuple):
    """A moment to go back to: how many trees there were, and what was bought."""

    trees: int
    bought: NDArray[np.uint8]


class DimensionTrees:
    """Grows trees, each for one dimension, and can take the last ones back.

    Parameters
    ----------
    grower : Grower
        Grows on the rows that are learnt from.
    aside : array (d, rows) of uint8
        Bins of the rows that are only watched; they follow the others in every output.
    learning_rate : float
        Share of each tree that is added to its dimension (eta).
    lots : array (rows,) of uint64
        Lots of the rows that are learnt from.
    """

    def __init__(
        self, grower: Grower, aside: NDArray[np.uint8], learning_rate: float, lots: Lots
    ) -> None:
        self.grower, self.aside, self.learning_rate = grower, aside, learning_rate
        self.lots = lots
        self.builder = ForestBuilder(grower.binned)
        d, n = aside.shape
        self._followed = (
            np.empty(n, np.int64),
            np.zeros((n, d), dtype=bool),
            np.empty(n + 1, np.int64),
        )

    @property
    def bought(self) -> Bought:
        """What is paid for."""
        return self.grower.bought

    @property
    def count(self) -> int:
        """Number of trees."""
        return len(self.builder.nodes)

    def set_penalty(self, penalty: float) -> None:
        """Gain that a unit of price must bring from now on (lambda)."""
        self.grower.rate = 2.0 * penalty

    def sampled(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        """The target on half of the rows, drawn anew for each tree; twice, so that its mean stays.

        Trees for the same penalties on the same rows would be nearly the same trees.
        """
        return target * (2.0 * half(self.lots, self.count))

    def grow(self, target: NDArray[np.float64], column: int, out: NDArray[np.float64]) -> bool:
        """Fit a tree to `target` for one column and add it to `out`; False if nothing pays."""
        growth = self.grower.grow(target)
        if growth.count[0] <= 1:
            return False
        values = self.learning_rate * self.grower.values(target, None, 0.0)
        learnt = len(target)
        self.grower.add(values, out[:learnt])
        follow(self.aside, growth.left, growth.feature, growth.goes_left, *self._followed)
        out[learnt:] += values[self._followed[0]]
        self.builder.add(growth, values, column)
        return True

    def mark(self) -> Mark:
        """This moment."""
        return Mark(self.count, self.bought.features.copy())

    def back_to(self, mark: Mark) -> None:
        """Forget what was grown and bought since."""
        if self.count > mark.trees:
            self.builder.drop(self.count - mark.trees)
        # In place: the grower holds the same array.
        self.bought.features[:] = mark.bought

    def freeze(self, columns: int) -> Forest:
        """All trees, as a forest with one output for each column."""
        return self.builder.freeze(np.zeros(columns), "sum")
