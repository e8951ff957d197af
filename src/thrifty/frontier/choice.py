"""Choose among operating points: the best one within a budget.

Two things go wrong when the best of many points is taken at face value. Its bill is the luckiest of
those near the budget, so it will cost more on new data; and its quality is the luckiest of all.
Testing the bills answers the first, a smoother measure of quality the second.

The guarantee holds after the choice. The points are sorted in an order that does not depend on the
validation bills, and the hypotheses "this point costs more than the budget" are tested in that
order, each at the full confidence, up to the first that cannot be rejected (fixed-sequence
testing). The first false rejection happens with probability at most 1 - confidence, and there is
none before it: so all points before the end meet the budget at once, and any of them may be chosen
for its quality. The order comes from the training rows: by how many standard deviations the bill is
below the budget there. A simultaneous bound for all points (Bonferroni) would have to be 60 times
as strict.

Quality is compared by `CurvePoint.smooth_gains`: for accuracy, which jumps from point to point on
few rows, the mean of whether a row is right and of its Brier score. The cheapest point within a
quarter of a standard error of the best is taken, paired over the validation rows. On 125 splits of
five small data sets and some splits of six larger ones, this spends a fifth less than the best
point at equal test accuracy. A whole standard error would save another fifth, but lose 0.2 points
of area and 0.3 points at the full price; the best raw accuracy is luck, and loses as much.

A budget that excludes no point, whatever an example costs, says that money is no object. Then the
point that buys the most is taken, unless the one above is clearly ahead of it. How clearly depends
on the number n of rows, 40 / sqrt(n) standard errors: the best of hundreds of points is ahead of
any other by luck, and what luck is worth shrinks with the rows. On 25 splits of each of six small
data sets (124 to 736 rows), this is 0.6 +- 0.2 points of test accuracy better, at 3 times the
spending; on five splits of each of six larger ones, test accuracy stays the same within 0.01
points, at 1.2 times the spending, where the point that buys the most would lose 0.08 +- 0.02.
`cheaper_alternative` names what could be saved.

Nothing is sold that is no better than what is free: a point that costs something must be ahead of
the best free one by a standard error, by that measure and by the quality itself. Better
probabilities with the labels of a constant are not worth money, nor are those of one row in a
hundred: on 16 synthetic tables with a rare class, where nothing beat the constant on new rows, the
second test took sales from 11 to 2 of 128 budgets; on hepatitis it cost 0.04 +- 0.04 points.

Where errors have costs, totals of bills and costs of errors take the place of quality: a point that
costs something must save more than that in errors, in fact and by a standard error of its total;
of those, the cheapest within a quarter of a standard error of the least total is taken. What a
model expects its errors to cost is half of a total (`CurvePoint.totals`), and a model that is too
sure of itself expects too little: hence "in fact". On 23 splits of five data sets, at four costs,
totals on new rows are those of the least total within 0.1 percent, and bills 6 percent lower.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from thrifty.costs.money import as_float, money
from thrifty.errors import BudgetError
from thrifty.frontier.confidence import check_confidence, keeps, observations, upper_bound
from thrifty.frontier.curve import Curve, CurvePoint, P
from thrifty.learn.point import Point

__all__ = [
    "Alternative", "affordable", "best_of", "cheaper_alternative", "check_budget", "choose",
]  # fmt: skip

# The final model, which averages more trees than have not seen a training row, is less extreme, and
# so buys more: on eleven data sets, its mean bill on new rows was 0.97 to 1.07 times that of the
# models of single folds.
FOLDS_SPEND_LESS = 0.05
# Standard errors that a point may be behind the best, and that it must be ahead of a free one. A
# lead of a single row is one standard error, whatever the number of rows: that is not enough.
TOLERANCE, CLEAR = 0.25, 1.001
# Divided by the root of the number of rows: the standard errors that a cheaper point must be ahead
# of the one that buys the most, where money is no object.
LUCK = 40.0


@overload
def choose(points: Curve, budget: float, confidence: float | None = 0.95) -> CurvePoint: ...
@overload
def choose(points: Iterable[P], budget: float, confidence: None = None) -> P: ...
def choose(points: Any, budget: float, confidence: float | None = 0.95) -> Any:
    """Choose the best point within a budget.

    Parameters
    ----------
    points : Curve, or iterable of Point
        A curve that `trace` made; or what `path` yields, of which the point with the best quality
        is taken, the cheapest of equals, the first of those. Plain points have no bills by row, so
        the budget is met on the validation set only.
    budget : float
        Largest mean bill, 0 or more; for a curve also infinity. Where it excludes no point of a
        curve, the strongest model is chosen.
    confidence : float or None
        For a curve: the probability, over the draw of the validation set, that the chosen point
        meets the budget on new data. None takes the mean bill of the validation set as it is.

    Raises
    ------
    BudgetError
        If no point meets the budget; it names the cheapest point and its bill.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier import choose, trace
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> curve = trace(GreedyMiserRegressor(), X, y)
    >>> choose(curve, budget=1.0).bill
    1.0
    """
    if isinstance(points, Curve):
        budget = math.inf if budget == math.inf else check_budget(budget)
        within = affordable(points, budget, confidence)
        if not within:
            raise BudgetError(_unmet(points, budget, confidence))
        return best_of(within, all(point.ceiling <= budget for point in points.points))
    found, budget = list(points), check_budget(budget)
    if not found:
        raise BudgetError("there is no point to choose from")
    cheap = [point for point in found if point.bill <= budget]
    if not cheap:
        raise BudgetError(_too_small(budget, min(found, key=lambda point: point.bill)))
    return max(cheap, key=lambda point: (point.quality, -point.bill))


class Alternative(NamedTuple):
    """A cheaper point, and a budget within which it is chosen."""

    point: CurvePoint
    budget: float


def cheaper_alternative(
    curve: Curve, budget: float, confidence: float | None = 0.95
) -> Alternative | None:
    """Return the cheapest alternative that is not clearly worse, where money is no object.

    Parameters
    ----------
    curve : Curve
        With a chosen point.
    budget : float
        What it was chosen within, possibly infinity.
    confidence : float or None
        As in `choose`.

    Returns
    -------
    alternative : Alternative or None
        None if a budget below some ceiling made the choice frugal, if the choice was by total cost,
        or if all cheaper points are clearly worse.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier import cheaper_alternative, choose, trace
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> curve = trace(GreedyMiserRegressor(), X, y)
    >>> cheaper_alternative(curve.with_chosen(choose(curve, math.inf)), math.inf)
    """
    chosen = curve.chosen
    assert chosen is not None
    most = max(point.ceiling for point in curve.points)
    if chosen.totals is not None or most > budget:
        return None
    for point in curve.choices:
        if point.bill >= chosen.bill or _lead(chosen, point) > CLEAR:
            continue
        enough = [point.bill]
        if confidence is not None:
            bound = upper_bound(_expected_bills(curve, point), confidence, point.ceiling)
            enough = [bound, point.ceiling]  # the bound alone, unless points are tested together
        for amount in map(_round_up, enough):
            within = affordable(curve, amount, confidence) if amount < most else ()
            found = best_of(within, money_is_no_object=False) if within else chosen
            if found.bill < chosen.bill and _lead(chosen, found) <= CLEAR:
                return Alternative(found, amount)
    return None


def affordable(
    curve: Curve, budget: float, confidence: float | None = 0.95
) -> tuple[CurvePoint, ...]:
    """Return the points that, with this confidence, all meet the budget, cheapest first.

    Without a confidence, return those whose mean bill on the validation set is within the budget.
    """
    if confidence is None:
        return tuple(point for point in curve.points if point.bill <= budget)
    check_confidence(confidence)

    def passes(point: CurvePoint) -> bool:
        return keeps(_expected_bills(curve, point), budget, level, point.ceiling)

    def standard_deviations_over(point: CurvePoint) -> tuple[float, float]:
        mean, deviation = point.training_bill or (math.inf, 0.0)
        room = budget - mean
        return (-room / deviation if deviation else math.copysign(math.inf, -room)), mean

    passed = {id(point) for point in curve.points if point.ceiling <= budget}
    left = [point for point in curve.points if id(point) not in passed]
    ordered = [point for point in left if point.training_bill is not None]
    unordered = [point for point in left if point.training_bill is None]
    # A point without a training bill has no place in the order: it gets a share of the error rate.
    shares = len(unordered) + bool(ordered)
    level = 1 - (1 - confidence) / max(shares, 1)
    passed |= {id(point) for point in unordered if passes(point)}
    for point in sorted(ordered, key=standard_deviations_over):
        if not passes(point):
            break
        passed.add(id(point))
    return tuple(point for point in curve.points if id(point) in passed)


def _expected_bills(curve: Curve, point: CurvePoint) -> NDArray[np.float64]:
    """Return the bills of the observations, as they are expected of new ones."""
    bills = point.bills
    if curve.cross_fitted:
        bills = np.minimum(bills * (1 + FOLDS_SPEND_LESS), point.ceiling)
    return observations(bills, curve.clusters)


def check_budget(budget: Any, name: str = "budget") -> float:
    """Return a budget, or a cap, as a float; BudgetError unless it is finite and 0 or more."""
    amount = as_float(budget)
    if not isinstance(amount, float) or not 0 <= amount < math.inf:
        raise BudgetError(f"{name}: {budget!r} is not a finite number of 0 or more")
    return amount


def best_of(points: Sequence[CurvePoint], money_is_no_object: bool) -> CurvePoint:
    """Return the best of points that all meet the budget.

    Parameters
    ----------
    points : sequence of CurvePoint
    money_is_no_object : bool
        Whether the budget excludes no point, whatever an example costs: then the strongest model is
        taken. Where errors have costs, money is an object all the same.
    """
    if all(point.totals is not None for point in points):
        return _least_total(points)
    candidates = [_cheapest_of_the_best(points)]
    if money_is_no_object:
        strongest = _strongest(points)
        lead = _lead(candidates[0], strongest)
        luck = LUCK / math.sqrt(len(strongest.gains))
        if lead and lead <= luck:  # with 0, all features are no better than some
            candidates.insert(0, strongest)
    free = max((point for point in points if point.ceiling == 0), key=_rank, default=None)
    if free is None:
        return candidates[0]
    return next((point for point in candidates if _is_worth_money(point, free)), free)


def _is_worth_money(point: CurvePoint, free: CurvePoint) -> bool:
    """Return whether a point is clearly better than a free one, smoothly measured and as it is."""
    return min(_lead(point, free), _in_standard_errors(point.gains - free.gains)) > CLEAR


def _cheapest_of_the_best(points: Sequence[CurvePoint]) -> CurvePoint:
    """Return the cheapest point that is hardly worse than the best."""
    best = max(points, key=_rank)
    least = min(
        (point for point in points if _lead(best, point) <= TOLERANCE), key=lambda point: point.bill
    ).smooth_quality
    # Noise differs between pairs of points: a cheaper one may be as good and seem less level.
    return min(
        (point for point in points if point.smooth_quality >= least),
        key=lambda point: (point.bill, -point.smooth_quality),
    )


def _strongest(points: Sequence[CurvePoint]) -> CurvePoint:
    """Return the best of the points at which each learner buys the most."""
    dearest: dict[str, CurvePoint] = {}
    for point in sorted(points, key=lambda point: (point.bill, point.smooth_quality)):
        dearest[point.learner] = point
    return max(dearest.values(), key=_rank)


def _rank(point: CurvePoint) -> tuple[float, float]:
    """Return a key that is largest for the best point, the cheapest of equals."""
    return point.smooth_quality, -point.bill


def _round_up(amount: float) -> float:
    """Round an amount up to three digits, as a person would type it."""
    rounded = float(f"{amount:.3g}")
    return rounded if rounded >= amount else float(f"{1.01 * amount:.3g}")


def _lead(one: CurvePoint, other: CurvePoint) -> float:
    """Return by how many standard errors one point is ahead of another, paired over the rows.

    A single observation, such as the only query of a ranking, is taken as it is.
    """
    return _in_standard_errors(one.smooth_gains - other.smooth_gains)


def _in_standard_errors(ahead: NDArray[np.float64]) -> float:
    """Return the mean of paired differences in standard errors."""
    mean, n = float(ahead.mean()), len(ahead)
    error = float(ahead.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    return mean / error if error > 0 else math.copysign(math.inf, mean) if mean else 0.0


def _least_total(points: Sequence[CurvePoint]) -> CurvePoint:
    """Return the cheapest point whose total is hardly above the least, among those that pay."""
    totals = {point: np.asarray(point.totals, dtype=np.float64) for point in points}
    means = {point: float(total.mean()) for point, total in totals.items()}

    def pays(point: CurvePoint, free: CurvePoint) -> bool:
        assert point.actual_total is not None and free.actual_total is not None
        saves = point.actual_total < free.actual_total
        return saves and _in_standard_errors(totals[free] - totals[point]) > CLEAR

    free = min(
        (point for point in points if point.ceiling == 0), key=means.__getitem__, default=None
    )
    if free is not None:
        points = (free, *(point for point in points if pays(point, free)))
    least = min(points, key=means.__getitem__)
    level = [p for p in points if _in_standard_errors(totals[p] - totals[least]) <= TOLERANCE]
    most = means[min(level, key=lambda point: point.bill)]
    # As above, noise differs between pairs of points.
    return min((p for p in points if means[p] <= most), key=lambda p: (p.bill, means[p]))


def _unmet(curve: Curve, budget: float, confidence: float | None) -> str:
    """Return the message for a budget that no point is certain to meet."""
    cheapest = curve.points[0]
    if confidence is None:
        return _too_small(budget, cheapest)
    bound = upper_bound(_expected_bills(curve, cheapest), confidence, cheapest.ceiling)
    unit = curve.unit
    return (
        f"no point is certain enough to have a mean bill of at most {money(budget, unit)}; the "
        f"cheapest, {cheapest.name}, costs {money(cheapest.bill, unit)} on the validation set and "
        f"at most {money(bound, unit)} with confidence {confidence}: raise the budget to that"
    )


def _too_small(budget: float, cheapest: Point | CurvePoint) -> str:
    """Return the message for a budget below the bill of every point."""
    unit = cheapest.model.prices.unit
    name = cheapest.name if isinstance(cheapest, CurvePoint) else cheapest.knob
    return (
        f"no point has a mean bill of at most {money(budget, unit)}; the cheapest, "
        f"{name}, costs {money(cheapest.bill, unit)}: raise the budget to that"
    )
