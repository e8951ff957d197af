"""Blend two neighboring points of the hull, to spend what a budget leaves between them.

The hull of the curve is a chain of points. Between two neighbors lie their blends, in which a
growing share of the rows goes to the more expensive one. From the cheap end, this is one sequence
of models, and it does not depend on the validation bills: the points are sorted by their bills on
training rows, and a blend assigns rows by a hash. So the blends can be tested one by one, each at
the full confidence, up to the first that may exceed the budget (see `thrifty.frontier.choice`); the
last one before it meets the budget.

Where no two rows share their keys, the hashes of new rows are as good as drawn at random. The mean
bill of a blend is then the mixture of the two mean bills, and it is bounded through the mixture of
the two bills of each row, which vary far less than the bills as assigned. Where some rows share
their keys, the bills as assigned are bounded.

The keys of a blend are features that every row buys. What both models read of every row anyway
costs nothing more, nor does what has no price. Rows with equal keys get the same model, so the keys
must tell rows apart; if they do not, the cheapest further features are added, and paid for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.predictor import bill_ceiling
from thrifty.costs import BoundPrices
from thrifty.errors import DataError
from thrifty.frontier.choice import check_budget
from thrifty.frontier.confidence import check_confidence, keeps, observations
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.frontier.evaluate import evaluate_points
from thrifty.frontier.jobs import digest_of_rows
from thrifty.frontier.scoring import find_metric
from thrifty.learn.dataset import ValidationSet
from thrifty.learn.point import Point
from thrifty.model import Blend
from thrifty.model.row_hash import uniform_hash

__all__ = ["blend", "find_keys"]

# Shares that are tried between two points.
STEPS = 100
# Seeds that are tried: the one whose bills on the validation set are nearest to the mixture is
# kept, so that the reported figures are typical.
SEEDS = 16
# The search along the hull starts at the last point whose training bill is this many standard
# errors below the budget.
SAFE_ERRORS = 4.0
# Keys must split the rows into this many parts of about equal size; then one part more or less
# moves the mean bill by a twentieth of the way from one model to the other.
FEWEST_PARTS = 20


def blend(
    curve: Curve,
    budget: float,
    validation: tuple[Any, Any],
    confidence: float | None = 0.95,
    seed: int = 0,
) -> CurvePoint | None:
    """Blend two neighboring points of the hull so that the mean bill comes close to the budget.

    Parameters
    ----------
    curve : Curve
        What `trace` returned.
    budget : float
        Largest mean bill.
    validation : (Xv, yv)
        The validation set of the curve.
    confidence : float or None
        The probability that the blend meets the budget on new data, as in `choose`. None takes the
        mean bill of the validation set as it is.
    seed : int
        Seed of the hash; the blend uses this or one of the next few.

    Returns
    -------
    CurvePoint or None
        A blend, or a point of the hull if the search ends on one. None if there is nothing to
        blend, and for rankings: use `choose`. Each is guaranteed to meet the budget; taking the
        better of both after looking at them makes two guarantees.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor, Prices, blend, choose, trace
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> y = X[:, 0] + X[:, 1]
    >>> validation = (X[600:], y[600:])
    >>> learner = GreedyMiserRegressor(prices=Prices([1.0, 50.0]))
    >>> curve = trace(learner, X[:600], y[:600], validation=validation)
    >>> point = choose(curve, budget=30)
    >>> mixed = blend(curve, 30, validation)
    >>> round(point.bill), round(mixed.bill)  # the second column costs 50: all rows or none
    (1, 29)
    >>> round(point.quality, 2), round(mixed.quality, 2)
    (0.49, 0.74)
    """
    budget = check_budget(budget)
    if confidence is not None:
        check_confidence(confidence)
    if curve.task == "ranking":
        return None  # scores of two models do not order the rows of one query
    data = ValidationSet.for_predictor(curve.points[0].model, curve.task, *validation[:2])
    if digest_of_rows(data.X, data.labels, curve.clusters) != curve.data:
        raise DataError("validation: this is not the validation set that the curve was measured on")
    return _HullSearch(curve, data, budget, confidence, seed).last_affordable()


def find_keys(
    X: NDArray[np.floating], always: NDArray[np.bool_], prices: BoundPrices
) -> NDArray[np.int64] | None:
    """Find the features to assign rows by, increasing; None if not even all tell rows apart.

    Parameters
    ----------
    X : array of shape (n, d)
        Encoded rows.
    always : bool array of shape (d,)
        Features that every row reads in both models.
    prices : BoundPrices

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs import Prices
    >>> from thrifty.frontier.blending import find_keys
    >>> X = np.column_stack([np.arange(90) % 2, np.arange(90), np.arange(90.0) ** 2])
    >>> find_keys(X, np.array([True, False, False]), Prices([1, 5, 3]).bind(3))
    array([0, 2])
    """
    keys = set(np.flatnonzero(always).tolist())
    left = [j for j in range(X.shape[1]) if j not in keys]
    while True:
        keys |= {j for j in left if prices.marginal(j, keys) == 0}
        if _effective_parts(X[:, sorted(keys)]) >= FEWEST_PARTS:
            return np.array(sorted(keys), dtype=np.int64)
        left = [j for j in left if j not in keys]
        if not left:
            return None
        keys.add(
            min(left, key=lambda j: (prices.marginal(j, keys), -_effective_parts(X[:, [j]]), j))
        )


def _effective_parts(values: NDArray[np.floating]) -> float:
    """Return the effective number of equal parts that rows fall into by their values."""
    _, counts = np.unique(uniform_hash(values, 0), return_counts=True)
    return float(len(values) ** 2 / np.sum(counts.astype(np.float64) ** 2))


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two neighbors on the hull, and what blends of them cost on the validation set.

    `rows` (n, k) are the keys of the validation rows; `bills` are those of the two points with the
    keys bought.
    """

    first: CurvePoint
    second: CurvePoint
    keys: NDArray[np.int64]
    rows: NDArray[np.floating]
    bills: tuple[NDArray[np.float64], NDArray[np.float64]]
    ceiling: float
    seed: int

    @cached_property
    def hashes(self) -> NDArray[np.float64]:
        """A number in [0, 1) for each row, from its keys."""
        return uniform_hash(self.rows, self.seed)

    @cached_property
    def distinct(self) -> bool:
        """Whether no two validation rows share their keys."""
        return len(np.unique(self.hashes)) == len(self.hashes)

    def bills_at(self, share: float) -> NDArray[np.float64]:
        """Return the bills to test, of a blend that sends this share to the second point."""
        if self.distinct:
            return (1 - share) * self.bills[0] + share * self.bills[1]
        return np.where(self.hashes < share, self.bills[1], self.bills[0])

    def seed_at(self, share: float) -> int:
        """Return the seed whose assignment of the validation rows costs nearly what is due."""
        if not self.distinct:
            return self.seed
        due = self.bills_at(share).mean()

        def excess(seed: int) -> tuple[bool, float]:
            second = uniform_hash(self.rows, seed) < share
            over = float(np.where(second, self.bills[1], self.bills[0]).mean() - due)
            return over > 0, abs(over)

        return min(range(self.seed, self.seed + SEEDS), key=excess)


class _HullSearch:
    """Search along the hull of a curve for the last blend that meets a budget."""

    def __init__(
        self,
        curve: Curve,
        validation: ValidationSet,
        budget: float,
        confidence: float | None,
        seed: int,
    ) -> None:
        self.curve, self.validation, self.X = curve, validation, validation.X
        self.budget, self.confidence, self.seed = budget, confidence, seed

    def last_affordable(self) -> CurvePoint | None:
        """Return the last blend before the first that does not meet the budget."""
        best: tuple[_Pair, float] | None = None
        for pair, share in self._steps():
            bills = pair.bills_at(share)
            if self.confidence is None:
                met = bool(bills.mean() <= self.budget)
            else:
                found = observations(bills, self.curve.clusters)
                met = keeps(found, self.budget, self.confidence, pair.ceiling)
            if not met:
                break
            best = pair, share
        if best is None or best[1] == 0.0:
            return None if best is None else best[0].first
        pair, share = best
        return pair.second if share == 1.0 else self._measure(pair, share)

    def _steps(self) -> Iterator[tuple[_Pair, float]]:
        """Yield all blends along the hull, from a point that is safely within the budget."""
        for number, (first, second) in enumerate(pairwise(self._hull())):
            pair = self._pair(first, second)
            if pair is None:
                return
            # At share 0 the keys may cost something: a step like the others.
            for step in range(STEPS + 1) if number == 0 else range(1, STEPS + 1):
                yield pair, step / STEPS

    def _hull(self) -> list[CurvePoint]:
        """Return the hull by training bills, from the last point safely within the budget."""

        def slope(first: CurvePoint, second: CurvePoint) -> float:
            width = _training_mean(second) - _training_mean(first)
            return (second.smooth_quality - first.smooth_quality) / width if width > 0 else math.inf

        def order(point: CurvePoint) -> tuple[float, float]:
            return _training_mean(point), -point.smooth_quality

        hull: list[CurvePoint] = []
        for point in sorted(self.curve.points, key=order):
            if hull and point.smooth_quality <= hull[-1].smooth_quality:
                continue
            while len(hull) > 1 and slope(hull[-2], hull[-1]) <= slope(hull[-1], point):
                hull.pop()
            hull.append(point)
        safe = [k for k, point in enumerate(hull) if self._is_safe(point)]
        return hull[safe[-1] :] if safe else []

    def _is_safe(self, point: CurvePoint) -> bool:
        """Return whether a point meets the budget by a wide margin on the training rows."""
        if self.confidence is None or point.ceiling <= self.budget:
            return min(point.bill, point.ceiling) <= self.budget
        mean, deviation = point.training_bill or (math.inf, 0.0)
        n = len(observations(point.bills, self.curve.clusters))
        return mean + SAFE_ERRORS * deviation / math.sqrt(n) <= self.budget

    def _pair(self, first: CurvePoint, second: CurvePoint) -> _Pair | None:
        """Find the keys that blend two neighbors; None if no keys can."""
        one, other = first.model, second.model
        if (one.schema, one.prices, one.labels) != (other.schema, other.prices, other.labels):
            return None
        models, prices = (one.model, other.model), one.prices
        used = [model.used(self.X) for model in models]
        keys = find_keys(self.X, np.all(used, axis=(0, 1)), prices)
        if keys is None:
            return None
        for table in used:
            table[:, keys] = True
        trees = [model.evaluations(self.X) if prices.evaluation else 0 for model in models]
        bills = prices.bill(used[0], trees[0]), prices.bill(used[1], trees[1])
        ceiling = bill_ceiling(Blend.of(*models, keys, share=0.5), prices)
        return _Pair(first, second, keys, self.X[:, keys], bills, ceiling, self.seed)

    def _measure(self, pair: _Pair, share: float) -> CurvePoint:
        """Build the blend of a pair at a share, and measure it on the validation set."""
        first, second, curve = pair.first, pair.second, self.curve
        seed = pair.seed_at(share)
        model = Blend.of(first.model.model, second.model.model, pair.keys, share, seed)
        knob = {"first": first.name, "second": second.name, "share": share, "seed": seed}
        predictor = first.model.replace(model=model, knob=knob)
        metric = find_metric(curve.scoring, curve.task)
        points = [Point(knob, predictor, 0.0, 0.0)]
        (point,) = evaluate_points("blend", points, self.validation, metric, curve.level)
        return replace(point, ceiling=pair.ceiling)


def _training_mean(point: CurvePoint) -> float:
    return point.bill if point.training_bill is None else point.training_bill[0]
