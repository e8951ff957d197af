"""Scoring: how good a model is on some rows, larger is better, and how certain that is.

| name                        | task           | what it is                                        |
|-----------------------------|----------------|---------------------------------------------------|
| accuracy                    | classification | share of correct labels                           |
| balanced_accuracy           | classification | mean recall of the classes that occur in the rows |
| f1, precision, recall       | classification | those of the second of two classes; the mean over |
|                             |                | the classes if there are more                     |
| matthews_corrcoef           | classification | correlation of true and predicted classes         |
| neg_log_loss                | classification | mean log-probability of the true class            |
| neg_brier_score             | classification | minus the mean squared error of the probabilities |
| roc_auc                     | classification | area under the ROC curve; the mean of one-vs-rest |
|                             |                | for more than two classes                         |
| average_precision           | classification | mean precision over the recalls, likewise         |
| neg_error_cost              | classification | minus the mean cost of errors; needs `costs`      |
| r2                          | regression     | share of explained variance                       |
| neg_mean_squared_error      | regression     | minus the mean squared error                      |
| neg_root_mean_squared_error | regression     | minus its root                                    |
| neg_mean_absolute_error     | regression     | minus the mean absolute error                     |
| neg_mean_pinball_loss@Q     | regression     | minus the pinball loss of a quantile such as 0.9  |
| ndcg@K                      | ranking        | normalized discounted gain (Xu 2014, eq. 2.20)    |
| precision@K                 | ranking        | share of relevant rows among the first K          |
|                             |                | (Xu 2014, Kusner et al. 2014)                     |
| ap@K                        | ranking        | share of the first K before the first irrelevant  |
|                             |                | row: "Average Precision@5" of Nan et al. 2015     |

Other names are those of scikit-learn's scorers, and any function ``scorer(estimator, X, y)`` will
do (`thrifty.frontier.measures.scorers`). Where a metric of labels has a threshold that suits it
better than one half, the model gets that threshold (`thrifty.frontier.measures.thresholds`): F1,
balanced accuracy, Matthews correlation and scorers of labels, for two classes. Precision and recall
alone would be best at an extreme, so they leave it at one half.

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

from thrifty.bundle import Decision
from thrifty.errors import DataError
from thrifty.frontier.measures import answers, confusion, metrics
from thrifty.frontier.measures.scorers import ScorerOnArrays, named_scorer
from thrifty.frontier.measures.thresholds import best_threshold, candidate_thresholds, pick
from thrifty.learn.dataset import ValidationSet

__all__ = ["Measurement", "Metric", "find_metric"]

Floats = NDArray[np.float64]
TASKS = ("classification", "regression", "ranking")
# A scorer is called once for each threshold that is tried.
SCORER_THRESHOLDS = 24


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
        scikit-learn's name, or one of those in the table above.
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
    _outputs: Callable[[Floats, ValidationSet, Decision | None], Any]
    _gains: Callable[..., Floats]
    _value: Callable[..., float] | None = None
    _wilson_by_class: bool | None = None
    _tune: Callable[[Floats, ValidationSet], Decision | None] | None = None

    def value(self, scores: Floats, data: ValidationSet, decision: Decision | None = None) -> float:
        """Return the value of the metric for the scores of a model on some rows.

        Labels are predicted by the decision, else by the costs of errors of the rows if they have
        any, else they are the most probable classes.
        """
        outputs = self._outputs_for(scores, data, decision)
        found = (self._value or self._gains)(data.y, outputs, *self._queries(data))
        return float(np.mean(found))

    def has_threshold(self, data: ValidationSet) -> bool:
        """Return whether `tune` chooses a threshold: for two classes whose errors have no costs."""
        two_classes = data.classes is not None and len(data.classes) == 2
        return self._tune is not None and two_classes and data.error_costs is None

    def tune(self, scores: Floats, data: ValidationSet) -> Decision | None:
        """Return the decision by which labels are best on some rows; None for the most probable.

        Costs of errors decide where there are any. Otherwise there is a threshold to choose if
        there are two classes, and the metric depends on it.
        """
        if data.error_costs is not None:
            return data.error_costs.decision
        two_classes = scores.ndim == 2 and scores.shape[1] == 2 and len(data) and data.y.max() < 2
        return self._tune(scores, data) if self._tune is not None and two_classes else None

    def measure(
        self,
        scores: Floats,
        data: ValidationSet,
        level: float = 0.95,
        decision: Decision | None = None,
    ) -> Measurement:
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
        decision : Decision, optional
            How labels are predicted, as in `value`.
        """
        if not 0 < level < 1:
            raise ValueError(f"level: {level!r} is not between 0 and 1")
        outputs, queries = self._outputs_for(scores, data, decision), self._queries(data)
        gains = self._gains(data.y, outputs, *queries)
        value = float(gains.mean())
        if self._value is not None:
            value = self._value(data.y, outputs, *queries)
        if self._wilson_by_class is None:
            low, high = _student(value, gains, level)
        else:
            strata = data.y if self._wilson_by_class else np.zeros(len(data), dtype=np.int64)
            low, high = _wilson(value, metrics.hits(data.y, outputs), strata, level)
        if not math.isfinite(low + high):  # one observation
            low, high = -math.inf, math.inf
        return Measurement(value, max(low, self.span[0]), min(high, self.span[1]), gains)

    def _outputs_for(self, scores: Floats, data: ValidationSet, decision: Decision | None) -> Any:
        if not len(data):
            raise DataError(f"{self.name}: there are no rows to measure on")
        return self._outputs(scores, data, decision)

    def _queries(self, data: ValidationSet) -> tuple[NDArray[np.int64], ...]:
        if self.task != "ranking":
            return ()
        assert data.query is not None
        return (data.query,)


def find_metric(scoring: str | Callable[..., float] | None, task: str) -> Metric:
    """Return a metric by name, or make one of a scorer.

    Parameters
    ----------
    scoring : str, callable or None
        Its name; by default accuracy, r2 or ndcg@5, depending on the task. Or a scorer as
        scikit-learn's `make_scorer` returns it: ``scorer(estimator, X, y)``, larger is better.
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
    classification: accuracy, balanced_accuracy, f1, precision, recall, matthews_corrcoef,
    neg_log_loss, neg_brier_score, roc_auc, average_precision, neg_error_cost, or a scorer of
    scikit-learn
    """
    if task not in TASKS:
        raise DataError(f"task: {task!r} is not one of {', '.join(TASKS)}")
    fitting = [name for name, known in METRICS.items() if known.task == task]
    listed = ", ".join(name.replace("@5", "@K").replace("@0.5", "@Q") for name in fitting)
    scorers = "" if task == "ranking" else ", or a scorer of scikit-learn"
    choices = f"For {task}: {listed}{scorers}"
    if callable(scoring):
        if task == "ranking":
            raise DataError(f"scoring: a ranking has no scorers of scikit-learn. {choices}")
        return _scorer(getattr(scoring, "__name__", type(scoring).__name__), task, scoring)
    name = fitting[0] if scoring is None else str(scoring)
    found = METRICS.get(name) or _with_number(name)
    if found is None and task != "ranking" and (scorer := named_scorer(name)) is not None:
        found = _scorer(name, task, scorer)
    if found is None:
        near = difflib.get_close_matches(name, METRICS, n=1, cutoff=0.5)
        hint = f", did you mean {near[0]!r}?" if near else "."
        raise DataError(f"scoring: {scoring!r} is not known{hint} {choices}")
    if found.task != task:
        raise DataError(f"scoring: {found.name!r} is for {found.task}. {choices}")
    return found


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
    return Metric(f"{name}@{first}", "ranking", False, (0.0, 1.0), answers.ranking_scores, gains)


def _with_number(name: str) -> Metric | None:
    """Return the metric with a number of ranks, or a quantile, in its name; None if it is none."""
    if found := re.fullmatch(r"(ndcg|precision|ap)@([1-9][0-9]{0,5})", name):
        return _ranking(found[1], int(found[2]))
    if found := re.fullmatch(r"neg_mean_pinball_loss@(0?\.[0-9]{1,9})", name):
        quantile = float(found[1])
        return _pinball(name, quantile) if 0 < quantile < 1 else None
    return None


def _pinball(name: str, quantile: float) -> Metric:
    """Return the metric of a quantile."""
    gains = partial(metrics.pinball_gains, quantile=quantile)
    return Metric(name, "regression", False, (-np.inf, 0.0), answers.values, gains)


def _of_table(
    name: str,
    value: Callable[[Floats], Floats],
    span: tuple[float, float] = (0.0, 1.0),
    tuned: bool = True,
) -> Metric:
    """Return a metric that is a function of the confusion matrix."""
    tune = partial(_tune_table, value) if tuned else None
    return Metric(
        name, "classification", False, span, answers.predicted_of, partial(_table_gains, value),
        partial(_table_value, value), _tune=tune,
    )  # fmt: skip


def _table_value(
    value: Callable[[Floats], Floats], y: NDArray[np.int64], labels: tuple[NDArray[np.int64], int]
) -> float:
    return float(value(confusion.confusion(y, *labels)))


def _table_gains(
    value: Callable[[Floats], Floats], y: NDArray[np.int64], labels: tuple[NDArray[np.int64], int]
) -> Floats:
    return confusion.influence(value, y, *labels)


def _tune_table(value: Callable[[Floats], Floats], scores: Floats, data: ValidationSet) -> Decision:
    return best_threshold(value, data.y, scores)


def _scorer(name: str, task: str, scorer: Callable[..., float]) -> Metric:
    """Return the metric of a scorer of scikit-learn."""
    on_arrays = ScorerOnArrays(scorer, name)
    tune = partial(_tune_scorer, on_arrays) if task == "classification" else None
    return Metric(
        name, task, False, (-np.inf, np.inf), answers.answers, partial(_scorer_gains, on_arrays),
        partial(_scorer_value, on_arrays), _tune=tune,
    )  # fmt: skip


def _scorer_value(scorer: ScorerOnArrays, y: NDArray[Any], given: Any) -> float:
    return scorer.value(*given)


def _scorer_gains(scorer: ScorerOnArrays, y: NDArray[Any], given: Any) -> Floats:
    return scorer.gains(*given)


def _tune_scorer(scorer: ScorerOnArrays, scores: Floats, data: ValidationSet) -> Decision | None:
    """Try some thresholds, if the scorer reads labels alone."""
    if not scorer.reads_labels(*answers.answers(scores, data)):
        return None
    thresholds = candidate_thresholds(scores[:, 1], SCORER_THRESHOLDS)
    values = [
        scorer.value(*answers.answers(scores, data, Decision.at_threshold(threshold)))
        for threshold in thresholds.tolist()
    ]
    return pick(thresholds, np.array(values))


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "classification", False, (0.0, 1.0),
               answers.predicted_classes, metrics.hits, _wilson_by_class=False),
        Metric("balanced_accuracy", "classification", False, (0.0, 1.0),
               answers.predicted_classes, metrics.balanced_gains, _wilson_by_class=True,
               _tune=partial(_tune_table, confusion.balanced_accuracy)),
        _of_table("f1", confusion.f1),
        _of_table("precision", confusion.precision, tuned=False),
        _of_table("recall", confusion.recall, tuned=False),
        _of_table("matthews_corrcoef", confusion.matthews_corrcoef, (-1.0, 1.0)),
        Metric("neg_log_loss", "classification", True, (-np.inf, 0.0),
               answers.probabilities, metrics.log_gains, metrics.neg_log_loss),
        Metric("neg_brier_score", "classification", True, (-np.inf, 0.0),
               answers.probabilities, metrics.brier_gains),
        Metric("roc_auc", "classification", True, (0.0, 1.0),
               answers.probabilities_of_all, metrics.roc_gains, metrics.roc_auc),
        Metric("average_precision", "classification", True, (0.0, 1.0),
               answers.probabilities_of_all, metrics.precision_gains, metrics.average_precision),
        Metric("neg_error_cost", "classification", False, (-np.inf, 0.0),
               answers.answer_costs, metrics.cost_gains),
        Metric("r2", "regression", False, (-np.inf, 1.0),
               answers.values, metrics.r2_gains, metrics.r2),
        Metric("neg_mean_squared_error", "regression", False, (-np.inf, 0.0),
               answers.values, metrics.error_gains, metrics.neg_mean_squared_error),
        Metric("neg_root_mean_squared_error", "regression", False, (-np.inf, 0.0),
               answers.values, metrics.root_gains, metrics.neg_root_mean_squared_error),
        Metric("neg_mean_absolute_error", "regression", False, (-np.inf, 0.0),
               answers.values, metrics.absolute_gains),
        _pinball("neg_mean_pinball_loss", 0.5),
        _ranking("ndcg", 5),
        _ranking("precision", 5),
        _ranking("ap", 5),
    )
}  # fmt: skip
