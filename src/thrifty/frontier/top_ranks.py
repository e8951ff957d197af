"""Precision of the first ranks, query by query.

A row is relevant if its grade is above 0. Rows of equal score are taken in every order, and the
mean over those orders counts: the order of the table must not help.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.ndcg import dcg

__all__ = ["leading_run", "normalized_gain", "precision"]

Floats = NDArray[np.float64]


def normalized_gain(grades: Floats, scores: Floats, query: NDArray[np.int64], first: int) -> Floats:
    """NDCG of each query that has a relevant row; the others do not count."""
    ideal = dcg(grades, grades, query, first)
    some = ideal > 0
    return np.asarray(dcg(grades, scores, query, first)[some] / ideal[some])


def precision(grades: Floats, scores: Floats, query: NDArray[np.int64], first: int) -> Floats:
    """Share of relevant rows among the `first` of each query, or among all if it has fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.top_ranks import precision
    >>> grades, scores = np.array([1.0, 0.0, 1.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> precision(grades, scores, np.zeros(4, int), 2)
    array([0.5])
    """
    ranks = _Ranks.of(grades, scores, query)
    chance = ranks.relevant / ranks.tied
    return np.asarray(np.nanmean(ranks.top(chance, first, beyond=np.nan), axis=1))


def leading_run(grades: Floats, scores: Floats, query: NDArray[np.int64], first: int) -> Floats:
    """Share of the `first` ranks of each query that come before the first irrelevant row.

    This is the "Average Precision@5" of 001 sec. 3 for `first` = 5: 1 if the first five rows are
    all relevant, else (j - 1) / 5 with the first irrelevant row at rank j. A query with fewer rows,
    all of them relevant, gets 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.top_ranks import leading_run
    >>> grades, scores = np.array([1.0, 1.0, 0.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> leading_run(grades, scores, np.zeros(4, int), 5)
    array([0.4])
    """
    ranks = _Ranks.of(grades, scores, query)
    # Chance that the next of the tied rows is relevant, after only relevant ones.
    chance = np.maximum(ranks.relevant - ranks.place, 0.0) / (ranks.tied - ranks.place)
    return np.asarray(np.cumprod(ranks.top(chance, first, beyond=1.0), axis=1).mean(axis=1))


class _Ranks:
    """Rows by query and falling score, and for each its tie: size, relevant rows, place in it."""

    def __init__(
        self, query: NDArray[np.int64], rank: NDArray[np.int64], tied: Floats, relevant: Floats,
        place: NDArray[np.int64],
    ) -> None:  # fmt: skip
        self.query, self.rank = query, rank
        self.tied, self.relevant, self.place = tied, relevant, place

    @classmethod
    def of(cls, grades: Floats, scores: Floats, query: NDArray[np.int64]) -> _Ranks:
        order = np.lexsort((-scores, query))
        query, scores = query[order], scores[order]
        change = (np.diff(query) != 0) | (np.diff(scores) != 0)
        tie = np.concatenate([[0], np.cumsum(change)])
        tied = np.bincount(tie).astype(np.float64)
        relevant = np.bincount(tie, grades[order] > 0)
        return cls(query, _places(query), tied[tie], relevant[tie], _places(tie))

    def top(self, values: Floats, first: int, beyond: float) -> Floats:
        """Values of the first ranks, a row for each query; `beyond` where it has no more rows."""
        table = np.full((self.query[-1] + 1, first), beyond)
        near = self.rank < first
        table[self.query[near], self.rank[near]] = values[near]
        return table


def _places(run: NDArray[np.int64]) -> NDArray[np.int64]:
    """Place 0, 1, ... of each entry in its run of equal numbers."""
    lengths = np.bincount(run)
    return np.arange(len(run)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
