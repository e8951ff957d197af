"""One example that buys one feature at a time, and a walk made of it.

Models that choose the next question from the answers so far share this: a trail tells what it
wants, takes the value, and says how sure it is. The walk follows one trail, the plain batch one
for every row, so both have the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from thrifty.model.frozen import Walk

__all__ = ["Trail", "TrailWalk", "probabilities"]

Floats = NDArray[np.float64]

# How far above an even share the answer stands at least, so that it is the largest.
LEAD = 1e-6


class Trail(ABC):
    """One example: what it has bought, what it wants next, and how sure it is.

    Parameters
    ----------
    prior : array (K,)
        Shares of the classes: the answer before any purchase.
    wants : int or None
        The first feature to buy.
    """

    wants: int | None
    """The feature to buy now; None once it is done."""

    bought: list[int]
    """Features in the order of purchase."""

    seen: list[tuple[float, float, int]]
    """After each purchase: the estimate, the probability of the answer, and its class."""

    def __init__(self, prior: Floats, wants: int | None) -> None:
        self.prior, self.wants = prior, wants
        self.bought, self.seen = [], []

    @abstractmethod
    def take(self, value: float) -> None:
        """Take the value of the feature that is wanted."""

    @property
    def scores(self) -> Floats:
        """Class probabilities (K,) of the best answer so far."""
        if not self.seen:
            return self.prior.copy()
        _, sure, winner = self.seen[-1]
        row: Floats = probabilities(np.array([sure]), np.array([winner]), len(self.prior))[0]
        return row

    def follow(self, row: NDArray[np.floating]) -> None:
        """Buy from a whole row until done."""
        while self.wants is not None:
            self.take(float(row[self.wants]))


class TrailWalk(Walk):
    """A walk that asks for one feature at a time.

    A value told unasked waits until the trail wants it, so that what is read does not depend on
    the order in which values arrive.
    """

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self._idle: dict[int, float] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """The feature that is wanted; nothing once done."""
        return () if self._trail.wants is None else (self._trail.wants,)

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, and move on as far as they allow."""
        self._idle.update(values)
        while self._trail.wants is not None and self._trail.wants in self._idle:
            self._trail.take(self._idle.pop(self._trail.wants))

    @property
    def touched(self) -> tuple[int, ...]:
        """Features bought so far, in this order."""
        return tuple(self._trail.bought)

    @property
    def scores(self) -> Floats:
        """Class probabilities of the best answer so far."""
        return self._trail.scores

    @property
    def evaluations(self) -> int:
        """Scans of the training rows so far: one a feature."""
        return len(self._trail.bought)


def probabilities(sure: Floats, winner: NDArray[np.int64], n_classes: int) -> Floats:
    """Class probabilities (n, K): what the answer has, and the rest evenly shared."""
    sure = np.maximum(sure, (1.0 + LEAD) / n_classes)
    scores = np.repeat(((1.0 - sure) / (n_classes - 1))[:, np.newaxis], n_classes, axis=1)
    scores[np.arange(len(winner)), winner] = sure
    return scores
