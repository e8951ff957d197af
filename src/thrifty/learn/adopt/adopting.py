"""From a model of another library to a predictor: names, categories, classes and prices join."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from thrifty.bundle import Column, Predictor, Schema
from thrifty.costs import Prices
from thrifty.errors import DataError, raise_all
from thrifty.learn.adopt import scikit_learn
from thrifty.learn.adopt.lightgbm import read_lightgbm
from thrifty.learn.adopt.trees import Source
from thrifty.learn.adopt.xgboost import read_xgboost
from thrifty.model import Forest

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
    prices: Prices | None = None,
    classes: Sequence[Any] | None = None,
) -> Predictor:
    """Make a predictor of a model that another library has fitted.

    It predicts what the model predicts, and can tell what it uses, walk, and be saved.

    Parameters
    ----------
    model : estimator, booster or path
        A fitted scikit-learn tree, forest or gradient boosting; a LightGBM model or the path of
        its text file; an XGBoost model or the path of its JSON file.
    X : table, optional
        Some rows of the training table. It names the columns, and the categories where the model
        knows bare codes only.
    feature_names : sequence of str, optional
        Names of the columns, instead of those that the model or `X` has.
    prices : Prices, optional
        What the features cost; one unit each when left out.
    classes : sequence, optional
        Labels of the classes, where the model has none of its own; 0, 1, ... when left out.

    Raises
    ------
    DataError
        If the model is of another kind, or does what a frozen forest cannot.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from thrifty.learn.adopt import adopt
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> y = np.where(X[:, 0] + X[:, 2] > 0, "yes", "no")
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> predictor = adopt(forest)
    >>> bool((predictor.predict(X) == forest.predict(X)).all())
    True
    >>> predictor.walk().asks[0]
    0
    """
    source = read(model)
    schema = _schema(source, X, feature_names)
    names = [str(column.name) for column in schema.columns]
    bound = (prices or Prices()).bind(names if schema.named else len(names))
    return Predictor(
        source.forest, schema, bound, _classes(source, classes), None, _provenance(source)
    )


def adopt_forest(model: Any) -> Forest:
    """The frozen forest of a model that `adopt` takes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from thrifty.learn.adopt import adopt_forest
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> tree = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0] ** 2)
    >>> bool((adopt_forest(tree).score(X) == tree.predict(X)).all())
    True
    """
    return read(model).forest


def read(model: Any) -> Source:
    """Find out what `model` is, and read it."""
    if isinstance(model, str | os.PathLike):
        return _read_file(Path(model))
    if isinstance(model, scikit_learn.KINDS):
        return scikit_learn.read_scikit_learn(model)
    library = type(model).__module__.split(".")[0]
    if library == "lightgbm":
        return _read_lightgbm(model)
    if library == "xgboost":
        return _read_xgboost(model)
    kind = type(model).__name__
    if isinstance(model, BaseEstimator) and hasattr(model, "best_estimator_"):
        raise DataError(f"a {kind} cannot be adopted; give its best_estimator_")
    raise DataError(f"a {kind} cannot be adopted; adopt takes {TAKEN}")


def _read_file(path: Path) -> Source:
    """A text file of LightGBM or a JSON file of XGBoost, told apart by how it begins."""
    data = path.read_bytes()
    start = data.lstrip()[:5]
    if start.startswith(b"tree"):
        return read_lightgbm(_text(path, data))
    if start.startswith(b"{L"):
        raise DataError(f"{path}: this is UBJSON; save the XGBoost model as JSON: name it *.json")
    if start.startswith(b"{"):
        return read_xgboost(_text(path, data))
    raise DataError(f"{path}: neither a LightGBM text file nor an XGBoost JSON file")


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text; the file is damaged") from None


def _read_lightgbm(model: Any) -> Source:
    booster = _booster(model, lambda: model.booster_)
    return read_lightgbm(booster.model_to_string(), classes=_labels(model))


def _read_xgboost(model: Any) -> Source:
    booster = _booster(model, lambda: model.get_booster())
    text = booster.save_raw("json").decode("utf-8")
    # The estimators stop at the best round of an early stop, a bare booster does not.
    best = getattr(model, "best_iteration", None) if booster is not model else None
    return read_xgboost(text, rounds=None if best is None else best + 1, classes=_labels(model))


def _booster(model: Any, find: Callable[[], Any]) -> Any:
    """The booster in an estimator, or `model` if it is one."""
    if not isinstance(model, BaseEstimator):
        return model
    try:
        return find()
    except (AttributeError, ValueError):  # of which their errors for unfitted models are made
        raise DataError(f"this {type(model).__name__} is not fitted; call fit first") from None


def _labels(model: Any) -> list[Any] | None:
    labels = getattr(model, "classes_", None)
    return None if labels is None else list(labels.tolist())


def _schema(source: Source, X: Any, feature_names: Sequence[str] | None) -> Schema:
    columns, named = source.columns, source.named
    if X is not None:
        columns, named = _table_columns(source, Schema.of(X))
    if feature_names is not None:
        names = [str(name) for name in feature_names]
        if len(names) != len(columns) or len(set(names)) < len(names):
            raise DataError(f"feature_names: give {len(columns)} distinct names, one per column")
        pairs = zip(names, columns, strict=True)
        columns, named = tuple(Column(name, column.categories) for name, column in pairs), True
    return Schema(columns, named)


def _table_columns(source: Source, table: Schema) -> tuple[tuple[Column, ...], bool]:
    """The columns of the source by the names of a table, and its labels for bare codes."""
    if len(table) != len(source.columns):
        raise DataError(f"X has {len(table)} columns, the model reads {len(source.columns)}")
    problems, columns = [], []
    for j, (own, given) in enumerate(zip(source.columns, table.columns, strict=True)):
        if source.named and table.named and own.name != given.name:
            problems.append(f"column {j} of X is {given.name!r}, the model has {own.name!r}")
        if given.categories is not None and own.categories is None:
            problems.append(f"column {given.name!r} of X holds categories, the model reads numbers")
        bare = j in source.unlabeled and given.categories is not None
        columns.append(
            Column(
                own.name if source.named else given.name,
                given.categories if bare else own.categories,
            )
        )
    raise_all(DataError, "X", problems)
    return tuple(columns), source.named or table.named


def _classes(source: Source, classes: Sequence[Any] | None) -> Any:
    if source.forest.link == "sum":
        if classes is not None:
            raise DataError("classes: this model predicts values, it has no classes")
        return None
    count = source.forest.n_scores
    found = source.classes if classes is None else list(classes)
    if found is not None and len(found) != count:
        raise DataError(f"classes: give {count} labels, got {len(found)}")
    return list(range(count)) if found is None else found


def _provenance(source: Source) -> dict[str, Any]:
    from thrifty import __version__

    return {"method": "adopt", "source": source.origin, "thrifty": __version__}
