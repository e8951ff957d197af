"""Find out which source columns each column of a transformed table depends on.

The structure of a pipeline would tell, but only for transformers that are known. So the transform
is asked instead: other values in one source column, and the columns that change depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.columns import is_missing, read_column
from thrifty.bundle.tables import Table, is_numeric
from thrifty.errors import DataError
from thrifty.learn._sklearn import take_rows

__all__ = ["find_sources", "rebuild"]

# Rows in which each source column is shuffled, and values of it that are tried in one row.
N_ROWS, N_VALUES = 500, 1000
# Rows that are transformed alone, to see whether a row depends on the others.
N_ALONE = 5

Transform = Callable[[Any], list[NDArray[Any]]]
"""Transforms a table, and returns the columns of the result."""


def find_sources(transform: Transform, table: Any) -> NDArray[np.bool_]:
    """Return which source columns each transformed column depends on, (d_out, d).

    Every source column is shuffled in some rows, to see its effect beside the values of others, and
    takes all of its values in one row, to see the effect of rare ones; also missing and extreme
    ones, if the transform accepts them.

    Parameters
    ----------
    transform : callable
        Takes a table of the type of `table`, and returns columns.
    table : pandas or polars DataFrame, or array
        The rows that the transform was fitted on.

    Raises
    ------
    DataError
        If a row is transformed differently among other rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.lineage import find_sources
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> find_sources(lambda X: [X[:, 0] > 1, X[:, 0] * X[:, 2]], X).astype(int)
    array([[1, 0, 0],
           [1, 0, 1]])
    """
    columns = list(Table.read(table).columns)
    n = len(columns[0])
    rng = np.random.default_rng(0)
    rows = rng.choice(n, size=min(n, N_ROWS), replace=False)
    sources = []
    for j, column in enumerate(columns):
        cells, _ = read_column(column)
        first = _first_rows(cells)
        base = np.concatenate([rows, np.repeat(rows[:1], len(first))])
        other = np.concatenate([rng.permutation(rows), first])
        pairs = [([take_rows(each, base) for each in columns], take_rows(column, other))]
        pairs += [
            ([take_rows(each, rows[:1]) for each in columns], np.array([value]))
            for value in _extremes(cells)
        ]
        depends = None
        for k, (given, changed) in enumerate(pairs):
            plain = transform(rebuild(table, given))
            if depends is None:
                depends = np.zeros(len(plain), dtype=bool)
                _check_alone(transform, table, given, plain)
            given[j] = changed
            try:
                after = transform(rebuild(table, given))
            except (ValueError, TypeError):
                if k == 0:
                    raise
                continue  # a missing or an extreme value that a step refuses
            depends |= [_differs(one, two) for one, two in zip(plain, after, strict=True)]
        sources.append(depends)
    return np.array(sources).T


def rebuild(like: Any, columns: list[Any]) -> Any:
    """Make a table of the type of `like`, with the same names, of other columns."""
    if hasattr(like, "columns"):
        # A pandas Series would be aligned by its index.
        values = [getattr(column, "array", column) for column in columns]
        return type(like)(dict(zip(like.columns, values, strict=True)))
    return np.column_stack([np.asarray(column, dtype=np.asarray(like).dtype) for column in columns])


def _first_rows(cells: NDArray[Any]) -> NDArray[np.intp]:
    """Return rows that together have all values of a column, or many that are spread evenly."""
    if is_numeric(cells):
        rows = np.unique(cells, return_index=True)[1]
    else:
        first: dict[Any, int] = {}
        for row, cell in enumerate(cells.tolist()):
            first.setdefault(cell, row)
        rows = np.array(list(first.values()), dtype=np.intp)
    spread = np.linspace(0, len(rows) - 1, min(len(rows), N_VALUES))
    return np.asarray(rows[np.round(spread).astype(np.intp)])


def _extremes(cells: NDArray[Any]) -> list[Any]:
    """Return a missing value and, of numbers, values outside their range."""
    if not is_numeric(cells):
        return [None]
    present = cells[~np.isnan(cells.astype(np.float64))].astype(np.float64)
    return [np.nan, *([present.min() - 1.0, present.max() + 1.0] if len(present) else [])]


def _check_alone(
    transform: Transform, table: Any, given: list[Any], plain: list[NDArray[Any]]
) -> None:
    """Raise a DataError if the first rows are transformed differently without the others."""
    alone = transform(rebuild(table, [take_rows(each, np.arange(N_ALONE)) for each in given]))
    for one, two in zip(plain, alone, strict=True):
        one = one[: len(two)]
        if is_numeric(one) and is_numeric(two):
            same = np.allclose(one, two, rtol=1e-6, atol=1e-9, equal_nan=True)
        else:
            same = not _differs(one, two)
        if not same:
            raise DataError(
                "pipeline: a step transforms a row differently if other rows are with it, so that "
                "no row has a price of its own; learn such values in its fit instead"
            )


def _differs(one: NDArray[Any], two: NDArray[Any]) -> bool:
    """Return whether two columns differ anywhere; two missing values are the same."""
    if is_numeric(one) and is_numeric(two):
        return not np.array_equal(one, two, equal_nan=True)
    pairs = zip(one.tolist(), two.tolist(), strict=True)
    return any(a != b and not (is_missing(a) and is_missing(b)) for a, b in pairs)
