"""What the classifiers share that ask each row for one feature after another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from thrifty.bundle import Predictor, Schema
from thrifty.costs import BoundPrices
from thrifty.errors import DataError
from thrifty.learn.base import PricedEstimator
from thrifty.learn.neighbors.additive import Examples
from thrifty.learn.point import Point
from thrifty.learn.targets import Labels
from thrifty.model.sequential.base import Asking, Trails

__all__ = ["AskingClassifier", "Cut", "Cuts", "Task", "threshold_cuts"]

# Operating points that a path gives at most, the constant not counted.
POINTS = 30

Cut = tuple[dict[str, Any], Asking, NDArray[np.int64]]
"""A knob, the model for it, and where each validation row stops."""

Cuts = Callable[[Asking, Trails], Iterable[Cut]]
"""Cuts of one run of the model that never stops, cheapest first, from the constant."""


@dataclass(frozen=True, eq=False)
class Task:
    """A table and its labels, read and checked."""

    schema: Schema
    prices: BoundPrices
    examples: Examples
    classes: NDArray[Any]


class AskingClassifier(ClassifierMixin, PricedEstimator):  # type: ignore[misc]
    """Base of the classifiers that ask for one feature at a time."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels.
        """
        task = self._task(X, y)
        knob, model = self._chosen(self._whole(task))
        self._predictor = self._predictor_of(task, model, knob)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, K): the estimate for the answer, the rest evenly shared."""
        return self.predictor_.predict_proba(self._checked(X))

    @abstractmethod
    def _whole(self, task: Task) -> Asking:
        """Learn the model that never stops before everything is bought."""

    @abstractmethod
    def _chosen(self, whole: Asking) -> tuple[dict[str, Any], Asking]:
        """The knob as it is set, and the model for it."""

    def _path(self, X: Any, y: Any, validation: Any, cuts: Cuts) -> Iterator[Point]:
        """Points of one run over the validation rows, cheapest first, from the constant."""
        task = self._task(X, y)
        rows, codes = self._held_out(task, validation)
        whole = self._whole(task)
        trails = whole.trails(rows)
        points: list[Point] = []
        for cut in cuts(whole, trails):
            point = self._point(task, trails, codes, cut)
            if not points or point.bill > points[-1].bill:
                points.append(point)
        return iter(points)

    def _point(self, task: Task, trails: Trails, codes: Any, cut: Cut) -> Point:
        knob, model, steps = cut
        scores, used = model.scores_after(trails, steps), model.used_after(trails, steps)
        bills = task.prices.bill(used, steps)
        right = scores.argmax(axis=1) == codes
        predictor = self._predictor_of(task, model, knob)
        return Point(knob, predictor, float(bills.mean()), float(right.mean()))

    def _held_out(self, task: Task, validation: Any) -> tuple[NDArray[np.floating], Any]:
        if len(validation) < 2:
            raise DataError("validation: give the table and its target, (X, y)")
        rows = task.schema.encode(self._as_table(validation[0], reset=False))
        labels = Labels(task.classes, np.empty(0, np.int64))
        return rows, labels.recode(validation[1], len(rows))

    def _task(self, X: Any, y: Any) -> Task:
        self._validate_params()
        schema, prices, rows = self._read(X)
        labels = Labels.of(y, len(rows))
        self.classes_ = labels.classes
        counts = [len(column.categories or ()) for column in schema.columns]
        examples = Examples(
            np.asarray(rows, dtype=np.float64), labels.codes, len(labels.classes), np.array(counts)
        )
        return Task(schema, prices, examples, labels.classes)

    def _predictor_of(self, task: Task, model: Asking, knob: dict[str, Any]) -> Predictor:
        return self._freeze(model, task.schema, task.prices, task.classes, knob)


def threshold_cuts(
    whole: Asking, trails: Trails, thresholds: Sequence[float] | None = None
) -> Iterator[Cut]:
    """Where rows stop at rising thresholds, by default among the estimates that occur."""
    yield {"threshold": 0.0}, whole.until(0.0), np.zeros_like(trails.steps)
    levels = _levels(whole, trails) if thresholds is None else thresholds
    for threshold in sorted({float(level) for level in levels}):
        model = whole.until(threshold)
        if model.starts:
            yield {"threshold": threshold}, model, trails.stops(threshold)


def _levels(whole: Asking, trails: Trails) -> list[float]:
    """From the share of the largest class up to 1, at which everything is bought."""
    least = float(whole.prior.max())
    found = np.unique(trails.estimate[trails.estimate > least])
    if not len(found):
        return [least, 1.0]
    places = np.linspace(0, len(found), POINTS - 2, endpoint=False).astype(np.int64)
    return [least, *found[places].tolist(), 1.0]
