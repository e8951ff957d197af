"""Scoring: how good a model is on some rows, larger is better, and how certain that is.

| name                    | task           | what it is                                            |
|-------------------------|----------------|-------------------------------------------------------|
| accuracy                | classification | share of correct labels                               |
| balanced_accuracy       | classification | mean recall of the classes that occur in the rows     |
| neg_log_loss            | classification | mean log-probability of the true class                |
| roc_auc                 | classification | area under the ROC curve; the mean of one-vs-rest     |
|                         |                | for more than two classes                             |
| r2                      | regression     | share of explained variance                           |
| neg_mean_squared_error  | regression     | minus the mean squared error                          |
| ndcg@K                  | ranking        | normalized discounted gain (Xu 2014, eq. 2.20)        |
| precision@K             | ranking        | share of relevant rows among the first K (Xu 2014,    |
|                         |                | Kusner et al. 2014)                                   |
| ap@K                    | ranking        | share of the first K before the first irrelevant row: |
|                         |                | "Average Precision@5" of Nan et al. 2015, sec. 3      |

A row is relevant if its grade is above 0. A query without a relevant row does not count in ndcg
(no order of it is better), and counts 0 in precision and ap, which the papers average over all
queries. A set without any relevant row is refused.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from thrifty.errors import DataError
from thrifty.frontier import metrics
from thrifty.learn.dataset import ValidationSet

__all__ = ["Measurement", "Metric", "find_metric"]

Floats = NDArray[np.float64]
TASKS = ("classification", "regression", "ranking")


class Measurement(NamedTuple):
    """The value of a metric, its confidence interval, and the contribution of each observation.

    An observation is a row or, in a ranking, a query that counts; the value is the mean of `gains`.
    """

    value: float
    low: float
    high: float
    gains: Floats


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric; `find_metric` returns one by name.

    Parameters
    ----------
    name : str
        scikit-learn's name, or ``"ndcg@K"``, ``"precision@K"``, ``"ap@K"``.
    task : str
        The task that it fits.
    needs_proba : bool
        Whether it reads probabilities.
    span : (float, float)
        Smallest and largest possible value.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.frontier.scoring import find_metric
    >>> from thrifty.learn.dataset import ValidationSet
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> model = GreedyMiserClassifier().fit(X, X[:, 0] > 0).predictor_
    >>> rows = np.array([[1.0], [-1.0], [2.0]])
    >>> test = ValidationSet.for_predictor(model, "classification", rows, [True, False, False])
    >>> found = find_metric(None, "classification").measure(model.predict_proba(rows), test)
    >>> found.gains
    array([1., 1., 0.])
    >>> f"{found.low:.2f} < {found.value:.2f} < {found.high:.2f}"
    '0.21 < 0.67 < 0.94'
    """

    name: str
    task: str
    needs_proba: bool
    span: tuple[float, float]
    _outputs: Callable[[Floats, ValidationSet], NDArray[Any]]
    _gains: Callable[..., Floats]
    _value: Callable[..., float] | None = None
    _wilson_by_class: bool | None = None

    def value(self, scores: Floats, data: ValidationSet) -> float:
        """Return the value of the metric for the scores of a model on some rows."""
        outputs = self._outputs_for(scores, data)
        found = (self._value or self._gains)(data.y, outputs, *self._queries(data))
        return float(np.mean(found))

    def measure(self, scores: Floats, data: ValidationSet, level: float = 0.95) -> Measurement:
        """Measure the scores of a model on some rows.

        The interval is Wilson's for the accuracy, the combined intervals of the recalls for the
        balanced accuracy (Zou and Donner 2008), and Student's from the contributions for the rest,
        clipped to the span. It treats rows (queries in a ranking) as independent. Student's
        interval has no width if all contributions are equal, however few there are.

        Parameters
        ----------
        scores : array of shape (n, K) or (n,)
            Probabilities or values, as `score` of a frozen model returns them.
        data : ValidationSet
        level : float
            Confidence level of the interval.
        """
        if not 0 < level < 1:
            raise ValueError(f"level: {level!r} is not between 0 and 1")
        outputs, queries = self._outputs_for(scores, data), self._queries(data)
        gains = self._gains(data.y, outputs, *queries)
        value = float(gains.mean())
        if self._value is not None:
            value = self._value(data.y, outputs, *queries)
        if self._wilson_by_class is None:
            low, high = _student(value, gains, level)
        else:
            strata = data.y if self._wilson_by_class else np.zeros(len(data), dtype=np.int64)
            low, high = _wilson(value, metrics.hits(data.y, outputs), strata, level)
        return Measurement(value, max(low, self.span[0]), min(high, self.span[1]), gains)

    def _outputs_for(self, scores: Floats, data: ValidationSet) -> NDArray[Any]:
        if not len(data):
            raise DataError(f"{self.name}: there are no rows to measure on")
        return self._outputs(scores, data)

    def _queries(self, data: ValidationSet) -> tuple[NDArray[np.int64], ...]:
        if self.task != "ranking":
            return ()
        assert data.query is not None
        return (data.query,)


def find_metric(scoring: str | None, task: str) -> Metric:
    """Return a metric by name.

    Parameters
    ----------
    scoring : str or None
        Its name; by default accuracy, r2 or ndcg@5, depending on the task.
    task : {"classification", "regression", "ranking"}

    Raises
    ------
    DataError
        If no metric has this name, or it does not fit the task.

    Examples
    --------
    >>> from thrifty.frontier.scoring import find_metric
    >>> find_metric(None, "ranking").name, find_metric("precision@10", "ranking").name
    ('ndcg@5', 'precision@10')
    >>> find_metric("acuracy", "classification")
    Traceback (most recent call last):
    ...
    thrifty.errors.DataError: scoring: 'acuracy' is not known, did you mean 'accuracy'? For
    classification: accuracy, balanced_accuracy, neg_log_loss, roc_auc
    """
    if task not in TASKS:
        raise DataError(f"task: {task!r} is not one of {', '.join(TASKS)}")
    fitting = [name for name, known in METRICS.items() if known.task == task]
    choices = f"For {task}: {', '.join(name.replace('@5', '@K') for name in fitting)}"
    name = fitting[0] if scoring is None else scoring
    ranked = re.fullmatch(r"(ndcg|precision|ap)@([1-9][0-9]{0,5})", str(name))
    found = _ranking(ranked[1], int(ranked[2])) if ranked else METRICS.get(str(name))
    if found is None:
        near = difflib.get_close_matches(str(name), METRICS, n=1, cutoff=0.5)
        hint = f", did you mean {near[0]!r}?" if near else "."
        raise DataError(f"scoring: {scoring!r} is not known{hint} {choices}")
    if found.task != task:
        raise DataError(f"scoring: {found.name!r} is for {found.task}. {choices}")
    return found


# --- what a metric compares with the target ----------------------------------


def _predicted_classes(scores: Floats, data: ValidationSet) -> NDArray[np.int64]:
    """Return the class codes of the largest probabilities."""
    if scores.ndim == 1:
        raise DataError("scoring: this model predicts values, not classes; use r2")
    return np.asarray(scores.argmax(axis=1))


def _probabilities(scores: Floats, data: ValidationSet) -> Floats:
    """Return probabilities within [0, 1]; DataError for labels that the model does not know."""
    if scores.ndim == 1:
        raise DataError("scoring: this model predicts values, not classes; use r2")
    assert data.classes is not None
    unknown = np.unique(data.labels[data.y >= scores.shape[1]]).tolist()
    if unknown:
        raise DataError(
            f"target: {unknown[:5]} are not classes of the model "
            f"{data.classes[: scores.shape[1]].tolist()[:20]}, so they have no probability; "
            "drop these rows"
        )
    # Averages over trees may exceed 1 by the last bit.
    return np.clip(scores, 0.0, 1.0)


def _probabilities_of_all(scores: Floats, data: ValidationSet) -> Floats:
    """Return probabilities; DataError if a class has no row."""
    proba = _probabilities(scores, data)
    assert data.classes is not None
    absent = np.setdiff1d(np.arange(scores.shape[1]), data.y)
    if len(absent):
        raise DataError(
            f"roc_auc: no row is of class {data.classes[absent].tolist()[:5]}, so it cannot be "
            "compared with the rest; give more rows, or use neg_log_loss"
        )
    return proba


def _values(scores: Floats, data: ValidationSet) -> Floats:
    """Return the values of a regression model as they are."""
    if scores.ndim == 2:
        raise DataError("scoring: this model predicts classes, not values; use accuracy")
    return scores


def _ranking_scores(scores: Floats, data: ValidationSet) -> Floats:
    """Return scores to rank by; classes that are numbers are ranked by their expected value."""
    if not data.y.any():
        raise DataError("target: no row is relevant (every grade is 0), so no order is better")
    if scores.ndim == 1:
        return scores
    assert data.classes is not None
    if data.classes.dtype.kind not in "biuf":
        labels = data.classes.tolist()
        raise DataError(f"scoring: the classes {labels} are not grades, so they cannot be ranked")
    return np.asarray(scores @ data.classes[: scores.shape[1]].astype(np.float64))


# --- intervals ---------------------------------------------------------------


def _wilson(
    value: float, hits: Floats, strata: NDArray[np.int64], level: float
) -> tuple[float, float]:
    """Return the interval of the mean, over strata, of their shares of hits.

    With one stratum it is Wilson's. Otherwise each end is as far from the mean as the ends of the
    strata combined, each independent of the others.
    """
    z = float(ndtri((1 + level) / 2))
    below, above = [], []
    for stratum in np.unique(strata):
        here = hits[strata == stratum]
        share, n = float(here.mean()), len(here)
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        below.append(share - max(0.0, middle - half))
        above.append(min(1.0, middle + half) - share)
    low, high = (float(np.linalg.norm(ends)) / len(below) for ends in (below, above))
    return value - low, value + high


def _student(value: float, gains: Floats, level: float) -> tuple[float, float]:
    """Return Student's interval around a value, from the spread of the contributions."""
    n = len(gains)
    if n < 2:
        return -np.inf, np.inf
    half = float(stdtrit(n - 1, (1 + level) / 2) * gains.std(ddof=1) / np.sqrt(n))
    return value - half, value + half


# --- the table: the first of each task is its default ------------------------


def _ranking(name: str, first: int) -> Metric:
    """Return a ranking metric over the `first` ranks."""
    each = {
        "ndcg": metrics.ndcg_gains,
        "precision": metrics.precision,
        "ap": metrics.leading_run,
    }[name]
    gains = partial(each, first=first)
    return Metric(f"{name}@{first}", "ranking", False, (0.0, 1.0), _ranking_scores, gains)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "classification", False, (0.0, 1.0),
               _predicted_classes, metrics.hits, _wilson_by_class=False),
        Metric("balanced_accuracy", "classification", False, (0.0, 1.0),
               _predicted_classes, metrics.balanced_gains, _wilson_by_class=True),
        Metric("neg_log_loss", "classification", True, (-np.inf, 0.0),
               _probabilities, metrics.log_gains, metrics.neg_log_loss),
        Metric("roc_auc", "classification", True, (0.0, 1.0),
               _probabilities_of_all, metrics.roc_gains, metrics.roc_auc),
        Metric("r2", "regression", False, (-np.inf, 1.0),
               _values, metrics.r2_gains, metrics.r2),
        Metric("neg_mean_squared_error", "regression", False, (-np.inf, 0.0),
               _values, metrics.error_gains, metrics.neg_mean_squared_error),
        _ranking("ndcg", 5),
        _ranking("precision", 5),
        _ranking("ap", 5),
    )
}  # fmt: skip
