"""Scorers of scikit-learn on arrays: anything that is called as ``scorer(estimator, X, y)``.

A scorer gets an estimator that answers for row numbers, from scores that are known already. The
contribution of a row to its value comes from a jackknife: the value without each of some groups of
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names

from thrifty.errors import DataError

__all__ = ["ScorerOnArrays", "named_scorer"]

Floats = NDArray[np.float64]

# Number of groups of rows in the jackknife: the value is computed once more without each of them.
N_GROUPS = 20


def named_scorer(name: str) -> Callable[..., float] | None:
    """Return a scorer of scikit-learn by name; None if there is none."""
    return get_scorer(name) if name in get_scorer_names() else None


class ScorerOnArrays:
    """A scorer that takes targets and answers.

    Parameters
    ----------
    scorer : callable
        ``scorer(estimator, X, y)`` returns a number; larger is better.
    name : str
        For messages.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import get_scorer
    >>> from thrifty.frontier.measures.scorers import ScorerOnArrays
    >>> scorer = ScorerOnArrays(get_scorer("neg_median_absolute_error"), "median")
    >>> scorer.value(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 3.0]))
    -0.0
    """

    def __init__(self, scorer: Callable[..., float], name: str) -> None:
        self.scorer, self.name = scorer, name

    def value(
        self,
        labels: NDArray[Any],
        answers: NDArray[Any],
        scores: Floats | None = None,
        classes: NDArray[Any] | None = None,
    ) -> float:
        """Return the value for answers: labels with their probabilities, or numbers."""
        return self._call(labels, self._stand_in(answers, scores, classes), np.arange(len(labels)))

    def gains(
        self,
        labels: NDArray[Any],
        answers: NDArray[Any],
        scores: Floats | None = None,
        classes: NDArray[Any] | None = None,
    ) -> Floats:
        """Return contributions (n,) with the value as their mean, and the spread of a jackknife.

        Where the value without a group of rows cannot be computed, they are all alike.
        """
        n = len(labels)
        estimator = self._stand_in(answers, scores, classes)
        value = self._call(labels, estimator, np.arange(n))
        n_groups = min(N_GROUPS, n)
        group = np.arange(n) % n_groups
        if n_groups < 2:
            return np.full(n, value)
        try:
            without = [
                self._call(labels, estimator, np.flatnonzero(group != g)) for g in range(n_groups)
            ]
        except DataError:  # such as a group with all rows of a class
            return np.full(n, value)
        lost = (n_groups - 1) * (value - np.array(without))
        # n rows that share what their groups contribute have the spread of so many groups.
        each = (lost - lost.mean())[group] * np.sqrt(n / n_groups)
        return np.asarray(value + each - each.mean())

    def reads_labels(
        self, labels: NDArray[Any], answers: NDArray[Any], scores: Floats, classes: NDArray[Any]
    ) -> bool:
        """Return whether the value depends on predicted labels alone."""
        estimator = self._stand_in(answers, scores, classes)
        self._call(labels, estimator, np.arange(len(labels)))
        return bool(estimator.asked == {"predict"})

    def _stand_in(
        self, answers: NDArray[Any], scores: Floats | None, classes: NDArray[Any] | None
    ) -> Any:
        return _Values(answers) if scores is None else _Classes(answers, scores, classes)

    def _call(self, labels: NDArray[Any], estimator: Any, rows: NDArray[np.intp]) -> float:
        try:
            value = float(self.scorer(estimator, rows[:, np.newaxis], labels[rows]))
        except Exception as error:  # whatever the user's function raises
            raise DataError(f"scoring: {self.name} cannot be computed here: {error}") from error
        if not np.isfinite(value):
            raise DataError(f"scoring: {self.name} is {value} here, not a finite number")
        return value


class _Classes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Answers for row numbers, from labels and probabilities that are known already."""

    def __init__(self, answers: Any, scores: Any, classes: Any) -> None:
        self.answers, self.scores, self.classes_ = answers, scores, classes
        self.asked: set[str] = set()

    def fit(self, X: Any, y: Any = None) -> Any:
        """Do nothing; scikit-learn looks for this method."""
        return self

    def predict(self, X: NDArray[np.intp]) -> NDArray[Any]:
        """Return the labels of these rows."""
        self.asked.add("predict")
        return np.asarray(self.answers[X[:, 0]])

    def predict_proba(self, X: NDArray[np.intp]) -> Floats:
        """Return the probabilities of these rows."""
        self.asked.add("predict_proba")
        return np.asarray(self.scores[X[:, 0]])

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _Values(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Answers for row numbers, from numbers that are known already."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers

    def fit(self, X: Any, y: Any = None) -> Any:
        """Do nothing; scikit-learn looks for this method."""
        return self

    def predict(self, X: NDArray[np.intp]) -> NDArray[Any]:
        """Return the numbers of these rows."""
        return np.asarray(self.answers[X[:, 0]])

    def __sklearn_is_fitted__(self) -> bool:
        return True
