"""One example through several models at once: it asks for what any of them asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.model.frozen import Price, Walk

__all__ = ["OneVsRestWalk"]

Floats = NDArray[np.float64]


class OneVsRestWalk(Walk):
    """The walk of a `OneVsRest`.

    Parameters
    ----------
    walks : sequence of Walk
        One for each class, started.
    joined : callable
        How the scores (K, 2) of the walks become those of the classes.
    price : callable
        What a feature would cost now.
    """

    def __init__(
        self, walks: Sequence[Walk], joined: Callable[[Floats], Floats], price: Price | None
    ) -> None:
        self._walks = walks
        self._joined = joined
        self._price = price or (lambda feature: 0.0)
        self._told: dict[int, float] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """What any model asks for, the cheapest first."""
        wanted = {feature for walk in self._walks for feature in walk.asks}
        return tuple(sorted(wanted, key=lambda feature: (self._price(feature), feature)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; what was told before counts for a model when it comes to need it."""
        self._told.update(values)
        for walk in self._walks:
            walk.tell(values)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features that any model has read, in the order they were told."""
        read = {feature for walk in self._walks for feature in walk.touched}
        return tuple(feature for feature in self._told if feature in read)

    @property
    def scores(self) -> Floats:
        """Class probabilities from the best answers so far."""
        return self._joined(np.array([walk.scores for walk in self._walks]))

    @property
    def evaluations(self) -> int:
        """Those of all models so far."""
        return sum(walk.evaluations for walk in self._walks)
