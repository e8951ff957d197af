"""Score every prefix of a forest on some rows, in one pass over its trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.dataset import ValidationSet
from thrifty.model import Forest

__all__ = ["Prefix", "PrefixScorer"]


@dataclass(frozen=True)
class Prefix:
    """The first `trees` trees of a forest, measured on the validation set.

    `loss` is the mean squared error of the class shares.
    """

    trees: int
    bill: float
    loss: float
    quality: float


class PrefixScorer:
    """Class shares and bills of some rows while trees are added.

    Parameters
    ----------
    X : array of shape (n, d)
        The encoded rows.
    prices : BoundPrices
    n_classes : int

    Attributes
    ----------
    totals : array of shape (n, K)
        Sum of the class shares of the trees so far.
    used : bool array of shape (n, d)
        Features that each row has read so far.
    """

    def __init__(self, X: NDArray[np.floating], prices: BoundPrices, n_classes: int) -> None:
        self.X, self.prices = X, prices
        self.totals = np.zeros((len(X), n_classes))
        self.used = np.zeros((len(X), len(prices.own)), dtype=bool)
        self.trees = 0
        self._bills = prices.bill(self.used)

    def add(self, forest: Forest) -> Iterator[float]:
        """Add the trees of `forest` one by one; yield the mean bill after each."""
        for leaf in forest.leaves(self.X):
            self.totals += forest.values[leaf]
            read = forest.unpack_paths(forest.paths[leaf])
            # Few rows read anything new once there are some trees.
            changed = np.flatnonzero((read & ~self.used).any(axis=1))
            self.used[changed] |= read[changed]
            self._bills[changed] = self.prices.bill(self.used[changed])
            self.trees += 1
            yield float(np.mean(self._bills + self.prices.evaluation * self.trees))

    def prefixes(self, forest: Forest, validation: ValidationSet) -> Iterator[Prefix]:
        """Yield the prefixes with a smaller squared error than all shorter ones."""
        member = np.arange(self.totals.shape[1]) == validation.y[:, np.newaxis]
        least = np.inf
        for bill in self.add(forest):
            shares = self.totals / self.trees
            loss = float(np.mean(np.sum((shares - member) ** 2, axis=1)))
            if loss < least:
                least = loss
                yield Prefix(self.trees, bill, loss, validation.quality(shares))
