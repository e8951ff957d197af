"""What every family of gates learns from: the table, the labels, and the expensive answers.

What the trees of a gated pair descend: the local loss where q leaves a row, and the distance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.special import expit, softmax

from thrifty.bundle import Schema
from thrifty.costs import BoundPrices
from thrifty.learn.gates.assignment import Distance
from thrifty.learn.losses import Derivatives, LogLoss, Loss
from thrifty.model import Frozen

__all__ = ["DistanceLoss", "Family", "GateTask", "LocalLoss", "Pair", "log_losses"]

Floats = NDArray[np.float64]
# No answer is so sure that being wrong costs more than this: about 14.
SUREST = 1e-6


def log_losses(scores: Floats, codes: NDArray[np.int64]) -> Floats:
    """Log-loss of each row, (n,), of class probabilities (n, K).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.gates.problem import log_losses
    >>> log_losses(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 1])).round(2)
    array([ 0.69, 13.82])
    """
    own = np.take_along_axis(scores, codes[:, np.newaxis], axis=1)[:, 0]
    return np.asarray(-np.log(np.maximum(own, SUREST)))


@dataclass(frozen=True, eq=False)
class GateTask:
    """A table and its labels, read and checked, and what the expensive model says of the rows."""

    schema: Schema
    prices: BoundPrices
    X: NDArray[np.floating]
    codes: NDArray[np.int64]
    weight: Floats | None
    classes: NDArray[Any]
    answers: Floats

    @cached_property
    def loss0(self) -> Floats:
        """Losses of the expensive model."""
        return log_losses(self.answers, self.codes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Which columns hold categories."""
        return np.array([column.categories is not None for column in self.schema.columns])

    def part(self, rows: NDArray[np.intp]) -> GateTask:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(
            self,
            X=self.X[rows],
            codes=self.codes[rows],
            weight=weight,
            answers=self.answers[rows],
        )

    def mean(self, values: Floats) -> float:
        """Weighted mean over the rows."""
        return float(np.average(values, weights=self.weight))


class Pair(ABC):
    """A gate and a local model while they are learnt."""

    @property
    @abstractmethod
    def gate(self) -> Floats:
        """Values of the gate on the training rows, (n,)."""

    @property
    @abstractmethod
    def loss(self) -> Floats:
        """Losses of the local model on the training rows, (n,)."""

    @property
    @abstractmethod
    def cost(self) -> float:
        """What the objective charges for the pair: prices times the penalty, and ridges."""

    @abstractmethod
    def step(self, q: Floats) -> Pair:
        """The pair learnt anew, or further, for these chances of being sent."""

    def settled(self, q: Floats, share: float) -> Pair:
        """The pair after a last step, for chances that do not trust the rows learnt from."""
        return self

    @abstractmethod
    def freeze(self) -> tuple[Frozen, Frozen]:
        """The gate, a model of values, and the local model."""


class Family(ABC):
    """A kind of gates and local models, and its settings."""

    last_rounds: ClassVar[int] = 0
    """Rounds of the search that the last step of its pairs, `settled`, takes."""

    @abstractmethod
    def start(
        self, task: GateTask, penalty: float, distance: Distance, random: RandomState
    ) -> list[Pair]:
        """Pairs to start from; the first is the one to keep if no row is sent."""


class LocalLoss(LogLoss):
    """Log-loss of which each row counts by its chance of staying.

    Parameters
    ----------
    y, weight, n_classes
        As for `LogLoss`.
    stays : array (n,) or None
        One minus q; None where all rows stay, which is the plain log-loss to the bit.
    """

    def __init__(
        self,
        y: NDArray[np.integer],
        weight: Floats | None,
        n_classes: int,
        stays: Floats | None = None,
    ) -> None:
        counted = weight if stays is None else stays if weight is None else stays * weight
        # The start is the best constant of the rows that stay; the trees weigh rows by `weight`.
        super().__init__(y, counted, n_classes)
        self.weight, self.stays = weight, stays

    def derivatives(self, raw: Floats) -> Derivatives:
        """Of the log-loss, times the chance (Nan 2018, eq. 5.1)."""
        if self.stays is None:
            return super().derivatives(raw)
        p = expit(raw) if self.outputs == 1 else softmax(raw, axis=0)
        return (self.member - p) * self.stays, p * (1.0 - p) * self.stays

    def losses(self, raw: Floats) -> Floats:
        """Log-loss of each row, (n,), not weighed by anything; in logarithms throughout."""
        if self.outputs == 1:
            return np.asarray(np.logaddexp(0.0, np.where(self.y > 0, -raw[0], raw[0])))
        top = raw.max(axis=0)
        total = top + np.log(np.exp(raw - top).sum(axis=0))
        own = np.take_along_axis(raw, self.y.astype(np.intp)[np.newaxis], axis=0)[0]
        return np.asarray(total - own)


class DistanceLoss(Loss):
    """Distance of a gate from q (Nan 2018, eq. 5.2)."""

    damping = 1.0
    link = "sum"
    outputs = 1

    def __init__(self, q: Floats, weight: Floats | None, distance: Distance) -> None:
        super().__init__(q, weight)
        self.distance = distance

    def start(self) -> Floats:
        """The nearest constant."""
        return np.array([self.distance.level(self.y, self.weight)])

    def derivatives(self, raw: Floats) -> Derivatives:
        """Of the distance by the gate."""
        pull, curve = self.distance.slopes(self.y, raw[0])
        return pull[np.newaxis], curve[np.newaxis]

    def value(self, raw: Floats) -> float:
        """Mean distance."""
        return self._mean(self.distance.value(self.y, raw[0]))
