"""GreedyMiser: gradient boosting that pays for each feature once (Xu 2014, sec. 2.1, algorithm 3).

A tree is fitted to the negative gradient by least squares, plus lambda times the price of the
features, and of the groups, that no earlier split has bought (eq. 2.5). Lambda is the `penalty`:
the loss per row that one unit of price must save. At 0 this is plain gradient boosting.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.bundle import Predictor
from thrifty.costs import PriceList
from thrifty.errors import DataError
from thrifty.kernels.threads import blocks, run
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS, PricedEstimator
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.cluster import ClusterBoosting, ClusterGrower, sum_rows
from thrifty.learn.boosting.early_stopping import ValidationMonitor, boost
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.penalty_path import RATE_FACTOR, PenaltyPath
from thrifty.learn.boosting.tree_part import PartSetup, TreePart
from thrifty.learn.boosting.validation_tracker import ValidationTracker
from thrifty.learn.cluster import ClusterTrainingSet
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.long_training_set import LongTrainingSet
from thrifty.learn.losses import Loss
from thrifty.learn.point import Point
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest

__all__ = ["GreedyMiser"]


class GreedyMiser(PricedEstimator):
    """Base of the three estimators, which differ in their loss."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "charge": [StrOptions({"model", "example"})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, 12, closed="both")],
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    _reads_files = _reads_weights = _reads_dask = True

    def __init__(
        self,
        prices: PriceList | None = None,
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
    def _loss(self, data: TrainingSet | ValidationSet, weight: NDArray[np.float64] | None) -> Loss:
        """Bind the loss to the target of some rows."""

    def _bind_loss(self) -> Callable[[NDArray[Any]], Loss]:
        """Return a function that binds the loss to a target; workers of a cluster call it."""
        raise NotImplementedError

    def _fit(self, train: TrainingSet, validation: Any) -> Self:
        """Boost at the penalty; with a validation set, stop early."""
        monitor = None
        if validation is not None:
            held_out = self._read_validation(validation, train)
            monitor = ValidationMonitor(held_out.X, self._loss(held_out, None))
        _, start = self._prepare(train)
        boosting = start(self.penalty)
        forest = boost(boosting, self.n_estimators, monitor)
        knob = {"penalty": float(self.penalty), "trees": len(forest.roots)}
        self._predictor = self._predictor_of(forest, train, knob)
        return self

    def _path(
        self, train: TrainingSet, validation: Any, penalties: Sequence[float] | None
    ) -> Iterator[Point]:
        """Run boosting twice, with decreasing penalties and with a fixed one; merge the points."""
        if penalties is not None and not len(penalties):
            raise DataError("penalties: give at least one")
        # The smallest penalty has the run of its own; None stands for those that buy something.
        *levels, last = [0.0] if penalties is None else sorted(set(penalties), reverse=True)
        held_out = self._read_validation(validation, train)
        binned, start = self._prepare(train)
        bins = binned.bins_of(held_out.X)
        runs = (
            partial(PenaltyPath.decrease, penalties=None if penalties is None else levels),
            partial(PenaltyPath.hold, penalty=last),
        )
        found: list[list[Point]] = [[], []]

        def trace(number: int, _: int) -> None:
            boosting = start(0.0)
            boosting.tracker = tracker = ValidationTracker(
                held_out, self._loss(held_out, None), train.prices, bins, boosting.base
            )
            path = PenaltyPath(boosting, tracker, self.n_estimators)
            runs[number](path)
            found[number] = self._points(train, path)

        if isinstance(train, ClusterTrainingSet):
            # One after the other: the workers keep the outputs of one ensemble.
            trace(0, 1)
            trace(1, 2)
        else:
            # The two runs do not depend on each other: each gets a thread.
            run(trace, blocks(2, 1))
        points, of_fixed = found
        # Both runs start from the constant.
        points += of_fixed[min(len(points), 1) :]
        # Stable: of points with equal bills, those of the decreasing penalty come first.
        return iter(sorted(points, key=lambda point: point.bill))

    def refit(
        self,
        predictor: Predictor,
        train: LongTrainingSet | ClusterTrainingSet,
        evidence: ValidationSet,
        report: Callable[[float], None] | None = None,
        deadline: float = np.inf,
    ) -> list[Point]:
        """Return a point of as many trees, on the same features, of all rows of a long table.

        These may be on a cluster, with the same trees.

        None for a model without trees. The trees are grown without a penalty, as what they may
        read is settled. Points are measured on the evidence; the deadline is not needed, as there
        is one forest to grow.
        """
        model = predictor.model
        if not isinstance(model, Forest) or not len(model.roots):
            return []
        if train.classes is not None:
            self.classes_ = train.classes
        features = np.flatnonzero(model.support)
        if isinstance(train, ClusterTrainingSet):
            boosting: Boosting = self._place(train, "model", features)(0.0)
        else:
            purchases = Purchases(train.prices, len(train), "model")
            grower = Grower(
                train.binned, purchases, max_depth=self.max_depth, weight=train.weight,
                min_samples_leaf=self.min_samples_leaf, features=features,
            )  # fmt: skip
            loss = self._loss(train, train.weight)
            boosting = Boosting(loss, grower, self.learning_rate)
        if (predictor.knob or {}).get("penalty", 0.0) > 0:
            # While the penalty of a path decreases, the learning rate is larger.
            boosting.learning_rate *= RATE_FACTOR
        rounds = len(model.roots) // boosting.loss.outputs
        for done in range(1, rounds + 1):
            boosting.boost(1)
            if report is not None:
                report(done / rounds)
        return [Point.measure(predictor.replace(model=boosting.freeze()), evidence)]

    def _points(self, train: TrainingSet, path: PenaltyPath) -> list[Point]:
        """Make a point of each checkpoint: a prefix of the one forest."""
        forest = path.boosting.freeze()
        points = []
        for checkpoint in path.tracker.checkpoints():
            knob = {"penalty": float(checkpoint.penalty), "trees": checkpoint.trees}
            model = self._predictor_of(forest.prefix(checkpoint.trees), train, knob)
            outputs = checkpoint.outputs
            points.append(Point(knob, model, checkpoint.bill, checkpoint.quality, outputs))
        return points

    def _bin(self, train: TrainingSet) -> Binned:
        """Bin the training table, unless that was done while it was read."""
        if isinstance(train, LongTrainingSet):
            return train.binned
        return Binned.of(train.X, train.categorical, check_random_state(self.random_state))

    def _prepare(self, train: TrainingSet) -> tuple[Binned, Callable[[float], Boosting]]:
        """Bin the table; return the bins, and what starts an ensemble at a penalty."""
        if isinstance(train, ClusterTrainingSet):
            return train.binned, self._place(train, self.charge)
        binned = self._bin(train)
        return binned, partial(self._start, train, binned)

    def _start(self, train: TrainingSet, binned: Binned, penalty: float) -> Boosting:
        """Start an ensemble that has bought nothing yet."""
        grower = Grower(
            binned,
            Purchases(train.prices, len(train), self.charge),
            penalty=penalty,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            weight=train.weight,
        )
        return Boosting(self._loss(train, train.weight), grower, self.learning_rate)

    def _place(
        self, train: ClusterTrainingSet, charge: str, features: NDArray[np.int64] | None = None
    ) -> Callable[[float], ClusterBoosting]:
        """Bin the rows on the workers of a cluster; return what starts an ensemble on them.

        Each one that is started ends the one before, whose outputs the workers forget.
        """
        bind_loss = self._bind_loss()
        setup = PartSetup(
            train.binned.edges, train.categorical, train.prices, charge, self.max_depth,
            bind_loss, train.class_weight,
        )  # fmt: skip
        parts = train.place(TreePart, setup)
        # Bound to any target: its outputs, link and damping do not depend on it.
        loss = bind_loss(np.arange(max(train.n_classes, 1)))
        sums = sum_rows(parts, len(train), train.is_weighted)

        def start(penalty: float) -> ClusterBoosting:
            grower = ClusterGrower(
                parts,
                train.binned,
                Purchases(train.prices, 0, charge),
                sums,
                penalty=penalty,
                max_depth=self.max_depth,
                min_samples_leaf=self.min_samples_leaf,
                features=features,
            )
            return ClusterBoosting(loss, loss.start_from(sums.mean), grower, self.learning_rate)

        return start
