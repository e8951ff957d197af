"""Tables with their targets, read once where they enter and handed down from there.

A `TrainingSet` learns the schema of its table and binds the prices to it; a `ValidationSet` is
encoded by the schema of a training set. After that, learners see arrays only. The columns of a
table with names are sorted by name, so that ties, random draws and sums over columns do not depend
on the order in which the table has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score
from sklearn.utils.class_weight import compute_sample_weight

from thrifty.bundle import Predictor, Schema
from thrifty.bundle.columns import read_column
from thrifty.bundle.tables import Table
from thrifty.costs import BoundPrices, PriceList, Prices
from thrifty.errors import DataError
from thrifty.learn._sklearn import take_rows
from thrifty.learn.error_costs import ErrorCosts
from thrifty.learn.ndcg import ndcg
from thrifty.learn.targets import Labels, grades, numbers, queries
from thrifty.learn.weights import comparable_weights, read_weights
from thrifty.model import Forest

__all__ = ["Rows", "TrainingSet", "ValidationSet", "bind_prices", "read_target", "row_of"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp] | NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """A training table and its target: encoded, checked, weighted and priced.

    Parameters
    ----------
    task : {"classification", "regression", "ranking"}
    table : pandas or polars DataFrame, or array
        The rows as the user gave them; `X` is what learners read.
    schema : Schema
        Names and kinds of the columns, learned from this table; sorted by name.
    prices : BoundPrices
        Prices of the columns.
    X : array of shape (n, d)
        The encoded rows, in the order of the schema: categories are codes, missing values are NaN.
    y : array of shape (n,)
        Class codes (int64), numbers (float64) or relevance grades (float64), depending on the task.
    weight : array of shape (n,) or None
        Positive sample weights; rows of weight 0 are dropped when the set is read.
    classes : array of shape (K,) or None
        Labels in the order of the class codes.
    query : int64 array of shape (n,) or None
        Query number of each row, for ranking.
    clusters : int64 array of shape (n,) or None
        Group number of each row, where the rows of a group belong together, such as those of one
        patient; for ranking, the queries.
    error_costs : ErrorCosts or None
        What errors cost, in the unit of the prices; None if all errors are alike.

    Examples
    --------
    >>> from thrifty.learn.dataset import TrainingSet
    >>> train = TrainingSet.read(
    ...     "classification", {"age": [63, 41, 57], "sex": ["m", "f", "m"]}, ["ill", "well", "ill"])
    >>> train.X
    array([[63.,  1.],
           [41.,  0.],
           [57.,  1.]])
    >>> train.y, train.classes
    (array([0, 1, 0]), array(['ill', 'well'], dtype='<U4'))
    """

    task: str
    table: Any
    schema: Schema
    prices: BoundPrices
    X: NDArray[np.floating]
    y: NDArray[Any]
    weight: Floats | None = None
    classes: NDArray[Any] | None = None
    query: NDArray[np.int64] | None = None
    clusters: NDArray[np.int64] | None = None
    error_costs: ErrorCosts | None = None

    @classmethod
    def read(
        cls,
        task: str,
        table: Any,
        y: Any,
        prices: PriceList | None = None,
        sample_weight: Any = None,
        qid: Any = None,
        groups: Any = None,
        row_costs: Any = None,
    ) -> Self:
        """Read a table: learn its schema, encode it, check target, weights, queries and groups.

        Raises
        ------
        DataError
            If anything cannot be used; it names the column, the row and the remedy.
        PriceError
            If the prices do not fit the columns.
        """
        schema = Schema.of(table).sort()
        bound = bind_prices(prices, schema)
        X = schema.encode(table)
        target, classes = read_target(task, y, len(X))
        weight = read_weights(sample_weight, X)
        query = queries(qid, len(X)) if task == "ranking" else None
        clusters = query if groups is None else queries(groups, len(X), "groups")
        costs = None
        if row_costs is not None:
            if classes is None:
                raise DataError(f"costs: {task} has no classes, so errors are not counted")
            costs = ErrorCosts.read_rows(row_costs, target, len(classes), weight)
        whole = cls(task, table, schema, bound, X, target, weight, classes, query, clusters, costs)
        return whole._weighted_rows()

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.schema)

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 if the target holds numbers."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def groups(self) -> NDArray[np.int64] | None:
        """Groups that are never divided, (n,); None for a single one, such as a single query."""
        return None if self.clusters is None or self.clusters.max() == 0 else self.clusters

    @cached_property
    def categorical(self) -> NDArray[np.bool_]:
        """Which columns hold categories, (d,)."""
        return np.array([column.categories is not None for column in self.schema.columns])

    @cached_property
    def weights(self) -> Floats:
        """Weight of each row, 1 where none was given, (n,)."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def class_shares(self) -> Floats:
        """Weighted share of each class, (K,)."""
        counts = np.bincount(self.y, self.weight, self.n_classes)
        return np.asarray(counts / counts.sum())

    @property
    def constant(self) -> Forest:
        """The classifier that buys nothing and predicts the class shares."""
        return Forest.constant(self.class_shares, "mean", self.n_features)

    @property
    def labels(self) -> NDArray[Any]:
        """The target as the user gave it: labels, numbers or grades."""
        return self.y if self.classes is None else self.classes[self.y]

    def value_ranges(self) -> list[list[float] | None]:
        """Return the smallest and the largest value of each column; None for categories."""
        low, high = np.fmin.reduce(self.X, axis=0), np.fmax.reduce(self.X, axis=0)
        is_known = ~self.categorical & np.isfinite(low)
        return [
            [float(a), float(b)] if known else None
            for a, b, known in zip(low, high, is_known, strict=True)
        ]

    def take(self, rows: Rows) -> Self:
        """Keep some of the rows, with the schema as it is."""
        indices = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return replace(
            self,
            table=take_rows(self.table, indices),
            X=self.X[indices],
            y=self.y[indices],
            weight=None if self.weight is None else self.weight[indices],
            query=None if self.query is None else queries(self.query[indices], len(indices)),
            clusters=(
                None if self.clusters is None else queries(self.clusters[indices], len(indices))
            ),
            error_costs=None if self.error_costs is None else self.error_costs.take(indices),
        )

    def sample(self, rows: Rows) -> Self:
        """Keep some of the rows; the schema forgets the categories that none of them has.

        Raises
        ------
        DataError
            If a class has no row left, or a column no value.
        """
        part = self.take(rows)
        if self.classes is not None:
            absent = self.classes[np.setdiff1d(self.y, part.y)].tolist()
            if absent:
                raise DataError(
                    f"target: no row of class {absent[:5]} is left to train on; give more rows or "
                    "groups of it, or a validation set of your own"
                )
        schema = self.schema.present_in(part.X)
        return replace(part, schema=schema, X=schema.recode(part.X, self.schema))

    def hold_out(self, rows: NDArray[np.intp], schema: Schema) -> ValidationSet:
        """Make a validation or test set of some of the rows, encoded by another schema.

        Parameters
        ----------
        rows : int array
        schema : Schema
            That of the rows which are trained on, a part of this set.
        """
        part = self.take(rows)
        return ValidationSet(
            self.task, part.table, schema, schema.recode(part.X, self.schema), part.y,
            self.classes, part.query, part.clusters, rows, part.weight, part.error_costs,
        )  # fmt: skip

    def take_columns(self, columns: NDArray[np.intp]) -> Self:
        """Keep some of the columns, at a price of one unit each."""
        schema = Schema(tuple(self.schema.columns[j] for j in columns), self.schema.named)
        return replace(
            self,
            table=_take_columns(self.table, schema, columns),
            schema=schema,
            prices=bind_prices(None, schema),
            X=np.ascontiguousarray(self.X[:, columns]),
        )

    def with_prices(self, prices: PriceList | None) -> Self:
        """Bind other prices to the same columns."""
        return replace(self, prices=bind_prices(prices, self.schema))

    def encode_by(self, schema: Schema) -> Self:
        """Encode the same table by another schema, such as that of a model at hand."""
        schema, prices = schema.placed_like(self.schema), self.prices
        if schema == self.schema:
            return self
        if schema.names != self.schema.names:
            prices = prices.take(np.array([self.schema.index(name) for name in schema.names]))
        return replace(self, schema=schema, prices=prices, X=schema.encode(self.table))

    def with_class_weight(self, class_weight: dict[Any, float] | str | None) -> Self:
        """Multiply the weights of the rows by those of their classes, as scikit-learn does."""
        if class_weight is None:
            return self
        assert self.classes is not None
        balance = compute_sample_weight(class_weight, self.classes[self.y])
        weight = np.asarray(balance if self.weight is None else self.weight * balance)
        if not np.any(weight > 0):
            raise DataError("class_weight: every class of the target has weight 0")
        weight = comparable_weights("class_weight", weight)
        return replace(self, weight=weight)._weighted_rows()

    def with_costs(self, costs: Any) -> Self:
        """Let errors cost what a matrix or a mapping says; see `read_cost_matrix`."""
        if costs is None:
            return self
        if self.classes is None:
            raise DataError(f"costs: {self.task} has no classes, so errors are not counted")
        if self.error_costs is not None and self.error_costs.of_row is not None:
            raise DataError("costs: given by class and for each row; give one of them")
        return replace(self, error_costs=ErrorCosts.read(costs, self.classes))

    def limit_classes(self, most: int, why: str) -> None:
        """Raise a DataError if there are more classes than a method can take, and say why."""
        if self.n_classes > most:
            raise DataError(
                f"target: {self.n_classes} classes; {why}, and the limit is {most}. Join rare "
                "classes, or use GreedyMiserClassifier"
            )

    def require_every_class(self) -> None:
        """Raise a DataError if a class has no row of positive weight."""
        if len(np.unique(self.y)) < self.n_classes:
            raise DataError("target: every class needs a row of positive weight")

    def _weighted_rows(self) -> Self:
        """Drop the rows of weight 0, which must not even place a bin edge."""
        if self.weight is None or np.all(self.weight > 0):
            return self
        return self.take(self.weight > 0)


@dataclass(frozen=True, eq=False)
class ValidationSet:
    """Rows that no model is trained on: a validation set, or a test set.

    Parameters
    ----------
    task : {"classification", "regression", "ranking"}
    table : pandas or polars DataFrame, or array
        The rows as the user gave them.
    schema : Schema
        That of the training set.
    X : array of shape (n, d)
        The rows, encoded by the schema.
    y : array of shape (n,)
        Class codes, numbers or grades, as in the training set.
    classes : array of shape (K,) or None
        Labels in the order of the class codes.
    query : int64 array of shape (n,) or None
        Query number of each row, for ranking.
    clusters : int64 array of shape (n,) or None
        Group number of each row, where the rows of a group count as one observation; for ranking,
        the queries.
    index : int array of shape (n,) or None
        Positions of the rows in the table that they were split off; None if it is all of it.
    weight : array of shape (n,) or None
        Sample weights.
    error_costs : ErrorCosts or None
        What errors cost, as in the training set.
    """

    task: str
    table: Any
    schema: Schema
    X: NDArray[np.floating]
    y: NDArray[Any]
    classes: NDArray[Any] | None = None
    query: NDArray[np.int64] | None = None
    clusters: NDArray[np.int64] | None = None
    index: NDArray[np.intp] | None = None
    weight: Floats | None = None
    error_costs: ErrorCosts | None = None

    @classmethod
    def read(cls, validation: Sequence[Any], train: TrainingSet) -> Self:
        """Read ``(X, y)``, or ``(X, y, qid)`` for ranking, by the schema of a training set."""
        if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3):
            raise DataError("validation: give the table and its target, (X, y), or (X, y, qid)")
        table, y, *qid = validation
        X = train.schema.encode(table)
        if train.classes is not None:
            target = Labels(train.classes, np.empty(0, np.int64)).recode(y, len(X))
        else:
            target = read_target(train.task, y, len(X))[0]
        groups = queries(qid[0], len(X)) if qid else None
        query = queries(qid[0] if qid else None, len(X)) if train.task == "ranking" else None
        costs = None if train.error_costs is None else ErrorCosts(train.error_costs.decision)
        return cls(
            train.task, table, train.schema, X, target, train.classes, query, groups,
            error_costs=costs,
        )  # fmt: skip

    @classmethod
    def for_predictor(
        cls, predictor: Predictor, task: str, table: Any, y: Any, qid: Any = None
    ) -> Self:
        """Read labeled rows for a predictor at hand; labels that it never saw are always wrong."""
        X = predictor.encode(table)
        query = queries(qid, len(X)) if task == "ranking" else None
        if predictor.classes is None:
            target = read_target("regression" if task != "ranking" else task, y, len(X))[0]
            return cls(task, table, predictor.schema, X, target, None, query, query)
        labels = y.tolist() if hasattr(y, "tolist") else list(y)
        if len(labels) != len(X):
            raise DataError(f"target: {len(labels)} labels for {len(X)} rows; give one per row")
        codes = {label: code for code, label in enumerate(predictor.classes.tolist())}
        for label in labels:
            codes.setdefault(label, len(codes))
        target = np.array([codes[label] for label in labels], dtype=np.int64)
        classes = predictor.classes
        if len(codes) > len(classes):
            classes = np.empty(len(codes), dtype=object)
            classes[:] = list(codes)
        return cls(task, table, predictor.schema, X, target, classes, query, query)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def labels(self) -> NDArray[Any]:
        """The target as the user gave it: labels, numbers or grades."""
        return self.y if self.classes is None else self.classes[self.y]

    @cached_property
    def weights(self) -> Floats:
        """Weight of each row, 1 where none was given, (n,)."""
        return np.ones(len(self.X)) if self.weight is None else self.weight

    @property
    def positions(self) -> NDArray[np.intp]:
        """Positions of the rows in the user's table."""
        return np.arange(len(self.X)) if self.index is None else self.index

    def row(self, i: int) -> dict[str | int, Any]:
        """Return the values of the i-th row by feature, as plain Python values."""
        return row_of(self.table, i)

    def recode(self, schema: Schema) -> Self:
        """Encode the same rows by a schema of the same columns that knows fewer categories."""
        return replace(self, schema=schema, X=schema.recode(self.X, self.schema))

    def encode_by(self, schema: Schema) -> Self:
        """Encode the same table by another schema, such as that of a model at hand."""
        return replace(self, schema=schema, X=schema.encode(self.table))

    def matching(self, train: TrainingSet) -> Self:
        """Return these rows with the schema and the classes of a training set."""
        rows = self if self.schema == train.schema else self.encode_by(train.schema)
        classes = train.classes
        if classes is None or rows.classes is None or np.array_equal(classes, rows.classes):
            return rows
        codes = Labels(classes, np.empty(0, np.int64)).recode(rows.labels, len(rows))
        return replace(rows, y=codes, classes=classes)

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Keep some of the rows."""
        clusters = None if self.clusters is None else self.clusters[rows]
        return replace(
            self,
            table=take_rows(self.table, rows),
            X=self.X[rows],
            y=self.y[rows],
            query=None if self.query is None else queries(self.query[rows], len(rows)),
            clusters=None if clusters is None else queries(clusters, len(rows)),
            index=None if self.index is None else self.index[rows],
            weight=None if self.weight is None else self.weight[rows],
            error_costs=None if self.error_costs is None else self.error_costs.take(rows),
        )

    def take_columns(self, columns: NDArray[np.intp]) -> Self:
        """Keep some of the columns."""
        schema = Schema(tuple(self.schema.columns[j] for j in columns), self.schema.named)
        return replace(
            self,
            table=_take_columns(self.table, schema, columns),
            schema=schema,
            X=np.ascontiguousarray(self.X[:, columns]),
        )

    def quality(self, scores: Floats) -> float:
        """Return the accuracy of probabilities (n, K), or the R2 or NDCG@5 of values (n,).

        With costs of errors it is minus their mean.
        """
        if self.error_costs is not None:
            return -float(np.mean(self.error_costs.actual(scores, self.y)))
        if self.task == "classification":
            return float(np.mean(scores.argmax(axis=1) == self.y))
        if self.task == "regression":
            return float(r2_score(self.y, scores))
        assert self.query is not None
        return ndcg(self.y, scores, self.query)


def row_of(table: Any, i: int) -> dict[str | int, Any]:
    """Return the values of the i-th row of a table by feature, as plain Python values."""
    read = Table.read(take_rows(table, [i]))
    features: tuple[str | int, ...] = read.names or tuple(range(len(read.columns)))
    cells = (read_column(column)[0][0] for column in read.columns)
    return {
        name: cell.item() if isinstance(cell, np.generic) else cell
        for name, cell in zip(features, cells, strict=True)
    }


def _take_columns(table: Any, schema: Schema, columns: NDArray[np.intp]) -> Any:
    """Keep the columns of a schema, by name where there are names, else by position."""
    return take_rows(table, list(schema.names) if schema.named else columns, axis=1)


def bind_prices(prices: PriceList | None, schema: Schema) -> BoundPrices:
    """Bind prices to the columns of a schema; without any, every column costs one unit.

    Examples
    --------
    >>> from thrifty.bundle import Schema
    >>> from thrifty.learn.dataset import bind_prices
    >>> bind_prices({"age": 1.0, "chol": 7.27}, Schema.of({"age": [63], "chol": [233]}))
    BoundPrices(2 features, 8.27 in full)
    """
    names = [str(name) for name in schema.table_names]
    bound = Prices.of(prices).bind(names if schema.named else len(names))  # a list is in this order
    return bound if schema.is_in_table_order else bound.take(np.argsort(schema.table_order))


def read_target(task: str, y: Any, rows: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Check a target; return class codes and classes, or numbers and None."""
    if task == "classification":
        labels = Labels.of(y, rows)
        return labels.codes, labels.classes
    return (numbers if task == "regression" else grades)(y, rows), None
