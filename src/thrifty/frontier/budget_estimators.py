"""The main estimators: the best classifier, regressor or ranker within a budget."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from thrifty.costs import PriceList
from thrifty.frontier.budget_base import BudgetEstimator
from thrifty.learn._sklearn import StrOptions
from thrifty.learn.base import PricedRanker

__all__ = ["BudgetClassifier", "BudgetRanker", "BudgetRegressor"]


class BudgetClassifier(ClassifierMixin, BudgetEstimator):  # type: ignore[misc]
    """The best classifier within a budget, chosen from the curves of several learners.

    By default the learner is a `LadderClassifier`, which trains on all rows and measures its points
    on the same rows, each scored by models that have not seen it. Learners of your own that do not
    cross-fit are measured on a fifth of the rows, which is held out. The best point whose mean bill
    is within the budget is taken.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; one unit each by default.
    budget : float or mapping of str to float, optional
        Largest mean bill. By default money is no object, and the strongest model is chosen. A
        mapping has a budget for each of several currencies of the prices, and for the ``"latency"``
        if they have delays: all of them hold.
    cap : float or mapping of str to float, optional
        Largest bill of any single example; a mapping likewise.
    scoring : str or callable, optional
        The metric: ``"accuracy"`` by default, ``"f1"``, ``"average_precision"``, ``"roc_auc"``,
        ``"neg_log_loss"`` and others (`thrifty.frontier.scoring`); the name of another scorer of
        scikit-learn, or a function ``scorer(estimator, X, y)``. For F1, balanced accuracy and
        others that depend on predicted labels, each point gets the threshold of two classes that is
        best on the validation set. With costs, minus the mean cost of errors.
    learners : "auto", sequence or mapping of estimators
        The candidates; by default a ladder. They get the prices of this estimator and, where they
        have such a parameter, its cap and its class weights.
    confidence : float or None
        The mean bill of new examples is within the budget with this confidence, provided that
        they come from the same distribution as the validation set. None takes the mean bill of
        the validation set as it is.
    effort : {"fast", "balanced", "best"}
        How much work goes into the default learner: at most about 5, 30 or 200 times the CPU time
        of a plain boosted fit; above 20,000 rows, 3, 10 or 60 times.
    time_limit : float, optional
        Seconds to fit in. The default learner plans with it; others are not started after it.
    class_weight : dict, "balanced" or None
        Weights of the classes, as in scikit-learn.
    costs : array of shape (K, K) or mapping, optional
        What errors cost, in the unit of the prices: a matrix ``[true, predicted]`` in the
        order of `classes_`, or ``{(true, predicted): cost}``, or ``{true: {predicted: cost}}``.
        Then labels are predicted by lowest expected cost, and the cheapest point whose mean total,
        bills plus costs of errors, is hardly above the lowest is chosen. See also `fit`.
    random_state : int, RandomState or None
        Splits the rows, and seeds the learners.

    Attributes
    ----------
    frontier_ : thrifty.frontier.Curve
        All points, measured on the validation set: `points`, `hull`, `chosen`, `plot()`.
    point_ : thrifty.frontier.CurvePoint
        The chosen point.
    learner_results_ : tuple of thrifty.frontier.LearnerResult
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
    >>> model.at_budget(60).bill(X).max().item()  # nothing is trained again
    51.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetEstimator._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "costs": ["array-like", Mapping, None],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        budget: float | Mapping[str, float] | None = None,
        cap: float | Mapping[str, float] | None = None,
        scoring: str | Callable[..., float] | None = None,
        learners: str | Sequence[Any] | Mapping[str, Any] = "auto",
        confidence: float | None = 0.95,
        effort: str = "balanced",
        time_limit: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        costs: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            prices, budget, cap, scoring, learners, confidence, effort, time_limit, random_state
        )
        self.class_weight = class_weight
        self.costs = costs

    _reads_files = _reads_weights = True

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        costs: Any = None,
        validation: tuple[Any, Any] | None = None,
        groups: Any = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the classifier: race the learners and choose a point.

        Parameters
        ----------
        X : pandas or polars DataFrame, array of shape (n, d), or thrifty.Table
            The table. Of a `Table`, 100,000 rows are drawn for the race, and the chosen model is
            then trained on all others, as far as it can be; see `refit`.
        y : sequence of shape (n,)
            Labels; those of a `Table` are in its files.
        sample_weight : array of shape (n,), optional
            Weights of the rows, in training and in the choice.
        costs : array of shape (n,), optional
            What an error on each row costs, in the unit of the prices, instead of costs by class.
            New rows are decided by the mean costs of the classes.
        validation : (Xv, yv), optional
            Rows to measure the points on, instead of the training rows.
        groups : sequence of shape (n,), optional
            Rows of one group, such as those of one patient, stay together in every split.
        resume : path, optional
            A folder that keeps the curve of each learner when it is done; an interrupted fit
            resumes from there, to the same result. It also serves other budgets, as curves do not
            depend on them. Needs a `random_state`.

        Raises
        ------
        BudgetError
            If no point meets budget and cap; it names the cheapest.
        ResumeError
            If `resume` is for other data or settings, before anything is run.
        """
        whole = self._read_training(X, y, sample_weight, groups=groups, row_costs=costs)
        return self._fit(whole, validation, resume)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities (n, K) in the order of `classes_`."""
        return self.predictor_.predict_proba(self._checked(X))


class BudgetRegressor(RegressorMixin, BudgetEstimator):  # type: ignore[misc]
    """The best regressor within a budget; see `BudgetClassifier`.

    Parameters
    ----------
    prices, budget, cap, learners, confidence, effort, time_limit, random_state
        As in `BudgetClassifier`.
    scoring : str or callable, optional
        The metric: ``"r2"`` by default, ``"neg_mean_absolute_error"``,
        ``"neg_mean_pinball_loss@0.9"`` and others (`thrifty.frontier.scoring`); the name of another
        scorer of scikit-learn, or a function ``scorer(estimator, X, y)``.

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

    _reads_files = _reads_weights = True

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, Any] | None = None,
        groups: Any = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the regressor; see `BudgetClassifier.fit`."""
        whole = self._read_training(X, y, sample_weight, groups=groups)
        return self._fit(whole, validation, resume)


class BudgetRanker(PricedRanker, BudgetEstimator):
    """The best ranker within a budget; see `BudgetClassifier`.

    Parameters
    ----------
    prices, budget, cap, learners, confidence, effort, time_limit, random_state
        As in `BudgetClassifier`.
    scoring : {"ndcg@K", "precision@K", "ap@K"}, optional
        The metric, with a number for K; NDCG@5 by default.

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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        validation: tuple[Any, ...] | None = None,
        groups: Any = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the ranker: race the learners and choose a point.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table.
        y : array of shape (n,)
            Relevance grades from 0 up.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        qid : array of shape (n,), optional
            Query of each row; queries stay whole in every split. Without it, all rows are one
            query, which is split.
        validation : (Xv, yv) or (Xv, yv, qidv), optional
            Rows to measure the points on, instead of the training rows.
        groups : sequence of shape (n,), optional
            Queries of one group, such as those of one user, stay together in every split.
        resume : path, optional
            A folder to resume from; see `BudgetClassifier.fit`.
        """
        whole = self._read_training(X, y, sample_weight, qid=qid, groups=groups)
        return self._fit(whole, validation, resume)
