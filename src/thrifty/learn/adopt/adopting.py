"""Turn a model of another library into a predictor with names, classes and prices."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from thrifty.bundle import Column, Predictor, Schema
from thrifty.bundle.archive import MAX_FILE
from thrifty.costs import PriceList
from thrifty.errors import DataError, raise_all
from thrifty.learn.adopt import scikit_learn
from thrifty.learn.adopt.lightgbm import read_lightgbm
from thrifty.learn.adopt.trees import Source
from thrifty.learn.adopt.xgboost import read_xgboost
from thrifty.learn.dataset import bind_prices
from thrifty.model import Forest
from thrifty.untrusted import read_file

__all__ = ["adopt", "adopt_forest"]

TAKEN = (
    f"fitted scikit-learn models ({', '.join(kind.__name__ for kind in scikit_learn.KINDS)}), "
    "LightGBM models or their text files, XGBoost models or their JSON files"
)


def adopt(
    model: Any,
    *,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    prices: PriceList | None = None,
    classes: Sequence[Any] | None = None,
) -> Predictor:
    """Turn a model that another library has fitted into a predictor.

    The predictor makes the same predictions, and has bills, walks and model files besides.

    Parameters
    ----------
    model : estimator, booster or path
        A fitted scikit-learn tree, forest or gradient boosting; a LightGBM model or the path of
        its text file; an XGBoost model or the path of its JSON file.
    X : table, optional
        Some rows of the training table: their columns give the names, and their categories the
        labels where the model only knows codes.
    feature_names : sequence of str, optional
        Names of the columns, in place of those of the model or of `X`.
    prices : Prices, mapping or sequence, optional
        What the features cost; one unit each by default.
    classes : sequence, optional
        Labels of the classes, if the model has none of its own; 0, 1, ... by default.

    Raises
    ------
    DataError
        If the model is of another kind, or does something that a frozen forest cannot do.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from thrifty.learn.adopt import adopt
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> y = np.where(X[:, 0] + X[:, 2] > 0, "yes", "no")
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> predictor = adopt(forest)
    >>> predictor.predict(X[:3]), forest.predict(X[:3])
    (array(['yes', 'yes', 'no'], dtype='<U3'), array(['yes', 'yes', 'no'], dtype='<U3'))
    >>> predictor.walk().asks  # what the roots of the trees wait for
    (0, 3, 2)
    """
    from thrifty import __version__

    source = read(model)
    schema = _schema(source, X, feature_names)
    bound = bind_prices(prices, schema)
    provenance = {"method": "adopt", "source": source.origin, "thrifty": __version__}
    labels = _classes(source, classes)
    return Predictor(source.forest, schema, bound, labels, None, provenance)


def adopt_forest(model: Any) -> Forest:
    """Return the frozen forest of a model that `adopt` takes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from thrifty.learn.adopt import adopt_forest
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> tree = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0] ** 2)
    >>> adopt_forest(tree).score(X[2:4]), tree.predict(X[2:4])
    (array([ 1.66666667, 12.5       ]), array([ 1.66666667, 12.5       ]))
    """
    return read(model).forest


def read(model: Any) -> Source:
    """Find out which library a model comes from, and read it."""
    if isinstance(model, str | os.PathLike):
        return _read_file(Path(model))
    if isinstance(model, scikit_learn.KINDS):
        return scikit_learn.read_scikit_learn(model)
    library = type(model).__module__.split(".")[0]
    labels = getattr(model, "classes_", None)
    classes = None if labels is None else list(labels.tolist())
    if library == "lightgbm":
        booster = _booster(model, lambda: model.booster_)
        return read_lightgbm(booster.model_to_string(), classes=classes)
    if library == "xgboost":
        booster = _booster(model, lambda: model.get_booster())
        text = booster.save_raw("json").decode("utf-8")
        # The estimators use the best round of early stopping, a bare booster does not.
        best = getattr(model, "best_iteration", None) if booster is not model else None
        return read_xgboost(text, rounds=None if best is None else best + 1, classes=classes)
    kind = type(model).__name__
    if isinstance(model, BaseEstimator) and hasattr(model, "best_estimator_"):
        raise DataError(f"an object of type {kind} cannot be adopted; pass its best_estimator_")
    raise DataError(f"an object of type {kind} cannot be adopted; adopt takes {TAKEN}")


def _read_file(path: Path) -> Source:
    """Read a text file of LightGBM or a JSON file of XGBoost, by how it begins."""
    try:
        data = read_file(path, MAX_FILE, DataError)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    start = data.lstrip()[:5]
    if start.startswith(b"{L"):
        raise DataError(
            f"{path}: this is UBJSON; save the XGBoost model as JSON, in a file named *.json"
        )
    if start.startswith((b"tree", b"{")):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise DataError(f"{path}: not UTF-8 text; the file is damaged") from None
        try:
            return read_lightgbm(text) if start.startswith(b"tree") else read_xgboost(text)
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
    raise DataError(f"{path}: neither a LightGBM text file nor an XGBoost JSON file")


def _booster(model: Any, find: Callable[[], Any]) -> Any:
    """Return the booster of an estimator, or `model` if it is one."""
    if not isinstance(model, BaseEstimator):
        return model
    try:
        return find()
    except (AttributeError, ValueError):  # what their errors for unfitted models derive from
        raise DataError(f"this {type(model).__name__} is not fitted; call fit first") from None


def _schema(source: Source, X: Any, feature_names: Sequence[str] | None) -> Schema:
    """Return the schema of a model, with the names of a table or those that were given."""
    columns, named = source.columns, source.named
    if X is not None:
        columns, named = _table_columns(source, Schema.of(X))
    if feature_names is not None:
        names = [str(name) for name in feature_names]
        if len(names) != len(columns) or len(set(names)) < len(names):
            raise DataError(f"feature_names: pass {len(columns)} distinct names, one per column")
        pairs = zip(names, columns, strict=True)
        columns, named = tuple(Column(name, column.categories) for name, column in pairs), True
    return Schema(columns, named)


def _table_columns(source: Source, table: Schema) -> tuple[tuple[Column, ...], bool]:
    """Return the columns of the model with the names of a table, and its labels for codes."""
    if len(table) != len(source.columns):
        raise DataError(f"X has {len(table)} columns, but the model reads {len(source.columns)}")
    problems, columns = [], []
    for j, (own, given) in enumerate(zip(source.columns, table.columns, strict=True)):
        if source.named and table.named and own.name != given.name:
            problems.append(f"column {j} of X is {given.name!r}, but the model has {own.name!r}")
        if given.categories is not None and own.categories is None:
            problems.append(f"column {given.name!r} of X holds categories, the model reads numbers")
        bare = j in source.unlabeled and given.categories is not None
        if bare and given.other is not None:
            problems.append(f"column {given.name!r} of X has more than 255 categories")
        columns.append(
            Column(
                own.name if source.named else given.name,
                given.categories if bare else own.categories,
            )
        )
    raise_all(DataError, "X", problems)
    return tuple(columns), source.named or table.named


def _classes(source: Source, classes: Sequence[Any] | None) -> Any:
    """Return the labels of a classifier, given or its own; None for regression."""
    if source.forest.link == "sum":
        if classes is not None:
            raise DataError("classes: this model predicts values and has no classes")
        return None
    count = source.forest.n_scores
    found = source.classes if classes is None else list(classes)
    if found is not None and len(found) != count:
        raise DataError(f"classes: the model has {count} classes, but got {len(found)} labels")
    return list(range(count)) if found is None else found
