"""Random cases to hold an estimator to: a table, a target that fits the estimator, and prices.

The first columns carry the signal and lie in one group, so that rows come to use several members
of it; the last ones are noise, so that there is something not to use; one column is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from thrifty.checks.tables import UNSEEN, Column, Values, available, build, render
from thrifty.costs import Prices

__all__ = ["Case", "Rows", "make_cases", "make_crowd"]

MISSING = 0.1
QUERY = 8


@dataclass(frozen=True, eq=False)
class Rows:
    """Raw values (n, d) and the target; `qid` only for a ranking."""

    values: Values
    y: NDArray[Any]
    qid: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """One random problem: rows to learn from, rows held out, and prices.

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.checks import make_cases
    >>> case = next(make_cases(GreedyMiserRegressor()))
    >>> case.fit(GreedyMiserRegressor(n_estimators=3)).bill(case.held_table).shape
    (40,)
    """

    name: str
    form: str
    columns: tuple[Column, ...]
    train: Rows
    held: Rows
    prices: Prices | None

    @property
    def names(self) -> tuple[str | int, ...]:
        """What the features are called."""
        return tuple(column.name for column in self.columns)

    @property
    def held_table(self) -> Any:
        """The held-out rows as the table that the batch reads."""
        return self.table(self.held.values)

    def table(self, values: Values) -> Any:
        """Raw values as the table that the batch reads."""
        return build(self.form, self.columns, values)

    def example(self, row: int) -> dict[str | int, Any]:
        """A held-out row as a walk is told it."""
        return dict(zip(self.names, self.held.values[row], strict=True))

    def make(self, estimator: Any, **parameters: Any) -> Any:
        """A clone of `estimator` with the prices of the case and a seed, not fitted."""
        parameters["prices"] = parameters.get("prices", self.prices)
        if "random_state" in estimator.get_params(deep=False):
            parameters["random_state"] = 0
        return clone(estimator).set_params(**parameters)

    def fit(self, estimator: Any, **parameters: Any) -> Any:
        """A clone of `estimator` fitted to the rows to learn from."""
        return self.refit(self.make(estimator, **parameters))

    def refit(self, estimator: Any) -> Any:
        """Fit `estimator` itself."""
        return estimator.fit(*self.training, **self.queries(self.train))

    @property
    def training(self) -> tuple[Any, NDArray[Any]]:
        """Table and target to learn from."""
        return self.table(self.train.values), self.train.y

    @property
    def validation(self) -> tuple[Any, ...]:
        """What `path` takes as `validation`."""
        return (self.held_table, self.held.y, *self.queries(self.held).values())

    def queries(self, rows: Rows) -> dict[str, NDArray[np.int64]]:
        """The keyword `qid`, for a ranking."""
        return {} if rows.qid is None else {"qid": rows.qid}


def make_cases(estimator: Any, seed: int = 0) -> Iterator[Case]:
    """Cases for a classifier, a regressor or, where `fit` takes `qid`, a ranker."""
    mixed = (
        Column("weight"),
        Column("grade", "category", ("low", "mid", "high", "none")),
        Column("town", "text", ("ulm", "bonn", "trier", "kiel", "jena")),
        Column("size"),
        Column("count", "int"),
        Column("member", "bool"),
        Column("noise"),
        Column("rest", "category", ("z", "y", "x", "w")),
    )
    plans: list[tuple[str, str, tuple[Column, ...], list[Any]]] = [
        ("numbers", "float64", _numbers(7), [-1, 1]),
        ("float32", "float32", _numbers(6), [0, 1, 2]),
        ("wide", "float64", _numbers(75), [0, 1]),
        ("pandas", "pandas", mixed, ["no", "perhaps", "yes"]),
        ("polars", "polars", mixed, [False, True]),
    ]
    for number, (name, form, columns, labels) in enumerate(plans):
        if available(form):
            random = np.random.default_rng([seed, number])
            prices = None if name == "float32" else _prices(random, columns)
            yield _case(estimator, random, name, form, columns, labels, prices, (160, 40))


def make_crowd(estimator: Any, seed: int = 0) -> Case:
    """A case with enough rows and columns to be shared among threads."""
    random = np.random.default_rng([seed, 99])
    columns = _numbers(16)
    prices = _prices(random, columns)
    return _case(estimator, random, "crowd", "float64", columns, [0, 1, 2], prices, (600, 40))


def _numbers(width: int) -> tuple[Column, ...]:
    return tuple(Column(j) for j in range(width))


def _case(
    estimator: Any,
    random: np.random.Generator,
    name: str,
    form: str,
    columns: tuple[Column, ...],
    labels: list[Any],
    prices: Prices | None,
    sizes: tuple[int, int],
) -> Case:
    n = sum(sizes)
    z = random.normal(size=(n, len(columns)))
    values = _values(random, columns, z)
    target = _target(estimator, random, _signal(z), labels)
    # Queries lie in no order: an estimator has to bring their rows together.
    ranks = has_fit_parameter(estimator, "qid")
    qid = random.integers(n // QUERY, size=n) if ranks else None
    train, held = slice(0, sizes[0]), slice(sizes[0], n)
    strange = values[held]
    strange[0] = None
    strange[1, [j for j, column in enumerate(columns) if column.levels]] = UNSEEN

    def rows(part: slice) -> Rows:
        return Rows(values[part], target[part], None if qid is None else qid[part])

    return Case(name, form, columns, rows(train), rows(held), prices)


def _values(
    random: np.random.Generator, columns: Sequence[Column], z: NDArray[np.float64]
) -> Values:
    values = np.empty(z.shape, dtype=object)
    for j, column in enumerate(columns):
        values[:, j] = render(column, z[:, j])
        if column.kind not in ("int", "bool"):
            values[random.random(len(z)) < MISSING, j] = None
    return values


def _signal(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Three columns matter, the first two by how they meet, the next three a little."""
    return np.asarray(
        z[:, 0] * np.where(z[:, 1] > 0, 1.5, -0.5) + z[:, 1] + z[:, 2] + 0.3 * z[:, 3:6].sum(axis=1)
    )


def _target(
    estimator: Any, random: np.random.Generator, signal: NDArray[np.float64], labels: list[Any]
) -> NDArray[Any]:
    noisy = signal + 0.3 * random.normal(size=len(signal))
    if has_fit_parameter(estimator, "qid"):
        return _shares(noisy, 4)
    if is_classifier(estimator):
        return np.array(labels)[_shares(noisy, len(labels))]
    return np.asarray(noisy)


def _shares(signal: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Number of the quantile of each value, 0 to count - 1."""
    cuts = np.quantile(signal, np.linspace(0, 1, count + 1)[1:-1])
    return np.asarray(np.digitize(signal, cuts), dtype=np.int64)


def _prices(random: np.random.Generator, columns: Sequence[Column]) -> Prices:
    """Prices that no binary fraction holds; two groups, one of them without own prices."""
    names: list[Any] = [column.name for column in columns]
    own = dict(
        zip(names, (10.0 ** random.uniform(-1, 2, len(names))).round(2).tolist(), strict=True)
    )
    own[names[5]] = 0.0
    panel = names[3:5]
    shared = (10.0 ** random.uniform(0, 1, 2)).round(2).tolist()
    return Prices(
        {name: price for name, price in own.items() if name not in panel},
        groups={"core": names[:3], "panel": panel},
        shared=dict(zip(["core", "panel"], shared, strict=True)),
        evaluation=0.07,
        unit="EUR",
    )
