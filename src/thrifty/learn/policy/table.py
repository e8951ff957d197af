"""The rows that a policy is trained on, encoded, binned and divided into folds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.binned import Binned
from thrifty.learn.losses import LogLoss

__all__ = ["PolicyTable"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PolicyTable:
    """The rows that a policy is trained on.

    Parameters
    ----------
    X : array of shape (n, d)
        Encoded rows.
    y : int64 array of shape (n,)
        Class codes.
    n_classes : int
    fold : int64 array of shape (n,)
        Fold of each row, from 0 up.
    binned : Binned
        The same rows in bins.
    prices : BoundPrices
    weight : array of shape (n,) or None
    """

    X: NDArray[np.floating]
    y: Ints
    n_classes: int
    fold: Ints
    binned: Binned
    prices: BoundPrices
    weight: Floats | None = None

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1

    def loss(self, rows: NDArray[np.intp]) -> LogLoss:
        """Bind the log-loss to some rows, with repetitions."""
        return LogLoss(self.y[rows], self.weights(rows), self.n_classes)

    def weights(self, rows: NDArray[np.intp]) -> Floats | None:
        """Return the weights of some rows; None if all weigh the same."""
        return None if self.weight is None else self.weight[rows]
