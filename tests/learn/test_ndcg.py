"""Normalized discounted gain, against scikit-learn and by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from thrifty.learn.ndcg import dcg, ndcg


@pytest.mark.parametrize("digits", [0, 1, 9], ids=["many ties", "some ties", "no ties"])
@pytest.mark.parametrize("first", [None, 1, 3, 5, 100])
@pytest.mark.parametrize("seed", range(5))
def test_ndcg_is_the_mean_of_scikit_learns_over_the_queries(seed, first, digits):
    rng = np.random.default_rng(seed)
    starts = np.array([0, 4, 6, 20])
    query = np.repeat([0, 1, 2], np.diff(starts))
    grades = rng.integers(0, 5, size=20).astype(float)
    scores = np.round(rng.normal(size=20), digits)
    grades[[0, 4, 6]] = 3.0
    each = [
        ndcg_score([2.0 ** grades[a:b] - 1.0], [scores[a:b]], k=first) for a, b in pairwise(starts)
    ]
    assert ndcg(grades, scores, query, first) == pytest.approx(np.mean(each), rel=1e-12)
    order = rng.permutation(20)
    shuffled = ndcg(grades[order], scores[order], query[order], first)
    assert shuffled == pytest.approx(np.mean(each), rel=1e-12)


def test_the_discounted_gain_by_hand():
    grades = np.array([1.0, 2.0, 0.0, 3.0])
    scores = np.array([0.5, 0.1, 0.9, 0.0])
    query = np.array([0, 0, 0, 1])
    expected = [0.0 + 1 / np.log2(3) + 3 / np.log2(4), 7.0]
    np.testing.assert_allclose(dcg(grades, scores, query), expected)
    np.testing.assert_allclose(dcg(grades, scores, query, first=2), [1 / np.log2(3), 7.0])


def test_queries_without_a_relevant_row_do_not_count():
    grades = np.array([0.0, 0.0, 0.0, 1.0])
    scores = np.array([1.0, 2.0, 3.0, 1.0])
    assert ndcg(grades, scores, np.array([0, 0, 1, 1])) == pytest.approx(1 / np.log2(3))
    assert ndcg(np.zeros(4), scores, np.array([0, 0, 1, 1])) == 1.0


def test_a_perfect_order_is_1():
    grades = np.array([3.0, 0.0, 1.0, 2.0, 2.0])
    assert ndcg(grades, grades, np.zeros(5, dtype=int)) == pytest.approx(1.0)


def test_equal_scores_do_not_profit_from_the_order_of_the_rows():
    grades = np.array([3.0, 2.0, 1.0, 0.0])
    query = np.zeros(4, dtype=int)
    constant = ndcg(grades, np.zeros(4), query)
    assert constant == pytest.approx(ndcg_score([2.0**grades - 1.0], [np.zeros(4)], k=5))
    assert constant == pytest.approx(ndcg(grades[::-1], np.zeros(4), query))
    assert constant < 1.0
