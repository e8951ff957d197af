"""What all gates share: the expensive model, the limit, and calls for the rows that are sent.

They differ in how gate and local model are learnt.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state

from thrifty.bundle import Predictor, Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.learn.base import PricedClassifier
from thrifty.learn.budget_forest.grower import constant_forest
from thrifty.learn.calibration import calibrated
from thrifty.learn.gates.call import Call
from thrifty.learn.gates.call_results import Answers
from thrifty.learn.gates.expensive_model import (
    Expensive,
    Lesson,
    System,
    as_call,
    prepare,
    schema_of,
)
from thrifty.learn.gates.problem import GateTask
from thrifty.learn.gates.threshold import Trial, read_target
from thrifty.learn.point import Point
from thrifty.learn.targets import Labels
from thrifty.model import Frozen, Gate

__all__ = ["Gated", "Knob", "Learnt"]

Floats = NDArray[np.float64]
# Shares of the rows to be sent that a path learns for, and at which each pair is tried.
SHARES = (0.0, 0.1, 0.25, 0.5)
TRIED = (0.0, 0.02, *np.linspace(0.05, 0.95, 19).round(2).tolist())
# Penalties of a path, times the entropy of the classes over the price of everything.
PENALTIES = (1.0, 0.3, 0.1, 0.05, 0.02, 0.01, 0.0)


@dataclass(frozen=True)
class Knob:
    """What a pair is learnt for."""

    share: float
    penalty: float

    @property
    def plain(self) -> dict[str, Any]:
        """As a point tells it."""
        return {"share": float(self.share), "penalty": float(self.penalty)}


@dataclass(frozen=True, eq=False)
class Learnt:
    """A gate and a local model on the columns of the training table, and their knob."""

    knob: Knob
    gate: Frozen
    local: Frozen


@dataclass(frozen=True, eq=False)
class Job:
    """A table and its labels, and the expensive model with its answers on them."""

    task: GateTask
    expensive: Expensive
    system: System
    table: Any


class Gated(PricedClassifier):
    """Base of the classifiers that put a gate before an expensive model."""

    expensive: Any
    share: float
    penalty: float
    target: dict[str, float] | None
    random_state: Any

    @abstractmethod
    def _learn(self, task: GateTask, knobs: Sequence[Knob], random: RandomState) -> list[Learnt]:
        """Pairs for each knob, the best of a knob first; one may start from the one before."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
        answers: Any = None,
    ) -> Self:
        """Learn from a table, its labels, and the expensive model.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv), optional
            Rows that place the limit of the gate; those of X when left out, unless a
            quality is the target, which rows that were learnt from cannot tell.
        answers : array of shape (n, K), optional
            Answers of the expensive model on X, for example out of fold; computed when left out.
        """
        aim, number = read_target(self.target, self.share)
        if aim == "quality" and validation is None:
            raise DataError("target: a quality is measured on rows of its own; give validation")
        job = self._job(X, y, sample_weight, answers)
        learnt = self._learn(job.task, [Knob(self.share, self.penalty)], self._random())[0]
        trial = self._trial(job, learnt, validation, answers=aim == "quality")
        model = trial.model(trial.choose(aim, number))
        knob = learnt.knob.plain | ({} if self.target is None else {f"target_{aim}": number})
        self._install(job, model, knob)
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        answers: Any = None,
        shares: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Operating points over shares and penalties, cheapest first.

        Pairs are learnt for each penalty from share to share, each from where the one before has
        ended; each is tried at several limits. A point is left out where a cheaper one is as
        good. The first is the constant, at bill 0. Quality is the accuracy.

        Parameters
        ----------
        X, y, sample_weight, answers
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured and limits are placed; the expensive model
            answers all of them.
        shares, penalties : sequences of float, optional
            What to learn for; a few of each when left out.
        """
        job = self._job(X, y, sample_weight, answers)
        tried = sorted({*TRIED, *(SHARES if shares is None else shares)})
        knobs = [
            Knob(share, penalty)
            for penalty in self._penalties(job.task, penalties)
            for share in sorted(SHARES if shares is None else shares)
        ]
        held = self._held(job, validation, answers=True)
        points = [self._constant(job, held)]
        for learnt in self._learn(job.task, knobs, self._random()):
            trial = self._tried(job, learnt, *held)
            for choice in {trial.choices.at_share(share) for share in (*tried, 1.0)}:
                points.append(self._point(job, learnt.knob, trial, choice))
        return iter(_frontier(points))

    def sent(self, X: Any) -> NDArray[np.bool_]:
        """Which rows the gate sends to the expensive model, (n,); no call is made."""
        return self._gate.sends(self._rows(X))

    def why(self, X: Any) -> list[str]:
        """Who answers each row, and why; calls are made for the rows that are sent."""
        sent, (_, failed) = self.sent(X), self._ask(X)
        name = self._system.name
        told = np.where(sent, f"sent to {name}", "local: the gate keeps it").tolist()
        for row, reason in failed.items():
            told[row] = f"local: {name} gave no answer ({reason})"
        return cast(list[str], told)

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities (n, K); calls are made for the rows that are sent, and no others.

        A row whose call fails is answered by the local model, with one warning for all of them.
        """
        rows = self._rows(X)
        if self._system.answer is not None:
            answers = self._ask(X)
            self._warn(answers)
            rows = self._system.filled(rows, answers.probabilities)
        return self.model_.score(rows)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predicted label of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def used(self, X: Any) -> NDArray[np.bool_]:
        """Which features each row touches, and answers of calls after them; no call is made."""
        return self.model_.used(self._assumed(X))

    def bill(self, X: Any) -> Floats:
        """What each row pays if its call answers; no call is made."""
        rows = self._assumed(X)
        return self.prices_.bill(self.model_.used(rows), self.model_.evaluations(rows))

    def expensive_answers(self, X: Any) -> tuple[Floats, Floats]:
        """What the expensive model says of all rows, (n, K), and what each would pay for it."""
        rows, system = self._assumed(X), self._system
        bills = system.prices.bill(system.expensive.used(rows), system.expensive.evaluations(rows))
        if system.answer is None:
            return system.expensive.score(rows), bills
        return system.call.ask_all(self._checked(X), self.classes_), bills

    def answer(self, values: dict[Any, Any]) -> dict[Any, float]:
        """Make the call for one example, whose needed values are given by name, as a walk tells it.

        Returns the answer by the names that the walk asks for; NaN where the call fails.
        """
        return self._system.answer_for(values, self.classes_)

    @property
    def _gate(self) -> Gate:
        return cast(Gate, self.model_)

    def _random(self) -> RandomState:
        return cast(RandomState, check_random_state(self.random_state))

    def _job(self, X: Any, y: Any, sample_weight: Any, answers: Any) -> Job:
        self._validate_params()
        call = as_call(self.expensive)
        schema, prices, rows = self._read_for(call, X)
        table = X if hasattr(X, "columns") else rows
        labels = Labels.of(y, len(rows))
        self.classes_, codes = labels.classes, labels.codes
        weight = self._balanced(self._weights(sample_weight, rows), labels)
        if weight is not None and not np.all(weight > 0):
            keep = np.flatnonzero(weight > 0)
            table, rows, codes = _safe_indexing(table, keep), rows[keep], codes[keep]
            weight, answers = weight[keep], None if answers is None else np.asarray(answers)[keep]
        lesson = Lesson(table, schema, rows, codes, labels.classes, weight)
        found = prepare(call, lesson, answers, self._random())
        sharp = calibrated(found.answers, codes, weight)
        task = GateTask(schema, prices, rows, codes, weight, labels.classes, sharp)
        return Job(task, found, System.of(found, schema, prices, labels.classes), table)

    def _read_for(self, call: Call, X: Any) -> tuple[Schema, BoundPrices, NDArray[np.floating]]:
        """Read the table; a frozen model reads it its own way, and the gate must do the same."""
        schema, prices, rows = self._read(X)
        theirs = schema_of(call)
        if theirs is None or theirs == schema or set(theirs.names) != set(schema.names):
            return schema, prices, rows
        names = [str(name) for name in theirs.names]
        prices = (self.prices or Prices()).bind(names if theirs.named else len(names))
        return theirs, prices, theirs.encode(X)

    def _held(
        self, job: Job, validation: tuple[Any, Any] | None, answers: bool
    ) -> tuple[NDArray[np.floating], NDArray[np.int64] | None]:
        """Rows with the answers of calls, and class numbers, to place limits on."""
        if validation is None:
            return job.system.assumed(job.task.X), None
        if len(validation) < 2:
            raise DataError("validation: give the table and its target, (X, y)")
        table = self._as_table(validation[0], reset=False)
        rows = job.task.schema.encode(table)
        codes = self._codes(validation[1], len(rows))
        if job.system.answer is None or not answers:
            return job.system.assumed(rows), codes
        told = job.expensive.call.ask_all(table, self.classes_)
        return job.system.filled(job.system.widened(rows), told), codes

    def _trial(
        self, job: Job, learnt: Learnt, validation: tuple[Any, Any] | None, answers: bool
    ) -> Trial:
        return self._tried(job, learnt, *self._held(job, validation, answers))

    def _tried(self, job: Job, learnt: Learnt, rows: Any, codes: Any) -> Trial:
        system = job.system
        gate, local = system.fitting(learnt.gate), system.fitting(learnt.local)
        return Trial(gate, local, system.expensive, system.prices, rows, codes)

    def _install(self, job: Job, model: Frozen, knob: dict[str, Any]) -> None:
        self._system = job.system
        self._predictor = self._predictor_of(job, model, knob)

    def _predictor_of(self, job: Job, model: Frozen, knob: dict[str, Any]) -> Predictor:
        system = job.system
        return self._freeze(model, system.schema, system.prices, self.classes_, knob)

    def _point(self, job: Job, knob: Knob, trial: Trial, choice: int) -> Point:
        plain = knob.plain | {"limit": trial.choices.limit(choice)}
        if not np.isfinite(plain["limit"]):
            plain["limit"] = "none is sent" if plain["limit"] > 0 else "all are sent"
        bill, quality = trial.measured(choice)
        return Point(plain, self._predictor_of(job, trial.model(choice), plain), bill, quality)

    def _constant(self, job: Job, held: tuple[Any, Any]) -> Point:
        task = job.task
        counts = np.bincount(task.codes, task.weight, task.n_classes)
        model = constant_forest(counts / counts.sum(), len(job.system.schema))
        quality = float(np.mean(held[1] == counts.argmax()))
        knob = {"share": 0.0, "penalty": "nothing is bought"}
        return Point(knob, self._predictor_of(job, model, knob), 0.0, quality)

    def _penalties(self, task: GateTask, given: Sequence[float] | None) -> list[float]:
        if given is not None:
            return sorted(given, reverse=True)
        full = task.prices.full
        shares = np.bincount(task.codes, task.weight, task.n_classes)
        shares = shares[shares > 0] / shares.sum()
        entropy = float(-(shares * np.log(shares)).sum())
        return [factor * entropy / full for factor in PENALTIES] if full > 0 else [0.0]

    def _rows(self, X: Any) -> NDArray[np.floating]:
        """Encoded rows, with room for the answers of calls."""
        table = self._checked(X)
        return self._system.widened(self._system.own.encode(table))

    def _assumed(self, X: Any) -> NDArray[np.floating]:
        return self._system.assumed(self._system.own.encode(self._checked(X)))

    def _ask(self, X: Any) -> Answers:
        """Answers of the calls for the rows that are sent; NaN in all others."""
        answers = np.full((len(X), len(self.classes_)), np.nan)
        if self._system.answer is None:
            return Answers(answers, {})
        rows = np.flatnonzero(self.sent(X))
        if not len(rows):
            return Answers(answers, {})
        table = self._checked(X)
        found, failed = self._system.call.ask(_safe_indexing(table, rows), self.classes_)
        answers[rows] = found
        return Answers(answers, {int(rows[row]): reason for row, reason in failed.items()})

    def _warn(self, answers: Answers) -> None:
        if answers.why:
            first = next(iter(answers.why.values()))
            warnings.warn(
                f"call {self._system.name!r}: no answer for {len(answers.why)} rows, which the "
                f"local model answers ({first})",
                UserWarning,
                stacklevel=3,
            )


def _frontier(points: list[Point]) -> list[Point]:
    """Without the points that a cheaper one is as good as; the constant stays."""
    best, kept = -1.0, []
    for point in sorted(points, key=lambda point: (point.bill, -point.quality)):
        if point.quality > best:
            kept.append(point)
            best = point.quality
    return kept if kept[0] is points[0] else [points[0], *kept]
