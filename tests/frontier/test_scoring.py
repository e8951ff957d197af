"""Scoring: metrics agree with scikit-learn and with values computed by hand; intervals hold."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn import metrics

from thrifty import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from thrifty.errors import DataError
from thrifty.frontier.scoring import METRICS, find_metric
from thrifty.learn.dataset import ValidationSet

CLASSES = (
    "classification",
    [
        "accuracy", "balanced_accuracy", "f1", "precision", "recall", "matthews_corrcoef",
        "neg_log_loss", "neg_brier_score", "roc_auc", "average_precision",
    ],
)  # fmt: skip
VALUES = (
    "regression",
    [
        "r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error",
        "neg_mean_pinball_loss", "neg_mean_pinball_loss@0.9",
    ],
)  # fmt: skip
RANKING = ("ranking", ["ndcg@5", "precision@3", "ap@3"])
ALL = [(task, name) for task, names in (CLASSES, VALUES, RANKING) for name in names]


class Outputs(NamedTuple):
    """Scores of a model, and its classes if it has any."""

    scores: Any
    classes: Any = None

    @property
    def predicted(self):
        return self.classes[self.scores.argmax(axis=1)]


def rows_of(y, qid=None, classes=None) -> ValidationSet:
    y = np.asarray(y)
    query = np.zeros(len(y), int) if qid is None else np.unique(qid, return_inverse=True)[1]
    if classes is None:
        return ValidationSet("ranking", None, None, np.zeros((len(y), 1)), y, None, query)
    known = [*classes.tolist(), *sorted(set(y.tolist()) - set(classes.tolist()))]
    codes = np.array([known.index(label) for label in y.tolist()], dtype=int)
    labels = np.array(known, dtype=object if len(known) > len(classes) else classes.dtype)
    return ValidationSet("classification", None, None, np.zeros((len(y), 1)), codes, labels, query)


def classifier(seed: int, k: int, n: int = 60, labels=None, digits: int = 2):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.dirichlet(np.ones(k), size=n), digits)  # some ties
    scores /= scores.sum(axis=1, keepdims=True)
    labels = np.arange(k) if labels is None else np.array(labels)
    y = rng.integers(0, k, size=n)
    y[:k] = np.arange(k)
    return Outputs(scores, labels), rows_of(labels[y], classes=labels)


def regressor(seed: int, n: int = 60):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return Outputs(y + rng.normal(size=n)), rows_of(y)


def ranker(seed: int, n: int = 60):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n).astype(float)
    y[0] = 1.0
    return Outputs(np.round(rng.normal(size=n), 1)), rows_of(y, rng.integers(0, 9, size=n))


def answers(task: str, seed: int):
    makers = {
        "classification": lambda: classifier(seed, 3),
        "regression": lambda: regressor(seed),
        "ranking": lambda: ranker(seed),
    }
    return makers[task]()


# --- the same as scikit-learn's ----------------------------------------------


@pytest.mark.parametrize("labels", [[False, True], ["a", "b", "c"], [3, 5, 7, 9]], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_metrics_of_classes_are_scikit_learns(seed, labels):
    outputs, rows = classifier(seed, len(labels), labels=labels)
    proba, y = outputs.scores, rows.labels
    measured = {
        name: find_metric(name, "classification").value(outputs.scores, rows) for name in CLASSES[1]
    }
    positive = proba[:, 1] if len(labels) == 2 else proba
    mean = {"average": "macro"}
    if len(labels) == 2:
        mean = {"pos_label": labels[1]}
    expected = {
        "accuracy": metrics.accuracy_score(y, outputs.predicted),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, outputs.predicted),
        "f1": metrics.f1_score(y, outputs.predicted, **mean),
        "precision": metrics.precision_score(y, outputs.predicted, zero_division=0, **mean),
        "recall": metrics.recall_score(y, outputs.predicted, **mean),
        "matthews_corrcoef": metrics.matthews_corrcoef(y, outputs.predicted),
        "neg_log_loss": -metrics.log_loss(y, proba, labels=outputs.classes),
        "neg_brier_score": -metrics.brier_score_loss(
            y, positive, labels=labels, **({"pos_label": labels[1]} if len(labels) == 2 else {})
        ),
        "roc_auc": metrics.roc_auc_score(y, positive, multi_class="ovr"),
        "average_precision": metrics.average_precision_score(y, positive, **mean),
    }
    assert measured == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_metrics_of_values_are_scikit_learns(seed):
    outputs, rows = regressor(seed)
    assert find_metric("r2", "regression").value(outputs.scores, rows) == metrics.r2_score(
        rows.y, outputs.scores
    )
    error = find_metric("neg_mean_squared_error", "regression").value(outputs.scores, rows)
    assert error == -metrics.mean_squared_error(rows.y, outputs.scores)


def test_the_tasks_own_metric_is_what_score_gives():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y, qid = (X[:, 0] + rng.normal(size=120) > 0).astype(int), np.repeat(np.arange(12), 10)
    for task, model, fitting in (
        ("classification", GreedyMiserClassifier(n_estimators=3), {}),
        ("regression", GreedyMiserRegressor(n_estimators=3), {}),
        ("ranking", GreedyMiserRanker(n_estimators=3), {"qid": qid}),
    ):
        model.fit(X, y, **fitting)
        predictor = model.predictor_
        rows = ValidationSet.for_predictor(predictor, task, X, y, fitting.get("qid"))
        measured = find_metric(None, task).value(predictor.model.score(X), rows)
        assert measured == model.score(X, y, **fitting)


def test_probabilities_of_0_and_a_last_bit_above_1_are_finite_losses():
    outputs = Outputs(np.array([[0.0, 1.0 + 2e-16], [1.0, 0.0]]), np.array(["a", "b"]))
    rows = rows_of(["a", "b"], classes=outputs.classes)
    value = find_metric("neg_log_loss", "classification").value(outputs.scores, rows)
    assert value == pytest.approx(np.log(np.finfo(float).eps))


# --- by hand -----------------------------------------------------------------


def best_first(grades):
    """Rows of one query that come in this order."""
    return Outputs(-np.arange(len(grades), dtype=float)), rows_of(grades)


@pytest.mark.parametrize(
    "grades, precision, leading",
    [
        ([1, 1, 1, 1, 1, 0], 1.0, 1.0),
        ([1, 1, 0, 1, 1, 1], 0.8, 0.4),  # the first irrelevant one at rank 3: (3 - 1) / 5
        ([0, 1, 1, 1, 1, 1], 0.8, 0.0),
        ([3, 2, 1, 1, 0, 1], 0.8, 0.8),  # any grade above 0 is relevant
        ([1, 1], 1.0, 1.0),  # fewer rows than ranks, all relevant
        ([1, 0], 0.5, 0.2),
    ],
    ids=str,
)
def test_precision_and_the_papers_average_precision_by_hand(grades, precision, leading):
    outputs, rows = best_first(grades)
    assert find_metric("precision@5", "ranking").value(outputs.scores, rows) == pytest.approx(
        precision
    )
    assert find_metric("ap@5", "ranking").value(outputs.scores, rows) == pytest.approx(leading)


def test_queries_without_a_relevant_row_count_0_in_precision_and_not_at_all_in_ndcg():
    rows = rows_of([1, 0, 0, 0], qid=["b", "b", "a", "a"])
    outputs = Outputs(np.array([2.0, 1.0, 2.0, 1.0]))
    for name, gains in (("ndcg@2", [1.0]), ("precision@2", [0.0, 0.5]), ("ap@2", [0.0, 0.5])):
        found = find_metric(name, "ranking").measure(outputs.scores, rows)
        np.testing.assert_allclose(found.gains, gains)
        assert found.value == pytest.approx(np.mean(gains))


@given(
    grades=st.lists(st.integers(0, 1), min_size=1, max_size=6),
    scores=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    first=st.integers(1, 7),
)
def test_tied_rows_are_taken_in_every_order(grades, scores, first):
    grades, scores = np.array([*grades, 1]), np.array([*scores, 0][: len(grades) + 1], dtype=float)
    outputs, rows = Outputs(scores), rows_of(grades)
    orders = [
        np.array(order)
        for order in permutations(range(len(grades)))
        if np.all(np.diff(scores[list(order)]) <= 0)
    ]
    top = [grades[order][:first] for order in orders]
    precision = np.mean([part.mean() for part in top])
    leading = np.mean([1.0 if part.all() else part.argmin() / first for part in top])
    assert find_metric(f"precision@{first}", "ranking").value(
        outputs.scores, rows
    ) == pytest.approx(precision)
    assert find_metric(f"ap@{first}", "ranking").value(outputs.scores, rows) == pytest.approx(
        leading
    )


def test_classes_that_are_grades_are_ranked_by_their_expected_value():
    scores, metric = np.array([[0.5, 0.5], [0.1, 0.9], [0.8, 0.2]]), find_metric("ap@2", "ranking")
    rows = rows_of([0, 1, 0], classes=np.array([0, 1]))
    assert metric.value(scores, rows) == 0.5
    with pytest.raises(DataError, match="are not grades"):
        metric.value(scores, replace(rows, classes=np.array(["no", "yes"])))


# --- gains and intervals -----------------------------------------------------


@pytest.mark.parametrize("task, name", ALL)
@pytest.mark.parametrize("seed", range(3))
def test_the_mean_of_the_gains_is_the_quality_and_the_interval_holds_it(seed, task, name):
    outputs, rows = answers(task, seed)
    metric = find_metric(name, task)
    value, low, high, gains = metric.measure(outputs.scores, rows)
    assert value == metric.value(outputs.scores, rows)
    assert gains.mean() == pytest.approx(value, rel=1e-9)
    assert metric.span[0] <= low < value < high <= metric.span[1]
    _, lower, higher, _ = metric.measure(outputs.scores, rows, level=0.99)
    assert lower <= low and high <= higher and higher - lower > high - low


def take(outputs, rows, index):
    return outputs.scores[index], rows_of(rows.labels[index], classes=outputs.classes)


@pytest.mark.parametrize(
    "task, name",
    [
        (task, name)
        for task, name in ALL
        if name not in ("accuracy", "neg_log_loss", "neg_brier_score") and task != "ranking"
    ],
)
def test_the_interval_is_as_wide_as_the_bootstraps(task, name):
    makers = {
        "classification": lambda: classifier(0, 3, n=300),
        "regression": lambda: regressor(0, 300),
    }
    outputs, rows = makers[task]()
    metric, rng = find_metric(name, task), np.random.default_rng(1)
    drawn = [metric.value(*take(outputs, rows, rng.integers(0, 300, size=300))) for _ in range(400)]
    _, low, high, _ = metric.measure(outputs.scores, rows)
    assert (high - low) / 2 == pytest.approx(1.97 * np.std(drawn), rel=0.12)


def test_the_interval_of_the_accuracy_is_wilsons():
    outputs = Outputs(np.tile([0.0, 1.0], (10, 1)), np.array([0, 1]))
    rows = rows_of(np.ones(10, int), classes=outputs.classes)
    value, low, high, _ = find_metric("accuracy", "classification").measure(outputs.scores, rows)
    z = 1.959963984540054
    assert (value, high) == (1.0, pytest.approx(1.0))
    assert low == pytest.approx(10 / (10 + z**2))


def test_the_interval_of_the_balanced_accuracy_joins_those_of_the_recalls():
    # 8 of 10 are right in one class and none of 2 in the other, which is not sure at all.
    outputs = Outputs(
        np.array([[1.0, 0.0]] * 8 + [[0.0, 1.0]] * 2 + [[1.0, 0.0]] * 2), np.array([0, 1])
    )
    rows = rows_of([0] * 10 + [1] * 2, classes=outputs.classes)
    metric = find_metric("balanced_accuracy", "classification")
    value, low, high, _ = metric.measure(outputs.scores, rows)
    one = binomtest(8, 10).proportion_ci(method="wilson")
    two = binomtest(0, 2).proportion_ci(method="wilson")
    assert value == pytest.approx(0.4)
    assert low == pytest.approx(0.4 - np.hypot(0.8 - one.low, 0.0) / 2)
    assert high == pytest.approx(0.4 + np.hypot(one.high - 0.8, two.high) / 2)


def test_one_query_tells_nothing_about_others():
    outputs, rows = best_first([1, 0, 1])
    assert find_metric("ndcg@5", "ranking").measure(outputs.scores, rows)[1:3] == (0.0, 1.0)


def test_a_constant_target_has_a_quality_without_spread():
    outputs, rows = Outputs(np.array([1.0, 2.0, 3.0])), rows_of([2.0, 2.0, 2.0])
    assert find_metric("r2", "regression").measure(outputs.scores, rows)[:3] == (0.0, 0.0, 0.0)


def test_the_level_lies_between_0_and_1():
    with pytest.raises(ValueError, match="level: 95"):
        outputs, rows = regressor(0)
        find_metric(None, "regression").measure(outputs.scores, rows, level=95)


# --- names and refusals ------------------------------------------------------


@pytest.mark.parametrize("task, name", ALL)
def test_a_metric_is_found_by_its_name_and_can_be_sent_to_a_worker(task, name):
    metric = copy.deepcopy(find_metric(name, task))
    assert (metric.name, metric.task) == (name, task)
    reads = ("neg_log_loss", "neg_brier_score", "roc_auc", "average_precision")
    assert metric.needs_proba == (name in reads)
    outputs, rows = answers(task, 0)
    assert metric.value(outputs.scores, rows) == find_metric(name, task).value(outputs.scores, rows)


def test_every_task_has_its_own_metric():
    own = [find_metric(None, task).name for task in ("classification", "regression", "ranking")]
    assert own == ["accuracy", "r2", "ndcg@5"]
    assert all(find_metric(name, known.task) is known for name, known in METRICS.items())


@pytest.mark.parametrize(
    "scoring, task, words",
    [
        ("log_loss", "classification", "'log_loss' is not known, did you mean 'neg_log_loss'?"),
        ("zzz", "regression", "'zzz' is not known. For regression: r2, neg_mean_squared_error"),
        ("ndcg@0", "ranking", "'ndcg@0' is not known"),
        ("ndcg", "ranking", "ndcg@K, precision@K, ap@K"),
        (5, "ranking", "5 is not known"),
        ("r2", "classification", "'r2' is for regression. For classification: accuracy, "),
        ("accuracy", "ranking", "'accuracy' is for classification. For ranking: ndcg@K"),
        ("accuracy", "clustering", "task: 'clustering' is not one of classification, regression"),
    ],
)
def test_a_scorer_that_does_not_fit_is_refused_with_the_list(scoring, task, words):
    with pytest.raises(DataError) as caught:
        find_metric(scoring, task)
    assert words in str(caught.value)


def test_a_class_without_rows_has_no_roc_curve_and_is_no_matter_to_the_rest():
    outputs, _ = classifier(0, 3, n=4, labels=["a", "b", "c"])
    rows = rows_of(["a", "b", "a", "b"], classes=outputs.classes)
    with pytest.raises(DataError, match=r"no row is of class \['c'\], so roc_auc"):
        find_metric("roc_auc", "classification").value(outputs.scores, rows)
    for name in ("accuracy", "balanced_accuracy", "neg_log_loss"):
        assert np.isfinite(find_metric(name, "classification").value(outputs.scores, rows))


def test_a_label_that_the_predictor_does_not_know_is_wrong_and_has_no_probability():
    outputs = Outputs(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array(["a", "b"]))
    rows = rows_of(["a", "z"], classes=outputs.classes)
    for name in ("accuracy", "balanced_accuracy"):
        assert find_metric(name, "classification").value(outputs.scores, rows) == 0.5
    for name in ("neg_log_loss", "roc_auc"):
        with pytest.raises(DataError, match=r"\['z'\] are not classes of the model"):
            find_metric(name, "classification").value(outputs.scores, rows)


def test_labels_may_be_objects():
    outputs = Outputs(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array(["a", "b"]))
    rows = rows_of(np.array(["a", "b"], dtype=object), classes=outputs.classes)
    assert find_metric("roc_auc", "classification").value(outputs.scores, rows) == 1.0


@pytest.mark.parametrize("task, name", ALL)
def test_no_rows_measure_nothing(task, name):
    outputs, _ = answers(task, 0)
    with pytest.raises(DataError, match="there are no rows"):
        find_metric(name, task).value(outputs.scores, rows_of([], classes=outputs.classes))


def test_an_order_of_irrelevant_rows_is_refused():
    outputs, rows = best_first([0, 0, 0])
    with pytest.raises(DataError, match="no row is relevant"):
        find_metric("ndcg@5", "ranking").value(outputs.scores, rows)


def test_one_row_has_no_variance_to_explain():
    with pytest.raises(DataError, match="r2: one row"):
        find_metric("r2", "regression").value(np.ones(1), rows_of([1.0]))


def test_classes_and_values_are_not_taken_for_each_other():
    (values, numbers), (proba, labels) = regressor(0), classifier(0, 2)
    with pytest.raises(DataError, match="predicts values, not classes"):
        find_metric("accuracy", "classification").value(values.scores, numbers)
    with pytest.raises(DataError, match="predicts classes, not values"):
        find_metric("r2", "regression").value(proba.scores, labels)


@pytest.mark.parametrize("seed", range(3))
def test_metrics_of_errors_are_scikit_learns(seed):
    outputs, rows = regressor(seed)
    expected = {
        "neg_root_mean_squared_error": -metrics.root_mean_squared_error(rows.y, outputs.scores),
        "neg_mean_absolute_error": -metrics.mean_absolute_error(rows.y, outputs.scores),
        "neg_mean_pinball_loss": -metrics.mean_pinball_loss(rows.y, outputs.scores),
        "neg_mean_pinball_loss@0.9": -metrics.mean_pinball_loss(rows.y, outputs.scores, alpha=0.9),
    }
    for name, value in expected.items():
        assert find_metric(name, "regression").value(outputs.scores, rows) == pytest.approx(value)


def test_a_perfect_prediction_has_no_root_to_differentiate():
    metric = find_metric("neg_root_mean_squared_error", "regression")
    assert metric.measure(np.arange(3.0), rows_of(np.arange(3.0)))[:3] == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("quantile", ["0.0", "1.0", "1", "0.5x"])
def test_a_quantile_lies_between_0_and_1(quantile):
    with pytest.raises(DataError, match="is not known"):
        find_metric(f"neg_mean_pinball_loss@{quantile}", "regression")
