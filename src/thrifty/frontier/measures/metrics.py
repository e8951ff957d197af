"""Metrics on arrays: the value over all rows, and what each row contributes to it.

The contributions of a metric have its value as their mean. Where the metric is a mean, they are its
terms. Elsewhere (balanced accuracy, ROC AUC, R2) the contribution of a row is the value plus n
times its influence, so that their spread is that of the metric to the first order (the delta
method; for ROC AUC these are the components of DeLong, DeLong and Clarke-Pearson, 1988).

In a ranking, a row is relevant if its grade is above 0. Rows of equal score are averaged over all
their orders: the order of the table must not help.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import (
    average_precision_score,
    log_loss,
    mean_squared_error,
    r2_score,
    roc_auc_score,
)

from thrifty.errors import DataError
from thrifty.learn.ndcg import dcg

__all__ = [
    "absolute_gains",
    "average_precision",
    "balanced_gains",
    "brier_gains",
    "cost_gains",
    "error_gains",
    "hits",
    "leading_run",
    "log_gains",
    "ndcg_gains",
    "neg_log_loss",
    "neg_mean_squared_error",
    "neg_root_mean_squared_error",
    "pinball_gains",
    "precision",
    "precision_gains",
    "r2",
    "r2_gains",
    "roc_auc",
    "roc_gains",
    "root_gains",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


# --- labels ------------------------------------------------------------------


def hits(y: Codes, predicted: Codes) -> Floats:
    """Return 1 where the predicted class is the true one, else 0."""
    return np.asarray(predicted == y, dtype=np.float64)


def balanced_gains(y: Codes, predicted: Codes) -> Floats:
    """Return the contributions to the mean recall of the classes that occur in the rows."""
    classes, code = np.unique(y, return_inverse=True)
    rows, right = np.bincount(code), hits(y, predicted)
    recall = np.bincount(code, right) / rows
    influence = (right - recall[code]) / (rows[code] * len(classes))
    return np.asarray(recall.mean() + len(right) * influence)


def cost_gains(y: Codes, costs: Floats) -> Floats:
    """Return minus what the answer of each row costs."""
    return -costs


# --- probabilities -----------------------------------------------------------


def neg_log_loss(y: Codes, proba: Floats) -> float:
    """Return the mean log-probability of the true class."""
    return -float(log_loss(y, proba, labels=range(proba.shape[1])))


def log_gains(y: Codes, proba: Floats) -> Floats:
    """Return the log-probability of the true class, kept finite as scikit-learn does."""
    least = np.finfo(np.float64).eps
    own = np.take_along_axis(proba, y[:, np.newaxis], axis=1)[:, 0]
    return np.asarray(np.log(np.clip(own, least, 1.0 - least)))


def roc_auc(y: Codes, proba: Floats) -> float:
    """Return the area under the ROC curve; for more than two classes, the mean of one-vs-rest."""
    return float(np.mean([roc_auc_score(*pair) for pair in _one_vs_rest(y, proba)]))


def roc_gains(y: Codes, proba: Floats) -> Floats:
    """Return the contributions to the area under the ROC curve."""
    return np.asarray(np.mean([_delong(*pair) for pair in _one_vs_rest(y, proba)], axis=0))


def _one_vs_rest(y: Codes, proba: Floats) -> list[tuple[NDArray[np.bool_], Floats]]:
    """Return membership and probabilities for each class; for two classes, for the second alone."""
    k = proba.shape[1]
    return [(y == c, proba[:, c]) for c in range(1 if k == 2 else 0, k)]


def _delong(positive: NDArray[np.bool_], score: Floats) -> Floats:
    """Return DeLong's components of the ROC area of one class against the rest, (n,)."""
    within = np.empty(len(score))
    for side in (positive, ~positive):
        within[side] = rankdata(score[side])
    below = rankdata(score) - within  # rows of the other side ranked below; a tie counts half
    n, p = len(score), int(positive.sum())
    right = np.where(positive, below / (n - p), 1.0 - below / p)
    area = right[positive].mean()
    return np.asarray(area + n * (right - area) / np.where(positive, p, n - p))


def average_precision(y: Codes, proba: Floats) -> float:
    """Return the mean precision over the recalls; for more than two classes, of one-vs-rest."""
    return float(np.mean([average_precision_score(*pair) for pair in _one_vs_rest(y, proba)]))


def precision_gains(y: Codes, proba: Floats) -> Floats:
    """Return the average precision plus the influence of each row on it."""
    return np.asarray(np.mean([_precision_of(*pair) for pair in _one_vs_rest(y, proba)], axis=0))


def _precision_of(positive: NDArray[np.bool_], score: Floats) -> Floats:
    """Return the contributions to the average precision of one class against the rest, (n,).

    It is the mean, over the positive rows, of the share of positive rows among those with at least
    the same score. A row counts as one of the positive rows, and in the shares of all rows that it
    is not ranked below.
    """
    n, n_positive = len(score), int(positive.sum())
    _, rank = np.unique(score, return_inverse=True)
    above = np.cumsum(np.bincount(rank)[::-1])[::-1]
    hits = np.cumsum(np.bincount(rank, positive)[::-1])[::-1]
    share, weight = hits / above, np.bincount(rank, positive) / n_positive
    value = float(weight @ share)
    # What a positive row, and any row, changes in the shares of the scores up to its own.
    gained = np.cumsum(weight * n / above)[rank]
    lost = np.cumsum(weight * share * n / above)[rank]
    influence = positive * (n / n_positive) * (share[rank] - value) + positive * gained - lost
    return np.asarray(value + influence - influence.mean())


def brier_gains(y: Codes, proba: Floats) -> Floats:
    """Return minus the squared error of the probabilities; for two classes, of one of them."""
    member = y[:, np.newaxis] == np.arange(proba.shape[1])
    squares = ((proba - member) ** 2).sum(axis=1)
    return np.asarray(-squares / 2 if proba.shape[1] == 2 else -squares)


# --- values ------------------------------------------------------------------


def neg_mean_squared_error(y: Floats, values: Floats) -> float:
    """Return minus the mean squared error."""
    return -float(mean_squared_error(y, values))


def error_gains(y: Floats, values: Floats) -> Floats:
    """Return minus the squared error of each row."""
    return np.asarray(-((y - values) ** 2))


def neg_root_mean_squared_error(y: Floats, values: Floats) -> float:
    """Return minus the root of the mean squared error."""
    return -float(np.sqrt(mean_squared_error(y, values)))


def root_gains(y: Floats, values: Floats) -> Floats:
    """Return minus the root of the mean squared error plus the influence of each row on it."""
    squares = (y - values) ** 2
    root = float(np.sqrt(squares.mean()))
    if root == 0:
        return np.zeros(len(y))
    return np.asarray(-root - (squares - squares.mean()) / (2 * root))


def absolute_gains(y: Floats, values: Floats) -> Floats:
    """Return minus the absolute error of each row."""
    return np.asarray(-np.abs(y - values))


def pinball_gains(y: Floats, values: Floats, quantile: float) -> Floats:
    """Return minus the pinball loss of each row: too low costs `quantile`, too high the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.measures.metrics import pinball_gains
    >>> pinball_gains(np.array([10.0, 10.0]), np.array([8.0, 12.0]), quantile=0.75)
    array([-1.5, -0.5])
    """
    error = y - values
    return np.asarray(-np.maximum(quantile * error, (quantile - 1) * error))


def r2(y: Floats, values: Floats) -> float:
    """Return the share of explained variance; a constant target follows scikit-learn."""
    if len(y) < 2:
        raise DataError("r2: one row has no variance to explain; give more rows")
    return float(r2_score(y, values))


def r2_gains(y: Floats, values: Floats) -> Floats:
    """Return R2 plus the influence of each row on it."""
    spread = (y - y.mean()) ** 2
    value = r2(y, values)
    if not spread.any():
        return np.full(len(spread), value)
    influence = error_gains(y, values) + (1.0 - value) * spread
    return np.asarray(value + influence / spread.mean())


# --- rankings: one contribution for each query -------------------------------


def ndcg_gains(grades: Floats, scores: Floats, query: Codes, first: int) -> Floats:
    """Return NDCG@first of each query that has a relevant row; the others do not count."""
    ideal = dcg(grades, grades, query, first)
    some = ideal > 0
    return np.asarray(dcg(grades, scores, query, first)[some] / ideal[some])


def precision(grades: Floats, scores: Floats, query: Codes, first: int) -> Floats:
    """Return the share of relevant rows among the `first` of each query, or all if it has fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.measures.metrics import precision
    >>> grades, scores = np.array([1.0, 0.0, 1.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> precision(grades, scores, np.zeros(4, int), 2)
    array([0.5])
    """
    ranks = _Ranks.of(grades, scores, query)
    chance = ranks.relevant / ranks.tied
    return np.asarray(np.nanmean(ranks.top(chance, first, beyond=np.nan), axis=1))


def leading_run(grades: Floats, scores: Floats, query: Codes, first: int) -> Floats:
    """Return the share of the `first` ranks of each query before the first irrelevant row.

    For `first` = 5 this is the "Average Precision@5" of Nan et al. 2015, sec. 3: 1 if the first
    five rows are all relevant, else (j - 1) / 5 with the first irrelevant row at rank j. A query
    with fewer rows, all of them relevant, gets 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.measures.metrics import leading_run
    >>> grades, scores = np.array([1.0, 1.0, 0.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> leading_run(grades, scores, np.zeros(4, int), 5)
    array([0.4])
    """
    ranks = _Ranks.of(grades, scores, query)
    # Chance that the next of the tied rows is relevant, after only relevant ones.
    chance = np.maximum(ranks.relevant - ranks.place, 0.0) / (ranks.tied - ranks.place)
    return np.asarray(np.cumprod(ranks.top(chance, first, beyond=1.0), axis=1).mean(axis=1))


class _Ranks:
    """Rows sorted by query and decreasing score, with size and relevant rows of their ties."""

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
        """Return the values of the first ranks, (queries, first); `beyond` past the last row."""
        table = np.full((self.query[-1] + 1, first), beyond)
        near = self.rank < first
        table[self.query[near], self.rank[near]] = values[near]
        return table


def _places(run: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place 0, 1, ... of each entry within its run of equal numbers."""
    lengths = np.bincount(run)
    return np.arange(len(run)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
