"""A classifier inside a budget.

A regressor inside a budget.

A ranker inside a budget.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags

from thrifty.frontier.budget_base import BudgetEstimator, units
from thrifty.learn.ndcg import ndcg
from thrifty.learn.targets import Labels, grades, numbers, queries

__all__ = ["BudgetClassifier", "BudgetRanker", "BudgetRegressor"]


class BudgetClassifier(ClassifierMixin, BudgetEstimator):  # type: ignore[misc]
    """The best classifier that a budget allows, chosen from the curves of several learners.

    `fit` holds out a fifth of the rows, lets the learners race on the others, and takes the best
    point whose mean bill is within the budget. No row is learnt from and chosen on.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    budget : float, optional
        Largest mean bill. Without one, money is no object.
    cap : float, optional
        What no single example may ever cost.
    scoring : {"accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc"}, optional
        What the best is; accuracy when left out.
    learners : "auto", sequence or mapping of estimators
        Who races: the learners that thrifty has for the task, or these. They get the prices of
        this estimator.
    confidence : float or None
        The mean bill of examples to come is within the budget with this confidence, given that
        they are drawn as the validation rows were; None takes the mean of the validation rows
        at its word.
    time_limit : float, optional
        Seconds after which no further learner starts.
    random_state : int, RandomState or None
        Divides the rows, and seeds the learners.

    Attributes
    ----------
    frontier_ : thrifty.frontier.Curve
        All points on the validation rows: `points`, `hull`, `chosen`, `plot()`.
    point_ : thrifty.frontier.CurvePoint
        The chosen point.
    laps_ : tuple of thrifty.frontier.Lap
        What became of each learner in the race.
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Frozen
        The frozen model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import BudgetClassifier, GreedyMiserClassifier, Prices
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.where(X[:, 0] + 0.2 * X[:, 1] > 0, "yes", "no")
    >>> model = BudgetClassifier(Prices([1.0, 50.0]), budget=10, random_state=0,
    ...                          learners=[GreedyMiserClassifier()]).fit(X, y)
    >>> model.bill(X).max().item()
    1.0
    >>> model.at_budget(60).bill(X).max().item()  # nothing is learnt again
    51.0
    """

    _task = "classification"

    def fit(
        self, X: Any, y: Any, *, validation: tuple[Any, Any] | None = None, groups: Any = None
    ) -> Self:
        """Race the learners on a table and its labels, and choose.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table.
        y : sequence of shape (n,)
            Labels.
        validation : (Xv, yv), optional
            Rows to choose on, instead of a part of the table.
        groups : sequence of shape (n,), optional
            Rows of one group, such as those of one patient, are not divided.

        Raises
        ------
        BudgetError
            If no point meets budget and cap; it names the cheapest.
        """
        self._validate_params()
        rows = self._read(X)[2]
        labels = Labels.of(y, len(rows))
        self.classes_ = labels.classes
        return self._fit(X, labels.classes[labels.codes], validation, units(groups, len(rows)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, K) in the order of `classes_`."""
        return self.predictor_.predict_proba(self._checked(X))


class BudgetRegressor(RegressorMixin, BudgetEstimator):  # type: ignore[misc]
    """The best regressor that a budget allows; see `BudgetClassifier`.

    Parameters
    ----------
    prices, budget, cap, learners, confidence, time_limit, random_state
        As in `BudgetClassifier`.
    scoring : {"r2", "neg_mean_squared_error"}, optional
        What the best is; R2 when left out.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import BudgetRegressor, GreedyMiserRegressor, Prices
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> model = BudgetRegressor(Prices([1.0, 50.0]), budget=10, random_state=0,
    ...                         learners=[GreedyMiserRegressor()]).fit(X, y)
    >>> model.bill(X).max().item()
    1.0
    """

    _task = "regression"

    def fit(
        self, X: Any, y: Any, *, validation: tuple[Any, Any] | None = None, groups: Any = None
    ) -> Self:
        """Race the learners on a table and its values; see `BudgetClassifier.fit`."""
        self._validate_params()
        rows = self._read(X)[2]
        return self._fit(X, numbers(y, len(rows)), validation, units(groups, len(rows)))


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
