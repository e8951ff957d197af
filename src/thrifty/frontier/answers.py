"""What a predictor said about some rows, beside the truth, ready to be measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.frontier.parts import Rows
from thrifty.learn.targets import grades, numbers, queries

__all__ = ["Answers", "chances", "labels", "order", "values"]


@dataclass(frozen=True, eq=False)
class Answers:
    """Truth and answer of each row.

    Parameters
    ----------
    truth : array of shape (n,)
        Labels, class numbers, values or grades.
    said : array of shape (n,) or (n, K)
        Labels, probabilities, values or scores.
    query : array of shape (n,)
        Number of the query of each row, for an order.
    classes : tuple
        Labels that go with the columns of probabilities.
    """

    truth: NDArray[Any]
    said: NDArray[Any]
    query: NDArray[np.int64] | None = None
    classes: tuple[Any, ...] = ()


def labels(predictor: Predictor, rows: Rows) -> Answers:
    """Labels; one that the predictor has never seen is a label like any other."""
    _need_classes(predictor)
    return Answers(rows.y, predictor.predict(rows.X))


def chances(predictor: Predictor, rows: Rows) -> Answers:
    """Class numbers and probabilities; every label must be one of the predictor's classes."""
    classes = _need_classes(predictor)
    hits = rows.y[:, np.newaxis] == classes
    strange = ~hits.any(axis=1)
    if strange.any():
        raise DataError(
            f"target: {sorted(set(rows.y[strange].tolist()), key=str)[:5]} are not classes of the "
            f"predictor {classes.tolist()[:20]}, so they have no probability; drop these rows"
        )
    # Averages over trees may be above 1 by the last bit.
    said = np.clip(predictor.predict_proba(rows.X), 0.0, 1.0)
    return Answers(hits.argmax(axis=1), said, classes=tuple(classes.tolist()))


def values(predictor: Predictor, rows: Rows) -> Answers:
    """Numbers."""
    if predictor.classes is not None:
        raise DataError("scoring: this predictor gives classes, not values; measure its accuracy")
    return Answers(numbers(rows.y, len(rows)), predictor.predict(rows.X))


def order(predictor: Predictor, rows: Rows) -> Answers:
    """Grades and scores by query; classes that are numbers are ranked by their expected value."""
    n = len(rows)
    truth = grades(rows.y, n)
    if not truth.any():
        raise DataError("target: no row is relevant (every grade is 0), so no order is better")
    return Answers(truth, _scores(predictor, rows), queries(rows.qid, n))


def _scores(predictor: Predictor, rows: Rows) -> NDArray[np.float64]:
    if predictor.classes is None:
        return predictor.predict(rows.X)
    if predictor.classes.dtype.kind not in "biuf":
        raise DataError(f"scoring: the classes {predictor.labels} are not grades, so rank nothing")
    return np.asarray(predictor.predict_proba(rows.X) @ predictor.classes.astype(np.float64))


def _need_classes(predictor: Predictor) -> NDArray[Any]:
    if predictor.classes is None:
        raise DataError("scoring: this predictor gives values, not classes; measure its r2")
    return predictor.classes
