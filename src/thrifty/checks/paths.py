"""Law 7: along `path`, bill and quality are what `bill` and `score` give on the validation rows."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score

from thrifty.checks.cases import Case
from thrifty.checks.faces import Faces
from thrifty.checks.verdict import law, require, same
from thrifty.checks.walks import check_walks

__all__ = ["law_path", "law_score"]

FIRST_RANKS = 5
# Points of a path that are walked too.
WALKED = 6
ROUNDING = 1e-12


@law("a path reports the bill and the quality of its models")
def law_path(estimator: Any, case: Case) -> None:
    """Every point, cheapest first, from the constant that costs nothing."""
    table = case.held_table
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
            _near(point.quality, quality),
            f"quality of point {number}: {point.quality!r}, its model has {quality!r}",
        )
    for number in range(0, len(points), max(1, len(points) // WALKED)):
        check_walks(points[number].model, case, [number % len(case.held.y)])
    _constant(Faces.of(points[0].model, table))
    _increasing([point.bill for point in points])


@law("score is the quality of what is predicted")
def law_score(estimator: Any, case: Case) -> None:
    """Accuracy, R2 or NDCG@5, by a plain computation."""
    fitted = case.fit(estimator)
    table = case.held_table
    found = fitted.score(table, case.held.y, **case.queries(case.held))
    due = _quality(estimator, case, fitted.predict(table))
    require(_near(found, due), f"score: {found!r} where {due!r} is due")


def _constant(faces: Faces) -> None:
    """The first point: every row gets the same answer, reads nothing and pays nothing."""
    same("bill of the first point", np.zeros(len(faces.bill)), faces.bill)
    same("used of the first point", np.zeros_like(faces.used), faces.used)
    same(
        "scores of the first point",
        np.repeat(faces.scores[:1], len(faces.scores), axis=0),
        faces.scores,
    )


def _increasing(bills: list[float]) -> None:
    for number, (before, after) in enumerate(pairwise(bills), start=1):
        require(before <= after, f"bill of point {number}: {after!r} after {before!r}")


def _quality(estimator: Any, case: Case, predicted: NDArray[Any]) -> float:
    if case.held.qid is not None:
        return _ndcg(case.held.y, predicted, case.held.qid)
    measure = accuracy_score if is_classifier(estimator) else r2_score
    return float(measure(case.held.y, predicted))


def _ndcg(grades: NDArray[Any], scores: NDArray[Any], qid: NDArray[np.int64]) -> float:
    """Mean NDCG over the queries that have a relevant row, query by query."""
    reached = []
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        gains = 2.0 ** grades[rows] - 1.0
        best = _dcg(gains, gains)
        if best > 0:
            reached.append(_dcg(gains, scores[rows]) / best)
    return math.fsum(reached) / len(reached)


def _dcg(gains: NDArray[np.float64], scores: NDArray[Any]) -> float:
    """Discounted gain of one query; rows of equal score have their mean gain at each rank."""
    ranked = [gains[scores == score].mean() for score in -np.sort(-scores)]
    discounted = enumerate(ranked[:FIRST_RANKS], start=2)
    return math.fsum(gain / math.log2(rank) for rank, gain in discounted)


def _near(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=ROUNDING, abs_tol=ROUNDING)
