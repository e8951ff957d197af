"""One example before a call: what the call needs is asked for first, then its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.model.frozen import Price, Walk

__all__ = ["AnswerWalk"]

Floats = NDArray[np.float64]


class AnswerWalk(Walk):
    """The walk of an `Answer`; until it is told, all classes are alike.

    Parameters
    ----------
    columns, needs : sequences of int
        Columns of the answer, and features that the call needs.
    checked : callable
        Makes NaN of rows that are no probabilities.
    price : callable
        What a feature would cost now.
    """

    def __init__(
        self,
        columns: Sequence[int],
        needs: Sequence[int],
        checked: Callable[[Floats], Floats],
        price: Price,
    ) -> None:
        self._columns, self._needs = columns, needs
        self._wanted = {*columns, *needs}
        self._checked, self._price = checked, price
        self._read: dict[int, float] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """What the call needs, the cheapest first; when all of it is there, the answer."""
        missing = [feature for feature in self._needs if feature not in self._read]
        if missing:
            return tuple(sorted(missing, key=lambda feature: (self._price(feature), feature)))
        return tuple(column for column in self._columns if column not in self._read)

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; those of other features are kept as unread by the bundle."""
        wanted = self._wanted
        self._read.update((j, x) for j, x in values.items() if j in wanted)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features told so far."""
        return tuple(self._read)

    @property
    def scores(self) -> Floats:
        """The answer, NaN if the call has failed; before it is told, every class alike."""
        if any(column not in self._read for column in self._columns):
            return np.full(len(self._columns), 1.0 / len(self._columns))
        row = np.array([[self._read[column] for column in self._columns]])
        return np.asarray(self._checked(row)[0])

    @property
    def evaluations(self) -> int:
        """None: the call has a price of its own."""
        return 0
