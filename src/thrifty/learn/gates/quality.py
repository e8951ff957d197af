"""The quality of a gated model at every threshold at once, and what is certain about it.

Accuracy and R2 are means over rows, each of which either model predicts, so that all thresholds
cost no more than one. NDCG depends on the order of the scores in a query, which both models have a
part in: it is computed for each threshold anew, and there are fewer of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, stdtrit

from thrifty.learn.dataset import ValidationSet
from thrifty.learn.gates.thresholds import Thresholds
from thrifty.learn.ndcg import ndcg_by_query

__all__ = ["QUALITIES", "Accuracy", "Ndcg", "Quality", "RSquared"]

Floats = NDArray[np.float64]


class Quality(ABC):
    """The quality at each of m thresholds.

    Parameters
    ----------
    rows : ValidationSet
    thresholds : Thresholds
        Of these rows.
    local, expensive : float64 arrays of shape (n, K) or (n,)
        Scores of both models.
    """

    most_thresholds: ClassVar[int | None] = None
    """Thresholds that are compared at most; None for all that make a difference."""

    def __init__(
        self, rows: ValidationSet, thresholds: Thresholds, local: Floats, expensive: Floats
    ) -> None:
        self.rows, self.thresholds = rows, thresholds
        self.local, self.expensive = local, expensive

    @property
    @abstractmethod
    def values(self) -> Floats:
        """Quality at each threshold, (m,)."""

    @property
    @abstractmethod
    def errors(self) -> Floats:
        """Standard error of each of them, (m,)."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of rows, or queries, that a quality is a mean of."""

    def bounds(self, confidence: float) -> Floats:
        """Return a lower bound on the quality at each threshold, each with the confidence.

        It is that of Student for a mean.
        """
        quantile = float(stdtrit(max(self.count - 1, 1), confidence))
        return np.asarray(self.values - quantile * self.errors)


class Accuracy(Quality):
    """The share of rows that are predicted correctly."""

    @cached_property
    def values(self) -> Floats:
        """Accuracy at each threshold, (m,)."""
        local, expensive = (
            np.asarray(scores.argmax(axis=1) == self.rows.y, dtype=np.float64)
            for scores in (self.local, self.expensive)
        )
        return self.thresholds.means(local, expensive)

    @property
    def errors(self) -> Floats:
        """Standard error of each of them, (m,)."""
        return np.sqrt(self.values * (1.0 - self.values) / self.count)

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def bounds(self, confidence: float) -> Floats:
        """Return a lower bound on the accuracy at each threshold, each with the confidence.

        The bound is exact for a share of hits (Clopper and Pearson 1934).
        """
        hits = np.rint(self.values * self.count).astype(np.int64)
        found = betaincinv(np.maximum(hits, 1), self.count - hits + 1, 1.0 - confidence)
        return np.where(hits > 0, found, 0.0)


class RSquared(Quality):
    """R2, as the mean over rows of one minus their squared error over the variance."""

    @cached_property
    def _by_row(self) -> tuple[Floats, Floats]:
        """What each row adds to the mean, (n,), by either model."""
        y = self.rows.y
        variance = float(np.var(y)) or 1.0
        local, expensive = (
            1.0 - np.square(scores - y) / variance for scores in (self.local, self.expensive)
        )
        return local, expensive

    @cached_property
    def values(self) -> Floats:
        """R2 at each threshold, (m,)."""
        return self.thresholds.means(*self._by_row)

    @cached_property
    def errors(self) -> Floats:
        """Standard error of each of them, (m,), for a known variance of the target."""
        local, expensive = self._by_row
        squares = self.thresholds.means(np.square(local), np.square(expensive))
        variance = np.maximum(squares - np.square(self.values), 0.0)
        return np.sqrt(variance / max(self.count - 1, 1))

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.rows)


class Ndcg(Quality):
    """NDCG@5, as the mean over the queries that have a relevant row."""

    most_thresholds = 200

    @cached_property
    def _by_query(self) -> Floats:
        """NDCG of each query at each threshold, (m, queries)."""
        query = self.rows.query
        assert query is not None
        found = []
        for index in range(len(self.thresholds.counts)):
            scores = np.where(self.thresholds.sent(index), self.expensive, self.local)
            found.append(ndcg_by_query(self.rows.y, scores, query))
        return np.array(found)

    @property
    def values(self) -> Floats:
        """NDCG@5 at each threshold, (m,)."""
        return np.asarray(self._by_query.mean(axis=1)) if self.count else self._perfect

    @property
    def errors(self) -> Floats:
        """Standard error of each of them, (m,); infinite for a single query."""
        if self.count < 2:
            return np.full(len(self._by_query), np.inf)
        return np.asarray(self._by_query.std(axis=1, ddof=1) / np.sqrt(self.count))

    @property
    def count(self) -> int:
        """Number of queries with a relevant row."""
        return int(self._by_query.shape[1])

    @property
    def _perfect(self) -> Floats:
        """Ones (m,): where no row is relevant, every order is right."""
        return np.ones(len(self._by_query))


QUALITIES: dict[str, type[Quality]] = {
    "classification": Accuracy,
    "regression": RSquared,
    "ranking": Ndcg,
}
