"""What there is to predict: classes, values or an order, each with its learner and quality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.frontier.parts import Rows
from thrifty.learn import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from thrifty.learn.ndcg import ndcg
from thrifty.learn.targets import Labels, grades, numbers, queries

__all__ = ["TASKS", "Task", "guess_task"]

# A target of numbers with more distinct values than this is taken for a quantity.
MOST_CLASSES = 30


@dataclass(frozen=True, eq=False)
class Task:
    """One kind of target.

    Parameters
    ----------
    metric : str
        What quality is.
    learner : class
        The estimator.
    check : function of (y, rows)
        Raises a DataError for a target that does not fit.
    quality : function of (Predictor, Rows)
        Larger is better.
    """

    metric: str
    learner: Callable[..., Any]
    check: Callable[[Any, int], object]
    quality: Callable[[Predictor, Rows], float]


def guess_task(y: NDArray[Any], qid: NDArray[Any] | None) -> str:
    """Guess the task: ranking with queries, regression for many numbers, else classification.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.tasks import guess_task
    >>> guess_task(np.linspace(0, 1, 50), None), guess_task(np.arange(50) % 3, None)
    ('regression', 'classification')
    """
    if qid is not None:
        return "ranking"
    many = y.dtype.kind in "iuf" and len(np.unique(y)) > MOST_CLASSES
    return "regression" if many else "classification"


def _labels(y: Any, rows: int) -> Labels:
    try:
        return Labels.of(y, rows)
    except DataError:
        raise
    except (TypeError, ValueError) as error:  # a mixture of types, or fractions as labels
        raise DataError(f"target: these are not classes ({error}); try regression") from error


def _accuracy(predictor: Predictor, rows: Rows) -> float:
    return float(np.mean(predictor.predict(rows.X) == rows.y))


def _r2(predictor: Predictor, rows: Rows) -> float:
    return float(r2_score(numbers(rows.y, len(rows)), predictor.predict(rows.X)))


def _ndcg_at_5(predictor: Predictor, rows: Rows) -> float:
    n = len(rows)
    return ndcg(grades(rows.y, n), predictor.predict(rows.X), queries(rows.qid, n))


TASKS = {
    "classification": Task("accuracy", GreedyMiserClassifier, _labels, _accuracy),
    "regression": Task("R2", GreedyMiserRegressor, numbers, _r2),
    "ranking": Task("NDCG@5", GreedyMiserRanker, grades, _ndcg_at_5),
}
