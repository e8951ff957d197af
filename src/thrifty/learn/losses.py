"""Losses for boosting, each bound to a target and to weights.

Outputs are (k, n), one row per output. A tree is fitted to the negative gradient by least squares
with a unit Hessian, so that a price means the same for every loss; only the values of its leaves
are Newton steps, where the loss has a useful second derivative. `damping` is added to the sum of
Hessians of a leaf.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from thrifty.kernels.fixed_point import fixed_sum
from thrifty.kernels.lambdarank import lambda_gradients
from thrifty.learn.ndcg import dcg, ndcg

__all__ = ["LambdaLoss", "LogLoss", "Loss", "SquaredHinge", "SquaredLoss"]

Floats = NDArray[np.float64]
Derivatives = tuple[Floats, Floats | None]

# Keeps the first output of a class that is nearly absent finite.
TINY = 1e-12


class Loss(ABC):
    """A loss on fixed targets and weights."""

    damping: ClassVar[float] = 0.0
    link: str
    outputs: int

    def __init__(self, y: NDArray[Any], weight: Floats | None) -> None:
        self.y = np.asarray(y, dtype=np.float64)
        self.weight = weight

    @abstractmethod
    def start(self) -> Floats:
        """Return the best constant outputs, (k,)."""

    @abstractmethod
    def derivatives(self, raw: Floats) -> Derivatives:
        """Return the negative gradient (k, n), and the Hessian (k, n) or None if it is 1."""

    @abstractmethod
    def value(self, raw: Floats) -> float:
        """Return the mean loss."""

    @property
    def start_rows(self) -> Floats:
        """What `start_from` takes the means of, (k, n): the target, or membership in a class."""
        raise NotImplementedError

    def start_from(self, mean: Floats) -> Floats:
        """Return the best constant outputs for the means (k,) of `start_rows`."""
        raise NotImplementedError

    def _mean(self, values: Floats) -> float:
        return float(np.average(values, weights=self.weight))

    def _fixed_mean(self, values: Floats) -> float:
        """Return the mean over the rows, the same in any order."""
        if self.weight is None:
            return float(fixed_sum(values)) / len(values)
        return float(fixed_sum(values * self.weight)) / float(fixed_sum(self.weight))


class SquaredLoss(Loss):
    """Half the squared error."""

    link = "sum"
    outputs = 1

    def start(self) -> Floats:
        """Return the mean of the target."""
        return self.start_from(np.array([self._fixed_mean(self.y)]))

    @property
    def start_rows(self) -> Floats:
        """The target, (1, n)."""
        return self.y[np.newaxis]

    def start_from(self, mean: Floats) -> Floats:
        """Return the mean."""
        return mean

    def derivatives(self, raw: Floats) -> Derivatives:
        """Return the residuals."""
        return self.y - raw, None

    def value(self, raw: Floats) -> float:
        """Return half the mean squared error."""
        return 0.5 * self._mean((self.y - raw[0]) ** 2)


class _ClassLoss(Loss):
    """Base of losses on class codes 0..K-1; two classes need one output, K > 2 need K."""

    def __init__(self, y: NDArray[np.integer], weight: Floats | None, n_classes: int) -> None:
        super().__init__(y, weight)
        self.outputs = 1 if n_classes == 2 else n_classes
        classes = np.arange(n_classes)[:, np.newaxis]
        self.member = np.asarray(y == (classes[1:] if n_classes == 2 else classes), dtype=float)
        self.sign = 2.0 * self.member - 1.0
        self.share = np.array([self._fixed_mean(row) for row in self.member])
        # Index of the probability of a row's own class in a raveled table (K, n).
        self.own = self.y.astype(np.intp) * len(self.y) + np.arange(len(self.y))

    def start(self) -> Floats:
        """Return the best constants for the class shares."""
        return self.start_from(self.share)

    @property
    def start_rows(self) -> Floats:
        """Membership in the class of each output, (k, n)."""
        return self.member


class LogLoss(_ClassLoss):
    """Negative log-likelihood: logistic for two classes, softmax for more."""

    damping = 1.0

    @property
    def link(self) -> str:  # type: ignore[override]
        """Sigmoid for two classes, softmax for more."""
        return "sigmoid" if self.outputs == 1 else "softmax"

    def start_from(self, mean: Floats) -> Floats:
        """Return the log-odds of two classes, or the log of the class shares."""
        share = np.clip(mean, TINY, 1 - TINY)
        return np.asarray(np.log(share / (1 - share) if self.outputs == 1 else share))

    def derivatives(self, raw: Floats) -> Derivatives:
        """Return membership minus probability, and p (1 - p)."""
        p = expit(raw) if self.outputs == 1 else _softmax(raw)
        return self.member - p, p * (1.0 - p)

    def value(self, raw: Floats) -> float:
        """Return the mean log-loss."""
        if self.outputs == 1:
            margin = self.sign[0] * raw[0]
            return self._mean(np.log(1.0 + np.exp(-np.abs(margin))) - np.minimum(margin, 0.0))
        return -self._mean(np.log(np.maximum(_softmax(raw).ravel().take(self.own), TINY)))


def _softmax(raw: Floats) -> Floats:
    """Return probabilities (k, n); along the first axis this takes half the time of (n, k)."""
    p: Floats = raw - raw.max(axis=0)
    np.exp(p, out=p)
    p /= p.sum(axis=0)
    return p


class SquaredHinge(_ClassLoss):
    """Half the squared hinge, one-vs-rest (Xu 2014, sec. 2.2)."""

    link = "hinge"

    def start_from(self, mean: Floats) -> Floats:
        """Return the constants that minimize the squared hinge."""
        return 2.0 * mean - 1.0

    def derivatives(self, raw: Floats) -> Derivatives:
        """Return the signed slack."""
        return self.sign * np.maximum(0.0, 1.0 - self.sign * raw), None

    def value(self, raw: Floats) -> float:
        """Return the mean over rows and outputs."""
        return 0.5 * self._mean((np.maximum(0.0, 1.0 - self.sign * raw) ** 2).mean(axis=0))


class LambdaLoss(Loss):
    """LambdaMART's pairwise logistic loss, weighted by the change of NDCG.

    `query` numbers the queries.
    """

    damping = 1.0
    link = "sum"
    outputs = 1

    def __init__(
        self, y: NDArray[np.floating], weight: Floats | None, query: NDArray[np.int64]
    ) -> None:
        super().__init__(y, weight)
        self.query = query
        # The kernel needs the rows query by query.
        self.order = np.argsort(query, kind="stable")
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(query))])
        self.gains = 2.0 ** self.y[self.order] - 1.0
        ideal = dcg(self.y, self.y, query)
        self.scale = np.divide(1.0, ideal, out=np.zeros_like(ideal), where=ideal > 0)

    def start(self) -> Floats:
        """Return 0: only differences within a query count."""
        return np.zeros(1)

    def derivatives(self, raw: Floats) -> Derivatives:
        """Return the sums over all pairs of each row."""
        sorted_rows = np.empty((2, len(self.y)))
        lambda_gradients(raw[0, self.order], self.gains, self.starts, self.scale, *sorted_rows)
        both = np.empty_like(sorted_rows)
        both[:, self.order] = sorted_rows
        return both[:1], both[1:]

    def value(self, raw: Floats) -> float:
        """Return one minus the mean NDCG of the queries with a relevant row."""
        return 1.0 - ndcg(self.y, raw[0], self.query, first=None)
