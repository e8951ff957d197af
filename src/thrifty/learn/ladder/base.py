"""Ladders: boosted models on nested sets of features, climbed as long as the next rung pays off.

`Ladder._fit_rungs` has all the steps. The two estimators differ in the loss that is boosted, in
the loss of a row that stops, and in where its uncertainty comes from.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.learn._sklearn import Interval
from thrifty.learn.base import PricedEstimator
from thrifty.learn.binned import Binned
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.folds import assign_folds
from thrifty.learn.ladder.feature_order import sold_in_groups
from thrifty.learn.ladder.rungs import BinnedRows, OutOfFold, Rows, Rung, RungTrainer
from thrifty.learn.ladder.stopping import FittedLadder, RungOutputs, StoppingEvidence
from thrifty.learn.losses import Loss
from thrifty.learn.point import Point
from thrifty.model import Forest

__all__ = ["Ladder"]

# Without a validation set, one training row in five is held out.
HOLD_OUT_FOLDS = 5
# More validation rows than this do not make early stopping better, only slower.
MAX_MONITORED_ROWS = 2000
# Largest number of leaves of a tree; more, or a depth alone, did worse on the top rungs.
MAX_LEAVES = 31


class Splits(NamedTuple):
    """All rows of a fit, and every random division of them.

    `train` and `validation` are the rows to fit on and to choose the thresholds on. `monitored`
    are the validation rows on which boosting is stopped. `half` (n,) is 0 or 1 for each training
    row, to order groups by trial; None unless everything is sold in groups. `fold` (n,) is the fold
    of each training row, for out-of-fold outputs; None if they are not needed.
    """

    train: BinnedRows
    validation: Rows
    monitored: Rows
    half: NDArray[np.int64] | None
    fold: NDArray[np.int64] | None


class Ladder(PricedEstimator):
    """Base of the ladders for classification and regression."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "n_rungs": [Interval(Integral, 1, None, closed="left")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, 12, closed="both")],
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
        "folds": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }
    # With fewer validation rows than this, training rows are scored out of fold as well.
    _enough_validation_rows: ClassVar[float]

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        n_rungs: int = 12,
        n_estimators: int = 250,
        learning_rate: float = 0.2,
        max_depth: int = 8,
        min_samples_leaf: float = 20,
        folds: int = 3,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.n_rungs = n_rungs
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.folds = folds
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Fit the rungs, and choose the stopping thresholds for the cost weight `penalty`.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Target.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv), optional
            A validation set for early stopping and for the stopping thresholds; without it, a fifth
            of the rows is held out.
        """
        train = self._read_training(X, y, sample_weight)
        held_out = None if validation is None else self._read_validation(validation, train)
        ladder = self._fit_rungs(train, held_out)
        model = ladder.model(ladder.thresholds(self.penalty))
        self._predictor = self._predictor_of(model, train, {"penalty": float(self.penalty)})
        return self

    def path(
        self, X: Any, y: Any, *, validation: tuple[Any, Any], sample_weight: Any = None
    ) -> Iterator[Point]:
        """Yield operating points, cheapest first: every rung by itself, and 25 cost weights.

        All points share the same rungs. The first one is the constant, at bill 0.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            The validation set: bill and quality are measured on it, it stops boosting, and the
            thresholds are chosen on it.
        """
        train = self._read_training(X, y, sample_weight)
        held_out = self._read_validation(validation, train)
        ladder = self._fit_rungs(train, held_out)
        settings: list[tuple[dict[str, Any], NDArray[np.float64]]] = [
            ({"rung": rung}, ladder.thresholds_of_rung(rung)) for rung in range(len(ladder.rungs))
        ]
        for cost_weight in ladder.evidence.cost_weights():
            settings.append(({"penalty": cost_weight}, ladder.thresholds(cost_weight)))
        points: dict[bytes, Point] = {}
        for knob, thresholds in settings:
            # Several cost weights may lead to the same model, or to a rung by itself.
            if thresholds.tobytes() not in points:
                predictor = self._predictor_of(ladder.model(thresholds), train, knob)
                outputs = ladder.validation_outputs(thresholds)
                points[thresholds.tobytes()] = Point.measure(predictor, held_out, outputs)
        # Stable: of points with equal bills, the constant comes first.
        return iter(sorted(points.values(), key=lambda point: point.bill))

    def _fit_rungs(self, train: TrainingSet, validation: ValidationSet | None) -> FittedLadder:
        """Fit and calibrate the rungs, then gather what the stopping thresholds are chosen by."""
        prices = train.prices
        rows, held_out, monitored, half, fold = self._split(train, validation)
        trainer = RungTrainer(
            prices, self._loss, self.n_rungs, self.n_estimators, self.learning_rate,
            self.max_depth, MAX_LEAVES, self.min_samples_leaf,
        )  # fmt: skip
        feature_sets = None if half is None else trainer.order_groups(rows, half)
        rungs = trainer.fit_rungs(rows, monitored, feature_sets)
        folded = [] if fold is None else trainer.score_out_of_fold(rows, rungs, fold)
        if train.task == "classification":
            rungs, folded = trainer.calibrate(rows, monitored, rungs, folded)
        models = [None, *self._uncertainty_models(trainer, rows, rungs, folded)]
        loss = trainer.loss(rows)
        constant = Forest.constant(loss.start(), loss.link, train.n_features)
        forests = [constant, *(rung.forest for rung in rungs)]
        outputs = RungOutputs.of(forests, models, held_out.X)
        evidence = self._evidence(outputs, held_out, prices)
        # Not for regression: its uncertainty models are fitted to the out-of-fold errors.
        if folded and train.task == "classification":
            on_train = RungOutputs.out_of_fold(forests, folded, rows.X)
            evidence += self._evidence(on_train, rows, prices)
        return FittedLadder(forests, models, prices, outputs, evidence)

    def _split(self, train: TrainingSet, validation: ValidationSet | None) -> Splits:
        """Make every random choice of a fit, before anything is fitted."""
        random = check_random_state(self.random_state)
        rows = Rows(train.X, train.y, train.weight)
        if validation is None:
            part = assign_folds(rows.y, HOLD_OUT_FOLDS, random)
            held_out = rows.take(np.flatnonzero(part == 0))
            rows = rows.take(np.flatnonzero(part > 0))
        else:
            held_out = Rows(validation.X, validation.y, None)
        binned = Binned.of(rows.X, train.categorical, random)
        n_folds = self.folds if len(held_out) < self._enough_validation_rows else 0
        if len(rows) < n_folds:
            raise DataError(
                f"folds: {n_folds} folds need at least as many training rows, there are "
                f"{len(rows)}; give more rows or fewer folds"
            )
        monitored = np.sort(random.permutation(len(held_out))[:MAX_MONITORED_ROWS])
        half = assign_folds(rows.y, 2, random) if sold_in_groups(train.prices) else None
        fold = assign_folds(rows.y, n_folds, random) if n_folds else None
        binned_rows = BinnedRows(rows.X, rows.y, rows.weight, binned)
        return Splits(binned_rows, held_out, held_out.take(monitored), half, fold)

    def _evidence(self, outputs: RungOutputs, rows: Rows, prices: BoundPrices) -> StoppingEvidence:
        """Compute what rows lose and pay if they stop on each rung."""
        loss = [
            self._stopping_loss(scores, uncertainty, rows.y)
            for scores, uncertainty in zip(outputs.scores, outputs.uncertainty, strict=True)
        ]
        bills = outputs.bills(prices, np.ones(len(loss), dtype=bool))
        return StoppingEvidence(outputs.uncertainty, np.array(loss), bills, rows.unit_weights)

    @abstractmethod
    def _loss(self, y: NDArray[Any], weight: NDArray[np.float64] | None) -> Loss:
        """Bind the loss that is boosted to a target and weights (n,)."""

    @abstractmethod
    def _stopping_loss(
        self, scores: NDArray[np.float64], uncertainty: NDArray[np.float64], y: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return the loss of rows that stop with these scores, (n,)."""

    def _uncertainty_models(
        self,
        trainer: RungTrainer,
        train: BinnedRows,
        rungs: Sequence[Rung],
        folded: Sequence[OutOfFold],
    ) -> list[Forest | None]:
        """Return an uncertainty model for each rung; None where class probabilities suffice."""
        return [None] * len(rungs)
