"""What the estimators that prune a forest share: the forest, the rows, and the points.

They take a fitted forest or train one; they differ in the order in which splits are removed.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state

from thrifty.bundle import Schema
from thrifty.costs import PriceList
from thrifty.errors import DataError, raise_all
from thrifty.kernels.threads import thread_count
from thrifty.learn._sklearn import Interval
from thrifty.learn.adopt.adopting import read
from thrifty.learn.adopt.columns import find_columns, renumber
from thrifty.learn.base import PRICE_LISTS, PricedClassifier, PricedEstimator
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.point import Point
from thrifty.learn.pruning.closure_problem import as_mean, prune
from thrifty.model import Forest

__all__ = ["ForestPruner", "GivenForest", "Knob", "PruningData", "read_forest"]

Knob = dict[str, Any]

# Without a validation set, one training row in this many is billed instead.
BILLED_SHARE = 4


@dataclass(frozen=True, eq=False)
class PruningData:
    """A forest, the rows on which its errors are counted, and the rows whose bills are counted.

    `out_of_bag` (trees, n) are the training rows that each tree was not grown on; None if that is
    not known.
    """

    forest: Forest
    train: TrainingSet
    billed: ValidationSet
    out_of_bag: NDArray[np.bool_] | None = None

    @property
    def constant(self) -> Forest:
        """The forest without any split."""
        return prune(self.forest, np.zeros(len(self.forest.nodes), dtype=bool))


class ForestPruner(PricedClassifier):
    """Base of the classifiers that prune a forest."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "forest": "no_validation",
        "prices": PRICE_LISTS,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: PriceList | None = None,
        n_estimators: int = 40,
        random_state: Any = None,
    ) -> None:
        self.forest = forest
        self.prices = prices
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Prune the forest.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            Rows on which errors are counted; if no forest is given, one is trained on them.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv), optional
            Rows whose bills count. By default a quarter of the rows of each class, which are then
            not trained on.
        """
        data = self._read_pruning(X, y, sample_weight, validation)
        knob, forest = self._prune(data)
        self._predictor = self._predictor_of(forest, data.train, knob)
        return self

    def path(
        self, X: Any, y: Any, *, validation: tuple[Any, Any], sample_weight: Any = None
    ) -> Iterator[Point]:
        """Yield operating points, cheapest first, from the constant at bill 0.

        Quality is the accuracy. Parameters are those of `fit`; bill and quality are measured on
        the validation set.
        """
        data = self._read_pruning(X, y, sample_weight, validation)
        return self._measure(data, self._prunings(data))

    @abstractmethod
    def _prune(self, data: PruningData) -> tuple[Knob, Forest]:
        """Prune as the parameters say; return the knob and the forest."""

    @abstractmethod
    def _prunings(self, data: PruningData) -> Iterable[tuple[Knob, Forest]]:
        """Yield knobs and forests over the whole range, each a pruning of the next."""

    def _measure(
        self, data: PruningData, forests: Iterable[tuple[Knob, Forest]]
    ) -> Iterator[Point]:
        """Yield the point of the constant, then of each pruned forest."""
        # One at a time, without outputs: thousands of forests together may not fit in memory.
        yield Point.measure(self._predictor_of(data.constant, data.train, {}), data.billed)
        for knob, forest in forests:
            model = self._predictor_of(forest, data.train, knob)
            yield replace(Point.measure(model, data.billed), outputs=None)

    def _read_pruning(self, X: Any, y: Any, sample_weight: Any, validation: Any) -> PruningData:
        """Read the table and the forest, or train one; choose the rows to bill."""
        given = None if self.forest is None else read_forest(self.forest)
        train = self._read_training(X, y, sample_weight)
        if given is not None:
            given, train = given.read_like(train)
            assert train.classes is not None
            self.classes_ = train.classes
        if validation is not None:
            billed = self._read_validation(validation, train)
        else:
            random, held = check_random_state(self.random_state), np.zeros(len(train), dtype=bool)
            for code in np.unique(train.y):
                rows = np.flatnonzero(train.y == code)
                held[random.permutation(rows)[: len(rows) // BILLED_SHARE]] = True
            # Where classes are too small, all rows serve for both.
            rows = np.flatnonzero(held) if held.any() else np.arange(len(train))
            billed = train.hold_out(rows, train.schema)
            train = train.take(~held)
        if given is None:
            return PruningData(*self._train_forest(train, billed))
        out_of_bag = given.out_of_bag
        if out_of_bag is not None and out_of_bag.shape[1] != len(train):
            out_of_bag = None  # the forest was trained on other rows
        return PruningData(given.forest, train, billed, out_of_bag)

    def _train_forest(
        self, train: TrainingSet, billed: ValidationSet
    ) -> tuple[Forest, TrainingSet, ValidationSet, NDArray[np.bool_] | None]:
        """Train a fully grown random forest of scikit-learn; return it as the data to prune."""
        train.require_every_class()
        largest = np.abs(np.nan_to_num(train.X)).max(axis=0)
        problems = [
            f"column {train.schema.names[j]!r} holds {largest[j]:g}, too large for scikit-learn's "
            "forests; divide it, or pass NaN if it marks a missing value"
            for j in np.flatnonzero(largest > np.finfo(np.float32).max)
        ]
        raise_all(DataError, "table", problems)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        # All features at every split: trees that share features prune well.
        forest = RandomForestClassifier(
            self.n_estimators, max_features=None, n_jobs=thread_count(), random_state=seed
        )
        forest.fit(train.X, train.y, sample_weight=train.weight)
        return read(forest).forest, train, billed, _out_of_bag(forest)


def _out_of_bag(forest: Any) -> NDArray[np.bool_] | None:
    """Return which rows each tree of a forest of scikit-learn was not grown on, (trees, n)."""
    if not getattr(forest, "bootstrap", False) or not hasattr(forest, "estimators_samples_"):
        return None
    drawn = forest.estimators_samples_
    out = np.ones((len(drawn), forest._n_samples), dtype=bool)
    for tree, rows in zip(out, drawn, strict=True):
        tree[rows] = False
    return out


@dataclass(frozen=True, eq=False)
class GivenForest:
    """A forest that averages, and what it knows of its table: None where it knows nothing."""

    forest: Forest
    schema: Schema | None = None
    names: tuple[str | int, ...] | None = None
    classes: NDArray[Any] | None = None
    out_of_bag: NDArray[np.bool_] | None = None

    def read_like(self, train: TrainingSet) -> tuple[Self, TrainingSet]:
        """Bring a table and the forest together: same columns in the same order, same classes.

        Raises
        ------
        DataError
            If the table does not fit the forest.
        """
        columns = find_columns(
            "forest", self.forest.n_features, self.names, train.schema, numeric=self.schema is None
        )
        given = self
        if self.schema is not None:
            train = train.encode_by(self.schema)
        else:
            given = replace(self, forest=renumber(self.forest, columns))
        labels = train.classes
        assert labels is not None
        if self.classes is None:
            if self.forest.n_scores != len(labels):
                raise DataError(
                    f"forest: it has {self.forest.n_scores} classes, the target has {len(labels)}"
                )
            return given, train
        unknown = np.setdiff1d(labels, self.classes)
        if len(unknown):
            raise DataError(
                f"target: {unknown.tolist()[:5]} are not classes of the forest "
                f"{self.classes.tolist()[:20]}"
            )
        codes = np.searchsorted(self.classes, labels)[train.y]
        return given, replace(train, classes=self.classes, y=codes)


def read_forest(forest: Any) -> GivenForest:
    """Read a frozen `Forest`, a fitted estimator of Thrifty, or a forest of another library."""
    while type(forest).__name__ == "FrozenEstimator":
        forest = forest.estimator
    name = type(forest).__name__
    unfitted = (
        f"forest: this {name} is not fitted; fit it first (clone forgets fits: to keep one, wrap "
        "it in sklearn.frozen.FrozenEstimator)"
    )
    if isinstance(forest, Forest):
        return GivenForest(_averaging(forest, "Forest"))
    if isinstance(forest, PricedEstimator):
        if not hasattr(forest, "_predictor"):
            raise DataError(unfitted)
        predictor = forest.predictor_
        classes = None if predictor.classes is None else np.asarray(predictor.classes)
        model = _averaging(predictor.model, name)
        return GivenForest(model, predictor.schema, tuple(predictor.schema.names), classes)
    if isinstance(forest, str | os.PathLike):
        raise DataError(f"forest: a {name} is not a forest; give the fitted estimator itself")
    try:
        source = read(forest)
    except DataError as error:
        message = unfitted if "not fitted" in str(error) else f"forest: {error}"
        raise DataError(message) from None
    names = tuple(column.name for column in source.columns) if source.named else None
    classes = None if source.classes is None else np.array(source.classes)
    return GivenForest(_averaging(source.forest, name), None, names, classes, _out_of_bag(forest))


def _averaging(model: Any, name: str) -> Forest:
    """Return a forest whose trees average; DataError for any other model."""
    if not isinstance(model, Forest):
        raise DataError(f"forest: a {name} is not a forest; give trees that vote or average")
    if model.link not in ("mean", "vote"):
        what = "predicts values" if model.link == "sum" else "adds up its trees"
        raise DataError(
            f"forest: this {name} {what}; pruning takes classifiers whose trees vote or average"
        )
    return as_mean(model)
