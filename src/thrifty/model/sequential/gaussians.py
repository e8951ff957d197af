"""Class-wise Gaussian models of what is not bought, fitted anew around each example.

The rival of `Neighbors` in Nan 2018, sec. 2.4: the value of a classifier (T. Gao and D. Koller, 2011).
For each class, the features not bought are regressed on the bought ones, with weights that fall
with the distance to the example. The Gaussians around these lines tell how likely a value is in
each class, so they update the class probabilities when it comes, and before that how sure one can
expect to be with it.

One example among local Gaussians: what it expects of each feature, class by class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.base import sealed
from thrifty.model.sequential.audit import layout_problems, order_problems, plain_problems
from thrifty.model.sequential.base import Asking, Trail

__all__ = ["GaussianTrail", "LocalGaussians"]

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


Whole = NDArray[np.int64]

LAYOUT = {
    **{"places": ("<f8", 2), "labels": ("<i8", 1), "center": ("<f8", 1), "unit": ("<f8", 1)},
    **{"toll": ("<f8", 1), "group": ("<i8", 1), "entry": ("<f8", 1), "order": ("<i8", 1)},
}


@dataclass(frozen=True, eq=False)
class LocalGaussians(Asking):
    """A classifier that buys the feature with which it expects to be surest.

    Parameters
    ----------
    places : array (n, d)
        Training rows as standard scores, 0 for missing values.
    labels : int array (n,)
        Their classes.
    center, unit : arrays (d,)
        How a value becomes a standard score: (value - center) * unit.
    toll, group, entry : arrays (d,), (d,), (g,)
        What a feature, and the first of a group (-1: in none), loses in the choice.
    order : int array (m,)
        Features that may be bought; earlier ones win ties.
    ridge : float
        Regularization of the regressions.
    threshold : float
        A row stops when its class is more probable than this.
    """

    kind: ClassVar[str] = "local-gaussians"

    places: Floats
    labels: Whole
    center: Floats
    unit: Floats
    toll: Floats
    group: Whole
    entry: Floats
    order: Whole
    ridge: float
    threshold: float

    def __post_init__(self) -> None:
        for name in LAYOUT:
            object.__setattr__(self, name, sealed(getattr(self, name)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return len(self.center)

    @cached_property
    def prior(self) -> Floats:  # type: ignore[override]
        """Shares of the classes."""
        return sealed(np.bincount(self.labels) / len(self.labels))

    @cached_property
    def members(self) -> list[tuple[NDArray[np.intp], Floats]]:
        """Positions and standard scores of the rows of each class."""
        rows = [np.flatnonzero(self.labels == label) for label in range(len(self.prior))]
        return [(some, self.places[some]) for some in rows]

    def trail(self) -> GaussianTrail:
        """Start one example."""
        return GaussianTrail(self)

    def until(self, threshold: float) -> Self:
        """The same with another threshold."""
        return replace(self, threshold=float(threshold))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        plain = {"ridge": self.ridge, "threshold": self.threshold}
        return plain, {name: getattr(self, name) for name in LAYOUT}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        raise_all(BundleError, "local gaussians", list(layout_problems(arrays, LAYOUT)))
        raise_all(BundleError, "local gaussians", list(_problems(plain, arrays)))
        return cls(**{**arrays, **plain})


def _problems(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    n, d = arrays["places"].shape
    labels = arrays["labels"]
    if labels.shape != (n,) or n < 2 or len(np.unique(labels)) != labels.max() + 1:
        yield "every class needs a row, and every row a class from 0 on"
    elif labels.min() < 0 or labels.max() < 1:
        yield "there must be two classes at least"
    for name in ("center", "unit", "toll", "group"):
        if arrays[name].shape != (d,):
            yield f"{name} has {len(arrays[name])} entries for {d} features"
    for name in ("places", "center"):
        if not np.isfinite(arrays[name]).all():
            yield f"{name} must be finite"
    yield from order_problems(arrays, d)
    yield from plain_problems(plain, ("ridge", "threshold"))
