"""One example walking through a blend: the keys first, then the model that they lead to."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from thrifty.model.frozen import Frozen, Price, Walk
from thrifty.model.lots import draw_lots

__all__ = ["BlendWalk"]


class BlendWalk(Walk):
    """The walk of a `Blend`."""

    def __init__(
        self,
        first: Frozen,
        second: Frozen,
        keys: NDArray[np.int64],
        share: float,
        seed: int,
        price: Price | None,
    ) -> None:
        self._second = second
        self._keys = keys
        self._share = share
        self._seed = seed
        self._price = price
        self._told: dict[int, float] = {}
        self._missing = set(keys.tolist())
        # Until the keys are known, the first model has the word: it is the cheaper one.
        self._walk = first.walk(price)
        self._settle()

    @property
    def asks(self) -> tuple[int, ...]:
        """The keys not told yet, the cheapest first; then what the model asks."""
        if not self._missing:
            return self._walk.asks
        price = self._price or (lambda feature: 0.0)
        return tuple(sorted(self._missing, key=lambda feature: (price(feature), feature)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, and move on as far as they allow."""
        self._told.update(values)
        self._walk.tell(values)
        if self._missing:
            self._missing.difference_update(values)
            self._settle()

    @property
    def touched(self) -> tuple[int, ...]:
        """The keys told, then what the model has read beyond them."""
        keys = set(self._keys.tolist())
        read = [feature for feature in self._told if feature in keys]
        if not self._missing:
            read += [feature for feature in self._walk.touched if feature not in keys]
        return tuple(read)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the model of the row; of the first while keys are missing."""
        return self._walk.scores

    @property
    def evaluations(self) -> int:
        """Those of the model of the row; none while keys are missing."""
        return 0 if self._missing else self._walk.evaluations

    def _settle(self) -> None:
        """Once all keys are told, go on with the model that they lead to."""
        if self._missing:
            return
        row = np.array([[self._told[key] for key in self._keys.tolist()]])
        if draw_lots(row.reshape(1, -1), self._seed)[0] < self._share:
            self._walk = self._second.walk(self._price)
            self._walk.tell(self._told)
