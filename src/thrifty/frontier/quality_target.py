"""Choose the cheapest point that reaches a quality, on new data too.

The cheapest point that reaches a quality on the validation rows is the luckiest of those near it,
and falls short of it on new data more often than not. So the rows are divided at random. A fifth
ranks the points: those that are Pareto-optimal there, best first. The others test, in that order,
the hypotheses "the quality of this point is below the target", each at the full confidence, up to
the first that cannot be rejected (fixed-sequence testing, as for budgets in
`thrifty.frontier.choice`). The order does not depend on the rows that test, so all points before
the end reach the target at once with this confidence, and the cheapest of them may be taken.
Accuracy on few rows is ranked together with the Brier score, which is less noisy: on six data sets
(155 to 7200 rows), this and a fifth of the rows promised most at the lowest bill, among four
rankings on a fifth, a third or half of the rows.

The bound on the quality of one point depends on the metric:

- accuracy is a share of hits, whose bound is exact (Clopper and Pearson 1934);
- means of other contributions between 0 and 1 (rankings, accuracy by groups) have the betting
  bound of `thrifty.frontier.confidence`, which assumes nothing about their distribution;
- other metrics (ROC AUC, balanced accuracy, R2, losses) have Student's bound on their
  contributions, which holds approximately, for many rows.

A learner that cross-fits scores each row by models that have not seen it, and the final model,
which is trained on all rows, is taken to be no worse than they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.costs.money import as_float, format_mean
from thrifty.errors import BudgetError
from thrifty.frontier.confidence import check_confidence, lower_bound, share_bound, student_bound
from thrifty.frontier.curve import Curve, CurvePoint

__all__ = ["cheapest_on_validation_rows", "cheapest_with_confidence", "rank_points"]

Floats = NDArray[np.float64]
# One validation row in this many ranks the points; the others test them.
RANKING_PART = 5


class RankedPoint(NamedTuple):
    """A point, and its contributions to the quality on the rows that test."""

    point: CurvePoint
    gains: Floats


def cheapest_with_confidence(curve: Curve, quality: float, confidence: float) -> CurvePoint:
    """Return the cheapest point whose quality is at least `quality` with this confidence.

    Parameters
    ----------
    curve : Curve
    quality : float
        In the metric of the curve.
    confidence : float
        Probability, over the draw of the validation set, that the point reaches the quality on new
        data.

    Raises
    ------
    BudgetError
        If there is none; it names the best point, its quality, and the quality that can be asked
        for. Also if `quality` is not a number.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.frontier import trace
    >>> from thrifty.frontier.quality_target import cheapest_with_confidence
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1] > 0
    >>> curve = trace(GreedyMiserClassifier(), X, y)
    >>> cheapest_with_confidence(curve, 0.9, confidence=0.95).bill
    1.0
    >>> cheapest_with_confidence(curve, 0.999, confidence=0.95)
    Traceback (most recent call last):
    ...
    thrifty.errors.BudgetError: no model reaches accuracy 0.999 with 95% confidence; the nearest,
    ...
    """
    _check_quality(quality)
    check_confidence(confidence)
    ranked = rank_points(curve)
    passed = []
    for point, gains in ranked:
        if _bound(curve, gains, confidence) < quality:
            break
        passed.append(point)
    if passed:
        return min(passed, key=lambda point: (point.bill, -point.quality))
    best, gains = ranked[0]
    promised = _round_down(_bound(curve, gains, confidence))
    raise BudgetError(
        f"no model reaches {curve.scoring} {quality:.6g} with {100 * confidence:g}% confidence; "
        f"the nearest, {best.name}, has {best.quality:.4f} on the validation rows at a mean bill "
        f"of {format_mean(best.bill, curve.unit)}, and at least {promised} on new data "
        f"with this confidence: ask for {promised}, give more rows, or do without a confidence"
    )


def cheapest_on_validation_rows(curve: Curve, quality: float) -> CurvePoint:
    """Return the cheapest point whose quality on the validation rows is at least `quality`.

    Raises
    ------
    BudgetError
        If there is none; it names the best point and its quality. Also if `quality` is not a
        number.
    """
    _check_quality(quality)
    for point in curve.frontier:
        if point.quality >= quality:
            return point
    best = curve.frontier[-1]
    raise BudgetError(
        f"no model reaches {curve.scoring} {quality:.6g}; the nearest, {best.name}, has "
        f"{best.quality:.4f} on the validation rows at a mean bill of "
        f"{format_mean(best.bill, curve.unit)}: ask for {_round_down(best.quality)}, or "
        "give more rows"
    )


def rank_points(curve: Curve) -> list[RankedPoint]:
    """Rank points on a fifth of the validation rows; return them with the gains of the others.

    Only points that are Pareto-optimal, by their quality on these rows and their bill on training
    rows, are ranked: the best first, the cheapest last.

    Raises
    ------
    BudgetError
        If there are fewer than five observations.
    """
    observed = {id(point): _observations(curve, point.gains) for point in curve.points}
    n = len(next(iter(observed.values())))
    if n < RANKING_PART:
        raise BudgetError(
            f"quality: {n} validation rows are too few for a confidence; give more rows, or do "
            "without a confidence"
        )
    order = np.random.default_rng(0).permutation(n)
    ranking, testing = order[: n // RANKING_PART], order[n // RANKING_PART :]

    def rank(point: CurvePoint) -> tuple[float, float]:
        # The bills of the rows that test must not rank, so the training rows say what to expect.
        bill = point.ceiling if point.training_bill is None else point.training_bill[0]
        quality = float(observed[id(point)][ranking].mean())
        if point.neg_brier is not None:
            quality += float(_observations(curve, point.neg_brier)[ranking].mean())
        return bill, -quality

    kept: list[RankedPoint] = []
    best = -math.inf
    for point in sorted(curve.points, key=rank):
        quality = -rank(point)[1]
        if quality > best:
            best = quality
            kept.append(RankedPoint(point, observed[id(point)][testing]))
    return kept[::-1]


def _check_quality(quality: object) -> None:
    """Raise a BudgetError if a quality is not a number: every point would seem to reach NaN."""
    amount = as_float(quality)
    if not isinstance(amount, float) or math.isnan(amount):
        raise BudgetError(f"quality: {quality!r} is not a number")


def _round_down(quality: float) -> str:
    """Format a quality so that asking for what is printed succeeds."""
    return f"{math.floor(1e4 * quality) / 1e4:.4f}" if math.isfinite(quality) else f"{quality}"


def _observations(curve: Curve, gains: Floats) -> Floats:
    """Return contributions that are independent: of rows or queries, or means over clusters.

    In a ranking, the contributions are those of queries already.
    """
    clusters = curve.clusters
    if clusters is None or curve.task == "ranking":
        return gains
    sizes = np.bincount(clusters)
    if _is_mean(curve, gains):
        return np.asarray(np.bincount(clusters, gains) / sizes)
    # The value is a ratio of totals over clusters: take its linear expansion.
    value = float(gains.mean())
    totals = np.bincount(clusters, gains - value)
    return np.asarray(value + totals * len(sizes) / len(gains))


def _bound(curve: Curve, gains: Floats, confidence: float) -> float:
    """Return a lower bound on the quality from independent contributions."""
    if not _is_mean(curve, gains):
        return student_bound(gains, confidence)
    if np.isin(gains, (0.0, 1.0)).all():
        return share_bound(int(gains.sum()), len(gains), confidence)
    return lower_bound(gains, confidence)


def _is_mean(curve: Curve, gains: Floats) -> bool:
    """Return whether the metric is a mean of contributions between 0 and 1."""
    is_mean = curve.scoring == "accuracy" or curve.task == "ranking"
    return is_mean and bool(np.all((gains >= 0) & (gains <= 1)))
