"""The cost/quality curve: operating points measured on the same held-out rows.

The area under a curve: mean quality over a range of budgets.

Quality is a step function of the budget, which is given as a share of the full price: at each
budget it is that of the last point within it. On the logarithmic scale every doubling of the budget
weighs the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.bundle import Predictor
from thrifty.costs.money import money
from thrifty.errors import BudgetError, DataError, raise_all

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Curve", "CurvePoint", "area", "step"]

SCALES = ("log", "linear")


def area(
    bills: ArrayLike,
    qualities: ArrayLike,
    full: float,
    *,
    scale: str = "log",
    low: float = 0.02,
    high: float = 1.0,
) -> float:
    """Mean quality over the budgets from `low` to `high`, shares of the full price.

    Parameters
    ----------
    bills : array of shape (k,)
        What each point needs as its budget, in increasing order. Below the first the quality is
        that of the first too, so a curve starts with the constant predictor, at bill 0.
    qualities : array of shape (k,)
        Quality from each point up to the next.
    full : float
        The full price; where it is 0 every budget affords the last point.
    scale : {"log", "linear"}
        What the mean is uniform over.
    low, high : float
        The range of budgets, ``0 <= low < high``; above 0 on the logarithmic scale.

    Examples
    --------
    >>> from thrifty.frontier.curve import area
    >>> area([0, 50], [0.5, 1.0], full=100, scale="linear", low=0.0)
    0.75
    >>> area([0, 10], [0.5, 1.0], full=100, low=0.01)
    0.75
    """
    if scale not in SCALES:
        raise ValueError(f"scale: {scale!r} is not one of {', '.join(SCALES)}")
    if not (0 < low < high if scale == "log" else 0 <= low < high):
        raise ValueError(f"low, high: {low!r} and {high!r} are not a range on the {scale} scale")
    if full <= 0:
        return float(np.asarray(qualities)[-1])
    edges = np.clip(np.append(np.asarray(bills, dtype=np.float64) / full, high), low, high)
    edges[0] = low
    places = np.log(edges) if scale == "log" else edges
    return float(np.dot(qualities, np.diff(places)) / (places[-1] - places[0]))


def step(bills: ArrayLike, qualities: ArrayLike, budget: float) -> float:
    """Quality of the last point within a budget; NaN where there is none.

    Examples
    --------
    >>> from thrifty.frontier.curve import step
    >>> step([0, 10], [0.5, 1.0], 9.99), step([0, 10], [0.5, 1.0], 10)
    (0.5, 1.0)
    """
    within = int(np.searchsorted(np.asarray(bills), budget, side="right"))
    return float(np.asarray(qualities)[within - 1]) if within else math.nan


SAME = ("scoring", "task", "unit", "full", "level", "data")


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """One operating point and its figures on the held-out rows.

    Parameters
    ----------
    learner : str
        Name of the learner that it comes from.
    knob : dict
        What the learner turned to get here.
    model : Predictor
        The frozen model.
    bill, quality : float
        Means over the held-out rows.
    bills : array of shape (n,)
        Bill of each held-out row.
    bill_interval, quality_interval : (float, float)
        Confidence intervals at the level of the curve.
    ceiling : float
        What no example can cost more than.
    gains : array
        What each held-out row (for an order, each query) adds to the quality.
    clarity : array of shape (n,), optional
        For accuracy, minus the squared error of the probabilities of each row (Brier's score).
    foreseen : (float, float), optional
        Mean and standard deviation of the bill on rows of the training table: what is known
        about the bill before any held-out row is looked at.
    """

    learner: str
    knob: dict[str, Any]
    model: Predictor
    bill: float
    quality: float
    bills: NDArray[np.float64]
    bill_interval: tuple[float, float]
    quality_interval: tuple[float, float]
    ceiling: float
    gains: NDArray[np.float64]
    clarity: NDArray[np.float64] | None = None
    foreseen: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """Learner and knob in words."""
        return f"{self.learner} ({told(self.knob)})" if self.knob else self.learner


@dataclass(frozen=True, eq=False)
class Curve:
    """Points, cheapest first; of those that cost the same the better first.

    Usually made by `trace`.

    Parameters
    ----------
    points : sequence of CurvePoint
    scoring : str
        What quality is.
    task : str
        ``"classification"``, ``"regression"`` or ``"ranking"``.
    unit : str
        What bills count.
    full : float
        Price of all features.
    level : float
        Level of the confidence intervals.
    data : str
        SHA-256 of the held-out rows.
    clusters : int array of shape (n,), optional
        Query or group of each held-out row, where rows of one belong together.
    chosen : CurvePoint, optional
        The point that was chosen, where one was.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor, Prices
    >>> from thrifty.frontier import trace
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> curve = trace(GreedyMiserRegressor(prices=Prices([1.0, 50.0])), X, y)
    >>> curve.frontier[0].bill, curve.frontier[-1].bill
    (0.0, 51.0)
    >>> curve.at_quality(0.9).bill
    1.0
    """

    points: tuple[CurvePoint, ...]
    scoring: str
    task: str
    unit: str
    full: float
    level: float = 0.95
    data: str = ""
    clusters: NDArray[np.int64] | None = None
    chosen: CurvePoint | None = None

    def __post_init__(self) -> None:
        if not self.points:
            raise DataError("curve: there are no points")
        ordered = sorted(self.points, key=lambda point: (point.bill, -point.quality))
        object.__setattr__(self, "points", tuple(ordered))

    @property
    def frontier(self) -> tuple[CurvePoint, ...]:
        """The points that no other point beats: each is better than all that cost no more."""
        kept: list[CurvePoint] = []
        for point in self.points:
            if not kept or point.quality > kept[-1].quality:
                kept.append(point)
        return tuple(kept)

    @property
    def hull(self) -> tuple[CurvePoint, ...]:
        """The points of the frontier that no mixture of two others beats."""
        kept: list[CurvePoint] = []
        for point in self.frontier:
            while len(kept) > 1 and not _turns_right(kept[-2], kept[-1], point):
                kept.pop()
            kept.append(point)
        return tuple(kept)

    @property
    def learners(self) -> tuple[str, ...]:
        """Names of the learners, in the order of their cheapest points."""
        return tuple(dict.fromkeys(point.learner for point in self.points))

    def of(self, learner: str) -> Self:
        """The curve of one learner alone."""
        points = tuple(point for point in self.points if point.learner == learner)
        if not points:
            raise DataError(f"curve: no learner {learner!r}; there are {', '.join(self.learners)}")
        return replace(self, points=points)

    @classmethod
    def merge(cls, curves: Iterable[Curve]) -> Curve:
        """One curve of all points; they must be measured alike and on the same rows.

        Raises
        ------
        DataError
            If they are not, or there is no curve.
        """
        curves = tuple(curves)
        if not curves:
            raise DataError("curve: there are no curves to merge")
        first, *others = curves
        for other in others:
            raise_all(DataError, "curves that cannot be merged", list(_differences(first, other)))
        return replace(first, points=tuple(p for curve in curves for p in curve.points))

    def __add__(self, other: Curve) -> Curve:
        return Curve.merge([self, other])

    def within(self, cap: float) -> Self:
        """The points of which no example can cost more than `cap`.

        Raises
        ------
        BudgetError
            If there is none; it names the point of the lowest ceiling.
        """
        points = tuple(point for point in self.points if point.ceiling <= cap)
        if not points:
            lowest = min(self.points, key=lambda point: point.ceiling)
            raise BudgetError(
                f"no point keeps every bill within {money(cap, self.unit)}; the lowest ceiling, "
                f"of {lowest.name}, is {money(lowest.ceiling, self.unit)}: raise the cap to that"
            )
        return replace(self, points=points)

    def choosing(self, point: CurvePoint) -> Self:
        """The same curve with a chosen point."""
        return replace(self, chosen=point)

    def at_budget(self, budget: float, confidence: float | None = None) -> CurvePoint:
        """The point to take under a budget; see `thrifty.frontier.choice`."""
        from thrifty.frontier.choice import choose  # which knows curves

        return choose(self, budget, confidence)

    def at_quality(self, quality: float) -> CurvePoint:
        """The cheapest point that is at least so good on the held-out rows.

        Raises
        ------
        BudgetError
            If none is; it names the best point and its quality.
        """
        for point in self.frontier:
            if point.quality >= quality:
                return point
        best = self.frontier[-1]
        raise BudgetError(
            f"no point reaches {self.scoring} {quality:.6g}; the best, {best.name}, has "
            f"{best.quality:.6g} at a mean bill of {money(best.bill, self.unit)}"
        )

    def area(self, scale: str = "log", low: float = 0.02, high: float = 1.0) -> float:
        """Mean quality over the budgets from `low` to `high`, shares of the full price.

        At each budget the best point within it counts; below the first, the first.

        Parameters
        ----------
        scale : {"log", "linear"}
            What the mean is uniform over.
        low, high : float
            The range of budgets.
        """
        best = self.frontier
        bills, qualities = [p.bill for p in best], [p.quality for p in best]
        return area(bills, qualities, self.full, scale=scale, low=low, high=high)

    def frame(self) -> DataFrame:
        """The points as a table, cheapest first."""
        import pandas  # here: choosing a point does not need it

        best = {id(point) for point in self.frontier}
        hull = {id(point) for point in self.hull}
        return pandas.DataFrame(
            {
                "learner": point.learner,
                "knob": told(point.knob),
                "bill": point.bill,
                "bill_low": point.bill_interval[0],
                "bill_high": point.bill_interval[1],
                "ceiling": point.ceiling,
                self.scoring: point.quality,
                f"{self.scoring}_low": point.quality_interval[0],
                f"{self.scoring}_high": point.quality_interval[1],
                "frontier": id(point) in best,
                "hull": id(point) in hull,
                "chosen": point is self.chosen,
            }
            for point in self.points
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve; gives back a `thrifty.CurveDisplay`."""
        from thrifty import CurveDisplay  # type: ignore[attr-defined, unused-ignore]

        return CurveDisplay(self).plot(ax=ax)

    def __repr__(self) -> str:
        last = self.frontier[-1]
        return (
            f"Curve({len(self.points)} points of {', '.join(self.learners)}; best {self.scoring} "
            f"{last.quality:.3f} at {money(last.bill, self.unit)} of {money(self.full, self.unit)})"
        )


def told(knob: dict[str, Any]) -> str:
    """A knob in words: ``penalty=0.01, trees=12``."""
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in knob.items()
    )


def _turns_right(first: CurvePoint, middle: CurvePoint, last: CurvePoint) -> bool:
    """Whether the middle lies above the line from the first to the last."""
    rise = (middle.quality - first.quality) * (last.bill - first.bill)
    return rise > (last.quality - first.quality) * (middle.bill - first.bill)


def _differences(one: Curve, other: Curve) -> Iterable[str]:
    for name in SAME:
        if getattr(one, name) != getattr(other, name):
            what = "the held-out rows" if name == "data" else name
            yield f"{what}: {getattr(one, name)!r} and {getattr(other, name)!r}"
