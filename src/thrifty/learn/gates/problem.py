"""The training problem that all families of gates share, and the losses that boosting descends.

Notation follows Nan 2018, chapter 5: the expensive model f0 is given; a local model f1 and a gate
g are trained. ``q`` is the probability that each training row is sent to the expensive model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.special import expit, softmax

from thrifty.learn.dataset import TrainingSet
from thrifty.learn.gates.assignment import Distance
from thrifty.learn.losses import Derivatives, LogLoss, Loss
from thrifty.model import Frozen

__all__ = ["DistanceLoss", "GateFamily", "GatePair", "GateProblem", "LocalLoss"]

Floats = NDArray[np.float64]
# Probabilities of the expensive model are clipped here, so that one error costs at most 13.8.
MIN_PROBABILITY = 1e-6


@dataclass(frozen=True, eq=False)
class GateProblem:
    """The rows to train on, and what the expensive model predicts for them.

    Parameters
    ----------
    train : TrainingSet
        A classification table with n rows and K classes.
    expensive_proba : float64 array of shape (n, K)
        Calibrated class probabilities of the expensive model, out of fold if it was trained on
        these rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.dataset import TrainingSet
    >>> from thrifty.learn.gates.problem import GateProblem
    >>> train = TrainingSet.read("classification", np.array([[1.0], [2.0]]), ["a", "b"])
    >>> GateProblem(train, np.array([[0.5, 0.5], [1.0, 0.0]])).expensive_loss.round(2)
    array([ 0.69, 13.82])
    """

    train: TrainingSet
    expensive_proba: Floats

    def take(self, rows: NDArray[np.int64]) -> GateProblem:
        """Return the problem of some of the rows."""
        return GateProblem(self.train.take(rows), self.expensive_proba[rows])

    @cached_property
    def expensive_loss(self) -> Floats:
        """Log-loss of the expensive model on each row, (n,)."""
        own = np.take_along_axis(self.expensive_proba, self.train.y[:, np.newaxis], axis=1)[:, 0]
        return np.asarray(-np.log(np.maximum(own, MIN_PROBABILITY)))

    @cached_property
    def row_shares(self) -> Floats:
        """Weight of each row in a mean over the rows, (n,); they sum to 1."""
        weight, n = self.train.weight, len(self.train)
        return np.full(n, 1.0 / n) if weight is None else weight / weight.sum()

    def mean(self, values: Floats) -> float:
        """Return the weighted mean of values (n,) over the rows."""
        return float(np.average(values, weights=self.train.weight))


class GatePair(ABC):
    """A gate and a local model during training; updates return a new pair."""

    @property
    @abstractmethod
    def gate_values(self) -> Floats:
        """Outputs of the gate on the training rows, (n,)."""

    @property
    @abstractmethod
    def local_loss(self) -> Floats:
        """Log-loss of the local model on each training row, (n,)."""

    @property
    @abstractmethod
    def cost(self) -> float:
        """What the objective charges for the pair: weighted prices and ridge penalties."""

    @abstractmethod
    def update(self, q: Floats) -> GatePair:
        """Train gate and local model for the probabilities q (n,) of being sent."""

    def refit(self, q: Floats, share: float) -> GatePair:
        """Return the pair after the last update, which may correct for overfitting."""
        return self

    @abstractmethod
    def freeze(self) -> tuple[Frozen, Frozen]:
        """Return the gate, a model that predicts a value, and the local model."""


class GateFamily(ABC):
    """Hyperparameters of one kind of gate and local model."""

    refit_rounds: ClassVar[int] = 0
    """Rounds of the alternation that are set aside for `GatePair.refit`."""

    @abstractmethod
    def initial_pairs(
        self, problem: GateProblem, penalty: float, distance: Distance, random: RandomState
    ) -> list[GatePair]:
        """Return the pairs to start from; the first is the best one if no row is sent."""

    def tuned(
        self,
        problem: GateProblem,
        penalty: float,
        distance: Distance,
        share: float,
        rounds: int,
        random: RandomState,
    ) -> GateFamily:
        """Return the family with the hyperparameters set that it chooses itself."""
        return self


class LocalLoss(LogLoss):
    """Log-loss of the local model, with each row weighted by its probability of staying.

    Parameters
    ----------
    y : int array of shape (n,)
        Class codes.
    weight : float64 array of shape (n,) or None
        Sample weights.
    n_classes : int
    stay : float64 array of shape (n,) or None
        ``1 - q``; None if no row is sent, which is the plain log-loss to the bit.
    """

    def __init__(
        self,
        y: NDArray[np.integer],
        weight: Floats | None,
        n_classes: int,
        stay: Floats | None = None,
    ) -> None:
        total = weight if stay is None else stay if weight is None else stay * weight
        # The initial constant is that of the rows that stay; trees weight the rows by `weight`.
        super().__init__(y, total, n_classes)
        self.weight, self.stay = weight, stay

    def derivatives(self, raw: Floats) -> Derivatives:
        """Return those of the log-loss times the probability of staying (Nan 2018, eq. 5.1)."""
        if self.stay is None:
            return super().derivatives(raw)
        p = expit(raw) if self.outputs == 1 else softmax(raw, axis=0)
        return (self.member - p) * self.stay, p * (1.0 - p) * self.stay

    def losses(self, raw: Floats) -> Floats:
        """Return the log-loss of each row, (n,), unweighted; stable for any size of `raw`."""
        if self.outputs == 1:
            return np.asarray(np.logaddexp(0.0, np.where(self.y > 0, -raw[0], raw[0])))
        top = raw.max(axis=0)
        total = top + np.log(np.exp(raw - top).sum(axis=0))
        own = np.take_along_axis(raw, self.y.astype(np.intp)[np.newaxis], axis=0)[0]
        return np.asarray(total - own)


class DistanceLoss(Loss):
    """Distance between the outputs of a gate and q (Nan 2018, eq. 5.2).

    Parameters
    ----------
    q : float64 array of shape (n,)
        Probabilities of being sent.
    weight : float64 array of shape (n,) or None
        Sample weights.
    distance : Distance
    """

    damping = 1.0
    link = "sum"
    outputs = 1

    def __init__(self, q: Floats, weight: Floats | None, distance: Distance) -> None:
        super().__init__(q, weight)
        self.distance = distance

    def start(self) -> Floats:
        """Return the best constant gate, (1,)."""
        return np.array([self.distance.best_constant(self.y, self.weight)])

    def derivatives(self, raw: Floats) -> Derivatives:
        """Return the negative gradient and the Hessian by the gate's outputs, (1, n) each."""
        gradient, hessian = self.distance.derivatives(self.y, raw[0])
        return gradient[np.newaxis], hessian[np.newaxis]

    def value(self, raw: Floats) -> float:
        """Return the mean distance."""
        return self._mean(self.distance.value(self.y, raw[0]))
