"""Scorers of scikit-learn on arrays: the same values, and intervals by a jackknife."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from thrifty.errors import DataError
from thrifty.frontier.scoring import find_metric
from thrifty.learn.dataset import ValidationSet

CLASSES = np.array(["a", "b", "c"])


def rows_of(codes, classes) -> ValidationSet:
    X = np.zeros((len(codes), 1))
    return ValidationSet("classification", None, None, X, np.asarray(codes), np.asarray(classes))


def classifier():
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(3), size=300), rows_of(rng.integers(0, 3, size=300), CLASSES)


def regressor(n=60):
    rng = np.random.default_rng(0)
    y = rng.normal(size=n)
    return y + rng.normal(size=n), ValidationSet("regression", None, None, np.zeros((n, 1)), y)


@pytest.mark.parametrize(
    "scoring", ["f1_macro", "top_k_accuracy", "jaccard_weighted", "roc_auc_ovo"]
)
def test_any_scorer_of_scikit_learn_is_found_by_name(scoring):
    scores, rows = classifier()
    metric = find_metric(scoring, "classification")
    value, low, high, gains = metric.measure(scores, rows)
    y, said = rows.labels, CLASSES[scores.argmax(axis=1)]
    expected = {
        "f1_macro": metrics.f1_score(y, said, average="macro"),
        "top_k_accuracy": metrics.top_k_accuracy_score(y, scores),
        "jaccard_weighted": metrics.jaccard_score(y, said, average="weighted"),
        "roc_auc_ovo": metrics.roc_auc_score(y, scores, multi_class="ovo"),
    }
    assert value == pytest.approx(expected[scoring])
    assert gains.mean() == pytest.approx(value)
    assert low <= value <= high


def test_a_scorer_of_ones_own_is_measured_with_an_interval_like_the_bootstraps():
    def middle(estimator, X, y):
        return -float(np.mean(np.abs(estimator.predict(X) - y)))

    scores, rows = regressor(400)
    metric = find_metric(middle, "regression")
    assert metric.name == "middle"
    value, low, high, _ = metric.measure(scores, rows)
    exact = find_metric("neg_mean_absolute_error", "regression").measure(scores, rows)
    assert value == pytest.approx(exact.value)
    assert high - low == pytest.approx(exact.high - exact.low, rel=0.4)


def test_a_scorer_that_fails_is_named():
    def broken(estimator, X, y):
        raise KeyError("weights")

    scores, rows = regressor()
    with pytest.raises(DataError, match="scoring: broken cannot be computed here"):
        find_metric(broken, "regression").value(scores, rows)
    with pytest.raises(DataError, match="is nan here"):
        find_metric(lambda *_: float("nan"), "regression").value(scores, rows)
    with pytest.raises(DataError, match="a ranking has no scorers"):
        find_metric(broken, "ranking")


def test_a_jackknife_that_loses_a_class_leaves_no_spread():
    scores = np.array([[0.8, 0.2]] * 9 + [[0.1, 0.9]])
    rows = rows_of([0] * 9 + [1], [0, 1])
    scorer = metrics.make_scorer(_needs_both)
    _, low, high, gains = find_metric(scorer, "classification").measure(scores, rows)
    assert low == high and len(set(gains.tolist())) == 1
    one = rows_of([0], [0, 1])
    assert find_metric("f1_macro", "classification").measure(scores[:1], one).low == -np.inf


def _needs_both(y, said):
    if len(set(y)) < 2:
        raise ValueError("one class")
    return float(np.mean(y == said))
