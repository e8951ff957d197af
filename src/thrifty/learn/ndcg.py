"""Normalized discounted cumulative gain (Xu 2014, eq. 2.20)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dcg", "ndcg"]


def dcg(
    grades: NDArray[np.float64],
    scores: NDArray[np.float64],
    query: NDArray[np.int64],
    first: int | None = None,
) -> NDArray[np.float64]:
    """Discounted gain of each query with its rows ordered by score, over the `first` ranks.

    `query` numbers the queries 0, 1, ... of the rows, which may lie in any order. Rows of equal
    score share the gains of their ranks evenly, as if their order were drawn: the order of the
    table must not help.
    """
    order = np.lexsort((-scores, query))
    lengths = np.bincount(query)
    rank = np.arange(len(scores)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    discount = 1.0 / np.log2(rank + 2.0)
    if first is not None:
        discount[rank >= first] = 0.0
    gained = _evened(2.0 ** grades[order] - 1.0, query[order], scores[order]) * discount
    return np.bincount(query[order], gained).astype(np.float64)


def ndcg(
    grades: NDArray[np.float64],
    scores: NDArray[np.float64],
    query: NDArray[np.int64],
    first: int | None = 5,
) -> float:
    """Mean over the queries that have a relevant row; 1 when there is none."""
    ideal = dcg(grades, grades, query, first)
    some = ideal > 0
    reached = dcg(grades, scores, query, first)
    return float(np.mean(reached[some] / ideal[some])) if some.any() else 1.0


def _evened(
    gains: NDArray[np.float64], query: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean gain of the rows of one query that have the same score; rows are in order."""
    change = (np.diff(query) != 0) | (np.diff(scores) != 0)
    tie = np.concatenate([[0], np.cumsum(change)])
    mean = np.bincount(tie, gains) / np.bincount(tie)
    return np.asarray(mean[tie])
