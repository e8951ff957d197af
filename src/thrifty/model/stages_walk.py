"""One example climbing a ladder: the walk of the rung where it stands, then the next.

All values told are kept, so a rung higher up asks only for what is new. A value is read, and
paid, when a rung that the example has come to reads it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.model.frozen import Frozen, Price, Walk

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


class StagesWalk(Walk):
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
        self._told: dict[int, float] = {}
        self._walks: list[Walk] = []
        self._rung = 0
        self._in_doubt = False
        self._scores: NDArray[np.float64] | None = None
        self._start(rungs[0])
        self._go()

    @property
    def asks(self) -> tuple[int, ...]:
        """What the current rung, or its doubt, asks for; nothing once the example stops."""
        return self._walks[-1].asks

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, and climb as far as they allow."""
        self._told.update(values)
        if self._walks[-1].asks:  # an example that has stopped reads nothing more
            self._walks[-1].tell(values)
            self._go()

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of first reading."""
        return tuple(dict.fromkeys(j for walk in self._walks for j in walk.touched))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the last complete rung; before that, the best of the first."""
        return self._walks[0].scores if self._scores is None else self._scores

    @property
    def evaluations(self) -> int:
        """Evaluations on all rungs so far."""
        return sum(walk.evaluations for walk in self._walks)

    def _start(self, model: Frozen) -> None:
        walk = model.walk(self._price)
        if self._told:
            walk.tell(self._told)
        self._walks.append(walk)

    def _go(self) -> None:
        """Pass from walk to walk as long as they are complete."""
        while not self._walks[-1].asks:
            follows = self._next()
            if follows is None:
                return
            self._start(follows)

    def _next(self) -> Frozen | None:
        """The model that follows the walk just completed; None when the example stops."""
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
        return doubt

    def _above(self, climbs: bool) -> Frozen | None:
        if not climbs:
            return None
        self._rung, self._in_doubt = self._rung + 1, False
        return self._rungs[self._rung]
