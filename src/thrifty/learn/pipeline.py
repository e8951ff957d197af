"""A scikit-learn pipeline whose last step pays for the columns of the table, as they came in.

A one-hot column costs what its source costs, and the source is paid once. The steps before the last
are asked which columns they make of which (lineage.py); bills count source columns.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import pipeline as sklearn_pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from thrifty.bundle.columns import is_missing, read_column
from thrifty.bundle.tables import Table
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError, did_you_mean, raise_all
from thrifty.learn._sklearn import take_rows
from thrifty.learn.base import PricedEstimator
from thrifty.learn.dataset import row_of
from thrifty.learn.lineage import find_sources, rebuild
from thrifty.learn.pipeline_walk import PipelineWalk

__all__ = ["Pipeline", "price_columns"]

# Sources that the name of a group lists before "+ 12 more".
MAX_LISTED = 3


def _last_has(method: str) -> Any:
    return available_if(lambda self: hasattr(self.steps[-1][1], method))


class Pipeline(sklearn_pipeline.Pipeline):  # type: ignore[misc]
    """Preprocess a table, and predict with an estimator that pays for the table's own columns.

    The last step is an estimator of Thrifty. Its prices are those of the columns that enter the
    pipeline. A column that a step makes of others costs what these cost: a scaled column as much as
    its source, all one-hot columns of a source together as much as the source, a principal
    component as much as all columns that it is made of. Each is paid once.

    Parameters
    ----------
    steps, transform_input, memory, verbose
        As in `sklearn.pipeline.Pipeline`; the last step is an estimator of Thrifty.

    Attributes
    ----------
    sources_ : bool array of shape (n_transformed, d)
        Which source columns each transformed column is made of.
    prices_ : thrifty.costs.BoundPrices
        Prices of the source columns.

    Notes
    -----
    While the last step is trained, columns with the same sources form a group with the price of
    these sources. That is exact unless a source is used by columns with different sources, or two
    sources share the price of a group; then training counts it twice. Bills are exact, so a budget
    that holds in training holds.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from thrifty import GreedyMiserClassifier, Pipeline
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.normal(50, 9, 400), "town": rng.choice(["a", "b", "c"], 400)})
    >>> y = (X["age"] > 50) ^ (X["town"] == "a")
    >>> prepare = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["town"]))
    >>> model = GreedyMiserClassifier(prices={"age": 1, "town": 5}, random_state=0)
    >>> pipeline = Pipeline([("prepare", prepare), ("model", model)]).fit(X, y)
    >>> pipeline.sources_.astype(int)
    array([[1, 0],
           [0, 1],
           [0, 1],
           [0, 1]])
    >>> pipeline.bill(X).max().item()
    6.0
    >>> walk = pipeline.walk()
    >>> walk.asks  # columns of the table, as they are before any step
    ('age',)
    """

    sources_: NDArray[np.bool_]
    prices_: BoundPrices

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the steps, find out what each column is made of, and fit the last step.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table.
        y : sequence of shape (n,)
            The target.
        **params
            Parameters of the `fit` of a step, such as ``model__sample_weight``. The table of
            ``model__validation`` is one as `X`.

        Raises
        ------
        DataError
            If the last step is not an estimator of Thrifty, or a row is transformed differently
            among other rows.
        PriceError
            If the prices do not fit the columns of `X`.
        """
        name, last = self.steps[-1]
        if not isinstance(last, PricedEstimator):
            kind = type(last).__name__
            raise DataError(f"pipeline: the last step, a {kind}, is not an estimator of Thrifty")
        read = Table.read(X)
        self._names: tuple[Any, ...] = read.names or tuple(range(len(read.columns)))
        self._like, self._row = take_rows(X, [0]), row_of(X, _fullest_row(read))
        self.prices_ = Prices.of(last.prices).bind(read.names or len(read.columns))
        bound = self.prices_
        if bound.structure is not None or bound.delays is not None or bound.also:
            raise DataError(
                "pipeline: prices with requires, panels, delays or several currencies do not carry "
                "over to transformed columns; use the estimator without a pipeline"
            )
        of_last = {k: v for k, v in params.items() if k.startswith(f"{name}__")}
        before = sklearn_pipeline.Pipeline(self.steps[:-1], memory=self.memory)
        transformed = X
        if before.steps:
            others = {key: value for key, value in params.items() if key not in of_last}
            transformed = before.fit_transform(X, y, **others)
        self.steps[:-1] = before.steps
        self.sources_ = find_sources(lambda table: self._columns(self._prepare(table))[1], X)
        settings = {key.removeprefix(f"{name}__"): value for key, value in of_last.items()}
        if settings.get("validation") is not None:
            table, *target = settings["validation"]
            settings["validation"] = (self._transformed(table), *target)
        given, train = last.prices, self._framed(transformed)
        try:
            last.set_params(prices=price_columns(self.prices_, self.sources_, list(train)))
            last.fit(train, y, **settings)
        finally:
            last.set_params(prices=given)
        if len(last.schema_) != len(self.sources_):
            kind = type(last).__name__
            raise DataError(f"pipeline: a {kind} reads columns of its own; use it by itself")
        return self

    def predict(self, X: Any, **params: Any) -> NDArray[Any]:
        """Return the predicted label or value of each row."""
        return np.asarray(self._last.predict(self._transformed(X), **params))

    @_last_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **params: Any) -> NDArray[np.float64]:
        """Return class probabilities (n, K) in the order of `classes_`."""
        return np.asarray(self._last.predict_proba(self._transformed(X), **params))

    @_last_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **params: Any) -> NDArray[np.float64]:
        """Return the decision values of the last step."""
        return np.asarray(self._last.decision_function(self._transformed(X), **params))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> float:
        """Return the score of the last step, such as the accuracy."""
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        return float(self._last.score(self._transformed(X), y, **params))

    def used(self, X: Any) -> NDArray[np.bool_]:
        """Return which source columns each row uses, (n, d)."""
        return np.asarray(self._last.used(self._transformed(X)) @ self.sources_)

    def bill(self, X: Any) -> NDArray[np.float64]:
        """Return the bill of each row, (n,): that of the source columns that it uses."""
        table = self._transformed(X)
        evaluations = self._last.predictor_.evaluations(table) if self.prices_.evaluation else 0
        return self.prices_.bill(self._last.used(table) @ self.sources_, evaluations)

    def walk(self, known: Mapping[Any, Any] | None = None) -> PipelineWalk:
        """Start the walk of one example, which asks for the source columns that it needs."""
        predictor = self._last.predictor_
        return PipelineWalk(
            predictor, self._transform_row, self._names, self.sources_, self.prices_, known
        )

    def save(self, path: str | os.PathLike[str]) -> NoReturn:
        """Refuse to write a model file: it would lack the steps before the last."""
        raise DataError(
            f"{os.fspath(path)}: a model file cannot hold the other steps of a pipeline; fit the "
            "last step on the table itself (it encodes categories and takes missing values), or "
            "keep the pipeline with joblib.dump"
        )

    @property
    def _last(self) -> Any:
        return self.steps[-1][1]

    def _select(self, X: Any) -> Any:
        """Return the columns of a table in the order of training, without others."""
        check_is_fitted(self, "sources_")
        if not hasattr(X, "columns") or isinstance(self._names[0], int):
            return X
        absent = [name for name in self._names if name not in X.columns]
        problems = [
            f"column {name!r} is missing from the table{did_you_mean(name, X.columns)}"
            for name in absent
        ]
        raise_all(DataError, "table", problems)
        return take_rows(X, list(self._names), axis=1)

    def _prepare(self, X: Any) -> Any:
        """Transform a table by all steps but the last."""
        for _, step in self.steps[:-1]:
            if step is not None and step != "passthrough":
                X = step.transform(X)
        return X

    def _columns(self, transformed: Any) -> tuple[list[str], list[NDArray[Any]]]:
        """Return the names and the columns of a transformed table; a sparse one becomes dense."""
        if hasattr(transformed, "tocsr"):
            transformed = transformed.toarray()
        read = Table.read(transformed)
        columns = [read_column(column)[0] for column in read.columns]
        if read.names is not None:
            return list(read.names), columns
        try:
            given = self._names if isinstance(self._names[0], str) else None
            before = sklearn_pipeline.Pipeline(self.steps[:-1])
            names = [str(name) for name in before.get_feature_names_out(given)]
        except (AttributeError, ValueError):  # a step does not name its columns, or there is none
            names = []
        known = len(set(names)) == len(columns)
        return names if known else [f"x{k}" for k in range(len(columns))], columns

    def _framed(self, transformed: Any) -> Any:
        """Return a transformed table as a pandas DataFrame with names."""
        import pandas as pd

        return pd.DataFrame(dict(zip(*self._columns(transformed), strict=True)))

    def _transformed(self, X: Any) -> Any:
        """Transform a table by all steps but the last, as a table with names."""
        return self._framed(self._prepare(self._select(X)))

    def _transform_row(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        """Transform one example of which some values are known; the others do not matter."""
        row = {**self._row, **values}
        for name, value in values.items():
            if is_missing(value) and not hasattr(self._like, "get_columns"):
                row[name] = np.nan  # polars has null for it
        cells = [np.array([row[name]]) for name in self._names]
        names, columns = self._columns(self._prepare(rebuild(self._like, cells)))
        return {name: column[0] for name, column in zip(names, columns, strict=True)}


def price_columns(prices: BoundPrices, sources: NDArray[np.bool_], names: list[str]) -> Prices:
    """Price transformed columns by what they are made of, never below what is due.

    Columns with the same sources form a group with the price of these sources. A column that is the
    only one of its source, or whose source has no own price, stays in the group of the source.

    Parameters
    ----------
    prices : BoundPrices
        Prices of the d sources.
    sources : bool array of shape (n_transformed, d)
    names : list of str
        Names of the transformed columns.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.pipeline import price_columns
    >>> prices = Prices({"age": 1, "town": 5}).bind(["age", "town"])
    >>> sources = np.array([[1, 0], [0, 1], [0, 1]], dtype=bool)
    >>> columns = price_columns(prices, sources, ["age", "town_a", "town_b"])
    >>> dict(columns.own), dict(columns.groups), dict(columns.shared)
    ({'age': 1.0, 'town_a': 0.0, 'town_b': 0.0}, {'town': ('town_a', 'town_b')}, {'town': 5.0})
    """
    own: dict[str, float] = {}
    members: dict[tuple[str, int], list[str]] = {}
    shared: dict[tuple[str, int], float] = {}
    sets, set_of = np.unique(sources, axis=0, return_inverse=True)
    set_of = set_of.ravel()
    counts, bills = np.bincount(set_of), prices.bill(sets)
    # By name: groups are numbered as they are met, and that must not depend on their order.
    for name, k in sorted(zip(names, set_of.tolist(), strict=True)):
        made_of = np.flatnonzero(sets[k])
        own[name] = 0.0
        key = None
        if len(made_of) == 1 and (counts[k] == 1 or prices.own[made_of[0]] == 0.0):
            own[name] = float(prices.own[made_of[0]])
            g = int(prices.group[made_of[0]])
            if g >= 0:
                key, price = ("group", g), float(prices.shared[g])
        elif len(made_of):
            key, price = ("sources", k), float(bills[k])
        if key is not None:
            members.setdefault(key, []).append(name)
            shared[key] = price
    titles = _titles(list(members), prices, sets)
    return Prices(
        own,
        groups={titles[key]: columns for key, columns in members.items()},
        shared={titles[key]: price for key, price in shared.items()},
        evaluation=prices.evaluation,
        calls=prices.calls,
        unit=prices.unit,
    )


def _titles(
    keys: list[tuple[str, int]], prices: BoundPrices, sets: NDArray[np.bool_]
) -> dict[tuple[str, int], str]:
    """Name groups of transformed columns after groups or sources, each differently."""
    labels = prices.names or tuple(f"feature {j}" for j in range(len(prices.own)))
    titles: dict[tuple[str, int], str] = {}
    for kind, k in keys:
        title = prices.group_names[k] if kind == "group" else ""
        if kind == "sources":
            made_of = [labels[j] for j in np.flatnonzero(sets[k])]
            more = f" + {len(made_of) - MAX_LISTED} more" if len(made_of) > MAX_LISTED else ""
            title = " + ".join(made_of[:MAX_LISTED]) + more
        while title in titles.values():
            title += "*"
        titles[kind, k] = title
    return titles


def _fullest_row(read: Table) -> int:
    """Return the row with the fewest missing values."""
    missing = np.zeros(read.rows, dtype=np.int64)
    for column in read.columns:
        missing += [is_missing(cell) for cell in read_column(column)[0].tolist()]
    return int(np.argmin(missing))
