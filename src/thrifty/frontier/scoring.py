"""Quality: how good a predictor is on some rows, larger is better, and how sure that is.

| name                    | task           | what it is                                            |
|-------------------------|----------------|-------------------------------------------------------|
| accuracy                | classification | share of right labels                                 |
| balanced_accuracy       | classification | mean recall of the classes that occur in the rows     |
| neg_log_loss            | classification | mean log probability of the true class                |
| roc_auc                 | classification | area under the ROC curve; many classes: mean of each  |
|                         |                | against the rest                                      |
| r2                      | regression     | share of the variance explained                       |
| neg_mean_squared_error  | regression     | minus the mean squared error                          |
| ndcg@K                  | ranking        | normalized discounted gain (Xu 2014, eq. 2.20)             |
| precision@K             | ranking        | share of relevant rows among the first K (002, 004)   |
| ap@K                    | ranking        | share of the first K before the first irrelevant row: |
|                         |                | "Average Precision@5" of Nan et al. 2015, sec. 3                   |

A row is relevant if its grade is above 0. A query without a relevant row does not count in ndcg
(no order of it is better), and counts 0 in precision and ap, which the papers average over all
queries. Rows without any relevant one are refused.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.frontier import metrics as answers
from thrifty.frontier import metrics as measures
from thrifty.frontier import metrics as top_ranks
from thrifty.frontier.metrics import Answers
from thrifty.frontier.splits import Rows

__all__ = ["Quality", "quality"]

Floats = NDArray[np.float64]
TASKS = ("classification", "regression", "ranking")


@dataclass(frozen=True, eq=False)
class Quality:
    """One measure of quality; `quality` gives it by name.

    Parameters
    ----------
    name : str
        What scikit-learn calls it, or ``"ndcg@K"``, ``"precision@K"``, ``"ap@K"``.
    task : tuple of str
        The tasks that it fits.
    needs_proba : bool
        Whether it reads probabilities.
    span : (float, float)
        Smallest and largest value that it can take.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.frontier.splits import Rows
    >>> from thrifty.frontier.scoring import quality
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> model = GreedyMiserClassifier().fit(X, X[:, 0] > 0)
    >>> rows = Rows(np.arange(3), np.array([[1.0], [-1.0], [2.0]]), np.array([True, False, False]))
    >>> accuracy = quality(None, "classification")
    >>> accuracy.gains(model.predictor_, rows)
    array([1., 1., 0.])
    >>> value, low, high = accuracy.interval(model.predictor_, rows)
    >>> f"{low:.2f} < {value:.2f} < {high:.2f}"
    '0.21 < 0.67 < 0.94'
    """

    name: str
    task: tuple[str, ...]
    needs_proba: bool
    span: tuple[float, float]
    _read: Callable[[Predictor, Rows], Answers]
    _gains: Callable[[Answers], Floats]
    _value: Callable[[Answers], float] | None = None
    _strata: Callable[[Answers], NDArray[Any]] | None = None

    def measure(self, predictor: Predictor, rows: Rows) -> float:
        """Quality of a predictor on some rows."""
        return self._measure(self._told(predictor, rows))

    def gains(self, predictor: Predictor, rows: Rows) -> Floats:
        """What each row (for an order, each query that counts) adds: the mean is the quality.

        Where the measure is a mean these are its terms, else the terms of its first-order
        expansion; differences of two predictors on the same rows are paired through them.
        """
        return self._gains(self._told(predictor, rows))

    def interval(
        self, predictor: Predictor, rows: Rows, level: float = 0.95
    ) -> tuple[float, float, float]:
        """Quality and its confidence interval (value, low, high).

        Wilson's interval for the accuracy, those of the recalls put together for the balanced
        accuracy (G. Zou and A. Donner, 2008), Student's from the gains for the rest, cut to the
        span. It takes the rows (for an order, the queries) as drawn independently. Student's has
        no width where all gains are equal, however few they are.
        """
        if not 0 < level < 1:
            raise ValueError(f"level: {level!r} is not between 0 and 1")
        told = self._told(predictor, rows)
        value, gains = self._measure(told), self._gains(told)
        low, high = (
            _student(value, gains, level)
            if self._strata is None
            else _wilson(value, measures.hits(told), self._strata(told), level)
        )
        return value, max(low, self.span[0]), min(high, self.span[1])

    def _told(self, predictor: Predictor, rows: Rows) -> Answers:
        if not len(rows):
            raise DataError(f"{self.name}: there are no rows to measure on")
        return self._read(predictor, rows)

    def _measure(self, told: Answers) -> float:
        return float(self._gains(told).mean()) if self._value is None else self._value(told)


def quality(scoring: str | None, task: str) -> Quality:
    """Give a measure of quality by name.

    Parameters
    ----------
    scoring : str or None
        Its name; None is the task's own: accuracy, r2 or ndcg@5.
    task : {"classification", "regression", "ranking"}

    Raises
    ------
    DataError
        If no measure has this name, or it does not fit the task.

    Examples
    --------
    >>> from thrifty.frontier.scoring import quality
    >>> quality(None, "ranking").name, quality("precision@10", "ranking").name
    ('ndcg@5', 'precision@10')
    >>> quality("acuracy", "classification")
    Traceback (most recent call last):
    ...
    thrifty.errors.DataError: scoring: 'acuracy' is not known, did you mean 'accuracy'? For
    classification: accuracy, balanced_accuracy, neg_log_loss, roc_auc
    """
    if task not in TASKS:
        raise DataError(f"task: {task!r} is not one of {', '.join(TASKS)}")
    fitting = [name for name, known in MEASURES.items() if task in known.task]
    found = _find(fitting[0] if scoring is None else scoring)
    if found is None:
        raise DataError(f"scoring: {scoring!r} is not known{_near(scoring)} {_list(task, fitting)}")
    if task not in found.task:
        raise DataError(
            f"scoring: {found.name!r} is for {' and '.join(found.task)}. {_list(task, fitting)}"
        )
    return found


def _find(scoring: object) -> Quality | None:
    if not isinstance(scoring, str):
        return None
    ranked = re.fullmatch(r"(ndcg|precision|ap)@([1-9][0-9]{0,5})", scoring)
    return _ranking(ranked[1], int(ranked[2])) if ranked else MEASURES.get(scoring)


def _near(scoring: object) -> str:
    near = difflib.get_close_matches(str(scoring), MEASURES, n=1, cutoff=0.5)
    return f", did you mean {near[0]!r}?" if near else "."


def _list(task: str, fitting: list[str]) -> str:
    return f"For {task}: {', '.join(name.replace('@5', '@K') for name in fitting)}"


def _wilson(value: float, hits: Floats, strata: NDArray[Any], level: float) -> tuple[float, float]:
    """Interval of the mean over strata of their shares of hits; of one stratum, Wilson's own.

    Each end is as far from the mean as the ends of the strata, each independent of the others.
    """
    below, above = [], []
    for stratum in np.unique(strata):
        here = hits[strata == stratum]
        share, (low, high) = here.mean(), _wilson_ends(float(here.mean()), len(here), level)
        below.append(share - low)
        above.append(high - share)
    low, high = (float(np.linalg.norm(ends)) / len(below) for ends in (below, above))
    return value - low, value + high


def _wilson_ends(share: float, n: int, level: float) -> tuple[float, float]:
    z = float(ndtri((1 + level) / 2))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def _student(value: float, gains: Floats, level: float) -> tuple[float, float]:
    n = len(gains)
    if n < 2:
        return -np.inf, np.inf
    half = float(stdtrit(n - 1, (1 + level) / 2) * gains.std(ddof=1) / np.sqrt(n))
    return value - half, value + half


# --- the table: the first of each task is its own ----------------------------


def _labels(
    name: str, gains: Callable[[Answers], Floats], strata: Callable[[Answers], NDArray[Any]]
) -> Quality:
    return Quality(
        name, ("classification",), False, (0.0, 1.0), answers.labels, gains, None, strata
    )


def _ranking(name: str, first: int) -> Quality:
    gains = partial(measures.query_gains, each=EACH[name], first=first)
    return Quality(f"{name}@{first}", ("ranking",), False, (0.0, 1.0), answers.order, gains)


EACH = {
    "ndcg": top_ranks.normalized_gain,
    "precision": top_ranks.precision,
    "ap": top_ranks.leading_run,
}
MEASURES = {
    measure.name: measure
    for measure in (
        _labels("accuracy", measures.hits, measures.together),
        _labels("balanced_accuracy", measures.balanced_gains, measures.by_class),
        Quality("neg_log_loss", ("classification",), True, (-np.inf, 0.0),
                answers.chances, measures.log_gains, measures.neg_log_loss),
        Quality("roc_auc", ("classification",), True, (0.0, 1.0),
                answers.chances, measures.roc_gains, measures.roc_auc),
        Quality("r2", ("regression",), False, (-np.inf, 1.0),
                answers.values, measures.r2_gains, measures.r2),
        Quality("neg_mean_squared_error", ("regression",), False, (-np.inf, 0.0),
                answers.values, measures.error_gains, measures.neg_mean_squared_error),
        _ranking("ndcg", 5),
        _ranking("precision", 5),
        _ranking("ap", 5),
    )
}  # fmt: skip
