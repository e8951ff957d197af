"""GreedyMiser: boosted trees that pay for each feature once (Xu 2014, sec. 2.1, algorithm 3).

A tree is fitted to the negative gradient by least squares plus lambda times the price of the
features, and of the entries to groups, that no earlier split has bought (eq. 2.5). Lambda is the
`penalty`: the loss per row that one unit of price must save. At 0 it is plain stage-wise
regression.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.boosting.early_stopping import Watch, boost
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.path import Continuation
from thrifty.learn.boosting.purchases import Bought
from thrifty.learn.boosting.validation_tracker import Followed, HeldOut, Stop
from thrifty.learn.losses import Loss
from thrifty.learn.point import Point
from thrifty.model import Forest

__all__ = ["GreedyMiser", "Task"]


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
        levels, last = _levels(penalties)
        held_out = self._held_out(task, validation)
        binned = self._bin(task)
        bins = binned.bins_of(held_out.X)
        falling, staying = (self._continuation(task, binned, held_out, bins) for _ in range(2))
        jobs = (partial(falling.fall, levels), partial(staying.stay, last))
        # The two do not depend on each other: a thread takes one.
        run(lambda job, _: jobs[job](), blocks(2, 1))
        points = self._points(task, falling)
        # Both start from the constant.
        points += self._points(task, staying)[min(len(points), 1) :]
        # Stable: of points that cost the same, those of the falling penalty come first.
        return iter(sorted(points, key=lambda point: point.bill))

    def _continuation(
        self, task: Task, binned: Binned, held_out: HeldOut, bins: NDArray[np.uint8]
    ) -> Continuation:
        followed = Followed(held_out, task.prices, bins, task.loss.start())
        boosting = self._boosting(task, binned, 0.0, followed)
        return Continuation(boosting, followed, self.n_estimators)

    def _points(self, task: Task, continuation: Continuation) -> list[Point]:
        forest = continuation.boosting.freeze()
        return [self._point(task, forest, stop) for stop in continuation.followed.stops()]

    def _point(self, task: Task, forest: Forest, stop: Stop) -> Point:
        model = self._predictor_of(task, forest.prefix(stop.trees), stop.penalty)
        return Point(model.knob or {}, model, stop.bill, stop.quality, stop.heard)

    def _bin(self, task: Task) -> Binned:
        categorical = np.array([column.categories is not None for column in task.schema.columns])
        return Binned.of(task.X, categorical, check_random_state(self.random_state))

    def _learn(self, task: Task, binned: Binned, penalty: float, watch: Watch | None) -> Forest:
        """Algorithm 3: one purse, then tree after tree."""
        return boost(self._boosting(task, binned, penalty), self.n_estimators, watch)

    def _boosting(
        self, task: Task, binned: Binned, penalty: float, followed: Followed | None = None
    ) -> Boosting:
        grower = Grower(
            binned,
            Bought(task.prices, len(task.X), self.charge),
            penalty=penalty,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            weight=task.weight,
        )
        return Boosting(task.loss, grower, self.learning_rate, followed)

    def _predictor_of(self, task: Task, forest: Forest, penalty: float) -> Predictor:
        knob = {"penalty": float(penalty), "trees": len(forest.roots)}
        return self._freeze(forest, task.schema, task.prices, task.classes, knob)


def _levels(penalties: Sequence[float] | None) -> tuple[list[float] | None, float]:
    """The penalties to fall through, None for those that buy something, and that of a run apart."""
    if penalties is None:
        return None, 0.0
    if not len(penalties):
        raise DataError("penalties: give at least one")
    *levels, last = sorted(set(penalties), reverse=True)
    return levels, last
