"""What all estimators share that make a forest cheaper: reading, the forest, and the points.

They take a fitted forest or train one; they differ in the order in which splits go.

Where the forest to be pruned comes from, and whether it fits the table.
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
from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from thrifty.bundle import Predictor, Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError, raise_all
from thrifty.kernels.threads import thread_count
from thrifty.learn.adopt.adopting import read
from thrifty.learn.base import PricedEstimator
from thrifty.learn.point import Point
from thrifty.learn.pruning.closure_problem import as_mean, prune
from thrifty.learn.targets import Labels
from thrifty.model import Forest

__all__ = ["ForestPruner", "Given", "Task", "given_forest", "train_forest"]


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


# Without validation rows, one row in this many tells what the forest costs.
SHARE = 4
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Task:
    """The forest, the rows that tell its errors, and the rows that tell what it costs."""

    schema: Schema
    prices: BoundPrices
    classes: NDArray[Any]
    forest: Forest
    X: NDArray[np.floating]
    codes: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    held_rows: NDArray[np.floating]
    held_codes: NDArray[np.int64]

    @property
    def nothing(self) -> Mask:
        """The pruning that keeps no split."""
        return np.zeros(len(self.forest.nodes), dtype=bool)

    def without_rows(self) -> Task:
        """The task as a fitted estimator keeps it."""
        return replace(
            self, X=self.X[:0].copy(), codes=self.codes[:0].copy(), weight=None,
            held_rows=self.X[:0].copy(), held_codes=self.codes[:0].copy(),
        )  # fmt: skip


class ForestPruner(ClassifierMixin, PricedEstimator):  # type: ignore[misc]
    """Base of the classifiers that prune a forest."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "forest": "no_validation",
        "prices": [Prices, None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    forest: Any
    n_estimators: int
    random_state: Any

    def __init__(
        self,
        forest: Any = None,
        prices: Prices | None = None,
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
            The rows that the forest is trained on, if there is none yet, and that tell its errors.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv), optional
            Rows that tell what the forest costs; a quarter of the rows of each class, taken from
            X, when left out.
        """
        task = self._task(X, y, sample_weight, validation)
        knob, forest = self._chosen(task)
        self.classes_ = task.classes
        self._predictor = self._predictor_of(task, forest, knob)
        return self

    def path(
        self, X: Any, y: Any, *, validation: tuple[Any, Any], sample_weight: Any = None
    ) -> Iterator[Point]:
        """Operating points, cheapest first, from the constant at bill 0.

        Quality is the accuracy. Parameters are those of `fit`; bill and quality are measured on
        the validation rows.
        """
        task = self._task(X, y, sample_weight, validation)
        return self._points(task, self._forests(task))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, K) in the order of `classes_`."""
        return self.predictor_.predict_proba(self._checked(X))

    @abstractmethod
    def _chosen(self, task: Task) -> tuple[dict[str, Any], Forest]:
        """The knob as it is set, and the forest for it."""

    @abstractmethod
    def _forests(self, task: Task) -> Iterable[tuple[dict[str, Any], Forest]]:
        """Knobs and forests over the whole range, each a pruning of the next."""

    def _points(
        self, task: Task, forests: Iterable[tuple[dict[str, Any], Forest]]
    ) -> Iterator[Point]:
        # One at a time: thousands of forests together may not fit in memory.
        yield self._point(task, {}, prune(task.forest, task.nothing))
        for knob, forest in forests:
            yield self._point(task, knob, forest)

    def _point(self, task: Task, knob: dict[str, Any], forest: Forest) -> Point:
        model = self._predictor_of(task, forest, knob)
        scores, used = forest.score_and_used(task.held_rows)
        bills = task.prices.bill(used, forest.evaluations(task.held_rows))
        right = scores.argmax(axis=1) == task.held_codes
        return Point(knob, model, float(bills.mean()), float(right.mean()))

    def _predictor_of(self, task: Task, forest: Forest, knob: dict[str, Any]) -> Predictor:
        return self._freeze(forest, task.schema, task.prices, task.classes, knob)

    def _task(self, X: Any, y: Any, sample_weight: Any, validation: Any) -> Task:
        self._validate_params()
        given = None if self.forest is None else given_forest(self.forest)
        schema, prices, rows = self._read(X)
        if given is not None:
            given.refuse_other(schema)
            schema = given.schema or schema
            rows = schema.encode(self._as_table(X, reset=False))
        labels = _labels(y, len(rows), given)
        weight = self._weights(sample_weight, rows)
        rows, codes, weight = self._kept(weight, rows, labels.codes)
        train = np.ones(len(rows), dtype=bool)
        if validation is None:
            train, held = self._divide(codes)
            held_rows, held_codes = rows[held], codes[held]
        else:
            held_rows = schema.encode(self._as_table(validation[0], reset=False))
            held_codes = labels.recode(validation[1], len(held_rows))
        rows, codes = rows[train], codes[train]
        weight = None if weight is None else weight[train]
        forest = given.forest if given else self._train(rows, codes, weight, len(labels.classes))
        return Task(
            schema, prices, labels.classes, forest, rows, codes, weight, held_rows, held_codes
        )

    def _train(
        self, X: NDArray[np.floating], codes: NDArray[np.int64], weight: Any, n_classes: int
    ) -> Forest:
        if len(np.unique(codes)) < n_classes:
            raise DataError("target: every class needs a row of positive weight")
        return train_forest(X, codes, weight, self.n_estimators, self.random_state)

    def _divide(self, codes: NDArray[np.int64]) -> tuple[Mask, Mask]:
        """Rows to learn from and rows to bill; all rows are both where classes are too small."""
        random = check_random_state(self.random_state)
        held = np.zeros(len(codes), dtype=bool)
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            held[random.permutation(rows)[: len(rows) // SHARE]] = True
        return (~held, held) if held.any() else (~held, ~held)


def _labels(y: Any, rows: int, given: Given | None) -> Labels:
    """Class numbers of the rows, in the order of the forest's classes if it knows any."""
    labels = Labels.of(y, rows)
    if given is None:
        return labels
    classes = given.classes
    if classes is None:
        if given.forest.n_scores != len(labels.classes):
            raise DataError(
                f"forest: it tells {given.forest.n_scores} classes apart, "
                f"the target has {len(labels.classes)}"
            )
        return labels
    strange = np.setdiff1d(labels.classes, classes)
    if len(strange):
        raise DataError(
            f"target: {strange.tolist()[:5]} are not classes of the forest {classes.tolist()[:20]}"
        )
    return Labels(classes, np.searchsorted(classes, labels.classes)[labels.codes])
