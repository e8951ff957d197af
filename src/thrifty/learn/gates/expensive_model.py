"""The expensive model of a gate: trained or taken as it is, frozen inside or called.

What Thrifty can freeze becomes part of the frozen gate, so that the model file is whole: its own
estimators, trees that `thrifty.learn.adopt` reads, and support vector machines. All else, and
whatever has a price or needs of its own, is called: its answers are columns of the table.

Where the answers of a call stand in the table, and what they cost.

An expensive model that is frozen inside leaves the table as it is. The answers of a call are
further columns, one for each class, that are bought together at the price of the call.

Answers of a model for rows that it has not seen, from fits without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC, NuSVC
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from thrifty.bundle import Column, Predictor, Schema
from thrifty.costs import BoundPrices
from thrifty.errors import DataError
from thrifty.learn.adopt.adopting import read
from thrifty.learn.base import PricedEstimator
from thrifty.learn.boosting.classifier import GreedyMiserClassifier
from thrifty.learn.folds import deal
from thrifty.learn.gates.call import Call
from thrifty.learn.gates.call_cache import AnswerStore
from thrifty.learn.pruning.base import Given
from thrifty.learn.svm.classifier import CompressedSVC
from thrifty.model import Answer, Frozen, LeafGate

__all__ = [
    "Expensive",
    "Lesson",
    "System",
    "as_call",
    "fitted_clone",
    "out_of_fold",
    "prepare",
    "schema_of",
]

Floats = NDArray[np.float64]


def out_of_fold(
    call: Call,
    estimator: Any,
    table: Any,
    codes: NDArray[np.int64],
    classes: NDArray[Any],
    weight: Floats | None,
    random: RandomState,
) -> Floats:
    """Probabilities (n, K) of each row from a clone that was fitted without its part.

    Rows are dealt to parts so that each has its share of every class; a class that a fit has not
    seen has probability 0 there. (`cross_val_predict` would refuse classes with few rows.)
    """
    parts = deal(codes, min(call.folds or 2, len(codes)), random)
    answers = np.empty((len(codes), len(classes)))
    for part in range(parts.max() + 1):
        out, into = np.flatnonzero(parts == part), np.flatnonzero(parts != part)
        held = _safe_indexing(table, out)
        if len(np.unique(codes[into])) < 2:
            answers[out] = np.bincount(codes[into], minlength=len(classes)) / len(into)
            continue
        some = None if weight is None else weight[into]
        model = fitted_clone(estimator, _safe_indexing(table, into), classes[codes[into]], some)
        answers[out] = call.answered_by(model).ask_all(held, classes)
    return answers


def fitted_clone(estimator: Any, table: Any, y: NDArray[Any], weight: Floats | None) -> Any:
    """A clone, fitted; weights go along where it takes them."""
    model = clone(estimator)
    if weight is None or not has_fit_parameter(model, "sample_weight"):
        return model.fit(table, y)
    return model.fit(table, y, sample_weight=weight)


@dataclass(frozen=True, eq=False)
class Expensive:
    """Who answers, what was answered on the training rows, and the frozen model if there is one."""

    call: Call
    answers: Floats
    frozen: Frozen | None


@dataclass(frozen=True, eq=False)
class Lesson:
    """What an expensive model is trained on: the table as it came, and as floats."""

    table: Any
    schema: Schema
    rows: NDArray[np.floating]
    codes: NDArray[np.int64]
    classes: NDArray[Any]
    weight: Floats | None

    @property
    def y(self) -> NDArray[Any]:
        """Labels."""
        return np.asarray(self.classes[self.codes])


def as_call(expensive: Any) -> Call:
    """A call as it is; anything else as a free call named "expensive"."""
    return expensive if isinstance(expensive, Call) else Call("expensive", fn=expensive)


def schema_of(call: Call) -> Schema | None:
    """How a model of this library that is fitted already reads a table; None for any other."""
    model = _unwrapped(call.fn)
    if isinstance(model, PricedEstimator) and _is_fitted(model):
        model = model.predictor_
    return model.schema if call.is_free and isinstance(model, Predictor) else None


def prepare(call: Call, lesson: Lesson, given: Any, random: RandomState) -> Expensive:
    """Train or take the model, and find its answers on the training rows.

    Parameters
    ----------
    call : Call
    lesson : Lesson
    given : array (n, K) or None
        Answers that are known already.
    random : RandomState
        Deals rows to folds.
    """
    for feature in call.needs or ():
        lesson.schema.index(feature)  # refuses what the table does not have
    speaker = model = _unwrapped(call.fn)
    if hasattr(model, "fit") and not _is_fitted(model):
        table = call.needed(lesson.table)
        speaker = fitted_clone(model, table, lesson.y, lesson.weight)
    asked = call.answered_by(speaking(speaker, call.needed(lesson.table), lesson.y))
    frozen = _frozen(speaker, asked.fn, lesson) if call.is_free else None
    if given is not None:
        return Expensive(asked, _checked(given, lesson), frozen)
    store = AnswerStore.of(call, lesson.schema, lesson.rows, lesson.codes, lesson.classes)
    answers = store.answers(lambda: _learnt(call, asked, model, lesson, random))
    return Expensive(asked, answers, frozen)


def speaking(model: Any, table: Any, y: NDArray[Any]) -> Any:
    """The model itself; a support vector machine is given probabilities, where it can be read."""
    if not isinstance(model, SVC | NuSVC):
        return model
    try:
        return CompressedSVC(model, n_vectors=1.0, max_moves=0).fit(table, y)
    except DataError:
        return model


def _learnt(call: Call, asked: Call, model: Any, lesson: Lesson, random: RandomState) -> Floats:
    """Answers on the training rows, out of fold where the model has seen them."""
    if not hasattr(model, "fit") or call.folds is None:
        return asked.ask_all(lesson.table, lesson.classes)
    table = call.needed(lesson.table)
    whole = Call(call.name, folds=call.folds)  # the table has the needed columns only
    apart = _Speaking(model) if isinstance(model, SVC | NuSVC) else model
    return out_of_fold(whole, apart, table, lesson.codes, lesson.classes, lesson.weight, random)


class _Speaking(CompressedSVC):
    """A support vector machine that is trained, then given probabilities."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, validation: Any = None) -> Any:
        return speaking(fitted_clone(self.svc, X, y, sample_weight), X, y)


def _unwrapped(model: Any) -> Any:
    while type(model).__name__ == "FrozenEstimator":
        model = model.estimator
    return GreedyMiserClassifier(n_estimators=200, max_depth=6) if model is None else model


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _frozen(model: Any, speaker: Any, lesson: Lesson) -> Frozen | None:
    """The frozen model, None if it can only be called."""
    predictor = speaker.predictor_ if isinstance(speaker, PricedEstimator) else speaker
    if isinstance(predictor, Predictor):
        if len(predictor.schema) > len(lesson.schema):
            return None  # a gate that makes calls itself
        if predictor.schema != lesson.schema:
            raise DataError(
                "expensive: it was trained on other columns or categories than the table has; "
                "give Call(name, needs=[...], fn=model) to call it as it is"
            )
        _refuse_other_classes(predictor.classes, lesson.classes)
        return predictor.model
    if not hasattr(model, "predict"):
        return None
    try:
        source = read(model)
    except (DataError, TypeError):
        return None
    names = tuple(column.name for column in source.columns) if source.named else None
    Given(source.forest, None, names).refuse_other(lesson.schema)
    if source.classes is not None:
        _refuse_other_classes(np.array(source.classes), lesson.classes)
    return source.forest


def _refuse_other_classes(theirs: Any, ours: NDArray[Any]) -> None:
    if theirs is None or list(theirs) != list(ours):
        told = "values" if theirs is None else list(theirs)[:20]
        raise DataError(f"expensive: it tells apart {told}, the target has {ours.tolist()[:20]}")


def _checked(given: Any, lesson: Lesson) -> Floats:
    answers = np.asarray(given)
    return Call("answers", fn=lambda table: answers).ask_all(lesson.rows, lesson.classes)


@dataclass(frozen=True, eq=False)
class System:
    """The table that the frozen gate reads.

    `own` is the schema of the user's table; `schema` and `prices` have the answers of a call too.
    """

    call: Call
    own: Schema
    schema: Schema
    prices: BoundPrices
    expensive: Frozen
    answer: Answer | None

    @classmethod
    def of(
        cls, expensive: Expensive, schema: Schema, prices: BoundPrices, classes: NDArray[Any]
    ) -> System:
        """As it is for a frozen model; with columns for the answers of a call."""
        call = expensive.call
        if expensive.frozen is not None:
            return cls(call, schema, schema, prices, expensive.frozen, None)
        d, k = len(schema), len(classes)
        names: list[Any] = [f"{call.name}: {label}" for label in classes.tolist()]
        if not schema.named:
            names = list(range(d, d + k))
        _refuse_clashes(call, schema, prices, names)
        wide = Schema((*schema.columns, *(Column(name) for name in names)), schema.named)
        needs = range(d) if call.needs is None else map(schema.index, call.needs)
        answer = Answer.of(np.arange(d, d + k), sorted(needs), d + k)
        return cls(call, schema, wide, _priced(prices, call, names, schema.named), answer, answer)

    @property
    def name(self) -> str:
        """Name of the call."""
        return self.call.name

    def fitting(self, model: Frozen) -> Frozen:
        """A model of the user's columns as one of the wider table."""
        if self.answer is None:
            return model
        if isinstance(model, LeafGate):
            return replace(model, forest=replace(model.forest, n_features=len(self.schema)))
        return replace(model, n_features=len(self.schema))  # type: ignore[type-var]

    def widened(self, rows: NDArray[np.floating]) -> NDArray[np.floating]:
        """Rows with empty columns for the answers."""
        if self.answer is None:
            return rows
        empty = np.full((len(rows), len(self.answer.columns)), np.nan, dtype=rows.dtype)
        return np.hstack([rows, empty])

    def assumed(self, rows: NDArray[np.floating]) -> NDArray[np.floating]:
        """Rows as if every call answered, no matter what: for what is read and paid."""
        if self.answer is None:
            return rows
        k = len(self.answer.columns)
        return self.filled(self.widened(rows), np.full((len(rows), k), 1.0 / k))

    def filled(self, rows: NDArray[np.floating], answers: Floats) -> NDArray[np.floating]:
        """Wide rows with answers (n, K); the answers keep all their bits."""
        if self.answer is None:
            return rows
        rows = rows.astype(np.float64)
        rows[:, self.answer.columns] = answers
        return rows

    def answer_for(self, values: Mapping[Any, Any], classes: NDArray[Any]) -> dict[Any, float]:
        """Make the call for one example; by the names of the answer's columns."""
        if self.answer is None:
            raise DataError(f"{self.name!r} is part of the model: there is no call to make")
        needed = self.own.names if self.call.needs is None else self.call.needs
        absent = [name for name in needed if name not in values]
        if absent:
            raise DataError(f"call {self.name!r}: it needs {absent}, which have no value yet")
        table = _one_row({name: values.get(name) for name in self.own.names}, self.own.named)
        found = self.call.ask(table, classes).probabilities[0]
        names = self.schema.names[len(self.own) :]
        return dict(zip(names, found.tolist(), strict=True))


def _one_row(values: dict[Any, Any], named: bool) -> Any:
    if not named:
        row = [np.nan if value is None else value for value in values.values()]
        return np.array([row], dtype=np.float64)
    import pandas as pd

    return pd.DataFrame({name: [value] for name, value in values.items()})


def _refuse_clashes(call: Call, schema: Schema, prices: BoundPrices, names: list[Any]) -> None:
    taken = [name for name in names if schema.named and name in schema.names]
    if taken:
        raise DataError(f"call {call.name!r}: the table has a column {taken[0]!r} already")
    if call.name in prices.group_names:
        raise DataError(f"call {call.name!r}: the prices have a group of that name already")


def _priced(prices: BoundPrices, call: Call, names: list[Any], named: bool) -> BoundPrices:
    """The answers are a group: its shared price is that of the call."""
    k, groups = len(names), len(prices.shared)
    return replace(
        prices,
        names=(*(prices.names or ()), *names) if named else None,
        own=np.append(prices.own, np.zeros(k)),
        group=np.append(prices.group, np.full(k, groups)),
        shared=np.append(prices.shared, call.price),
        group_names=(*prices.group_names, call.name),
    )
