"""All thresholds of a gate that make a difference on some rows.

Rows are sent in the order of their gate values, the highest first, and rows with equal values
together. So the number of different thresholds is at most the number of distinct values plus one,
and all of them are evaluated at once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROUNDING_TOL", "Thresholds"]

Floats = NDArray[np.float64]
# Slack of shares, mean bills and qualities that are equal up to rounding.
ROUNDING_TOL = 1e-9


class Thresholds:
    """Every threshold that makes a difference on some rows, from sending none to sending all.

    Parameters
    ----------
    values : float64 array of shape (n,)
        Gate values of the rows.
    most : int, optional
        Keep at most so many of them, spread evenly over the rows.

    Attributes
    ----------
    order : int array of shape (n,)
        The rows, by decreasing gate value.
    counts : int array of shape (m,)
        Number of rows that each threshold sends, increasing from 0 to n.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.gates.thresholds import Thresholds
    >>> thresholds = Thresholds(np.array([0.0, 4.0, 4.0, 2.0]))
    >>> thresholds.counts
    array([0, 2, 3, 4])
    >>> thresholds.threshold(thresholds.at_share(0.6))
    3.0
    """

    def __init__(self, values: Floats, most: int | None = None) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        self.order = np.argsort(-self.values, kind="stable")
        ranked = self.values[self.order]
        ends = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True)) + 1
        self.counts = np.append(0, ends)
        if most is not None and len(self.counts) > most:
            kept = np.linspace(0, len(self.counts) - 1, most).round().astype(np.intp)
            self.counts = self.counts[kept]

    def threshold(self, index: int) -> float:
        """Return the threshold that sends `counts[index]` rows: halfway to the next value."""
        count = int(self.counts[index])
        if count == 0:
            return math.inf
        if count == len(self.values):
            return -math.inf
        above, below = self.values[self.order[count - 1]], self.values[self.order[count]]
        middle = float(below + (above - below) / 2.0)
        # Adjacent floats have no middle; the lower one sends the same rows.
        return middle if below <= middle < above else float(below)

    def sent(self, index: int) -> NDArray[np.bool_]:
        """Return which rows a threshold sends, (n,)."""
        sent = np.zeros(len(self.values), dtype=bool)
        sent[self.order[: int(self.counts[index])]] = True
        return sent

    def means(self, local: Floats, expensive: Floats) -> Floats:
        """Return the mean at each threshold, (m,), of numbers for kept and for sent rows."""
        change = np.cumsum((expensive - local)[self.order])
        sums = local.sum() + np.append(0.0, change)[self.counts]
        return np.asarray(sums / len(self.values))

    def area(self, local: Floats, expensive: Floats) -> float:
        """Return the mean of `means` over all shares of rows sent, from none to all.

        Examples
        --------
        The second row needs the expensive model. This gate sends it first:

        >>> import numpy as np
        >>> from thrifty.learn.gates.thresholds import Thresholds
        >>> Thresholds(np.array([-1.0, 1.0])).area(np.array([1.0, 0.0]), np.array([1.0, 1.0]))
        0.875
        """
        shares = self.counts / len(self.values)
        return float(np.trapezoid(self.means(local, expensive), shares))

    def at_share(self, share: float) -> int:
        """Return the index of the threshold that sends the most rows within a share of them."""
        fits = self.counts <= share * len(self.values) + ROUNDING_TOL
        return int(np.flatnonzero(fits)[-1])
