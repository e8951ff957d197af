"""GreedyMiser: boosted trees that pay for each feature once (002 sec. 2.1, algorithm 3).

A tree is fitted to the negative gradient by least squares plus lambda times the price of the
features, and of the entries to groups, that no earlier split has bought (eq. 2.5). Lambda is the
`penalty`: the loss per row that one unit of price must save. At 0 it is plain stage-wise
regression.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.bundle import Predictor, Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.kernels.threads import blocks, run
from thrifty.learn.base import PricedEstimator
from thrifty.learn.binned import Binned
from thrifty.learn.boosting import Boosting
from thrifty.learn.bought import Bought
from thrifty.learn.grower import Grower
from thrifty.learn.held_out import HeldOut
from thrifty.learn.losses import Loss
from thrifty.learn.point import Point
from thrifty.learn.prefixes import useful_prefixes
from thrifty.learn.watch import Watch, boost
from thrifty.model import Forest

__all__ = ["GreedyMiser", "Task"]

# The path: penalties from the largest at which anything is bought down to this share of it, and 0.
SMALLEST_PENALTY = 1e-4
PENALTIES = 12


@dataclass(frozen=True, eq=False)
class Task:
    """A table and a target, read and checked: what every penalty of a path shares."""

    schema: Schema
    prices: BoundPrices
    X: NDArray[np.floating]
    loss: Loss
    weight: NDArray[np.float64] | None
    classes: NDArray[Any] | None = None


class GreedyMiser(PricedEstimator):
    """What the three estimators share; they differ in target, loss and quality."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "charge": [StrOptions({"model", "example"})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, 12, closed="both")],
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    penalty: float
    charge: str
    n_estimators: int
    learning_rate: float
    max_depth: int
    min_samples_leaf: float
    random_state: Any

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        charge: str = "model",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.charge = charge
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    @abstractmethod
    def _held_out(self, task: Task, validation: Sequence[Any]) -> HeldOut:
        """Read and check a validation set."""

    def _validation_rows(self, task: Task, validation: Sequence[Any]) -> NDArray[np.floating]:
        if len(validation) < 2:
            raise DataError("validation: give the table and its target, (X, y)")
        return task.schema.encode(self._as_table(validation[0], reset=False))

    def _fit(self, task: Task, validation: Sequence[Any] | None) -> Self:
        watch = None if validation is None else Watch(self._held_out(task, validation))
        forest = self._learn(task, self._bin(task), self.penalty, watch)
        self._predictor = self._predictor_of(task, forest, self.penalty)
        return self

    def _path(
        self, task: Task, validation: Sequence[Any], penalties: Sequence[float] | None
    ) -> Iterator[Point]:
        held_out = self._held_out(task, validation)
        binned = self._bin(task)
        if penalties is None:
            penalties = self._penalties(task, binned)
        ordered = sorted(penalties, reverse=True)
        forests: list[Forest | None] = [None] * len(ordered)

        def learn(first: int, last: int) -> None:
            for k in range(first, last):
                forests[k] = self._learn(task, binned, ordered[k], Watch(held_out))

        # The penalties do not depend on each other: a thread takes one after the other.
        run(learn, blocks(len(ordered), 1))
        points: list[Point] = []
        for penalty, forest in zip(ordered, forests, strict=True):
            assert forest is not None
            for prefix in useful_prefixes(forest, held_out, task.prices):
                if prefix.trees or not points:
                    model = self._predictor_of(task, forest.prefix(prefix.trees), penalty)
                    points.append(Point(model.knob or {}, model, prefix.bill, prefix.quality))
        # Stable: of points that cost the same, the larger penalty comes first, the constant before.
        return iter(sorted(points, key=lambda point: point.bill))

    def _bin(self, task: Task) -> Binned:
        categorical = np.array([column.categories is not None for column in task.schema.columns])
        return Binned.of(task.X, categorical, check_random_state(self.random_state))

    def _learn(self, task: Task, binned: Binned, penalty: float, watch: Watch | None) -> Forest:
        """Algorithm 3: one purse, then tree after tree."""
        bought = Bought(task.prices, len(task.X), self.charge)
        grower = self._grower(task, binned, bought, penalty, self.max_depth)
        return boost(Boosting(task.loss, grower, self.learning_rate), self.n_estimators, watch)

    def _grower(
        self, task: Task, binned: Binned, bought: Bought, penalty: float, max_depth: int
    ) -> Grower:
        return Grower(
            binned,
            bought,
            penalty=penalty,
            max_depth=max_depth,
            min_samples_leaf=self.min_samples_leaf,
            weight=task.weight,
        )

    def _penalties(self, task: Task, binned: Binned) -> list[float]:
        """Geometric from the largest penalty at which a first split still pays, and 0."""
        bought = Bought(task.prices, len(task.X), "model")
        grower = self._grower(task, binned, bought, 0.0, max_depth=1)
        start = np.repeat(task.loss.start()[:, np.newaxis], len(task.X), axis=1)
        due = bought.due()
        priced = due > 0
        largest = 0.0
        for target in task.loss.derivatives(start)[0]:
            gain = grower.grow(target).gain[0]
            worth = gain[priced] / (2.0 * grower.rows_weight * due[priced])
            largest = max(largest, float(worth.max(initial=0.0)))
        if largest == 0.0:
            return [0.0]
        return [*np.geomspace(0.75 * largest, largest * SMALLEST_PENALTY, PENALTIES).tolist(), 0.0]

    def _predictor_of(self, task: Task, forest: Forest, penalty: float) -> Predictor:
        knob = {"penalty": float(penalty), "trees": len(forest.roots)}
        return self._freeze(forest, task.schema, task.prices, task.classes, knob)
