"""Precision with ties, and the names of ranking criteria."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.errors import DataError
from thrifty.learn.cost_tree.criteria import precision, ranking_criterion
from thrifty.learn.ndcg import ndcg


def test_rows_of_equal_score_share_their_ranks() -> None:
    relevant, query = np.array([True, False, False, True]), np.zeros(4, dtype=np.int64)
    assert precision(relevant, np.zeros(4), query, first=2) == 0.5
    assert precision(relevant, np.array([1.0, 0.0, 0.0, 1.0]), query, first=2) == 1.0
    assert precision(relevant, np.array([0.0, 1.0, 1.0, 0.0]), query, first=2) == 0.0


def test_only_queries_with_a_relevant_row_count() -> None:
    relevant, query = np.array([True, False, False]), np.array([1, 1, 0])
    assert precision(relevant, np.array([2.0, 1.0, 0.0]), query, first=1) == 1.0
    assert precision(np.zeros(3, dtype=bool), np.zeros(3), query, first=1) == 1.0


def test_a_name_says_metric_and_depth() -> None:
    grades, outputs = np.array([0.0, 2.0, 1.0]), np.array([3.0, 2.0, 1.0])
    query = np.zeros(3, dtype=np.int64)
    assert ranking_criterion("loss", grades, query) is None
    by_ndcg = ranking_criterion("ndcg@2", grades, None)
    assert by_ndcg is not None and by_ndcg(outputs) == ndcg(grades, outputs, query, 2)
    by_precision = ranking_criterion("precision@1", grades, query)
    assert by_precision is not None and by_precision(outputs) == 0.0
    with pytest.raises(DataError, match="not one of 'loss', 'ndcg@5'"):
        ranking_criterion("recall@5", grades, query)
