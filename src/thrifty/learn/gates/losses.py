"""What wrong predictions lose: the log-loss of classes, the squared error of values and grades.

The alternation weighs losses against the distance between gate and q, so losses need a natural
unit. The log-loss has one. Squared errors are divided by the mean squared error of the expensive
model: half of that is the log-loss of a normal distribution, up to a constant, in which the
expensive model is as wrong as it claims to be. A local model that is trained in this unit is
brought back to that of the expensive model when it is frozen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from thrifty.learn.calibration import rescale_probabilities
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.gates.assignment import Distance
from thrifty.learn.losses import Derivatives, LogLoss, Loss, SquaredLoss
from thrifty.model import Forest, Frozen, LinearTree

__all__ = [
    "CLASS_LOSS",
    "SAME_SCALE",
    "Calibrated",
    "ClassLoss",
    "DistanceLoss",
    "GateLoss",
    "GradeLoss",
    "LocalLogLoss",
    "LocalLoss",
    "LocalSquaredLoss",
    "Scale",
    "ValueLoss",
]

Floats = NDArray[np.float64]
AnyFrozen = TypeVar("AnyFrozen", bound=Frozen)

# Probabilities of the expensive model are clipped here, so that one error costs at most 13.8.
MIN_PROBABILITY = 1e-6
# An expensive model that is nearly perfect has errors of this share of the target's spread.
MIN_ERROR = 0.1
# Scores that hardly rise with the grades count as if they had this correlation with them.
MIN_CORRELATION = 0.01
# Keeps the weight of rows that are all but certain to be sent positive.
MIN_STAY = 1e-9


@dataclass(frozen=True)
class Scale:
    """The unit in which a gate is trained.

    Parameters
    ----------
    slope, offset : float
        A value v of the training problem is ``slope * v + offset`` to the user.
    loss : float
        What a loss of 1 is in the unit of the user's target, squared.
    """

    slope: float = 1.0
    offset: float = 0.0
    loss: float = 1.0

    def restore(self, model: AnyFrozen) -> AnyFrozen:
        """Return a local model with its outputs in the user's unit."""
        if (self.slope, self.offset) == (1.0, 0.0):
            return model
        if isinstance(model, Forest):
            base = self.slope * model.base + self.offset
            return replace(model, values=self.slope * model.values, base=base)
        assert isinstance(model, LinearTree)
        weights, bias = self.slope * model.weights, self.slope * model.bias + self.offset
        return replace(model, weights=weights, bias=bias)


SAME_SCALE = Scale()
"""The unit of the user's target; that of classes."""


class Calibrated(NamedTuple):
    """A target and the scores of the expensive model, in the same unit."""

    y: NDArray[Any]
    scores: Floats
    scale: Scale = SAME_SCALE


class LocalLogLoss(LogLoss):
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
        # The initial constant is that of the rows that stay; trees weight the rows by `weight`.
        super().__init__(y, _product(weight, stay), n_classes)
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

    def is_wrong(self, raw: Floats) -> NDArray[np.bool_]:
        """Return which rows are predicted as another class, (n,)."""
        predicted = (raw[0] > 0).astype(int) if len(raw) == 1 else raw.argmax(axis=0)
        return np.asarray(predicted != self.y)


class LocalSquaredLoss(SquaredLoss):
    """Half the squared error of the local model, weighted by the probability of staying.

    Parameters
    ----------
    y : float64 array of shape (n,)
    weight : float64 array of shape (n,) or None
        Sample weights.
    stay : float64 array of shape (n,) or None
        ``1 - q``; None if no row is sent, which is the plain squared error to the bit.
    """

    def __init__(
        self, y: NDArray[np.floating], weight: Floats | None, stay: Floats | None = None
    ) -> None:
        super().__init__(y, weight)
        self.stay = None if stay is None else np.maximum(stay, MIN_STAY)

    def start(self) -> Floats:
        """Return the mean of the rows that stay."""
        if self.stay is None:
            return super().start()
        return np.array([np.average(self.y, weights=_product(self.weight, self.stay))])

    def derivatives(self, raw: Floats) -> Derivatives:
        """Return the residuals and 1, both times the probability of staying."""
        if self.stay is None:
            return super().derivatives(raw)
        return (self.y - raw) * self.stay, self.stay[np.newaxis]

    def losses(self, raw: Floats) -> Floats:
        """Return half the squared error of each row, (n,), unweighted."""
        return np.asarray(0.5 * np.square(self.y - raw[0]))

    def is_wrong(self, raw: Floats) -> NDArray[np.bool_]:
        """Return which errors are larger than those of the expensive model are on average, (n,)."""
        return np.asarray(self.losses(raw) > 0.5)


LocalLoss = LocalLogLoss | LocalSquaredLoss


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


class GateLoss(ABC):
    """The loss of a task, for the local and for the expensive model."""

    has_margin: ClassVar[bool]
    """Whether the local model has a margin that says how sure it is."""

    @abstractmethod
    def calibrate(self, train: TrainingSet, scores: Floats) -> Calibrated:
        """Bring the scores of the expensive model and the target to the unit of the losses."""

    @abstractmethod
    def local(self, train: TrainingSet, weight: Floats | None, stay: Floats | None) -> LocalLoss:
        """Return the loss of the local model, by weights and probabilities of staying."""

    @abstractmethod
    def losses(self, y: NDArray[Any], scores: Floats) -> Floats:
        """Return the loss of the scores of each row, (n,)."""

    @abstractmethod
    def errors(self, y: NDArray[Any], scores: Floats) -> Floats:
        """Return how wrong each row is predicted, (n,)."""

    @abstractmethod
    def constant_loss(self, train: TrainingSet) -> float:
        """Return the mean loss of the best constant."""

    @abstractmethod
    def constant(self, train: TrainingSet) -> Forest:
        """Return the best model that reads nothing."""


class ClassLoss(GateLoss):
    """Log-loss of class probabilities (n, K)."""

    has_margin = True

    def calibrate(self, train: TrainingSet, scores: Floats) -> Calibrated:
        """Rescale the log-odds of the expensive model, such that its log-loss is least."""
        return Calibrated(train.y, rescale_probabilities(scores, train.y, train.weight))

    def local(self, train: TrainingSet, weight: Floats | None, stay: Floats | None) -> LocalLogLoss:
        """Return the log-loss."""
        return LocalLogLoss(train.y, weight, train.n_classes, stay)

    def losses(self, y: NDArray[Any], scores: Floats) -> Floats:
        """Return minus the logarithm of the probability of the true class, (n,)."""
        own = np.take_along_axis(scores, y[:, np.newaxis], axis=1)[:, 0]
        return np.asarray(-np.log(np.maximum(own, MIN_PROBABILITY)))

    def errors(self, y: NDArray[Any], scores: Floats) -> Floats:
        """Return 1 where another class is predicted, else 0, (n,)."""
        return np.asarray(scores.argmax(axis=1) != y, dtype=np.float64)

    def constant_loss(self, train: TrainingSet) -> float:
        """Return the entropy of the classes."""
        shares = train.class_shares[train.class_shares > 0]
        return float(-(shares * np.log(shares)).sum())

    def constant(self, train: TrainingSet) -> Forest:
        """Return the class shares."""
        return train.constant


CLASS_LOSS = ClassLoss()


class ValueLoss(GateLoss):
    """Half the squared error of values (n,), in the unit of the expensive model's errors."""

    has_margin = False

    def calibrate(self, train: TrainingSet, scores: Floats) -> Calibrated:
        """Divide target and scores by the root mean squared error of the expensive model."""
        unit = self._unit(train, scores)
        return Calibrated(train.y / unit, scores / unit, Scale(unit, 0.0, unit * unit))

    def local(
        self, train: TrainingSet, weight: Floats | None, stay: Floats | None
    ) -> LocalSquaredLoss:
        """Return half the squared error."""
        return LocalSquaredLoss(train.y, weight, stay)

    def losses(self, y: NDArray[Any], scores: Floats) -> Floats:
        """Return half the squared errors, (n,)."""
        return np.asarray(0.5 * np.square(scores - y))

    def errors(self, y: NDArray[Any], scores: Floats) -> Floats:
        """Return half the squared errors, (n,)."""
        return self.losses(y, scores)

    def constant_loss(self, train: TrainingSet) -> float:
        """Return half the variance of the target."""
        mean = np.average(train.y, weights=train.weight)
        return float(np.average(0.5 * np.square(train.y - mean), weights=train.weight))

    def constant(self, train: TrainingSet) -> Forest:
        """Return the mean of the target."""
        return Forest.constant(SquaredLoss(train.y, train.weight).start(), "sum", train.n_features)

    def _unit(self, train: TrainingSet, scores: Floats) -> float:
        """Return the size of the expensive model's errors, as a power of two.

        Dividing by a power of two and multiplying again changes no bit of a local model.
        """
        error = float(np.sqrt(np.average(np.square(scores - train.y), weights=train.weight)))
        error = max(error, MIN_ERROR * float(np.sqrt(2.0 * self.constant_loss(train))))
        return float(2.0 ** np.round(np.log2(error))) if error > 0 else 1.0


class GradeLoss(ValueLoss):
    """Half the squared error of relevance grades, which scores (n,) of any unit predict linearly.

    Only the order of the scores counts, and the expensive model keeps its own: the local model is
    brought to its unit, so that rows of one query can be compared whichever model scores them.
    """

    def calibrate(self, train: TrainingSet, scores: Floats) -> Calibrated:
        """Predict the grades by a line in the scores; then as for values."""
        y, weight = train.y, train.weight
        mean, center = np.average(scores, weights=weight), np.average(y, weights=weight)
        spread = float(np.sqrt(np.average(np.square(scores - mean), weights=weight)))
        grades = float(np.sqrt(np.average(np.square(y - center), weights=weight)))
        slope = 1.0
        if spread > 0 and grades > 0:
            product = float(np.average((scores - mean) * (y - center), weights=weight))
            slope = max(product / (spread * grades), MIN_CORRELATION) * grades / spread
        offset = float(center - slope * mean)
        y, scores, scale = super().calibrate(train, slope * scores + offset)
        return Calibrated(y, scores, Scale(scale.slope / slope, -offset / slope, scale.loss))


def _product(weight: Floats | None, stay: Floats | None) -> Floats | None:
    """Return the product of two weights of the rows, either of which may be 1 for all."""
    return weight if stay is None else stay if weight is None else stay * weight
