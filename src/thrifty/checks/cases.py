"""Random cases to check an estimator on: a table, a target that fits the estimator, and prices.

The first columns carry the signal and form one group, so that rows use several members of it. The
last ones are noise, so that there is something not to use. One column is free.
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

__all__ = ["Case", "Rows", "make_cases", "make_large_case"]

MISSING_SHARE = 0.1
ROWS_PER_QUERY = 8
N_GRADES = 4


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a case.

    Attributes
    ----------
    values : object array (n, d)
        Plain Python values.
    y : array (n,)
        The target.
    qid : int array (n,) or None
        The query of each row, for ranking only.
    """

    values: Values
    y: NDArray[Any]
    qid: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """One random problem.

    Attributes
    ----------
    name : str
    form : {"float64", "float32", "pandas", "polars"}
        The kind of table that batch prediction reads.
    columns : tuple of Column
    train, test : Rows
        Training rows, and rows that the estimator has not seen.
    prices : Prices or None

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.checks import make_cases
    >>> case = next(make_cases(GreedyMiserRegressor()))
    >>> fitted = case.fit(GreedyMiserRegressor(n_estimators=3))
    >>> round(float(fitted.bill(case.test_table).mean()), 2)
    8.5
    """

    name: str
    form: str
    columns: tuple[Column, ...]
    train: Rows
    test: Rows
    prices: Prices | None

    @property
    def names(self) -> tuple[str | int, ...]:
        """Names of the features, or their positions."""
        return tuple(column.name for column in self.columns)

    @property
    def test_table(self) -> Any:
        """The test rows as the table that batch prediction reads."""
        return self.table(self.test.values)

    def table(self, values: Values) -> Any:
        """Return plain values (n, d) as the table that batch prediction reads."""
        return build(self.form, self.columns, values)

    def example(self, row: int) -> dict[str | int, Any]:
        """Return a test row by feature, as it is passed to a walk."""
        return dict(zip(self.names, self.test.values[row], strict=True))

    def make(self, estimator: Any, **parameters: Any) -> Any:
        """Return an unfitted clone of `estimator` with the prices of the case and a fixed seed."""
        parameters["prices"] = parameters.get("prices", self.prices)
        if "random_state" in estimator.get_params(deep=False):
            parameters["random_state"] = 0
        return clone(estimator).set_params(**parameters)

    def fit(self, estimator: Any, **parameters: Any) -> Any:
        """Return a clone of `estimator` fitted to the training rows."""
        return self.refit(self.make(estimator, **parameters))

    def refit(self, estimator: Any) -> Any:
        """Fit `estimator` itself to the training rows."""
        return estimator.fit(*self.training, **self.queries(self.train))

    @property
    def training(self) -> tuple[Any, NDArray[Any]]:
        """Training table and target."""
        return self.table(self.train.values), self.train.y

    @property
    def validation(self) -> tuple[Any, ...]:
        """The test rows in the form that `path` takes as `validation`."""
        return (self.test_table, self.test.y, *self.queries(self.test).values())

    def queries(self, rows: Rows) -> dict[str, NDArray[np.int64]]:
        """Return the keyword `qid` for ranking, otherwise nothing."""
        return {} if rows.qid is None else {"qid": rows.qid}


def make_cases(estimator: Any, seed: int = 0) -> Iterator[Case]:
    """Yield cases for a classifier, a regressor or, where `fit` takes `qid`, a ranker."""
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
            rng = np.random.default_rng([seed, number])
            prices = None if name == "float32" else _prices(rng, columns)
            yield _case(estimator, rng, name, form, columns, labels, prices, (160, 40))


def make_large_case(estimator: Any, seed: int = 0) -> Case:
    """Return a case with enough rows and columns to be shared among threads."""
    rng = np.random.default_rng([seed, 99])
    columns = _numbers(16)
    prices = _prices(rng, columns)
    return _case(estimator, rng, "large", "float64", columns, [0, 1, 2], prices, (600, 40))


def _numbers(width: int) -> tuple[Column, ...]:
    return tuple(Column(j) for j in range(width))


def _prices(rng: np.random.Generator, columns: Sequence[Column]) -> Prices:
    """Draw prices that are no binary fractions, with two groups, one without own prices."""
    names: list[Any] = [column.name for column in columns]
    own = dict(zip(names, (10.0 ** rng.uniform(-1, 2, len(names))).round(2).tolist(), strict=True))
    own[names[5]] = 0.0
    panel = names[3:5]
    shared = (10.0 ** rng.uniform(0, 1, 2)).round(2).tolist()
    return Prices(
        {name: price for name, price in own.items() if name not in panel},
        groups={"core": names[:3], "panel": panel},
        shared=dict(zip(["core", "panel"], shared, strict=True)),
        evaluation=0.07,
        unit="EUR",
    )


def _case(
    estimator: Any,
    rng: np.random.Generator,
    name: str,
    form: str,
    columns: tuple[Column, ...],
    labels: list[Any],
    prices: Prices | None,
    sizes: tuple[int, int],
) -> Case:
    """Draw values, target and queries for numbers of training and test rows."""
    n = sum(sizes)
    z = rng.normal(size=(n, len(columns)))
    values = np.empty(z.shape, dtype=object)
    for j, column in enumerate(columns):
        values[:, j] = render(column, z[:, j])
        if column.kind not in ("int", "bool"):
            values[rng.random(n) < MISSING_SHARE, j] = None

    # Three columns matter, the first two through their interaction; the next three matter a little.
    interaction = z[:, 0] * np.where(z[:, 1] > 0, 1.5, -0.5)
    signal = interaction + z[:, 1] + z[:, 2] + 0.3 * z[:, 3:6].sum(axis=1)
    target: NDArray[Any] = signal + 0.3 * rng.normal(size=n)
    is_ranker = has_fit_parameter(estimator, "qid")
    if is_ranker:
        target = _quantile_numbers(target, N_GRADES)
    elif is_classifier(estimator):
        target = np.array(labels)[_quantile_numbers(target, len(labels))]
    # The rows of a query are scattered: an estimator has to bring them together.
    qid = rng.integers(n // ROWS_PER_QUERY, size=n) if is_ranker else None

    # The first test row has no values at all, the second one unknown categories.
    first_test = sizes[0]
    values[first_test] = None
    values[first_test + 1, [j for j, column in enumerate(columns) if column.levels]] = UNSEEN
    train, test = (
        Rows(values[part], target[part], None if qid is None else qid[part])
        for part in (slice(0, first_test), slice(first_test, n))
    )
    return Case(name, form, columns, train, test, prices)


def _quantile_numbers(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the number of the quantile, 0 to count - 1, that each value falls into."""
    cuts = np.quantile(values, np.linspace(0, 1, count + 1)[1:-1])
    return np.asarray(np.digitize(values, cuts), dtype=np.int64)
