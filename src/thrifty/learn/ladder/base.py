"""Ladders: boosted models on nested sets of features, climbed while the next rung pays.

Rungs are fitted from all features downwards (`ladder_rungs`), each row of the held-out rows says
what it would pay and lose on each of them (`ascent`), and for a price of money dynamic
programming says at which doubt to stop (`stop_rule`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from thrifty.bundle import Predictor
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.learn.base import PricedEstimator
from thrifty.learn.boosting.base import Task
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.folds import deal
from thrifty.learn.ladder.stages import LadderRungs, Lesson, Rows, RungFitter
from thrifty.learn.ladder.stopping import Ascent, Evidence
from thrifty.learn.losses import Loss
from thrifty.learn.point import Heard, Point
from thrifty.model import Forest, Frozen, Stages

__all__ = ["Climb", "Ladder"]

MAX_LEAVES = 31
# Without validation rows, one row in so many is held out of the training rows.
HELD_OUT = 5
# Prices of money along the path, and how far below the price of all features the least is.
MONEYS = 24
LEAST_MONEY = 1e-3


@dataclass(frozen=True, eq=False)
class Climb:
    """A ladder without its stop rule, and the held-out rows that choose it."""

    rungs: list[Forest]
    doubts: list[Forest | None]
    prices: BoundPrices
    ascent: Ascent
    doubt: NDArray[np.float64]
    evidence: Evidence

    def model(self, limits: NDArray[np.float64]) -> Frozen:
        """The frozen model of some limits; a rung where all rows stop is that rung alone."""
        top = _top(limits)
        if _is_single(limits):
            return self.rungs[top]
        end = top + 1
        return Stages.of(self.rungs[:end], self.doubts[:end], limits[:end])

    def heard(self, limits: NDArray[np.float64]) -> Heard:
        """What `model` answers the validation rows and what it charges them."""
        if _is_single(limits):
            top = _top(limits)
            return Heard(self.ascent.scores[top], self.ascent.alone(top, self.prices))
        stops = _stops(self.doubt, limits)
        bills, scores = self._bills(limits)[stops, np.arange(len(stops))], self.ascent.scores[0]
        for r in range(1, len(self.rungs)):
            chosen = (stops == r).reshape(-1, *[1] * (scores.ndim - 1))
            scores = np.where(chosen, self.ascent.scores[r], scores)
        return Heard(scores, bills)

    def moneys(self) -> list[float]:
        """Prices of money from that at which nothing is bought down to 0."""
        evidence = self.evidence
        loss = np.average(evidence.loss, axis=1, weights=evidence.weight)
        bill = np.average(evidence.bill, axis=1, weights=evidence.weight)
        saved = loss[0] - loss.min()
        if saved <= 0 or bill[-1] <= 0:
            return [0.0]
        most, least = saved / bill[bill > 0].min(), LEAST_MONEY * saved / bill.max()
        return [*np.geomspace(most, least, MONEYS).tolist(), 0.0]

    def limits(self, money: float) -> NDArray[np.float64]:
        """The best limits at a price of money; +inf from the first rung that all rows stop on."""
        limits = self.evidence.limits(money)
        limits[_top(limits) :] = np.inf
        return limits

    def single(self, rung: int) -> NDArray[np.float64]:
        """The limits at which every row stops on one rung."""
        limits = np.full(len(self.rungs), np.inf)
        limits[:rung] = -np.inf
        return limits

    def _bills(self, limits: NDArray[np.float64]) -> NDArray[np.float64]:
        if not any(self.ascent.asked_trees):
            return self._plain_bills
        consulted = np.isfinite(limits)
        consulted[-1] = False
        return self.ascent.bills(self.prices, consulted)

    @cached_property
    def _plain_bills(self) -> NDArray[np.float64]:
        return self.ascent.bills(self.prices, np.zeros(len(self.rungs), dtype=bool))


class Ladder(PricedEstimator):
    """What the ladders for classes and numbers share."""

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
        """Learn the rungs, and the stop rule for the price of money `penalty`.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Target.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv), optional
            Rows on which boosting is stopped and the stop rule is chosen; a fifth of the rows is
            held out for that where they are not given.
        """
        task = self._task(X, y, sample_weight)
        climb = self._climb(task, validation)[0]
        knob = {"penalty": float(self.penalty)}
        self._predictor = self._predictor_of(task, climb, climb.limits(self.penalty), knob)
        return self

    def path(
        self, X: Any, y: Any, *, validation: tuple[Any, Any], sample_weight: Any = None
    ) -> Iterator[Point]:
        """Operating points, cheapest first: all prices of money, and every rung by itself.

        The first point is the constant, at bill 0. All points share the rungs.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured, boosting is stopped and the stop rules
            are chosen.
        """
        task = self._task(X, y, sample_weight)
        climb, target = self._climb(task, validation)
        points, seen = [], set()
        for knob, limits in self._settings(climb):
            if limits.tobytes() not in seen:
                seen.add(limits.tobytes())
                heard = climb.heard(limits)
                model = self._predictor_of(task, climb, limits, knob)
                quality, bill = self._quality(heard.scores, target), float(heard.bills.mean())
                points.append(Point(knob, model, bill, quality, heard if heard.is_small else None))
        # Stable: of points that cost the same, the constant comes first.
        return iter(sorted(points, key=lambda point: point.bill))

    @abstractmethod
    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        """Read and check a training table."""

    @abstractmethod
    def _held_target(self, task: Task, y: Any, rows: int) -> NDArray[Any]:
        """Read and check the target of a validation table."""

    @abstractmethod
    def _loss(self, target: NDArray[Any], weight: NDArray[np.float64] | None) -> Loss:
        """What the rungs descend."""

    @abstractmethod
    def _quality(self, scores: NDArray[np.float64], target: NDArray[Any]) -> float:
        """What `score` gives."""

    @abstractmethod
    def _needs_folds(self, held: int) -> bool:
        """Whether so few held-out rows are to be joined by training rows out of fold."""

    @abstractmethod
    def _climb_of(self, rungs: LadderRungs) -> Climb:
        """The rungs with their doubts and the evidence for the stop rule."""

    def _settings(self, climb: Climb) -> Iterator[tuple[dict[str, Any], NDArray[np.float64]]]:
        """Knob and limits of every point: rungs by themselves, then prices of money."""
        for rung in range(len(climb.rungs)):
            yield {"rung": rung}, climb.single(rung)
        for money in climb.moneys():
            yield {"penalty": money}, climb.limits(money)

    def _climb(self, task: Task, validation: Sequence[Any] | None) -> tuple[Climb, NDArray[Any]]:
        """The climb, and the target of its validation rows."""
        random = check_random_state(self.random_state)
        rows = Rows(task.X, task.loss.y, task.weight)
        if validation is None:
            part = deal(rows.target, HELD_OUT, random)
            rows, held = rows.part(np.flatnonzero(part > 0)), rows.part(np.flatnonzero(part == 0))
        else:
            X = self._validation_rows(task, validation)
            held = Rows(X, self._held_target(task, validation[1], len(X)))
        categorical = np.array([column.categories is not None for column in task.schema.columns])
        lesson = Lesson(rows, Binned.of(rows.X, categorical, random))
        return self._climb_of(self._rungs(task, lesson, held, random)), held.target

    def _rungs(
        self, task: Task, lesson: Lesson, held: Rows, random: np.random.RandomState
    ) -> LadderRungs:
        fitter = RungFitter(
            task.prices, self.learning_rate, self.max_depth, MAX_LEAVES, self.min_samples_leaf
        )
        folds = self.folds if self._needs_folds(len(held.X)) else 0
        rows = len(lesson.rows.X)
        if rows < folds:
            raise DataError(
                f"folds: {folds} folds need as many rows, there are {rows} to learn from; "
                "give more rows or fewer folds"
            )
        return LadderRungs(
            fitter, self._loss, lesson, held, self.n_estimators, self.n_rungs, folds, random
        )

    def _validation_rows(self, task: Task, validation: Sequence[Any]) -> NDArray[np.floating]:
        if len(validation) < 2:
            raise DataError("validation: give the table and its target, (X, y)")
        return task.schema.encode(self._as_table(validation[0], reset=False))

    def _predictor_of(
        self, task: Task, climb: Climb, limits: NDArray[np.float64], knob: dict[str, Any]
    ) -> Predictor:
        return self._freeze(climb.model(limits), task.schema, task.prices, task.classes, knob)


def _top(limits: NDArray[np.float64]) -> int:
    """The rung that no row goes beyond."""
    return int(np.argmax(np.append(limits[:-1], np.inf) == np.inf))


def _is_single(limits: NDArray[np.float64]) -> bool:
    """Whether all rows stop on the same rung."""
    return bool(np.all(limits[: _top(limits)] == -np.inf))


def _stops(doubt: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.int64]:
    goes_on = doubt > limits[:, np.newaxis]
    goes_on[-1] = False
    return np.asarray(np.argmin(goes_on, axis=0))
