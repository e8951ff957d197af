"""Ladders: models on nested sets of features, climbed as long as the next rung pays off.

`Ladder._fit_ladder` has all the steps. The estimators differ in the loss of a row that stops, and
in where its uncertainty comes from.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.costs import Prices
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PricedEstimator
from thrifty.learn.crossfit import CrossFit
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.ladder.feature_order import price_of
from thrifty.learn.ladder.rows import LadderRows, groups_of
from thrifty.learn.ladder.rungs import Rung, RungSettings, fit_rungs
from thrifty.learn.ladder.stopping import FittedLadder, StoppingEvidence, rung_bills
from thrifty.learn.point import Point, ValidationOutputs
from thrifty.model import Forest

__all__ = ["EFFORTS", "Ladder"]

Floats = NDArray[np.float64]

# How much work each effort does. Small tables are divided several times over: then the choice of
# thresholds is less of a lottery, and the averages are better.
EFFORTS = {
    "fast": RungSettings(n_rungs=6, n_trees=25, n_top_trees=50, repeats=1),
    "balanced": RungSettings(n_rungs=13, n_trees=100, n_top_trees=150, repeats=2),
    "best": RungSettings(n_rungs=20, n_trees=300, n_top_trees=500, repeats=6),
}
# Beyond this many cells of the table, times outputs of a model, half as many divisions must do.
MANY_CELLS = 3_000_000
# On low budgets it may pay to send every row to the first or second rung, however certain it is.
STARTS = (0, 1, 2)


class Ladder(PricedEstimator):
    """Base of the ladders."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "cap": [Interval(Real, 0, None, closed="left"), None],
        "effort": [StrOptions(set(EFFORTS))],
        "folds": [Interval(Integral, 2, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    # Without a validation set, points are measured on the training rows, out of fold.
    cross_fits: ClassVar[bool] = True

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        cap: float | None = None,
        effort: str = "balanced",
        folds: int = 3,
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.cap = cap
        self.effort = effort
        self.folds = folds
        self.time_limit = time_limit
        self.random_state = random_state

    def evidence(self, train: TrainingSet) -> ValidationSet:
        """Return the training rows on which `path` measures points without a validation set.

        Each is scored by models that have not seen it. These are all rows of a small table, and a
        fifth of a large one.
        """
        # Without a fixed seed, another draw would be another division than that of `path`.
        length, crossfit = getattr(self, "_divided", (0, None))
        if crossfit is None or length != len(train):
            crossfit = self._divide(train)
        return train.hold_out(crossfit.rows, train.schema)

    def _divide(self, train: TrainingSet) -> CrossFit:
        """Divide the training rows for cross-fitting; with a fixed seed, always the same way."""
        random = check_random_state(self.random_state)
        repeats = EFFORTS[self.effort].repeats
        n_outputs = train.n_classes if train.n_classes > 2 else 1
        if train.X.size * n_outputs > MANY_CELLS:
            repeats = max(1, repeats // 2)
        return CrossFit.draw(train.y, groups_of(train), self.folds, repeats, random)

    def _fit(self, train: TrainingSet, validation: ValidationSet | None) -> Self:
        """Fit the ladder, and freeze the model at the cost weight `penalty`."""
        ladder = self._fit_ladder(train, validation)
        model = ladder.model(ladder.thresholds(self.penalty))
        self._predictor = self._predictor_of(model, train, {"penalty": float(self.penalty)})
        return self

    def _path(self, train: TrainingSet, validation: ValidationSet | None) -> Iterator[Point]:
        """Yield operating points, cheapest first; the constant, at bill 0, is one of them."""
        ladder = self._fit_ladder(train, validation)
        measured = self.evidence(train) if validation is None else validation
        settings: list[tuple[dict[str, Any], Floats]] = [
            ({"rung": rung}, ladder.thresholds_of_rung(rung)) for rung in range(len(ladder.rungs))
        ]
        for start in STARTS[: len(ladder.rungs)]:
            for cost_weight in ladder.evidence.cost_weights():
                knob = {"penalty": cost_weight, "start": start}
                settings.append((knob, ladder.thresholds(cost_weight, start)))
        points: dict[bytes, Point] = {}
        for knob, thresholds in settings:
            # Several cost weights may lead to the same model, or to a rung by itself.
            if thresholds.tobytes() not in points:
                scores, bills = ladder.outputs(thresholds)
                outputs = ValidationOutputs(scores[-len(measured) :], bills[-len(measured) :])
                predictor = self._predictor_of(ladder.model(thresholds), train, knob)
                point = Point.measure(predictor, measured, outputs)
                points[thresholds.tobytes()] = point
        # Stable: of points with equal bills, the constant comes first.
        return iter(sorted(points.values(), key=lambda point: point.bill))

    def _fit_ladder(self, train: TrainingSet, validation: ValidationSet | None) -> FittedLadder:
        """Fit the rungs, then gather what the stopping thresholds are chosen by."""
        crossfit = self._divide(train)
        self._divided = len(train), crossfit
        random = np.random.RandomState(check_random_state(self.random_state).randint(2**31))
        rows = LadderRows.of(train, validation, crossfit, random)
        rungs = fit_rungs(rows, EFFORTS[self.effort], random)
        if self.cap is not None:
            rungs = [rung for rung in rungs if price_of(rung.features, rows.prices) <= self.cap]
        models, uncertainty = self._uncertainty(rows, rungs, random)
        loss = [self._stopping_loss(rung.scores, rows.evidence_y) for rung in rungs]
        bills = rung_bills(rungs, models, rows.prices)
        bill = np.repeat(bills[:, np.newaxis], len(rows.evidence), axis=1)
        evidence = StoppingEvidence(uncertainty, np.array(loss), bill, rows.evidence_weight)
        return FittedLadder(rungs, models, rows.prices, evidence)

    @abstractmethod
    def _stopping_loss(self, scores: Floats, y: NDArray[Any]) -> Floats:
        """Return the loss of rows that stop with these scores, (m,)."""

    @abstractmethod
    def _uncertainty(
        self, rows: LadderRows, rungs: Sequence[Rung], random: np.random.RandomState
    ) -> tuple[list[Forest | None], Floats]:
        """Return an uncertainty model, or None, for each rung, and uncertainties (rungs, m)."""
