"""The measures themselves, on arrays: the value of all rows, and what each row adds to it.

The gains of a measure have the value as their mean. Where the measure is a mean they are its
terms. Elsewhere (balanced accuracy, ROC AUC, R2) a row's gain is the value plus n times its
influence on it, so that their spread is that of the measure to the first order (the delta method;
for ROC AUC these are the components of DeLong, DeLong and Clarke-Pearson, 1988).

Precision of the first ranks, query by query.

A row is relevant if its grade is above 0. Rows of equal score are taken in every order, and the
mean over those orders counts: the order of the table must not help.

What a predictor said about some rows, beside the truth, ready to be measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import log_loss, mean_squared_error, r2_score, roc_auc_score

from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.frontier.splits import Rows
from thrifty.learn.ndcg import dcg
from thrifty.learn.targets import grades, numbers, queries

__all__ = [
    "Answers",
    "balanced_gains",
    "by_class",
    "chances",
    "error_gains",
    "hits",
    "labels",
    "leading_run",
    "log_gains",
    "neg_log_loss",
    "neg_mean_squared_error",
    "normalized_gain",
    "order",
    "precision",
    "query_gains",
    "r2",
    "r2_gains",
    "roc_auc",
    "roc_gains",
    "together",
    "values",
]

Floats = NDArray[np.float64]


def normalized_gain(grades: Floats, scores: Floats, query: NDArray[np.int64], first: int) -> Floats:
    """NDCG of each query that has a relevant row; the others do not count."""
    ideal = dcg(grades, grades, query, first)
    some = ideal > 0
    return np.asarray(dcg(grades, scores, query, first)[some] / ideal[some])


def precision(grades: Floats, scores: Floats, query: NDArray[np.int64], first: int) -> Floats:
    """Share of relevant rows among the `first` of each query, or among all if it has fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.metrics import precision
    >>> grades, scores = np.array([1.0, 0.0, 1.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> precision(grades, scores, np.zeros(4, int), 2)
    array([0.5])
    """
    ranks = _Ranks.of(grades, scores, query)
    chance = ranks.relevant / ranks.tied
    return np.asarray(np.nanmean(ranks.top(chance, first, beyond=np.nan), axis=1))


def leading_run(grades: Floats, scores: Floats, query: NDArray[np.int64], first: int) -> Floats:
    """Share of the `first` ranks of each query that come before the first irrelevant row.

    This is the "Average Precision@5" of Nan et al. 2015, sec. 3 for `first` = 5: 1 if the first five rows are
    all relevant, else (j - 1) / 5 with the first irrelevant row at rank j. A query with fewer rows,
    all of them relevant, gets 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.metrics import leading_run
    >>> grades, scores = np.array([1.0, 1.0, 0.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> leading_run(grades, scores, np.zeros(4, int), 5)
    array([0.4])
    """
    ranks = _Ranks.of(grades, scores, query)
    # Chance that the next of the tied rows is relevant, after only relevant ones.
    chance = np.maximum(ranks.relevant - ranks.place, 0.0) / (ranks.tied - ranks.place)
    return np.asarray(np.cumprod(ranks.top(chance, first, beyond=1.0), axis=1).mean(axis=1))


class _Ranks:
    """Rows by query and falling score, and for each its tie: size, relevant rows, place in it."""

    def __init__(
        self, query: NDArray[np.int64], rank: NDArray[np.int64], tied: Floats, relevant: Floats,
        place: NDArray[np.int64],
    ) -> None:  # fmt: skip
        self.query, self.rank = query, rank
        self.tied, self.relevant, self.place = tied, relevant, place

    @classmethod
    def of(cls, grades: Floats, scores: Floats, query: NDArray[np.int64]) -> _Ranks:
        order = np.lexsort((-scores, query))
        query, scores = query[order], scores[order]
        change = (np.diff(query) != 0) | (np.diff(scores) != 0)
        tie = np.concatenate([[0], np.cumsum(change)])
        tied = np.bincount(tie).astype(np.float64)
        relevant = np.bincount(tie, grades[order] > 0)
        return cls(query, _places(query), tied[tie], relevant[tie], _places(tie))

    def top(self, values: Floats, first: int, beyond: float) -> Floats:
        """Values of the first ranks, a row for each query; `beyond` where it has no more rows."""
        table = np.full((self.query[-1] + 1, first), beyond)
        near = self.rank < first
        table[self.query[near], self.rank[near]] = values[near]
        return table


def _places(run: NDArray[np.int64]) -> NDArray[np.int64]:
    """Place 0, 1, ... of each entry in its run of equal numbers."""
    lengths = np.bincount(run)
    return np.arange(len(run)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


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


# --- labels ------------------------------------------------------------------


def hits(told: Answers) -> Floats:
    """1 where the label is right."""
    return np.asarray(told.said == told.truth, dtype=np.float64)


def balanced_gains(told: Answers) -> Floats:
    """Mean recall of the classes that occur in the rows."""
    classes, code = np.unique(told.truth, return_inverse=True)
    rows, right = np.bincount(code), hits(told)
    recall = np.bincount(code, right) / rows
    influence = (right - recall[code]) / (rows[code] * len(classes))
    return np.asarray(recall.mean() + len(right) * influence)


def together(told: Answers) -> NDArray[Any]:
    """All rows as one stratum."""
    return np.zeros(len(told.truth))


def by_class(told: Answers) -> NDArray[Any]:
    """The rows of each class as a stratum."""
    return told.truth


# --- probabilities -----------------------------------------------------------


def neg_log_loss(told: Answers) -> float:
    """Mean logarithm of the probability of the true class."""
    return -float(log_loss(told.truth, told.said, labels=range(told.said.shape[1])))


def log_gains(told: Answers) -> Floats:
    """Logarithm of the probability of the true class, kept finite as scikit-learn does."""
    least = np.finfo(np.float64).eps
    chance = np.take_along_axis(told.said, told.truth[:, np.newaxis], axis=1)[:, 0]
    return np.asarray(np.log(np.clip(chance, least, 1.0 - least)))


def roc_auc(told: Answers) -> float:
    """Area under the ROC curve; for more than two classes the mean of each against the rest."""
    each = [roc_auc_score(truth, said) for truth, said in _one_against_rest(told)]
    return float(np.mean(each))


def roc_gains(told: Answers) -> Floats:
    """Share of the rows of the other side that each row is ranked right against, put together."""
    return np.asarray(np.mean([_delong(*pair) for pair in _one_against_rest(told)], axis=0))


def _one_against_rest(told: Answers) -> list[tuple[NDArray[np.bool_], Floats]]:
    """For each class, which rows are of it and its probabilities; for two the last alone."""
    k = told.said.shape[1]
    absent = np.setdiff1d(np.arange(k), told.truth).tolist()
    if absent:
        raise DataError(
            f"roc_auc: no row is of class {[told.classes[c] for c in absent[:5]]}, so it cannot be "
            "told from the rest; give more rows, or measure neg_log_loss"
        )
    return [(told.truth == c, told.said[:, c]) for c in range(1 if k == 2 else 0, k)]


def _delong(positive: NDArray[np.bool_], score: Floats) -> Floats:
    within = np.empty(len(score))
    for side in (positive, ~positive):
        within[side] = rankdata(score[side])
    below = rankdata(score) - within  # rows of the other side below, a tie counts half
    n, p = len(score), int(positive.sum())
    right = np.where(positive, below / (n - p), 1.0 - below / p)
    area = right[positive].mean()
    return np.asarray(area + n * (right - area) / np.where(positive, p, n - p))


# --- values ------------------------------------------------------------------


def neg_mean_squared_error(told: Answers) -> float:
    """Minus the mean squared error."""
    return -float(mean_squared_error(told.truth, told.said))


def error_gains(told: Answers) -> Floats:
    """Minus the squared error."""
    return np.asarray(-((told.truth - told.said) ** 2))


def r2(told: Answers) -> float:
    """Share of the variance that is explained; scikit-learn's convention for a constant target."""
    if len(told.truth) < 2:
        raise DataError("r2: one row has no variance to explain; give more rows")
    return float(r2_score(told.truth, told.said))


def r2_gains(told: Answers) -> Floats:
    """R2 of all rows and how each sways it."""
    spread = (told.truth - told.truth.mean()) ** 2
    value = r2(told)
    if not spread.any():
        return np.full(len(spread), value)
    influence = error_gains(told) + (1.0 - value) * spread
    return np.asarray(value + influence / spread.mean())


# --- order -------------------------------------------------------------------


def query_gains(told: Answers, each: Callable[..., Floats], first: int) -> Floats:
    """One gain for each query, by one of the functions of `top_ranks`."""
    return each(told.truth, told.said, told.query, first)
