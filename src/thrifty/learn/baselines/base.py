"""What the baselines share that train from a table and its target: `fit`, `path`, small helpers.

A baseline has one knob that trades cost for accuracy. The work that does not depend on the knob is
done once and kept in a `FittedPath`, which then makes a frozen model for each value of the knob:
`fit` takes the value in the constructor, `path` takes all of them. A baseline for two classes
derives from `OneVsRestBaseline`, which trains one path per class if there are more.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn._sklearn import StrOptions
from thrifty.learn.base import PRICE_LISTS, PricedClassifier, PricedEstimator
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.point import Point
from thrifty.model import Forest, Frozen
from thrifty.model.one_vs_rest import OneVsRest

__all__ = [
    "BaselineClassifier",
    "BaselineEstimator",
    "FittedPath",
    "Knob",
    "OneVsRestBaseline",
    "as_signs",
    "normalized_weights",
    "one_vs_rest",
    "penalty_grid",
    "standalone_prices",
    "weighted_quantile",
]

Floats = NDArray[np.float64]
Knob = dict[str, Any]

# A grid of penalties has this many positive values; the smallest is this share of the largest.
N_PENALTIES = 12
SMALLEST_PENALTY = 1e-3
# Cumulative weights depend on the order of summation: a share this close to the target reaches it.
SHARE_TOL = 1e-9


class FittedPath(Protocol):
    """The part of training that all values of the knob share."""

    def model(self, knob: Knob) -> Frozen:
        """Return the frozen model for one value of the knob."""

    def knobs(self) -> Sequence[Knob]:
        """Return values of the knob that cover its whole range."""


class BaselineEstimator(PricedEstimator):
    """Base of the baselines: `fit` makes one model of a fitted path, `path` makes all of them."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on a table and its target.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels, or numbers for a regressor.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        train = self._read_training(X, y, sample_weight)
        train.require_every_class()
        knob = self._knob()
        model = self._fit_path(train).model(knob)
        self._predictor = self._predictor_of(model, train, knob)
        return self

    def path(
        self, X: Any, y: Any, *, validation: tuple[Any, Any], sample_weight: Any = None
    ) -> Iterator[Point]:
        """Return operating points, cheapest first, from the constant model at bill 0.

        Parameters are those of `fit`. Bill and quality, which is the accuracy, or R2 for a
        regressor, are measured on the validation set.
        """
        train = self._read_training(X, y, sample_weight)
        train.require_every_class()
        validation_set = self._read_validation(validation, train)
        fitted = self._fit_path(train)
        if train.classes is None:
            mean = float(normalized_weights(train) @ train.y)
            constant = Forest.constant([mean], "sum", train.n_features)
        else:
            constant = train.constant
        models: list[tuple[Knob, Frozen]] = [({}, constant)]
        models += [(knob, fitted.model(knob)) for knob in fitted.knobs()]
        points = [
            Point.measure(self._predictor_of(model, train, knob), validation_set)
            for knob, model in models
        ]
        # The sort is stable: the constant model stays first.
        return iter(sorted(points, key=lambda point: point.bill))

    @abstractmethod
    def _knob(self) -> Knob:
        """Return the knob as the constructor sets it."""

    @abstractmethod
    def _fit_path(self, train: TrainingSet) -> FittedPath:
        """Do the training that all values of the knob share."""


class BaselineClassifier(PricedClassifier, BaselineEstimator):
    """Base of the baselines for classification."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }


class OneVsRestBaseline(BaselineClassifier):
    """Base of the baselines for two classes; more classes are trained one-vs-rest."""

    def _fit_path(self, train: TrainingSet) -> FittedPath:
        """Fit one two-class path, or one for each class against the rest."""
        if train.n_classes == 2:
            return self._fit_binary(train)
        return _OneVsRestPath(
            [self._fit_binary(one_vs_rest(train, code)) for code in range(train.n_classes)]
        )

    @abstractmethod
    def _fit_binary(self, train: TrainingSet) -> FittedPath:
        """Do the training that all values of the knob share, for class codes 0 and 1."""


class _OneVsRestPath:
    """One fitted path per class, all at the same knob."""

    def __init__(self, paths: Sequence[FittedPath]) -> None:
        self.paths = paths

    def model(self, knob: Knob) -> Frozen:
        """Join the models of all classes at one value of the knob."""
        return OneVsRest.of([path.model(knob) for path in self.paths])

    def knobs(self) -> Sequence[Knob]:
        """Return the knobs of the class whose range goes furthest.

        At its end the models of all other classes are constant, too.
        """

        def largest(knobs: Sequence[Knob]) -> float:
            return max((value or 0.0 for knob in knobs for value in knob.values()), default=0.0)

        return max((path.knobs() for path in self.paths), key=largest)


def one_vs_rest(train: TrainingSet, code: int) -> TrainingSet:
    """Return the same rows with two classes: 1 for one class code, 0 for all others."""
    return replace(train, y=(train.y == code).astype(np.int64), classes=np.array([0, 1]))


def as_signs(train: TrainingSet) -> Floats:
    """Return the class codes 0 and 1 as -1.0 and 1.0, (n,)."""
    return np.where(train.y == 1, 1.0, -1.0)


def normalized_weights(train: TrainingSet) -> Floats:
    """Return the weights of the rows divided by their sum, (n,)."""
    return np.asarray(train.weights / train.weights.sum())


def standalone_prices(prices: BoundPrices) -> Floats:
    """Return what each column costs if it is the only one bought, shared price included, (d,).

    Examples
    --------
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines.base import standalone_prices
    >>> standalone_prices(Prices([1, 3, 1], groups={"lab": [1, 2]}, shared={"lab": 2}).bind(3))
    array([1., 5., 3.])
    """
    return prices.first_prices


def penalty_grid(largest: float, n_penalties: int = N_PENALTIES) -> list[float]:
    """Return penalties that decrease geometrically from `largest`, and 0 at the end.

    Examples
    --------
    >>> from thrifty.learn.baselines.base import penalty_grid
    >>> [round(penalty, 6) for penalty in penalty_grid(2.0, n_penalties=4)]
    [2.0, 0.2, 0.02, 0.002, 0.0]
    >>> penalty_grid(0.0)  # all features are free
    [0.0]
    """
    if largest <= 0:
        return [0.0]
    return [*(largest * np.geomspace(1.0, SMALLEST_PENALTY, n_penalties)).tolist(), 0.0]


def weighted_quantile(values: Floats, weight: Floats, share: float) -> float:
    """Return the smallest value such that the rows up to it have a `share` of the weight.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines.base import weighted_quantile
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 0.75)
    2.0
    """
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weight[order])
    index = np.searchsorted(cumulative, (share - SHARE_TOL) * cumulative[-1])
    return float(values[order][min(index, len(values) - 1)])
