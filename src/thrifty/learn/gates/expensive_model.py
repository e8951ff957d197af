"""Prepare the expensive model of a gate: train it, predict the training rows, freeze it.

Models that Thrifty can freeze become part of the frozen gate, so that one model file holds
everything: its own estimators, trees that `thrifty.learn.adopt` reads, and scikit-learn's SVMs.
Any other model, and one with needs of its own, is called, and its outputs become columns of the
table (see columns.py).
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC, NuSVC
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from thrifty.bundle import Predictor, Schema
from thrifty.bundle.archive import array_size, pack_array, unpack_array
from thrifty.costs import PriceList
from thrifty.errors import BundleError, DataError
from thrifty.files import make_folder, write_whole
from thrifty.learn._sklearn import take_rows
from thrifty.learn.adopt.adopting import read
from thrifty.learn.adopt.columns import find_columns, renumber
from thrifty.learn.base import PricedEstimator
from thrifty.learn.boosting.classifier import GreedyMiserClassifier
from thrifty.learn.boosting.ranker import GreedyMiserRanker
from thrifty.learn.boosting.regressor import GreedyMiserRegressor
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.folds import assign_folds
from thrifty.learn.gates.call import Call
from thrifty.learn.svm.classifier import CompressedSVC
from thrifty.model import Frozen
from thrifty.model.call_result import is_usable
from thrifty.untrusted import read_file

__all__ = [
    "ExpensiveModel",
    "as_call",
    "cache_path",
    "encode_for",
    "load_scores",
    "out_of_fold_scores",
    "prepare_expensive",
    "schema_of",
]

Floats = NDArray[np.float64]
# The expensive model of each task, if none is given. Grades are predicted as such: scores that only
# order the rows of a query cannot be compared with those of a local model.
DEFAULTS: dict[str, PricedEstimator] = {
    "classification": GreedyMiserClassifier(n_estimators=200, max_depth=6),
    "regression": GreedyMiserRegressor(n_estimators=200, max_depth=6),
    "ranking": GreedyMiserRanker(loss="squared", n_estimators=200, max_depth=6),
}


@dataclass(frozen=True, eq=False)
class ExpensiveModel:
    """An expensive model that is ready to be called or frozen.

    Parameters
    ----------
    call : Call
        The call to the fitted model.
    scores : float64 array of shape (n, K) or (n,)
        Its class probabilities or values on the training rows, out of fold if it may have seen
        them.
    frozen : Frozen or None
        The frozen model; None if it can only be called.
    reads : int array of shape (m,) or None
        Columns of the table that the frozen model has, in its order; None if it has all of them.
    """

    call: Call
    scores: Floats
    frozen: Frozen | None
    reads: NDArray[np.int64] | None = None


def as_call(expensive: Any) -> Call:
    """Return a `Call` as it is, and anything else as a free call named "expensive"."""
    return expensive if isinstance(expensive, Call) else Call("expensive", fn=expensive)


def schema_of(call: Call) -> Schema | None:
    """Return the schema of a fitted model of this library; None for any other model."""
    model = _model_of(call, None)
    if isinstance(model, PricedEstimator) and _is_fitted(model):
        model = model.predictor_
    return model.schema if call.needs is None and isinstance(model, Predictor) else None


def encode_for(call: Call, train: TrainingSet, prices: PriceList | None) -> TrainingSet:
    """Encode the table as a fitted model of this library does, so that both read the same codes."""
    schema = schema_of(call)
    names = set() if schema is None else set(schema.names)
    if schema is None or not names <= set(train.schema.names):
        return train
    if len(names) == len(train.schema):
        return train.encode_by(schema).with_prices(prices)
    own = {column.name: column for column in schema.columns}
    columns = tuple(own.get(column.name, column) for column in train.schema.columns)
    return train.encode_by(Schema(columns, train.schema.named))


def prepare_expensive(
    call: Call, train: TrainingSet, given: Any, random: RandomState
) -> ExpensiveModel:
    """Train the model if it is not fitted, and compute its scores on the training rows.

    Parameters
    ----------
    call : Call
    train : TrainingSet
    given : array of shape (n, K) or (n,), or None
        Probabilities or values on the training rows, if the caller knows them.
    random : RandomState
        Assigns rows to folds; draws one permutation if scores are computed out of fold.

    Raises
    ------
    DataError
        If the table lacks a needed feature, or the model was trained on other columns or classes.
    SourceError
        If there is no prediction for some row.
    """
    for feature in call.needs or ():
        train.schema.index(feature)  # raises a DataError if the table does not have it
    # An array goes to the model as it was encoded: C-ordered floats.
    table = train.table if hasattr(train.table, "columns") else train.X
    is_whole, y = call.needs is None, np.asarray(train.labels)
    fitted = model = _model_of(call, train.task)
    is_trained_here = hasattr(model, "fit") and not _is_fitted(model)
    if is_trained_here and is_whole and train.schema.named and hasattr(table, "columns"):
        # By name, so that the order of the table's columns decides nothing in other libraries.
        call = call.with_model(call.fn, needs=train.schema.names)
    needed = call.needed_columns(table)
    if is_trained_here:
        fitted = _fit_clone(model, needed, y, train.weight, train.query)
    ready = call.with_model(_with_probabilities(fitted, needed, y))
    frozen = _freeze(fitted, ready.fn, train) if is_whole else None
    reads = None if frozen is None else _columns_of(ready.fn, train.schema)
    if given is not None:
        name = "expensive_values" if train.classes is None else "expensive_proba"
        check = Call(name, fn=lambda rows: np.asarray(given), timeout=None)
        return ExpensiveModel(ready, check.predict_scores(train.X, train.classes), frozen, reads)
    path = cache_path(call, train)
    shape = (len(train),) if train.classes is None else (len(train), train.n_classes)
    scores = load_scores(path, shape)
    if scores is None:
        if path is not None:
            make_folder(path.parent)  # a folder that cannot be is an error before anything is paid
        if hasattr(model, "fit") and call.folds is not None:
            scores = out_of_fold_scores(call, model, needed, train, random)
        else:
            scores = ready.predict_scores(table, train.classes)
        if path is not None:
            _cache_scores(path, scores)
    return ExpensiveModel(ready, scores, frozen, reads)


def out_of_fold_scores(
    call: Call, estimator: Any, table: Any, train: TrainingSet, random: RandomState
) -> Floats:
    """Return scores (n, K) or (n,) of each row from a clone that was fitted without its fold.

    `table` has the needed columns only. Folds are balanced in the target, and have whole queries; a
    class that a clone has not seen gets probability 0. (`cross_val_predict` refuses classes with
    few rows.)
    """
    y, classes = np.asarray(train.labels), train.classes
    groups = train.groups
    most = len(y) if groups is None else int(groups.max()) + 1
    folds = assign_folds(train.y, min(call.folds or 2, most), random, groups)
    scores = np.empty(len(y) if classes is None else (len(y), len(classes)))
    for fold in range(folds.max() + 1):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        part = train.take(inside)
        if classes is not None and len(np.unique(part.y)) < 2:
            scores[outside] = np.bincount(part.y, minlength=len(classes)) / len(inside)
            continue
        rows = take_rows(table, inside)
        fitted = _fit_clone(estimator, rows, y[inside], part.weight, part.query)
        fold_call = Call(call.name, fn=_with_probabilities(fitted, rows, y[inside]))
        scores[outside] = fold_call.predict_scores(take_rows(table, outside), classes)
    return scores


def cache_path(call: Call, train: TrainingSet) -> Path | None:
    """Return the file that caches the scores of a call; None if it has no folder.

    The name ends in a hash of everything that the scores depend on, except the model.
    """
    if call.folder is None:
        return None
    needs = None if call.needs is None else list(map(str, call.needs))
    labels = None if train.classes is None else train.classes.tolist()
    plain = [call.name, needs, call.folds, train.schema.plain(), labels]
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode())
    digest.update(np.ascontiguousarray(train.X, dtype=np.float64).tobytes())
    digest.update(np.ascontiguousarray(train.y).tobytes())
    name = re.sub(r"\W+", "-", call.name)[:40]
    return call.folder / f"{name}-{digest.hexdigest()[:32]}.npy"


def _cache_scores(path: Path, scores: Floats) -> None:
    """Keep scores for the next fit; a disk that fails is no reason to lose this one."""
    try:
        write_whole(path, pack_array(np.asarray(scores, dtype=np.float64)))
    except OSError as error:
        warnings.warn(
            f"the outputs of the call are not cached, and the next fit calls again ({error})",
            stacklevel=2,
        )


def load_scores(path: Path | None, shape: tuple[int, ...]) -> Floats | None:
    """Return cached scores; None if there are none or the file is damaged."""
    if path is None or not path.exists():
        return None
    entry = {"dtype": "<f8", "shape": list(shape), "sha256": ""}
    try:
        data = read_file(path, array_size(path.name, entry))
        digest = hashlib.sha256(data).hexdigest()
        scores: Floats = unpack_array(path.name, {**entry, "sha256": digest}, data)
    except (OSError, BundleError):
        return None
    return scores if is_usable(scores.reshape(len(scores), -1)).all() else None


def _model_of(call: Call, task: str | None) -> Any:
    """Return the model behind a call, out of any `FrozenEstimator`; by default that of the task."""
    model = call.fn
    while type(model).__name__ == "FrozenEstimator":
        model = model.estimator
    return DEFAULTS.get(task or "") if model is None else model


def _is_fitted(model: Any) -> bool:
    """Whether an estimator is fitted, by scikit-learn's conventions."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _fit_clone(
    estimator: Any,
    table: Any,
    y: NDArray[Any],
    weight: Floats | None,
    query: NDArray[np.int64] | None,
) -> Any:
    """Fit a clone; sample weights and queries are passed if it takes them."""
    model, given = clone(estimator), {"sample_weight": weight, "qid": query}
    taken = {
        name: value
        for name, value in given.items()
        if value is not None and has_fit_parameter(model, name)
    }
    return model.fit(table, y, **taken)


def _with_probabilities(model: Any, table: Any, y: NDArray[Any]) -> Any:
    """Return the model; an SVM that can be frozen is calibrated, as it has no probabilities."""
    if not isinstance(model, SVC | NuSVC):
        return model
    try:
        return CompressedSVC(model, n_vectors=1.0, max_moves=0).fit(table, y)
    except DataError:
        return model


def _columns_of(model: Any, schema: Schema) -> NDArray[np.int64] | None:
    """Return the positions of a model's columns in a table; None if it has all, in that order."""
    predictor = model.predictor_ if isinstance(model, PricedEstimator) else model
    if not isinstance(predictor, Predictor) or predictor.schema == schema:
        return None
    return np.array([schema.index(name) for name in predictor.schema.names], dtype=np.int64)


def _freeze(model: Any, with_probabilities: Any, train: TrainingSet) -> Frozen | None:
    """Freeze a fitted model, after checking its columns and classes; None if that is impossible."""
    predictor = with_probabilities
    if isinstance(predictor, PricedEstimator):
        predictor = predictor.predictor_
    if isinstance(predictor, Predictor):
        if predictor.schema.calls or len(predictor.schema) > len(train.schema):
            return None  # a gate that makes calls itself
        table = {column.name: column for column in train.schema.columns}
        is_same = predictor.schema == train.schema
        if not is_same and not (
            train.schema.named and all(table.get(c.name) == c for c in predictor.schema.columns)
        ):
            raise DataError(
                "expensive: it was trained on other columns or categories than the table has; "
                "give Call(name, needs=[...], fn=model) to call it as it is"
            )
        frozen, classes = predictor.model, predictor.classes
    else:
        if not hasattr(model, "predict"):
            return None
        try:
            source = read(model)
        except (DataError, TypeError):
            return None
        names = tuple(column.name for column in source.columns) if source.named else None
        columns = find_columns(
            "expensive", source.forest.n_features, names, train.schema, numeric=True
        )
        frozen = renumber(source.forest, columns)
        if source.classes is None:
            return frozen
        classes = np.array(source.classes)
    predicts, has = (
        "numbers" if each is None else f"the classes {each.tolist()[:20]}"
        for each in (classes, train.classes)
    )
    if predicts != has:
        raise DataError(f"expensive: it predicts {predicts}, the target has {has}")
    return frozen
