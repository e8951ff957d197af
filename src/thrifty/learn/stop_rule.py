"""Where rows stop on a ladder: dynamic programming on held-out rows.

At a price of money, a row that stops on rung r costs its loss there plus the money for all that
it has read. From the top rung downwards, each limit is the one at which the rows below it, which
stop, and those above it, which go on under the later limits, cost least together.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Evidence"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Held-out rows on every rung, each array (rungs, n).

    Parameters
    ----------
    doubt : array
        The doubt of each row on each rung.
    loss : array
        What it costs to answer the row there.
    bill : array
        What the row has paid when it stands there.
    weight : array (n,)
        Weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.stop_rule import Evidence
    >>> doubt = np.array([[0.1, 0.4], [0.0, 0.0]])
    >>> loss = np.array([[0.0, 1.0], [0.0, 0.0]])
    >>> bill = np.array([[0.0, 0.0], [3.0, 3.0]])
    >>> evidence = Evidence(doubt, loss, bill, np.ones(2))
    >>> evidence.limits(0.1)  # one row is worth 3 at a tenth of a loss
    array([0.25,  inf])
    >>> evidence.limits(0.5)
    array([inf, inf])
    """

    doubt: Floats
    loss: Floats
    bill: Floats
    weight: Floats

    def limits(self, money: float) -> Floats:
        """The limit of each rung at a price of money; the last is +inf."""
        limits = np.full(len(self.loss), np.inf)
        ahead = self.loss[-1] + money * self.bill[-1]
        for r in range(len(self.loss) - 2, -1, -1):
            here = self.loss[r] + money * self.bill[r]
            limits[r] = self._limit(r, self.weight * (here - ahead))
            ahead = np.where(self.doubt[r] > limits[r], ahead, here)
        return limits

    def __add__(self, other: Evidence) -> Evidence:
        """Both sets of rows together."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Evidence(*(np.concatenate(pair, axis=-1) for pair in pairs))

    def _limit(self, rung: int, cost: Floats) -> float:
        """Limit at which the rows up to it have the least sum of `cost`, what stopping costs."""
        order, doubt, ends = self._sorted[rung]
        sums = np.append(0.0, np.cumsum(cost[order])[ends])
        best = int(np.argmin(sums))
        if best == 0:
            return -np.inf
        last = ends[best - 1]
        if last == len(doubt) - 1:
            return np.inf
        return float((doubt[last] + doubt[last + 1]) / 2)

    @cached_property
    def _sorted(self) -> list[tuple[NDArray[np.intp], Floats, NDArray[np.intp]]]:
        """For each rung: rows by doubt, their doubts, and where each run of equal doubts ends."""
        found = []
        for doubt in self.doubt:
            order = np.argsort(doubt, kind="stable")
            ranked = doubt[order]
            found.append((order, ranked, np.flatnonzero(np.append(np.diff(ranked) > 0, True))))
        return found
