"""The expensive model of a gate: trained or taken as it is, frozen inside or called.

What Thrifty can freeze becomes part of the frozen gate, so that the model file is whole: its own
estimators, trees that `thrifty.learn.adopt` reads, and support vector machines. All else, and
whatever has a price or needs of its own, is called: its answers are columns of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC, NuSVC
from sklearn.utils.validation import check_is_fitted

from thrifty.bundle import Predictor, Schema
from thrifty.errors import DataError
from thrifty.learn.adopt.adopting import read
from thrifty.learn.answer_store import AnswerStore
from thrifty.learn.base import PricedEstimator
from thrifty.learn.call import Call
from thrifty.learn.compressed_svc import CompressedSVC
from thrifty.learn.forest_source import Given
from thrifty.learn.greedy_miser_classifier import GreedyMiserClassifier
from thrifty.learn.out_of_fold import fitted_clone, out_of_fold
from thrifty.model import Frozen

__all__ = ["Expensive", "Lesson", "as_call", "prepare", "schema_of"]

Floats = NDArray[np.float64]


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
