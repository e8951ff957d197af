"""Normalized discounted cumulative gain (002 eq. 2.20)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dcg", "ndcg"]


def dcg(
    grades: NDArray[np.float64],
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int | None = None,
) -> NDArray[np.float64]:
    """Discounted gain of each query with its rows ordered by score, over the `first` ranks.

    Rows of query q are starts[q]..starts[q + 1] - 1; equal scores keep the order of the rows.
    """
    lengths = np.diff(starts)
    query = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((-scores, query))
    rank = np.arange(len(scores)) - np.repeat(starts[:-1], lengths)
    gained = (2.0 ** grades[order] - 1.0) / np.log2(rank + 2.0)
    if first is not None:
        gained[rank >= first] = 0.0
    return np.bincount(query, gained, len(lengths)).astype(np.float64)


def ndcg(
    grades: NDArray[np.float64],
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int | None = 5,
) -> float:
    """Mean over the queries that have a relevant row; 1 when there is none."""
    ideal = dcg(grades, grades, starts, first)
    some = ideal > 0
    reached = dcg(grades, scores, starts, first)
    return float(np.mean(reached[some] / ideal[some])) if some.any() else 1.0
