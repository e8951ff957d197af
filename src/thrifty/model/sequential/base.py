"""Models whose rows buy one feature at a time, for as long as they are not sure.

Whatever a row would do at a lower threshold it does at a higher one first. So one run without a
threshold tells where each row stops at any other.

One example that buys one feature at a time, and a walk made of it.

Models that choose the next question from the answers so far share this: a trail tells what it
wants, takes the value, and says how sure it is. The walk follows one trail, the plain batch one
for every row, so both have the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import Frozen, Price, Walk

__all__ = ["Asking", "Trail", "TrailWalk", "Trails", "probabilities"]

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


Whole = NDArray[np.int64]


class Trails(NamedTuple):
    """What a batch comes to: the steps of every row, in the order of purchase.

    `feature` (n, m) is -1 beyond the `steps` (n,) that a row took; after each step a row has an
    `estimate`, is `sure` of its answer, and `winner` is the class of the answer.
    """

    feature: Whole
    estimate: Floats
    sure: Floats
    winner: Whole
    steps: Whole

    @classmethod
    def empty(cls, n: int, m: int) -> Self:
        """No steps yet."""
        estimate, sure = np.zeros((2, n, m))
        feature, winner = np.full((n, m), -1, np.int64), np.zeros((n, m), np.int64)
        return cls(feature, estimate, sure, winner, np.zeros(n, np.int64))

    def stops(self, threshold: float) -> Whole:
        """Steps that each row takes at a threshold no higher than that of this run."""
        taken = np.arange(self.feature.shape[1]) < self.steps[:, np.newaxis]
        enough = (self.estimate > threshold) & taken
        first = enough.argmax(axis=1) + 1 if enough.shape[1] else self.steps
        return np.where(enough.any(axis=1), first, self.steps)


class Asking(Frozen):
    """Base of the models that ask for one feature at a time."""

    order: Whole
    """Features that may be bought; the first is bought first."""

    threshold: float
    """A row stops when its estimate is above it; before the first purchase, the prior's."""

    prior: Floats
    """Shares of the classes."""

    @abstractmethod
    def trail(self) -> Trail:
        """Start one example."""

    @abstractmethod
    def until(self, threshold: float) -> Self:
        """The same with another threshold."""

    def _run(self, X: Floats, found: Trails) -> None:
        """Fill the trails of a batch."""
        for row, values in enumerate(X):
            trail = self.trail()
            trail.follow(values)
            found.steps[row] = steps = len(trail.bought)
            found.feature[row, :steps] = trail.bought
            for part, seen in zip(found[1:4], zip(*trail.seen, strict=True), strict=True):
                part[row, :steps] = seen

    @property
    def starts(self) -> bool:
        """Whether a row buys anything: the largest class alone is not sure enough."""
        return len(self.order) > 0 and not self.prior.max() > self.threshold

    @property
    def n_scores(self) -> int:
        """Number of classes."""
        return len(self.prior)

    def trails(self, X: NDArray[np.floating]) -> Trails:
        """Every step of every row."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the model reads {self.n_features} columns, got shape {X.shape}")
        found = Trails.empty(len(X), len(self.order))
        if self.starts and len(X):
            self._run(np.asarray(X, dtype=np.float64), found)
        return found

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Class probabilities (n, K): what the answer has, and the rest evenly shared."""
        found = self.trails(X)
        return self.scores_after(found, found.steps)

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which features each row bought, (n, n_features)."""
        found = self.trails(X)
        return self.used_after(found, found.steps)

    def evaluations(self, X: NDArray[np.floating]) -> Whole:
        """Scans of the training rows: one a feature."""
        return self.trails(X).steps

    @property
    def most_evaluations(self) -> int:
        """One for every feature that may be bought."""
        return int(self.support.sum())

    @property
    def support(self) -> NDArray[np.bool_]:
        """The features of the order, unless no row buys anything."""
        support = np.zeros(self.n_features, dtype=bool)
        support[self.order] = self.starts
        return support

    def walk(self, price: Price | None = None) -> TrailWalk:
        """Start one example; it asks by the tolls that it was frozen with, not by `price`."""
        return TrailWalk(self.trail())

    def scores_after(self, trails: Trails, steps: Whole) -> Floats:
        """Class probabilities of rows that stop after so many steps."""
        scores = np.tile(self.prior, (len(steps), 1))
        moved = np.flatnonzero(steps)
        last = (moved, steps[moved] - 1)
        scores[moved] = probabilities(trails.sure[last], trails.winner[last], self.n_scores)
        return scores

    def used_after(self, trails: Trails, steps: Whole) -> NDArray[np.bool_]:
        """What rows have bought that stop after so many steps."""
        used = np.zeros((len(steps), self.n_features), dtype=bool)
        row, step = np.nonzero(np.arange(trails.feature.shape[1]) < steps[:, np.newaxis])
        used[row, trails.feature[row, step]] = True
        return used
