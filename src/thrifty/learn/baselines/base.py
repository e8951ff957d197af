"""What the rivals that learn from labels share: reading, one model for a knob, and the points.

A rival does its shared work once, as a `Learner`; the learner then gives a frozen model for each
setting of the knob. One that tells two classes apart has a learner for each class against the
rest where there are more.

A range of penalties, from one at which nothing is bought down to none.

Quantiles of rows that have weights.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from thrifty.bundle import Predictor, Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.learn.base import PricedClassifier
from thrifty.learn.budget_forest.grower import constant_forest
from thrifty.learn.point import Point
from thrifty.model import Frozen
from thrifty.model.one_vs_rest import OneVsRest

__all__ = ["Knob", "Learner", "Rival", "Task", "TwoClassRival", "penalties", "weighted_quantile"]

Floats = NDArray[np.float64]
Knob = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Task:
    """A table and its labels, read and checked."""

    schema: Schema
    prices: BoundPrices
    X: NDArray[np.floating]
    codes: NDArray[np.int64]
    weight: Floats | None
    n_classes: int

    @property
    def shares(self) -> Floats:
        """Share of each class among the rows, (K,)."""
        counts = np.bincount(self.codes, self.weight, self.n_classes)
        return np.asarray(counts / counts.sum())

    @property
    def weights(self) -> Floats:
        """Weights of the rows, in all 1."""
        weight = np.ones(len(self.X)) if self.weight is None else self.weight
        return np.asarray(weight / weight.sum())

    @property
    def signs(self) -> Floats:
        """The two classes as -1 and 1."""
        return np.where(self.codes == 1, 1.0, -1.0)

    @property
    def tolls(self) -> Floats:
        """What each column costs bought alone, the entry to its group included, (d,)."""
        entry = np.append(self.prices.shared, 0.0)[self.prices.group]
        return np.asarray(self.prices.own + entry)

    def against(self, code: int) -> Task:
        """One class, as class 1, against the rest."""
        return replace(self, codes=(self.codes == code).astype(np.int64), n_classes=2)


class Learner(Protocol):
    """Work that all settings of a knob share."""

    def model(self, knob: Knob) -> Frozen:
        """The frozen model for a setting."""

    def knobs(self) -> Sequence[Knob]:
        """Settings over the whole range."""


class Rival(PricedClassifier):
    """Base of the rivals."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        task = self._task(X, y, sample_weight)
        knob = self._knob()
        model = self._learner(task).model(knob)
        self._predictor = self._predictor_of(task, model, knob)
        return self

    def path(
        self, X: Any, y: Any, *, validation: tuple[Any, Any], sample_weight: Any = None
    ) -> Iterator[Point]:
        """Operating points, cheapest first, from the constant at bill 0.

        Quality is the accuracy. Parameters are those of `fit`; bill and quality are measured on
        the validation rows.
        """
        task = self._task(X, y, sample_weight)
        if len(validation) < 2:
            raise DataError("validation: give the table and its target, (X, y)")
        rows = task.schema.encode(self._as_table(validation[0], reset=False))
        codes = self._codes(validation[1], len(rows))
        learner = self._learner(task)
        nothing = constant_forest(task.shares, len(task.schema))
        found: list[tuple[Knob, Frozen]] = [({}, nothing)]
        found += [(knob, learner.model(knob)) for knob in learner.knobs()]
        points = [self._point(task, knob, model, rows, codes) for knob, model in found]
        # Stable: the constant stays the first.
        return iter(sorted(points, key=lambda point: point.bill))

    @abstractmethod
    def _knob(self) -> Knob:
        """The knob as it is set."""

    @abstractmethod
    def _learner(self, task: Task) -> Learner:
        """Do the work that all settings share."""

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        self._validate_params()
        schema, prices, rows, codes, weight = self._read_labeled(X, y, sample_weight)
        if len(np.unique(codes)) < len(self.classes_):
            raise DataError("target: every class needs a row of positive weight")
        return Task(schema, prices, rows, codes, weight, len(self.classes_))

    def _point(
        self,
        task: Task,
        knob: Knob,
        model: Frozen,
        rows: NDArray[np.floating],
        codes: NDArray[np.int64],
    ) -> Point:
        bills = task.prices.bill(model.used(rows), model.evaluations(rows))
        right = model.score(rows).argmax(axis=1) == codes
        predictor = self._predictor_of(task, model, knob)
        return Point(knob, predictor, float(bills.mean()), float(right.mean()))

    def _predictor_of(self, task: Task, model: Frozen, knob: Knob) -> Predictor:
        return self._freeze(model, task.schema, task.prices, self.classes_, knob)


class TwoClassRival(Rival):
    """Base of the rivals that tell two classes apart; more are told one against the rest."""

    def _learner(self, task: Task) -> Learner:
        if task.n_classes == 2:
            return self._one_learner(task)
        parts = [self._one_learner(task.against(code)) for code in range(task.n_classes)]
        return _AgainstRest(parts)

    @abstractmethod
    def _one_learner(self, task: Task) -> Learner:
        """The learner of two classes."""


class _AgainstRest:
    """A learner for each class."""

    def __init__(self, parts: Sequence[Learner]) -> None:
        self._parts = parts

    def model(self, knob: Knob) -> Frozen:
        """The models of all classes, at the same setting."""
        return OneVsRest.of([part.model(knob) for part in self._parts])

    def knobs(self) -> Sequence[Knob]:
        """Those of the class whose knob goes furthest, so that its model becomes a constant too."""
        return max((part.knobs() for part in self._parts), key=_reach)


def _reach(knobs: Sequence[Knob]) -> float:
    return max((value or 0.0 for knob in knobs for value in knob.values()), default=0.0)


POINTS = 12
SPAN = 1e-3


def penalties(top: float, points: int = POINTS) -> list[float]:
    """Falling penalties below `top`, each the same part of the one before, and 0 at last.

    Examples
    --------
    >>> from thrifty.learn.baselines.base import penalties
    >>> len(penalties(2.0)), penalties(2.0)[0], penalties(0.0)
    (13, 2.0, [0.0])
    """
    if top <= 0:
        return [0.0]
    return [*(top * np.geomspace(1.0, SPAN, points)).tolist(), 0.0]


# Weights are summed in some order: what is this close to a share has reached it.
ROUNDING = 1e-9


def weighted_quantile(
    values: NDArray[np.float64], weight: NDArray[np.float64], share: float
) -> float:
    """The least value such that the rows up to it have a `share` of the weight.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines.base import weighted_quantile
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 0.75)
    2.0
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    place = np.searchsorted(reached, (share - ROUNDING) * reached[-1])
    return float(values[order][min(place, len(values) - 1)])
