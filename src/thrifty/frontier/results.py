"""Results on the test set: means with 95% intervals, and differences paired over the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from thrifty.bundle import Decision
from thrifty.frontier.curve import CurvePoint
from thrifty.frontier.evaluate import mean_interval, score_together
from thrifty.frontier.scoring import Metric
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.point import ValidationOutputs

__all__ = [
    "MeasuredOutputs",
    "TestPoint",
    "TestResult",
    "TotalCost",
    "constant_outputs",
    "difference_interval",
    "measure_points",
]

Floats = NDArray[np.float64]
Interval = tuple[float, float]
# Confidence level of all intervals.
LEVEL = 0.95


@dataclass(frozen=True)
class TestResult:
    """Mean bill and quality of a predictor on the test set, with 95% confidence intervals."""

    __test__ = False  # not a test class, whatever pytest may think

    bill: float
    quality: float
    bill_interval: Interval
    quality_interval: Interval


@dataclass(frozen=True)
class TestPoint:
    """A point of the validation frontier, measured on the test set.

    Parameters
    ----------
    name : str
        Learner and knob; ``"constant"`` for the model that buys nothing.
    bill, quality : float
        Means on the test set.
    bill_interval, quality_interval : (float, float)
        95% confidence intervals.
    chosen : bool
        Whether it is the chosen point.
    """

    __test__ = False

    name: str
    bill: float
    quality: float
    bill_interval: Interval
    quality_interval: Interval
    chosen: bool


@dataclass(frozen=True)
class TotalCost:
    """What an example costs on average: its features, and the errors of its predictions.

    Examples
    --------
    >>> from thrifty.frontier.results import TotalCost
    >>> TotalCost(features=12.0, errors=30.5).total
    42.5
    """

    features: float
    errors: float

    @property
    def total(self) -> float:
        """The sum of both."""
        return self.features + self.errors


class MeasuredOutputs(NamedTuple):
    """The result of a model on some rows, with the bill of each and what it adds to the quality.

    Where errors have costs, `errors` is what the answer of each row costs.
    """

    result: TestResult
    bills: Floats
    gains: Floats
    errors: Floats | None

    @property
    def total(self) -> TotalCost | None:
        """Mean cost of features and errors, where errors have costs."""
        if self.errors is None:
            return None
        return TotalCost(self.result.bill, float(self.errors.mean()))

    @classmethod
    def of(
        cls,
        outputs: ValidationOutputs,
        rows: ValidationSet,
        metric: Metric,
        ceiling: float,
        decision: Decision | None = None,
    ) -> Self:
        """Measure the scores and bills of a model; no bill exceeds the ceiling.

        Labels are predicted by the decision, else as `Metric.value` does it.
        """
        found = metric.measure(outputs.scores, rows, LEVEL, decision)
        bills, costs = outputs.bills, rows.error_costs
        errors = None if costs is None else costs.actual(outputs.scores, rows.y)
        result = TestResult(
            float(bills.mean()),
            found.value,
            mean_interval(bills, LEVEL, ceiling, rows.clusters),
            (found.low, found.high),
        )
        return cls(result, bills, found.gains, errors)


def constant_outputs(train: TrainingSet, n: int) -> ValidationOutputs:
    """Return what the constant outputs for `n` rows: class shares or the mean, for nothing."""
    if train.task == "classification":
        scores = np.tile(train.class_shares, (n, 1))
    else:
        scores = np.full(n, np.average(train.y, weights=train.weight))
    return ValidationOutputs(scores, np.zeros(n))


def measure_points(
    points: Iterable[CurvePoint],
    chosen: CurvePoint,
    constant: TestResult,
    test: ValidationSet,
    metric: Metric,
) -> tuple[TestPoint, ...]:
    """Measure points of a curve on the test set; the constant comes first.

    Points that buy nothing are left out, as the constant stands for them, unless one is chosen.
    """
    points = [*points]
    if chosen not in points:
        points.append(chosen)
    measured = [TestPoint("constant", **vars(constant), chosen=False)]
    by_schema: dict[object, list[CurvePoint]] = {}
    for point in sorted(points, key=lambda point: point.bill):
        if point.ceiling > 0 or point is chosen:
            by_schema.setdefault(point.model.schema, []).append(point)
    for schema, members in by_schema.items():
        rows = test if schema == test.schema else test.encode_by(members[0].model.schema)
        for k, scores, used in score_together([p.model.model for p in members], rows.X):
            point, prices = members[k], members[k].model.prices
            evaluations = point.model.model.evaluations(rows.X) if prices.evaluation else 0
            outputs = ValidationOutputs(scores, prices.bill(used, evaluations))
            decision = point.model.decision
            result = MeasuredOutputs.of(outputs, rows, metric, point.ceiling, decision).result
            measured.append(TestPoint(point.name, **vars(result), chosen=point is chosen))
    return tuple(sorted(measured, key=lambda point: (point.bill, point.chosen, point.name)))


def difference_interval(
    ours: Floats, theirs: Floats, clusters: NDArray[np.int64] | None = None
) -> Interval:
    """Return the 95% interval of the mean difference of two models on the same rows.

    Hits and misses have the interval of Agresti and Min (2005), which has some width even if the
    two models agree everywhere; other figures have Student's, over clusters where there are some.

    Parameters
    ----------
    ours, theirs : arrays of shape (n,)
        Bills, or contributions to the quality, of the same rows or queries.
    clusters : int array of shape (n,), optional
        Rows of one cluster are one observation.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.results import difference_interval
    >>> hits = np.ones(100)
    >>> fewer = np.where(np.arange(100) < 3, 0.0, 1.0)
    >>> low, high = difference_interval(hits, fewer)
    >>> round(low, 3), round(high, 3)
    (-0.009, 0.067)
    """
    difference = ours - theirs
    grouped = clusters is not None and len(clusters) == len(difference)
    if not grouped and np.isin(ours, (0.0, 1.0)).all() and np.isin(theirs, (0.0, 1.0)).all():
        n = len(difference) + 2
        better, worse = (float(np.sum(side)) + 0.5 for side in (difference > 0, difference < 0))
        middle = (better - worse) / n
        error = math.sqrt(better + worse - (better - worse) ** 2 / n) / n
        half = float(ndtri((1 + LEVEL) / 2)) * error
    else:
        middle, influence = float(difference.mean()), difference - difference.mean()
        if grouped:
            assert clusters is not None
            influence = np.bincount(clusters, influence)
            influence = influence * len(influence) / len(difference)
        n = len(influence)
        if n < 2:
            return -math.inf, math.inf
        quantile = float(stdtrit(n - 1, (1 + LEVEL) / 2))
        half = quantile * float(influence.std(ddof=1)) / math.sqrt(n)
    return float(middle - half), float(middle + half)
