"""VoC: Gaussian models of the features that are not bought, fitted anew around each example.

The value of classifier (Gao and Koller 2011) with the settings of Nan 2018, sec. 2.4. For each
class, the remaining features are regressed on the bought ones, with weights that decrease with the
distance of the training rows to the example. The Gaussians around these regressions give the
likelihood of a value in each class. They update the class probabilities when a value arrives, and
they predict how confident the example will be with it before it is bought.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.lazy import cached_property
from thrifty.model.base import sealed
from thrifty.model.sequential.audit import audit_local_gaussians
from thrifty.model.sequential.base import SequentialModel, SequentialState, Step

__all__ = ["GaussianState", "LocalGaussians"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Standard scores are clipped to this, so that log-densities stay finite.
MAX_STANDARD_SCORE = 1e6
# Smallest variance of a standardized feature: it may be constant around an example.
MIN_VARIANCE = 1e-2
# Smallest weight of a training row, so that a class without near rows keeps a regression.
MIN_ROW_WEIGHT = 1e-6
# Ridge of the intercepts: only there to keep the linear systems regular.
INTERCEPT_RIDGE = 1e-9
# Gauss-Hermite quadrature: where expectations over a Gaussian are evaluated, and the weights.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
# Most entries of an array of all pairs of classes, for some of the features at a time.
MAX_CELLS = 2**21
# Fields of `LocalGaussians` that are arrays, and what a model file calls them.
FILE_ARRAYS = {
    "standard_scores": "places",
    "labels": "labels",
    "center": "center",
    "unit": "unit",
    "weighted_price": "toll",
    "group": "group",
    "weighted_group_price": "entry",
    "order": "order",
}


@dataclass(frozen=True, eq=False)
class LocalGaussians(SequentialModel):
    """A classifier that buys the feature with which it expects to be most confident.

    Parameters
    ----------
    standard_scores : float array (n, d)
        Training rows as standard scores, 0 for missing values.
    labels : int array (n,)
        Classes of the training rows.
    center, unit : float arrays (d,)
        The standard score of a value is ``(value - center) * unit``.
    weighted_price : float array (d,)
        What a feature loses in the choice.
    group : int array (d,)
        Group of each feature; -1 for none.
    weighted_group_price : float array (g,)
        What the first feature of a group loses in addition.
    order : int array (m,)
        Features that may be bought; earlier ones win ties.
    ridge : float
        L2 penalty of the regressions.
    threshold : float
        A row stops when its most probable class is more probable than this.

    Examples
    --------
    Two classes around -2 and 2 in the first feature, and alike in the second. A row at 2 needs only
    the first one, a row halfway buys both.

    >>> import numpy as np
    >>> from thrifty.model.sequential import LocalGaussians
    >>> rows = np.array([[-2.5, 1], [-1.5, -1], [-2, 0], [2.5, -1], [1.5, 1], [2, 0]])
    >>> model = LocalGaussians(rows, np.array([0, 0, 0, 1, 1, 1]), np.zeros(2), np.ones(2),
    ...                        np.zeros(2), np.full(2, -1), np.zeros(0), np.arange(2), ridge=0.5,
    ...                        threshold=0.9)
    >>> X = np.array([[2.0, 0.0], [0.0, 0.0]])
    >>> model.used(X)
    array([[ True, False],
           [ True,  True]])
    >>> model.score(X).round(2)
    array([[0. , 1. ],
           [0.5, 0.5]])
    """

    kind: ClassVar[str] = "local-gaussians"

    standard_scores: Floats
    labels: Ints
    center: Floats
    unit: Floats
    weighted_price: Floats
    group: Ints
    weighted_group_price: Floats
    order: Ints
    ridge: float
    threshold: float

    def __post_init__(self) -> None:
        for name in FILE_ARRAYS:
            object.__setattr__(self, name, sealed(getattr(self, name)))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return len(self.center)

    @cached_property
    def prior(self) -> Floats:
        """(K,): class frequencies of the training rows."""
        return sealed(np.bincount(self.labels) / len(self.labels))

    @cached_property
    def class_rows(self) -> list[tuple[NDArray[np.intp], Floats]]:
        """For each class, the positions of its training rows and their standard scores."""
        ends = np.cumsum(np.bincount(self.labels))[:-1]
        rows = np.split(np.argsort(self.labels, kind="stable"), ends)
        return [(members, self.standard_scores[members]) for members in rows]

    def start(self) -> GaussianState:
        """Return the state of a new example."""
        return GaussianState(self)

    def with_threshold(self, threshold: float) -> Self:
        """Return the same model with another threshold."""
        return replace(self, threshold=float(threshold))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps, by the names of `FILE_ARRAYS`."""
        plain = {"ridge": self.ridge, "threshold": self.threshold}
        return plain, {key: getattr(self, name) for name, key in FILE_ARRAYS.items()}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model from it."""
        audit_local_gaussians(plain, arrays)
        own: dict[str, Any] = {name: arrays[key] for name, key in FILE_ARRAYS.items()}
        return cls(**own, ridge=float(plain["ridge"]), threshold=plain["threshold"])


class GaussianState(SequentialState):
    """The class probabilities of one example, and the Gaussians of its remaining features.

    Parameters
    ----------
    model : LocalGaussians
    """

    def __init__(self, model: LocalGaussians) -> None:
        super().__init__(model.prior, None)
        self._model = model
        self._squared_distances = np.zeros(len(model.labels))
        self._log_p = np.log(model.prior)
        self._scores_bought: list[float] = []
        if model.buys_anything:
            self._choose()

    def observe(self, value: float) -> None:
        """Take the value of the next feature, update the classes, and stop or choose again."""
        model, feature = self._model, self.next_feature
        assert feature is not None
        self.bought.append(feature)
        if np.isnan(value):  # says nothing about the class
            self._scores_bought.append(0.0)
        else:
            score = (value - model.center[feature]) * model.unit[feature]
            score = min(max(score, -MAX_STANDARD_SCORE), MAX_STANDARD_SCORE)
            self._scores_bought.append(score)
            column = int(np.flatnonzero(self._rest == feature)[0])
            density = _log_density(score, self._mean, self._variance)
            updated = self._log_p + density[:, column]
            self._log_p = _normalize(updated[:, np.newaxis])[:, 0]
            self._squared_distances += (model.standard_scores[:, feature] - score) ** 2
        p_correct = float(np.exp(self._log_p.max()))
        self.history.append(Step(p_correct, p_correct, int(self._log_p.argmax())))
        self.next_feature = None
        if not p_correct > model.threshold and len(self.bought) < len(model.order):
            self._choose()

    def _choose(self) -> None:
        """Fit the Gaussians of the remaining features, and choose the one of the largest value."""
        model = self._model
        self._rest = model.order[~np.isin(model.order, self.bought)]
        # The bandwidth is the median distance to the training rows.
        bandwidth = float(np.median(self._squared_distances))
        weights = np.exp(-self._squared_distances / (2.0 * bandwidth or 1.0)) + MIN_ROW_WEIGHT
        fits = [self._regress(scores, weights[rows]) for rows, scores in model.class_rows]
        self._mean, self._variance = (np.array(part) for part in zip(*fits, strict=True))

        n_classes, n_rest = self._mean.shape
        size = max(1, MAX_CELLS // (n_classes**2 * len(NODES)))
        expected = np.empty(n_rest)
        for first in range(0, n_rest, size):
            some = slice(first, first + size)
            expected[some] = self._expected_p_correct(some)
        value = expected - model.price_now(self._rest, self.bought)
        self.next_feature = int(self._rest[np.argmax(value)])

    def _expected_p_correct(self, some: slice) -> Floats:
        """Return the expected probability of the best class after some features, by quadrature."""
        mean, variance = self._mean[:, some], self._variance[:, some]
        scores = mean[:, np.newaxis] + NODES[:, np.newaxis] * np.sqrt(variance)[:, np.newaxis]
        density = _log_density(scores[:, :, np.newaxis], mean, variance)
        p_correct = np.exp(_normalize(self._log_p[:, np.newaxis] + density).max(axis=-2))
        return np.asarray(np.einsum("k,q,kqr->r", np.exp(self._log_p), WEIGHTS, p_correct))

    def _regress(self, scores: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance, (r,) each, of the remaining features in one class.

        By locally weighted ridge regression of the remaining on the bought features.
        """
        bought = np.column_stack([np.ones(len(scores)), scores[:, self.bought]])
        rest = scores[:, self._rest]
        weighted = bought * weights[:, np.newaxis]
        ridge = np.full(bought.shape[1], self._model.ridge)
        ridge[0] = INTERCEPT_RIDGE
        normal = weighted.T @ bought + np.diag(ridge)
        try:
            coefficients = np.linalg.solve(normal, weighted.T @ rest)
        except np.linalg.LinAlgError:  # the ridge is lost beside scores that are far too large
            coefficients = np.linalg.lstsq(normal, weighted.T @ rest)[0]
        residual = rest - bought @ coefficients
        variance = (weights @ residual**2) / weights.sum()
        mean = np.array([1.0, *self._scores_bought]) @ coefficients
        return mean, np.maximum(variance, MIN_VARIANCE)


def _log_density(scores: float | Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the log-density (..., K, r) of standard scores of features, by class."""
    gap = scores - mean
    return np.asarray(-0.5 * (gap**2 / variance + np.log(2 * math.pi * variance)))


def _normalize(log_p: Floats) -> Floats:
    """Return log-probabilities (..., K, r) shifted so that they sum to 1 over the K classes."""
    top = log_p.max(axis=-2, keepdims=True)
    return np.asarray(log_p - (top + np.log(np.exp(log_p - top).sum(axis=-2, keepdims=True))))
