"""The cost/quality curve: operating points measured on the same validation set.

The area under a curve is the mean quality over a range of budgets. Quality is a step function of
the budget, which is given as a share of the full price: at each budget it is that of the last point
within it. On the logarithmic scale every doubling of the budget has the same weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.bundle import Evidence, Predictor
from thrifty.costs.money import as_float, format_mean, money
from thrifty.errors import BudgetError, DataError, raise_all
from thrifty.frontier.curve_svg import curve_svg
from thrifty.learn.point import Point

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Curve", "CurvePoint", "area", "format_knob", "pareto_optimal", "quality_at"]

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
    """Return the mean quality over the budgets from `low` to `high`, shares of the full price.

    Parameters
    ----------
    bills : array of shape (k,)
        The budget that each point needs, increasing. Below the first, the quality is that of the
        first, so a curve should start with the constant model, at bill 0.
    qualities : array of shape (k,)
        Quality from each point up to the next.
    full : float
        The full price; if it is 0, every budget is enough for the last point.
    scale : {"log", "linear"}
        Whether the mean is uniform over the logarithm of the budget, or over the budget.
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


def quality_at(bills: ArrayLike, qualities: ArrayLike, budget: float) -> float:
    """Return the quality of the last point within a budget; NaN if there is none.

    Bills must increase.

    Examples
    --------
    >>> from thrifty.frontier.curve import quality_at
    >>> quality_at([0, 10], [0.5, 1.0], 9.99), quality_at([0, 10], [0.5, 1.0], 10)
    (0.5, 1.0)
    """
    within = int(np.searchsorted(np.asarray(bills), budget, side="right"))
    return float(np.asarray(qualities)[within - 1]) if within else math.nan


P = TypeVar("P", Point, "CurvePoint")

# What curves must have in common to be merged.
SAME = ("scoring", "task", "unit", "full", "level", "data")


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """One operating point, measured on the validation set.

    Parameters
    ----------
    learner : str
        Name of the learner that it comes from.
    knob : dict
        The hyperparameters that lead to this point.
    model : Predictor
        The frozen model.
    bill, quality : float
        Mean bill and quality on the validation set.
    bills : array of shape (n,)
        Bill of each validation row.
    bill_interval, quality_interval : (float, float)
        Confidence intervals at the level of the curve.
    ceiling : float
        Upper bound on the bill of any example.
    gains : array
        Contribution of each validation row (in a ranking, of each query) to the quality.
    neg_brier : array of shape (n,), optional
        For accuracy, the negative Brier score of each row.
    totals : array of shape (n,), optional
        Where errors have costs, the total cost of each row: its bill, plus half of what its answer
        costs, plus half of what it was expected to cost.
    actual_total : float, optional
        Then also the mean of bills and costs of errors as they are.
    training_bill : (float, float), optional
        Mean and standard deviation of the bill on some training rows: what is known about the
        bill before the validation set is used.
    find_evidence : callable, optional
        Returns how often the model was right on the validation set, for explanations. It is not
        saved: it needs the rows.
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
    neg_brier: NDArray[np.float64] | None = None
    training_bill: tuple[float, float] | None = None
    totals: NDArray[np.float64] | None = None
    actual_total: float | None = None
    find_evidence: Callable[[], Evidence | None] | None = field(
        default=None, repr=False, compare=False
    )

    def __repr__(self) -> str:
        unit = self.model.prices.unit
        return (
            f"CurvePoint({self.name}: bill {money(self.bill, unit)}, quality {self.quality:.4g}, "
            f"at most {money(self.ceiling, unit)})"
        )

    def __getstate__(self) -> dict[str, Any]:
        # What finds the evidence holds on to all models of a path, and to the rows.
        return {**self.__dict__, "model": self.predictor(), "find_evidence": None}

    def predictor(self) -> Predictor:
        """Return the model with its evidence, so that its walks explain themselves."""
        evidence = None if self.find_evidence is None else self.find_evidence()
        return self.model if evidence is None else self.model.replace(evidence=evidence)

    @property
    def name(self) -> str:
        """Name of the learner, and the knob."""
        return f"{self.learner} ({format_knob(self.knob)})" if self.knob else self.learner

    @property
    def smooth_gains(self) -> NDArray[np.float64]:
        """Contributions of the rows to `smooth_quality`; the gains where there is no Brier score.

        For accuracy, half of each is whether the row is right, half its Brier score on a scale from
        0 to 1: probabilities say more about a model than the few rows that change sides.
        """
        return self.gains if self.neg_brier is None else (self.gains + 1 + self.neg_brier / 2) / 2

    @property
    def smooth_quality(self) -> float:
        """What points are compared by when one is chosen: the mean of `smooth_gains`."""
        return float(self.smooth_gains.mean())


@dataclass(frozen=True, eq=False)
class Curve:
    """Operating points, cheapest first; of points with equal bills, the better one first.

    `trace` makes it.

    Parameters
    ----------
    points : sequence of CurvePoint
    scoring : str
        Name of the metric.
    task : str
        ``"classification"``, ``"regression"`` or ``"ranking"``.
    unit : str
        Unit of the bills.
    full : float
        Price of all features.
    level : float
        Level of the confidence intervals.
    data : str
        SHA-256 of the validation set.
    clusters : int array of shape (n,), optional
        Query or group of each validation row, where the rows of one are one observation.
    cross_fitted : bool
        Whether the validation rows are the training rows, scored by models of single folds that
        have not seen them.
    chosen : CurvePoint, optional
        The chosen point, if one was chosen.

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
    >>> curve.cheapest(quality=0.9).bill
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
    cross_fitted: bool = False
    chosen: CurvePoint | None = None

    def __post_init__(self) -> None:
        if not self.points:
            raise DataError("curve: there are no points")
        ordered = sorted(self.points, key=lambda point: (point.bill, -point.quality))
        object.__setattr__(self, "points", tuple(ordered))

    @property
    def frontier(self) -> tuple[CurvePoint, ...]:
        """The Pareto-optimal points: each is better than all that cost no more."""
        return pareto_optimal(self.points)

    @property
    def choices(self) -> tuple[CurvePoint, ...]:
        """The points that a budget can lead to: each is better than all that cost no more.

        They are compared by `smooth_quality`; where that is the quality, this is the frontier. A
        budget that excludes no point may lead to the one that buys the most.
        """
        kept: list[CurvePoint] = []
        for point in sorted(self.points, key=lambda point: (point.bill, -point.smooth_quality)):
            if not kept or point.smooth_quality > kept[-1].smooth_quality:
                kept.append(point)
        return tuple(kept)

    @property
    def hull(self) -> tuple[CurvePoint, ...]:
        """The upper convex hull of the frontier, which randomizing between two points can reach."""
        kept: list[CurvePoint] = []
        for point in self.frontier:
            while len(kept) > 1:
                first, middle = kept[-2:]
                rise = (middle.quality - first.quality) * (point.bill - first.bill)
                if rise > (point.quality - first.quality) * (middle.bill - first.bill):
                    break  # the middle lies above the line from the first to the last
                kept.pop()
            kept.append(point)
        return tuple(kept)

    @property
    def learners(self) -> tuple[str, ...]:
        """Names of the learners, in the order of their cheapest points."""
        return tuple(dict.fromkeys(point.learner for point in self.points))

    def of(self, learner: str) -> Self:
        """Return the curve of one learner."""
        points = tuple(point for point in self.points if point.learner == learner)
        if not points:
            raise DataError(f"curve: no learner {learner!r}; there are {', '.join(self.learners)}")
        return replace(self, points=points)

    @classmethod
    def merge(cls, curves: Iterable[Curve]) -> Curve:
        """Merge curves that were measured with the same metric on the same rows.

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
            differences = [
                f"{'the validation set' if name == 'data' else name}: "
                f"{getattr(first, name)!r} and {getattr(other, name)!r}"
                for name in SAME
                if getattr(first, name) != getattr(other, name)
            ]
            raise_all(DataError, "curves that cannot be merged", differences)
        return replace(first, points=tuple(p for curve in curves for p in curve.points))

    def __add__(self, other: Curve) -> Curve:
        return Curve.merge([self, other])

    def within(self, cap: float) -> Self:
        """Keep the points for which no example can cost more than `cap`.

        Raises
        ------
        BudgetError
            If there is none; it names the point with the lowest ceiling.
        """
        limit = as_float(cap)
        if not isinstance(limit, float) or not limit >= 0:
            raise BudgetError(f"cap: {cap!r} is not a number of 0 or more")
        points = tuple(point for point in self.points if point.ceiling <= limit)
        if not points:
            lowest = min(self.points, key=lambda point: point.ceiling)
            raise BudgetError(
                f"no point keeps every bill within {money(cap, self.unit)}; the lowest ceiling is "
                f"{money(lowest.ceiling, self.unit)}, of {lowest.name}: raise the cap to that"
            )
        return replace(self, points=points)

    def with_chosen(self, point: CurvePoint) -> Self:
        """Return the same curve with a chosen point."""
        return replace(self, chosen=point)

    def choose(self, budget: float, confidence: float | None = None) -> CurvePoint:
        """Choose the best point within a budget; see `thrifty.choose`."""
        from thrifty.frontier.choice import choose  # which knows curves

        return choose(self, budget, confidence)

    def cheapest(self, quality: float, confidence: float | None = None) -> CurvePoint:
        """Return the cheapest point with at least this quality.

        Parameters
        ----------
        quality : float
        confidence : float, optional
            Probability that the point reaches the quality on new data, see
            `thrifty.frontier.quality_target`. By default the quality on the validation set is taken
            as it is.

        Raises
        ------
        BudgetError
            If there is none; it names the best point and its quality.
        """
        from thrifty.frontier import quality_target  # which knows curves

        if confidence is None:
            return quality_target.cheapest_on_validation_rows(self, quality)
        return quality_target.cheapest_with_confidence(self, quality, confidence)

    def area(self, scale: str = "log", low: float = 0.02, high: float = 1.0) -> float:
        """Return the mean quality over the budgets from `low` to `high`, shares of the full price.

        At each budget the best point within it counts; below the first point, the first.

        Parameters
        ----------
        scale : {"log", "linear"}
            Whether the mean is uniform over the logarithm of the budget, or over the budget.
        low, high : float
            The range of budgets.
        """
        best = self.frontier
        bills, qualities = [p.bill for p in best], [p.quality for p in best]
        return area(bills, qualities, self.full, scale=scale, low=low, high=high)

    def frame(self) -> DataFrame:
        """Return the points as a table, cheapest first."""
        import pandas  # imported here: choosing a point does not need it

        best = {id(point) for point in self.frontier}
        hull = {id(point) for point in self.hull}
        return pandas.DataFrame(
            {
                "learner": point.learner,
                "knob": format_knob(point.knob),
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
        """Plot the curve; returns a `thrifty.CurveDisplay`."""
        from thrifty import CurveDisplay  # type: ignore[attr-defined, unused-ignore]

        return CurveDisplay(self).plot(ax=ax)

    def _repr_html_(self) -> str:
        """Return a picture of the curve, for notebooks."""
        return curve_svg(self)

    def __repr__(self) -> str:
        last = self.frontier[-1]
        return (
            f"Curve({len(self.points)} points of {', '.join(self.learners)}; best {self.scoring} "
            f"{last.quality:.3f} at {format_mean(last.bill, self.unit)} of "
            f"{money(self.full, self.unit)})"
        )


def format_knob(knob: dict[str, Any]) -> str:
    """Format a knob like ``penalty=0.01, trees=12``."""
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in knob.items()
    )


def pareto_optimal(points: Iterable[P]) -> tuple[P, ...]:
    """Return the points that are better than every point that costs as much or less.

    Examples
    --------
    >>> from thrifty import Point
    >>> from thrifty.frontier.curve import pareto_optimal
    >>> points = [Point({}, None, *figures) for figures in ((0.0, 0.5), (1.0, 0.9), (2.0, 0.8))]
    >>> [point.bill for point in pareto_optimal(points)]
    [0.0, 1.0]
    """
    kept: list[P] = []
    for point in sorted(points, key=lambda point: (point.bill, -point.quality)):
        if not kept or point.quality > kept[-1].quality:
            kept.append(point)
    return tuple(kept)
