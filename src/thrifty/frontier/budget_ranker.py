"""A ranker inside a budget."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from thrifty.frontier.budget import BudgetEstimator
from thrifty.learn.ndcg import ndcg
from thrifty.learn.targets import grades, queries

__all__ = ["BudgetRanker"]


class BudgetRanker(BudgetEstimator):
    """The best ranker that a budget allows; see `BudgetClassifier`.

    Parameters
    ----------
    prices, budget, cap, learners, confidence, time_limit, random_state
        As in `BudgetClassifier`.
    scoring : {"ndcg@K", "precision@K", "ap@K"}, optional
        What the best is, with a number for K; NDCG@5 when left out.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import BudgetRanker, Prices
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> grade = np.digitize(X[:, 0], [-1, 0, 1])
    >>> model = BudgetRanker(Prices([1.0, 50.0]), budget=10, random_state=0)
    >>> model.fit(X, grade, qid=np.repeat(np.arange(60), 10)).bill(X).max().item()
    1.0
    """

    _task = "ranking"

    def fit(
        self, X: Any, y: Any, *, qid: Any = None, validation: tuple[Any, ...] | None = None
    ) -> Self:
        """Race the learners on a table and its grades.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table.
        y : array of shape (n,)
            Relevance grades from 0 up.
        qid : array of shape (n,), optional
            Query of each row; queries are not divided. Without it the rows to learn from are one
            query, and those to choose on another.
        validation : (Xv, yv) or (Xv, yv, qidv), optional
            Rows to choose on, instead of a part of the queries.
        """
        self._validate_params()
        rows = self._read(X)[2]
        query = queries(qid, len(rows))
        return self._fit(X, grades(y, len(rows)), validation, None if qid is None else query, query)

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Mean NDCG@5 over the queries that have a relevant row."""
        scores: NDArray[np.float64] = self.predict(X)
        return ndcg(grades(y, len(scores)), scores, queries(qid, len(scores)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags
