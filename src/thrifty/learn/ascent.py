"""Held-out rows on every rung of a ladder: what they are told there, and what they have read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.model import Forest

__all__ = ["Ascent"]


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
