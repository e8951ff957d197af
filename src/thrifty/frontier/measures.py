"""The measures themselves, on arrays: the value of all rows, and what each row adds to it.

The gains of a measure have the value as their mean. Where the measure is a mean they are its
terms. Elsewhere (balanced accuracy, ROC AUC, R2) a row's gain is the value plus n times its
influence on it, so that their spread is that of the measure to the first order (the delta method;
for ROC AUC these are the components of DeLong, DeLong and Clarke-Pearson, 1988).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import log_loss, mean_squared_error, r2_score, roc_auc_score

from thrifty.errors import DataError
from thrifty.frontier.answers import Answers

__all__ = [
    "balanced_gains",
    "by_class",
    "error_gains",
    "hits",
    "log_gains",
    "neg_log_loss",
    "neg_mean_squared_error",
    "query_gains",
    "r2",
    "r2_gains",
    "roc_auc",
    "roc_gains",
    "together",
]

Floats = NDArray[np.float64]


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
