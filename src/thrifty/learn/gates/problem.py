"""The training problem that all families of gates share.

Notation follows Nan 2018, chapter 5: the expensive model f0 is given; a local model f1 and a gate
g are trained. ``q`` is the probability that each training row is sent to the expensive model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from thrifty.learn.dataset import TrainingSet
from thrifty.learn.gates.assignment import Distance
from thrifty.learn.gates.losses import CLASS_LOSS, SAME_SCALE, GateLoss, LocalLoss, Scale
from thrifty.model import Forest, Frozen

__all__ = ["GateFamily", "GatePair", "GateProblem"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GateProblem:
    """The rows to train on, and what the expensive model predicts for them.

    Parameters
    ----------
    train : TrainingSet
        A table with n rows; its target is in the unit of `scale`.
    expensive_scores : float64 array of shape (n, K) or (n,)
        Calibrated class probabilities or values of the expensive model, out of fold if it was
        trained on these rows, in the same unit.
    loss : GateLoss
        The log-loss by default.
    scale : Scale
        The unit of the target.

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
    expensive_scores: Floats
    loss: GateLoss = CLASS_LOSS
    scale: Scale = SAME_SCALE

    @classmethod
    def of(cls, train: TrainingSet, scores: Floats, loss: GateLoss) -> Self:
        """Calibrate the scores of the expensive model, and bring the target to the same unit."""
        y, scores, scale = loss.calibrate(train, scores)
        return cls(replace(train, y=y), scores, loss, scale)

    def take(self, rows: NDArray[np.int64]) -> GateProblem:
        """Return the problem of some of the rows."""
        return replace(
            self, train=self.train.take(rows), expensive_scores=self.expensive_scores[rows]
        )

    @cached_property
    def expensive_loss(self) -> Floats:
        """Loss of the expensive model on each row, (n,)."""
        return self.loss.losses(self.train.y, self.expensive_scores)

    def local_loss(self, q: Floats | None = None, weighted: bool = False) -> LocalLoss:
        """Return the loss of the local model, for q; None sends no row.

        Rows have their sample weights if it is `weighted`.
        """
        weight = self.train.weight if weighted else None
        return self.loss.local(self.train, weight, None if q is None else 1.0 - q)

    def errors(self, scores: Floats) -> Floats:
        """Return how wrong predictions are, (n,): 0 or 1 for classes, else their loss."""
        return self.loss.errors(self.train.y, scores)

    @cached_property
    def constant_loss(self) -> float:
        """Mean loss of the best constant, in the unit of the user's target."""
        return self.scale.loss * self.loss.constant_loss(self.train)

    @property
    def constant(self) -> Forest:
        """The model that buys nothing."""
        return self.scale.restore(self.loss.constant(self.train))

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
        """Loss of the local model on each training row, (n,)."""

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
