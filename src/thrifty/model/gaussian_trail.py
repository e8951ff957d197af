"""One example among local Gaussians: what it expects of each feature, class by class."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thrifty.model.trail import Trail

if TYPE_CHECKING:
    from thrifty.model.local_gaussians import LocalGaussians

__all__ = ["GaussianTrail"]

Floats = NDArray[np.float64]

# Standard scores beyond this count as this far.
FAR = 1e6
# Least variance of a feature within a class: a column may be constant around an example.
LEAST_VARIANCE = 1e-2
# Where expectations over a Gaussian are evaluated, and the weights of these places.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class GaussianTrail(Trail):
    """The value of each feature for one example, step by step."""

    def __init__(self, model: LocalGaussians) -> None:
        super().__init__(model.prior, None)
        self._model = model
        self._square = np.zeros(len(model.labels))
        self._log = np.log(model.prior)
        self._values: list[float] = []
        if model.starts:
            self._look()

    def take(self, value: float) -> None:
        """Take the value of the feature that is wanted: update classes, distances and outlook."""
        model, feature = self._model, self.wants
        assert feature is not None
        self.bought.append(feature)
        score = (value - model.center[feature]) * model.unit[feature]
        if np.isnan(value):
            self._values.append(0.0)
        else:
            score = min(max(score, -FAR), FAR)
            self._values.append(score)
            place = int(np.flatnonzero(self._rest == feature)[0])
            self._log = _normal((self._log + self._density(score)[:, place])[:, np.newaxis])[:, 0]
            self._square += (model.places[:, feature] - score) ** 2
        sure = float(np.exp(self._log.max()))
        self.seen.append((sure, sure, int(self._log.argmax())))
        self.wants = None
        if not sure > model.threshold and len(self.bought) < len(model.order):
            self._look()

    def _look(self) -> None:
        """Fit the Gaussians of what is left, and want the feature of the largest value."""
        model = self._model
        self._rest = model.order[~np.isin(model.order, self.bought)]
        weight = self._weights()
        fits = [self._fit(places, weight[rows]) for rows, places in model.members]
        self._mean, self._variance = (np.array(part) for part in zip(*fits, strict=True))
        opened = np.isin(model.group[self._rest], model.group[self.bought])
        fee = np.append(model.entry, 0.0)[model.group[self._rest]]
        toll = model.toll[self._rest] + np.where(opened, 0.0, fee)
        self.wants = int(self._rest[np.argmax(self._expected() - toll)])

    def _fit(self, places: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of what is left, by locally weighted regression on one class."""
        known = np.column_stack([np.ones(len(places)), places[:, self.bought]])
        left = places[:, self._rest]
        heavy = known * weight[:, np.newaxis]
        penalty = np.full(known.shape[1], self._model.ridge)
        penalty[0] = 1e-9
        slope = np.linalg.solve(heavy.T @ known + np.diag(penalty), heavy.T @ left)
        residual = left - known @ slope
        variance = (weight @ residual**2) / weight.sum()
        return np.array([1.0, *self._values]) @ slope, np.maximum(variance, LEAST_VARIANCE)

    def _weights(self) -> Floats:
        """Fall with the distance; the bandwidth is the median distance to the training rows."""
        width = float(np.median(self._square))
        # At least a trace: a class that is far away keeps a regression.
        return np.exp(-self._square / (2.0 * width or 1.0)) + 1e-6

    def _density(self, scores: float | Floats) -> Floats:
        """Log-density of standard scores of the features left, class by class, (..., K, r)."""
        gap = scores - self._mean
        return np.asarray(-0.5 * (gap**2 / self._variance + np.log(2 * math.pi * self._variance)))

    def _expected(self) -> Floats:
        """How probable the class will be, on average, after each feature left."""
        spread = np.sqrt(self._variance)[:, np.newaxis]
        scores = self._mean[:, np.newaxis] + NODES[:, np.newaxis] * spread
        after = self._log[:, np.newaxis] + self._density(scores[:, :, np.newaxis])
        sure = np.exp(_normal(after).max(axis=-2))
        return np.asarray(np.einsum("k,q,kqr->r", np.exp(self._log), WEIGHTS, sure))


def _normal(log: Floats) -> Floats:
    """Logarithms of probabilities that add up to 1 over the classes, the last axis but one."""
    top = log.max(axis=-2, keepdims=True)
    return np.asarray(log - (top + np.log(np.exp(log - top).sum(axis=-2, keepdims=True))))
