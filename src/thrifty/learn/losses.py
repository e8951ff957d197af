"""Losses: what boosting descends, one object per loss, each bound to a target.

Outputs are (k, n), one row per output. A tree is fitted to the negative gradient by least
squares with unit hessian, so that a price keeps its meaning from loss to loss; only the values of
its leaves are Newton steps where the loss has a useful second derivative. `damping` is added to
a leaf's sum of hessians.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from thrifty.kernels.lambdarank import lambda_gradients
from thrifty.learn.ndcg import dcg, ndcg

__all__ = ["LambdaLoss", "LogLoss", "Loss", "SquaredHinge", "SquaredLoss"]

Floats = NDArray[np.float64]
Derivatives = tuple[Floats, Floats | None]

# Keeps the start of a class that is nearly absent finite.
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
        """The best constant outputs, (k,)."""

    @abstractmethod
    def derivatives(self, raw: Floats) -> Derivatives:
        """Negative gradient (k, n), and hessian (k, n) or None for a unit hessian."""

    @abstractmethod
    def value(self, raw: Floats) -> float:
        """Mean loss."""

    def _mean(self, values: Floats) -> float:
        return float(np.average(values, weights=self.weight))


class SquaredLoss(Loss):
    """Half the squared error."""

    link = "sum"
    outputs = 1

    def start(self) -> Floats:
        """The mean."""
        return np.array([self._mean(self.y)])

    def derivatives(self, raw: Floats) -> Derivatives:
        """The residual."""
        return self.y - raw, None

    def value(self, raw: Floats) -> float:
        """Half the mean squared error."""
        return 0.5 * self._mean((self.y - raw[0]) ** 2)


class _ClassLoss(Loss):
    """Targets are class numbers 0..K-1; two classes need one output, K > 2 need K."""

    def __init__(self, y: NDArray[np.integer], weight: Floats | None, n_classes: int) -> None:
        super().__init__(y, weight)
        self.outputs = 1 if n_classes == 2 else n_classes
        classes = np.arange(n_classes)[:, np.newaxis]
        self.member = np.asarray(y == (classes[1:] if n_classes == 2 else classes), dtype=float)
        self.sign = 2.0 * self.member - 1.0
        self.share = np.array([self._mean(row) for row in self.member])
        # Where the probability of a row's own class stands in a table (K, n), read as one line.
        self.own = self.y.astype(np.intp) * len(self.y) + np.arange(len(self.y))


class LogLoss(_ClassLoss):
    """Negative log-likelihood: logistic for two classes, softmax for more."""

    damping = 1.0

    @property
    def link(self) -> str:  # type: ignore[override]
        """Sigmoid for two classes."""
        return "sigmoid" if self.outputs == 1 else "softmax"

    def start(self) -> Floats:
        """Log odds, or log shares."""
        share = np.clip(self.share, TINY, 1 - TINY)
        return np.asarray(np.log(share / (1 - share) if self.outputs == 1 else share))

    def derivatives(self, raw: Floats) -> Derivatives:
        """Membership minus probability."""
        p = expit(raw) if self.outputs == 1 else _softmax(raw)
        return self.member - p, p * (1.0 - p)

    def value(self, raw: Floats) -> float:
        """Mean log-loss."""
        if self.outputs == 1:
            margin = self.sign[0] * raw[0]
            return self._mean(np.log(1.0 + np.exp(-np.abs(margin))) - np.minimum(margin, 0.0))
        return -self._mean(np.log(np.maximum(_softmax(raw).ravel().take(self.own), TINY)))


def _softmax(raw: Floats) -> Floats:
    """Probabilities (k, n); along the first axis it takes half the time of the link's (n, k)."""
    p: Floats = raw - raw.max(axis=0)
    np.exp(p, out=p)
    p /= p.sum(axis=0)
    return p


class SquaredHinge(_ClassLoss):
    """Half the squared hinge, each class against the rest (Xu 2014, sec. 2.2)."""

    link = "hinge"

    def start(self) -> Floats:
        """The constant that the squared hinge is least at."""
        return 2.0 * self.share - 1.0

    def derivatives(self, raw: Floats) -> Derivatives:
        """Signed slack."""
        return self.sign * np.maximum(0.0, 1.0 - self.sign * raw), None

    def value(self, raw: Floats) -> float:
        """Mean over rows and outputs."""
        return 0.5 * self._mean((np.maximum(0.0, 1.0 - self.sign * raw) ** 2).mean(axis=0))


class LambdaLoss(Loss):
    """Pairwise logistic loss weighted by the change of NDCG; `query` numbers the queries."""

    damping = 1.0
    link = "sum"
    outputs = 1

    def __init__(
        self, y: NDArray[np.floating], weight: Floats | None, query: NDArray[np.int64]
    ) -> None:
        super().__init__(y, weight)
        self.query = query
        # The kernel goes query by query.
        self.order = np.argsort(query, kind="stable")
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(query))])
        self.gains = 2.0 ** self.y[self.order] - 1.0
        ideal = dcg(self.y, self.y, query)
        self.scale = np.divide(1.0, ideal, out=np.zeros_like(ideal), where=ideal > 0)

    def start(self) -> Floats:
        """Only differences count."""
        return np.zeros(1)

    def derivatives(self, raw: Floats) -> Derivatives:
        """Sums over the pairs of a row."""
        sorted_rows = np.empty((2, len(self.y)))
        lambda_gradients(raw[0, self.order], self.gains, self.starts, self.scale, *sorted_rows)
        both = np.empty_like(sorted_rows)
        both[:, self.order] = sorted_rows
        return both[:1], both[1:]

    def value(self, raw: Floats) -> float:
        """One minus the mean NDCG of the queries that have a relevant row."""
        return 1.0 - ndcg(self.y, raw[0], self.query, first=None)
