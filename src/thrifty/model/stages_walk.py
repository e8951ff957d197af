"""One example climbing a ladder: the walk of the rung where it stands, then the next."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.model.frozen import Frozen, Price, Walk
from thrifty.model.relay_walk import RelayWalk

__all__ = ["StagesWalk", "doubt_of"]


def doubt_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """One minus the largest class probability of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.stages_walk import doubt_of
    >>> doubt_of(np.array([[0.25, 0.75], [0.5, 0.5]]))
    array([0.25, 0.5 ])
    """
    return np.asarray(1.0 - scores.max(axis=1))


class StagesWalk(RelayWalk[Walk]):
    """The walk of a `Stages`."""

    def __init__(
        self,
        rungs: Sequence[Frozen],
        doubts: Sequence[Frozen | None],
        limits: Sequence[float],
        price: Price | None,
    ) -> None:
        self._rungs, self._doubts, self._limits = rungs, doubts, limits
        self._price = price
        self._rung = 0
        self._in_doubt = False
        self._scores: NDArray[np.float64] | None = None
        super().__init__(rungs[0].walk(price))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the last complete rung; before that, the best of the first."""
        return self._walks[0].scores if self._scores is None else self._scores

    def _next(self) -> Walk | None:
        scores, limit = self._walks[-1].scores, self._limits[self._rung]
        if self._in_doubt:
            return self._above(float(scores[0]) > limit)
        self._scores = scores
        last = self._rung == len(self._rungs) - 1
        if last or not math.isfinite(limit):
            return self._above(not last and limit < 0)
        doubt = self._doubts[self._rung]
        if doubt is None:
            return self._above(bool(doubt_of(scores[np.newaxis])[0] > limit))
        self._in_doubt = True
        return doubt.walk(self._price)

    def _above(self, climbs: bool) -> Walk | None:
        if not climbs:
            return None
        self._rung, self._in_doubt = self._rung + 1, False
        return self._rungs[self._rung].walk(self._price)
