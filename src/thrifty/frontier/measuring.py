"""Measuring the points of a path on held-out rows: bills, qualities, and how sure they are.

A table is encoded once for all points. A path that has followed the rows hands over what it knows;
other models answer once, those of one forest together: measuring costs little beside learning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from thrifty.bundle import Predictor, Schema
from thrifty.frontier.chains import answers_of
from thrifty.frontier.choice import undominated
from thrifty.frontier.curve import CurvePoint
from thrifty.frontier.parts import Rows
from thrifty.frontier.quality import Quality
from thrifty.learn import Point
from thrifty.learn.point import Heard

__all__ = ["Bench", "thin"]

# Points of one learner that are measured; more of them would hardly differ.
MOST_POINTS = 40


def thin(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """Keep at most `most` points: those that no other beats, and others spread over the bills.

    What the path calls better need not be what is measured later, and on few rows the best are
    the luckiest: so the others are kept too.

    Examples
    --------
    >>> from thrifty import Point
    >>> from thrifty.frontier.measuring import thin
    >>> points = [Point({}, None, float(bill), quality=bill % 7) for bill in range(100)]
    >>> [int(point.bill) for point in thin(points, 12)]
    [0, 1, 2, 3, 4, 5, 6, 7, 30, 53, 76, 99]
    """
    if len(points) <= most:
        return list(points)
    best = {id(point) for point in undominated(points)}
    chosen = _spread([point for point in points if id(point) in best], most)
    kept = {id(point) for point in chosen}
    others = [point for point in points if id(point) not in kept]
    kept |= {id(point) for point in _spread(others, most - len(chosen))}
    return [point for point in points if id(point) in kept]


def _spread(points: Sequence[Point], most: int) -> list[Point]:
    """The first, the last and others at even steps between them."""
    if len(points) <= most:
        return list(points)
    return [points[k] for k in np.linspace(0, len(points) - 1, most).astype(int)]


class _Answered(Predictor):
    """A predictor that has already answered about the rows it will be asked about."""

    def __init__(self, predictor: Predictor, scores: NDArray[np.float64]) -> None:
        prices = replace(predictor.prices, names=None)
        schema = _nameless(len(predictor.schema))
        super().__init__(predictor.model, schema, prices, predictor.classes)
        self.scores = scores

    def _score(self, X: Any) -> NDArray[np.float64]:
        return self.scores


@lru_cache(maxsize=8)
def _nameless(columns: int) -> Schema:
    return Schema.of(np.zeros((1, columns)))


@dataclass(frozen=True, eq=False)
class Bench:
    """Where points are measured.

    Parameters
    ----------
    rows : Rows
        The held-out rows, encoded.
    quality : Quality
    level : float
        Level of the intervals.
    clusters : int array of shape (n,) or None
        Rows that belong together are one observation.
    training : array of shape (m, d) or None
        Some encoded rows of the training table, to foresee bills on.
    """

    rows: Rows
    quality: Quality
    level: float
    clusters: NDArray[np.int64] | None
    training: NDArray[np.floating] | None = None

    def measure(self, learner: str, points: Sequence[Point]) -> list[CurvePoint]:
        """Figures of some points."""
        models = [point.model.model for point in points]
        found: dict[int, CurvePoint] = {}
        for k, heard in self._heard(points):
            found[k] = self._figures(learner, points[k], heard.scores, heard.bills)
        if self.training is not None:
            for k, _, used in answers_of(models, self.training):
                bills = _bills(points[k].model, used, self.training)
                foreseen = float(bills.mean()), float(bills.std())
                found[k] = replace(found[k], foreseen=foreseen)
        return [found[k] for k in range(len(points))]

    def _heard(self, points: Sequence[Point]) -> Iterator[tuple[int, Heard]]:
        """What each point tells the rows, and charges them."""
        silent = []
        for k, point in enumerate(points):
            if point.heard is None:
                silent.append(k)
            else:
                yield k, point.heard
        models = [points[k].model.model for k in silent]
        for place, scores, used in answers_of(models, self.rows.X):
            k = silent[place]
            yield k, Heard(scores, _bills(points[k].model, used, self.rows.X))

    def _figures(
        self,
        learner: str,
        point: Point,
        scores: NDArray[np.float64],
        bills: NDArray[np.float64],
    ) -> CurvePoint:
        heard = _Answered(point.model, scores)
        value, low, high = self.quality.interval(heard, self.rows, self.level)
        ceiling = point.model.ceiling
        return CurvePoint(
            learner=learner,
            knob=point.knob,
            model=point.model,
            bill=float(bills.mean()),
            quality=value,
            bills=bills,
            bill_interval=interval(bills, self.level, ceiling, self.clusters),
            quality_interval=(low, high),
            ceiling=ceiling,
            gains=self.quality.gains(heard, self.rows),
            clarity=_clarity(heard, self.rows.y) if self.quality.name == "accuracy" else None,
        )


def _bills(
    predictor: Predictor, used: NDArray[np.bool_], rows: NDArray[np.floating]
) -> NDArray[np.float64]:
    prices = predictor.prices
    return prices.bill(used, predictor.model.evaluations(rows) if prices.evaluation else 0)


def interval(
    bills: NDArray[np.float64],
    level: float,
    ceiling: float,
    clusters: NDArray[np.int64] | None = None,
) -> tuple[float, float]:
    """Student's interval of the mean bill, cut to what bills can be.

    Clusters are taken as the observations: the mean is a ratio of their totals, and the interval
    is that of its linear expansion.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.measuring import interval
    >>> low, high = interval(np.array([1.0, 2.0, 3.0, 2.0]), 0.95, ceiling=3.0)
    >>> round(low, 2), high
    (0.7, 3.0)
    """
    mean, influence = bills.mean(), bills - bills.mean()
    if clusters is not None:
        influence = np.bincount(clusters, influence) * (clusters.max() + 1) / len(bills)
    n = len(influence)
    if n < 2:
        return 0.0, float(ceiling)
    half = stdtrit(n - 1, (1 + level) / 2) * influence.std(ddof=1) / np.sqrt(n)
    return max(0.0, float(mean - half)), max(float(mean), min(float(mean + half), ceiling))


def _clarity(heard: _Answered, y: NDArray[Any]) -> NDArray[np.float64]:
    """Minus the squared distance of the probabilities from the truth."""
    hits = (y[:, np.newaxis] == heard.classes).astype(np.float64)
    return np.asarray(-((heard.scores - hits) ** 2).sum(axis=1))
