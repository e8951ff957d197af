"""Every prefix of a voting forest as an operating point, from one pass over its trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.model import Forest

__all__ = ["Ballot", "Prefix", "Tally"]


@dataclass(frozen=True)
class Prefix:
    """The first `trees` trees and their figures on the validation rows."""

    trees: int
    bill: float
    loss: float
    quality: float


@dataclass(frozen=True, eq=False)
class Ballot:
    """Validation rows and their class numbers."""

    X: NDArray[np.floating]
    codes: NDArray[np.int64]

    def judge(self, shares: NDArray[np.float64]) -> tuple[float, float]:
        """Mean squared error of the class shares (n, K), and accuracy."""
        member = np.arange(shares.shape[1]) == self.codes[:, np.newaxis]
        loss = float(np.mean(np.sum((shares - member) ** 2, axis=1)))
        return loss, float(np.mean(shares.argmax(axis=1) == self.codes))


class Tally:
    """Votes and bills of some rows while trees are added.

    Parameters
    ----------
    X : array (n, d)
        The rows.
    prices : BoundPrices
        What they pay.
    n_classes : int
        Number of classes.
    """

    def __init__(self, X: NDArray[np.floating], prices: BoundPrices, n_classes: int) -> None:
        self.X, self.prices = X, prices
        self.votes = np.zeros((len(X), n_classes))
        self.used = np.zeros((len(X), len(prices.own)), dtype=bool)
        self.trees = 0
        self._bills = prices.bill(self.used)

    def add(self, forest: Forest) -> Iterator[float]:
        """Add the trees of `forest` one by one; yields the mean bill after each."""
        for leaf in forest.leaves(self.X):
            self.votes += forest.values[leaf]
            read = forest.spread(forest.paths[leaf])
            # Few rows read anything new once there are some trees.
            news = np.flatnonzero((read & ~self.used).any(axis=1))
            self.used[news] |= read[news]
            self._bills[news] = self.prices.bill(self.used[news])
            self.trees += 1
            yield float(np.mean(self._bills + self.prices.evaluation * self.trees))

    def prefixes(self, forest: Forest, ballot: Ballot) -> Iterator[Prefix]:
        """The prefixes with less squared error than all shorter ones."""
        least = np.inf
        for bill in self.add(forest):
            loss, quality = ballot.judge(self.votes / self.trees)
            if loss < least:
                least = loss
                yield Prefix(self.trees, bill, loss, quality)
