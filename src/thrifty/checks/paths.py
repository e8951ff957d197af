"""Law 7: `path` reports the bill and quality that its models have on the validation rows."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score

from thrifty.checks.batch_outputs import BatchOutputs
from thrifty.checks.cases import Case
from thrifty.checks.verdict import law, require, same
from thrifty.checks.walks import check_walks

__all__ = ["law_path", "law_score"]

# Rankings are scored by NDCG at this rank.
NDCG_RANK = 5
# Number of points of a path whose walks are checked, too.
N_WALKED_POINTS = 6
ROUNDING = 1e-12


@law("a path reports the bill and the quality of its models")
def law_path(estimator: Any, case: Case) -> None:
    """Check every point, that bills increase, and that the first point is a free constant."""
    table = case.test_table
    points = list(
        case.make(estimator).path(
            *case.training, validation=case.validation, **case.queries(case.train)
        )
    )
    require(points, "a path without points")
    for number, point in enumerate(points):
        bill = float(point.model.bill(table).mean())
        require(
            point.bill == bill, f"bill of point {number}: {point.bill!r}, its model has {bill!r}"
        )
        quality = _quality(estimator, case, point.model.predict(table))
        require(
            math.isclose(point.quality, quality, rel_tol=ROUNDING, abs_tol=ROUNDING),
            f"quality of point {number}: {point.quality!r}, its model has {quality!r}",
        )
    for number in range(0, len(points), max(1, len(points) // N_WALKED_POINTS)):
        check_walks(points[number].model, case, [number % len(case.test.y)])

    # The first point predicts the same for every row, uses nothing and costs nothing.
    first = BatchOutputs.of(points[0].model, table)
    same("bill of the first point", np.zeros(len(first.bill)), first.bill)
    same("used of the first point", np.zeros_like(first.used), first.used)
    constant = np.repeat(first.scores[:1], len(first.scores), axis=0)
    same("scores of the first point", constant, first.scores)
    for number, (before, after) in enumerate(pairwise(point.bill for point in points), start=1):
        require(before <= after, f"bill of point {number}: {after!r} after {before!r}")


@law("score is the quality of what is predicted")
def law_score(estimator: Any, case: Case) -> None:
    """Compare `score` with a plain computation of accuracy, R2 or NDCG@5."""
    fitted = case.fit(estimator)
    table = case.test_table
    found = fitted.score(table, case.test.y, **case.queries(case.test))
    due = _quality(estimator, case, fitted.predict(table))
    require(
        math.isclose(found, due, rel_tol=ROUNDING, abs_tol=ROUNDING),
        f"score: {found!r} instead of {due!r}",
    )


def _quality(estimator: Any, case: Case, predicted: NDArray[Any]) -> float:
    """Return accuracy, R2, or the mean NDCG of the queries that have a relevant row."""
    y, qid = case.test.y, case.test.qid
    if qid is None:
        return float((accuracy_score if is_classifier(estimator) else r2_score)(y, predicted))
    ndcgs = []
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        gains = 2.0 ** y[rows] - 1.0
        best = _dcg(gains, gains)
        if best > 0:
            ndcgs.append(_dcg(gains, predicted[rows]) / best)
    return math.fsum(ndcgs) / len(ndcgs)


def _dcg(gains: NDArray[np.float64], scores: NDArray[Any]) -> float:
    """Return the discounted gain of one query; rows of equal score share their mean gain."""
    ranked = [gains[scores == score].mean() for score in -np.sort(-scores)]
    discounted = enumerate(ranked[:NDCG_RANK], start=2)
    return math.fsum(gain / math.log2(rank) for rank, gain in discounted)
