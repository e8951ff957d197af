"""One example before a gate: the walk of the gate, then that of the model that it comes to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.model.frozen import Frozen, Price, Walk
from thrifty.model.relay_walk import RelayWalk

__all__ = ["GateWalk"]


class GateWalk(RelayWalk[Walk]):
    """The walk of a `Gate`.

    Parameters
    ----------
    gate : Frozen or None
        None where the limit alone decides.
    local, expensive : Frozen
    limit : float
    shares_trees : bool
        Whether the gate's evaluations are those of the local model too.
    price : callable or None
    """

    def __init__(
        self,
        gate: Frozen | None,
        local: Frozen,
        expensive: Frozen,
        limit: float,
        shares_trees: bool,
        price: Price | None,
    ) -> None:
        self._local, self._expensive, self._limit = local, expensive, limit
        self._shares_trees, self._price = shares_trees, price
        self._at = gate or (expensive if limit < 0 else local)
        super().__init__(self._at.walk(price))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Of the model that answers; before that, the local model's on what has been read."""
        last = self._walks[-1]
        if self._at is self._local or (self._at is self._expensive and not last.asks):
            return last.scores
        aside = self._local.walk(self._price)
        aside.tell({feature: self._told[feature] for feature in self.touched})
        return aside.scores

    @property
    def evaluations(self) -> int:
        """Evaluations of the gate and of what came after it."""
        walks = self._walks
        if self._shares_trees and self._at is self._local:
            walks = walks[:-1]
        return sum(walk.evaluations for walk in walks)

    def _next(self) -> Walk | None:
        scores = self._walks[-1].scores
        if self._at is self._local:
            return None
        if self._at is self._expensive:
            return self._to(self._local) if bool(np.isnan(scores).any()) else None
        return self._to(self._expensive if float(scores[0]) > self._limit else self._local)

    def _to(self, model: Frozen) -> Walk:
        self._at = model
        return model.walk(self._price)
