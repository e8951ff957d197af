"""One example before a kernel machine: all features are needed, so all are asked for at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from thrifty.model.frozen import Price, Walk

__all__ = ["SupportWalk"]


class SupportWalk(Walk):
    """The walk of a `SupportSet`; until all is told, what is not counts as missing.

    Parameters
    ----------
    features : tuple of int
        What the machine reads.
    n_features : int
        Columns of the table.
    vectors : int
        Kernel evaluations of a whole row.
    score : callable
        Scores of a table of one row.
    price : callable
        What a feature would cost now.
    """

    def __init__(
        self,
        features: tuple[int, ...],
        n_features: int,
        vectors: int,
        score: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        price: Price,
    ) -> None:
        self._wanted = dict.fromkeys(features)
        self._row = np.full((1, n_features), np.nan)
        self._vectors = vectors
        self._score = score
        self._price = price
        self._read: dict[int, None] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """All features not yet told, the cheapest first."""
        return tuple(sorted(self._wanted, key=lambda feature: (self._price(feature), feature)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; the others are kept as unread by the bundle."""
        for feature, value in values.items():
            if feature in self._wanted:
                del self._wanted[feature]
                self._read[feature] = None
                self._row[0, feature] = value

    @property
    def touched(self) -> tuple[int, ...]:
        """Features told so far."""
        return tuple(self._read)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the row as far as it is known."""
        return np.asarray(self._score(self._row)[0])

    @property
    def evaluations(self) -> int:
        """None before the row is whole: nothing has been answered then."""
        return 0 if self._wanted else self._vectors
