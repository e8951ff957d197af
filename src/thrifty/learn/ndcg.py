"""Normalized discounted cumulative gain (Xu 2014, eq. 2.20)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dcg", "ndcg", "ndcg_by_query"]


def dcg(
    grades: NDArray[np.float64],
    scores: NDArray[np.float64],
    query: NDArray[np.int64],
    first: int | None = None,
) -> NDArray[np.float64]:
    """Return the discounted gain of each query, its rows sorted by score, over the `first` ranks.

    `query` numbers the queries 0, 1, ...; rows may be in any order. Rows of equal score share the
    gains of their ranks evenly, as if their order were random: the order of the table must not
    help.
    """
    order = np.lexsort((-scores, query))
    lengths = np.bincount(query)
    rank = np.arange(len(scores)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    discount = 1.0 / np.log2(rank + 2.0)
    if first is not None:
        discount[rank >= first] = 0.0
    # Rows of one query with the same score share their gains.
    gains, query, scores = 2.0 ** grades[order] - 1.0, query[order], scores[order]
    change = (np.diff(query) != 0) | (np.diff(scores) != 0)
    tie = np.concatenate([[0], np.cumsum(change)])
    mean = np.bincount(tie, gains) / np.bincount(tie)
    return np.bincount(query, mean[tie] * discount).astype(np.float64)


def ndcg(
    grades: NDArray[np.float64],
    scores: NDArray[np.float64],
    query: NDArray[np.int64],
    first: int | None = 5,
) -> float:
    """Return the mean NDCG of the queries with a relevant row; 1 if there is none."""
    reached = ndcg_by_query(grades, scores, query, first)
    return float(np.mean(reached)) if len(reached) else 1.0


def ndcg_by_query(
    grades: NDArray[np.float64],
    scores: NDArray[np.float64],
    query: NDArray[np.int64],
    first: int | None = 5,
) -> NDArray[np.float64]:
    """Return the NDCG of each query that has a relevant row."""
    ideal = dcg(grades, grades, query, first)
    some = ideal > 0
    return np.asarray(dcg(grades, scores, query, first)[some] / ideal[some])
