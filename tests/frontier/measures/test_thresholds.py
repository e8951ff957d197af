"""Thresholds: the best on the rows given; of equal ones, the closest to one half."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from thrifty.frontier.measures.confusion import accuracy, confusion, f1
from thrifty.frontier.measures.thresholds import (
    best_threshold,
    candidate_thresholds,
    tables_by_threshold,
)


def test_of_equal_thresholds_the_closest_to_one_half_is_taken():
    y, scores = np.array([0, 0, 1]), np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8]])
    assert best_threshold(accuracy, y, scores).threshold == 0.5
    many = candidate_thresholds(np.linspace(0, 1, 5000), most=100)
    assert len(many) <= 101 and 0.5 in many


@pytest.mark.parametrize("seed", range(3))
def test_no_threshold_is_better(seed):
    rng = np.random.default_rng(seed)
    y, positive = rng.integers(0, 2, size=50), np.round(rng.random(50), 2)
    positive[:25] = np.round(0.3 * positive[:25], 2)
    scores = np.column_stack([1 - positive, positive])
    decision = best_threshold(f1, y, scores)
    reached = f1_score(y, decision.decide(scores))
    every_cut = np.unique(positive)[:-1]
    assert reached == max(f1_score(y, positive > threshold) for threshold in every_cut)


def test_tables_count_what_is_above_each_threshold():
    rng = np.random.default_rng(0)
    y, positive = rng.integers(0, 2, size=50), rng.random(50)
    tables = tables_by_threshold(y, positive, np.array([0.2, 0.7]))
    for table, threshold in zip(tables, (0.2, 0.7), strict=True):
        assert (table == confusion(y, (positive > threshold).astype(int), 2)).all()
