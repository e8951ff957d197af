"""The base class of classifiers that buy one feature at a time for each row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.base import PricedClassifier
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.point import Point, ValidationOutputs
from thrifty.model.sequential.base import SequentialModel, SequentialStates

__all__ = ["SequentialClassifier", "Stop", "stops_at_thresholds", "weighted_prices"]

Floats = NDArray[np.float64]

# Maximum number of operating points of a path, without the constant.
MAX_POINTS = 30


class Stop(NamedTuple):
    """One operating point of a run over the validation set: where each row stops."""

    knob: dict[str, Any]
    """The hyperparameter of the point."""

    model: SequentialModel
    """The model that stops there."""

    steps: NDArray[np.int64]
    """(n,): number of purchases of each validation row."""


class SequentialClassifier(PricedClassifier):
    """Base of the classifiers that buy one feature at a time.

    A subclass trains the model that buys everything (`_train`). The model of any operating point
    differs from it only in when rows stop; here they stop at a threshold of the estimate.
    """

    threshold: float

    def fit(self, X: Any, y: Any) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            Text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels.
        """
        train = self._read_training(X, y)
        knob, model = self._stop_early(self._train(train))
        self._predictor = self._predictor_of(model, train, knob)
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        thresholds: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Return operating points over the threshold, cheapest first.

        One run over the validation set without early stopping shows where each row would stop at
        any threshold. The first point is the constant, at a bill of 0. Quality is the accuracy.

        Parameters
        ----------
        X, y
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured.
        thresholds : sequence of float, optional
            By default up to 30 of the estimates that occur in the run.
        """
        return self._path(X, y, validation, partial(stops_at_thresholds, thresholds=thresholds))

    @abstractmethod
    def _train(self, train: TrainingSet) -> SequentialModel:
        """Return the model that stops only when everything is bought."""

    def _stop_early(self, model: SequentialModel) -> tuple[dict[str, Any], SequentialModel]:
        """Return the knob of this estimator, and the model that stops as its parameters say."""
        return {"threshold": float(self.threshold)}, model.with_threshold(self.threshold)

    def _path(
        self,
        X: Any,
        y: Any,
        validation: Any,
        stops: Callable[[SequentialModel, SequentialStates], Iterable[Stop]],
    ) -> Iterator[Point]:
        """Return points of increasing bills, all from one run over the validation set.

        `stops` says where each row of that run stops at every point; the first is the constant.
        """
        train = self._read_training(X, y)
        validation_set = self._read_validation(validation, train)
        full = self._train(train)
        states = full.run(validation_set.X)
        points: list[Point] = []
        for knob, model, steps in stops(full, states):
            bills = train.prices.bill(model.used_after(states, steps), steps)
            outputs = ValidationOutputs(model.scores_after(states, steps), bills)
            predictor = self._predictor_of(model, train, knob)
            point = Point.measure(predictor, validation_set, outputs)
            if not points or point.bill > points[-1].bill:
                points.append(point)
        return iter(points)


def stops_at_thresholds(
    full: SequentialModel, states: SequentialStates, thresholds: Sequence[float] | None = None
) -> Iterator[Stop]:
    """Yield where rows stop at increasing thresholds, from the constant.

    Parameters
    ----------
    full : SequentialModel
        The model that buys everything.
    states : SequentialStates
        Its run over the validation set.
    thresholds : sequence of float, optional
        By default up to 30 of the estimates that occur in the run, from the frequency of the
        largest class up to 1, at which everything is bought.
    """
    yield Stop({"threshold": 0.0}, full.with_threshold(0.0), np.zeros_like(states.steps))
    if thresholds is None:
        smallest = float(full.prior.max())
        found = np.unique(states.estimate[states.estimate > smallest])
        # Evenly spaced among the estimates; empty if there are none.
        places = np.linspace(0, len(found), MAX_POINTS - 2, endpoint=False).astype(np.int64)
        thresholds = [smallest, *(found[places].tolist() if len(found) else []), 1.0]
    for threshold in sorted({float(threshold) for threshold in thresholds}):
        model = full.with_threshold(threshold)
        if model.buys_anything:
            yield Stop({"threshold": threshold}, model, states.steps_at(threshold))


def weighted_prices(prices: BoundPrices, alpha: float) -> tuple[Floats, Floats]:
    """Return the prices of features (d,) and of groups (g,) in units of the estimate.

    A feature of the mean price loses `alpha` in the choice, so the unit of the prices does not
    matter.

    Examples
    --------
    >>> from thrifty import Prices
    >>> from thrifty.learn.neighbors.base import weighted_prices
    >>> weighted_prices(Prices([1.0, 3.0]).bind(2), alpha=0.1)[0]
    array([0.05, 0.15])
    """
    rate = alpha * len(prices.own) / prices.full if prices.full > 0 else 0.0
    return rate * prices.own, rate * prices.shared
