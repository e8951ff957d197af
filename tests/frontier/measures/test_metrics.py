"""Metrics on arrays: contributions average to the value, and rankings by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from thrifty.frontier.measures import metrics


@pytest.fixture
def proba():
    return np.random.default_rng(0).dirichlet(np.ones(3), size=50)


@pytest.fixture
def codes():
    return np.arange(50) % 3


def test_contributions_to_the_balanced_accuracy_average_to_it(codes, proba):
    predicted = proba.argmax(axis=1)
    expected = sklearn_metrics.balanced_accuracy_score(codes, predicted)
    assert metrics.balanced_gains(codes, predicted).mean() == pytest.approx(expected)


def test_contributions_to_the_roc_area_average_to_it(codes, proba):
    expected = sklearn_metrics.roc_auc_score(codes, proba, multi_class="ovr")
    assert metrics.roc_auc(codes, proba) == pytest.approx(expected)
    assert metrics.roc_gains(codes, proba).mean() == pytest.approx(expected)


def test_contributions_to_the_log_loss_average_to_it(codes, proba):
    assert metrics.log_gains(codes, proba).mean() == pytest.approx(
        metrics.neg_log_loss(codes, proba)
    )


def test_contributions_to_r2_average_to_it():
    y = np.random.default_rng(1).normal(size=40)
    values = y + 0.5
    assert metrics.r2_gains(y, values).mean() == pytest.approx(metrics.r2(y, values))
    assert metrics.error_gains(y, values).mean() == pytest.approx(
        metrics.neg_mean_squared_error(y, values)
    )


def test_a_query_without_a_relevant_row_does_not_count_in_ndcg():
    grades, scores = np.array([1.0, 0.0, 0.0]), np.array([2.0, 1.0, 0.0])
    query = np.array([0, 0, 1])
    assert metrics.ndcg_gains(grades, scores, query, 5).tolist() == [1.0]
    assert metrics.precision(grades, scores, query, 2).tolist() == [0.5, 0.0]
    assert metrics.leading_run(grades, scores, query, 2).tolist() == [0.5, 0.0]


def test_hits_are_one_where_the_class_is_right():
    assert metrics.hits(np.array([0, 1, 2]), np.array([0, 2, 2])).tolist() == [1.0, 0.0, 1.0]
