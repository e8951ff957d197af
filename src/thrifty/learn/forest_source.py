"""Where the forest to be pruned comes from, and whether it fits the table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state

from thrifty.bundle import Schema
from thrifty.errors import DataError, raise_all
from thrifty.kernels.threads import thread_count
from thrifty.learn.adopt.adopting import read
from thrifty.learn.base import PricedEstimator
from thrifty.learn.pruned import as_mean
from thrifty.model import Forest

__all__ = ["Given", "given_forest", "train_forest"]


@dataclass(frozen=True, eq=False)
class Given:
    """A forest that averages, and what it knows of its table: None where it knows nothing."""

    forest: Forest
    schema: Schema | None = None
    names: tuple[str | int, ...] | None = None
    classes: NDArray[Any] | None = None

    def refuse_other(self, schema: Schema) -> None:
        """Raise `DataError` unless the forest was trained on the columns of `schema`."""
        d, problems = len(schema), []
        if self.forest.n_features != d:
            problems.append(f"trained on {self.forest.n_features} columns, the table has {d}")
        elif self.names is not None and schema.named and self.names != schema.names:
            pairs = zip(self.names, schema.names, strict=True)
            j, (theirs, ours) = next((j, p) for j, p in enumerate(pairs) if p[0] != p[1])
            problems.append(
                f"trained on other columns: column {j} was {theirs!r}, in the table it is {ours!r}"
            )
        elif self.schema is None:
            problems += [
                f"trained on numbers, but column {column.name!r} holds categories"
                for column in schema.columns
                if column.categories is not None
            ]
        raise_all(DataError, "forest", problems)


def given_forest(forest: Any) -> Given:
    """Read a frozen `Forest`, an estimator with `model_`, or a forest of another library."""
    while type(forest).__name__ == "FrozenEstimator":
        forest = forest.estimator
    if isinstance(forest, Forest):
        return Given(_averaging(forest, "Forest"))
    name = type(forest).__name__
    if isinstance(forest, PricedEstimator):
        if not hasattr(forest, "_predictor"):
            raise DataError(f"forest: {_unfitted(name)}")
        predictor = forest.predictor_
        classes = None if predictor.classes is None else np.asarray(predictor.classes)
        model = _averaging(predictor.model, name)
        return Given(model, predictor.schema, tuple(predictor.schema.names), classes)
    if isinstance(forest, str | os.PathLike):
        raise DataError(f"forest: a {name} is no forest; give the fitted estimator itself")
    try:
        source = read(forest)
    except DataError as error:
        unfitted = "not fitted" in str(error)
        raise DataError(f"forest: {_unfitted(name) if unfitted else error}") from None
    names = tuple(column.name for column in source.columns) if source.named else None
    classes = None if source.classes is None else np.array(source.classes)
    return Given(_averaging(source.forest, name), None, names, classes)


def train_forest(
    X: NDArray[np.floating],
    codes: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    n_estimators: int,
    random_state: Any,
) -> Forest:
    """A random forest of scikit-learn, fully grown, as a frozen one."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    # All features at every split: trees that share features are the ones that prune well.
    forest = RandomForestClassifier(
        n_estimators, max_features=None, n_jobs=thread_count(), random_state=seed
    )
    return read(forest.fit(X, codes, sample_weight=weight)).forest


def _averaging(model: Any, name: str) -> Forest:
    if not isinstance(model, Forest):
        raise DataError(f"forest: a {name} is no forest; give trees that vote or average")
    if model.link not in ("mean", "vote"):
        what = "predicts values" if model.link == "sum" else "adds up its trees"
        raise DataError(
            f"forest: this {name} {what}; pruning takes classifiers whose trees vote or average"
        )
    return as_mean(model)


def _unfitted(name: str) -> str:
    return (
        f"this {name} is not fitted; fit it first (clone forgets fits: to keep one, wrap it in "
        "sklearn.frozen.FrozenEstimator)"
    )
