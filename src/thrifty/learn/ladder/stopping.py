"""Where rows stop on a ladder: dynamic programming on held-out rows.

At a price of money, a row that stops on rung r costs its loss there plus the money for all that
it has read. From the top rung downwards, each limit is the one at which the rows below it, which
stop, and those above it, which go on under the later limits, cost least together.

Held-out rows on every rung of a ladder: what they are told there, and what they have read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.model import Forest

__all__ = ["Ascent", "Evidence"]

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
    >>> from thrifty.learn.ladder.stopping import Evidence
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


@dataclass(frozen=True, eq=False)
class Ascent:
    """One entry per rung, the constant first.

    Parameters
    ----------
    scores : list of arrays
        Scores of the rung, (n, K) or (n,).
    used : list of arrays (n, d)
        What the rung alone reads.
    trees : list of int
        Evaluations of the rung.
    asked : list of arrays (n, d)
        What the model of its doubt reads; nothing where it has none.
    asked_trees : list of int
        Evaluations of the doubt.
    """

    scores: list[NDArray[np.float64]]
    used: list[NDArray[np.bool_]]
    trees: list[int]
    asked: list[NDArray[np.bool_]]
    asked_trees: list[int]

    @classmethod
    def of(
        cls, rungs: Sequence[Forest], doubts: Sequence[Forest | None], X: NDArray[np.floating]
    ) -> Ascent:
        """Send rows through all rungs and doubts."""
        pairs = [rung.score_and_used(X) for rung in rungs]
        return cls(
            [scores for scores, _ in pairs],
            [used for _, used in pairs],
            [rung.most_evaluations for rung in rungs],
            [np.zeros_like(pairs[0][1]) if doubt is None else doubt.used(X) for doubt in doubts],
            [0 if doubt is None else doubt.most_evaluations for doubt in doubts],
        )

    def alone(self, rung: int, prices: BoundPrices) -> NDArray[np.float64]:
        """What rows pay for one rung and none below it."""
        return prices.bill(self.used[rung], self.trees[rung])

    def bills(self, prices: BoundPrices, consulted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """What rows have paid on each rung (rungs, n), if the doubts `consulted` were asked."""
        seen = np.zeros_like(self.used[0])
        evaluations, bills = 0, []
        for r, used in enumerate(self.used):
            seen = seen | used
            evaluations += self.trees[r]
            if consulted[r]:
                seen |= self.asked[r]
                evaluations += self.asked_trees[r]
            bills.append(prices.bill(seen, evaluations))
        return np.array(bills)
