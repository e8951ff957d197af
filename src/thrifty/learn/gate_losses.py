"""What the trees of a gated pair descend: the local loss where q leaves a row, and the distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from thrifty.learn.losses import Derivatives, Floats, LogLoss, Loss
from thrifty.learn.q_step import Distance

__all__ = ["DistanceLoss", "LocalLoss"]


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
        """Of the log-loss, times the chance (000 eq. 5.1)."""
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
    """Distance of a gate from q (000 eq. 5.2)."""

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
