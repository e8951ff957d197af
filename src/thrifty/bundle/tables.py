"""Reading a table of any type: its names, its number of rows and its raw columns.

A table is a NumPy array or a nested list (without names), a pandas or polars DataFrame, or a
mapping of columns. DataFrames are recognized by their attributes, so neither library is imported.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError, raise_all

__all__ = ["SPARSE", "Table", "is_numeric", "is_readable", "read_names", "stack", "unmask"]

# Rows copied at a time by `stack`, so that a block of the result stays in the cache: 3 to 6
# times faster than copying whole columns.
ROWS_PER_BLOCK = 1024


SPARSE = (
    "table: sparse input is not supported; pass a dense array, X.toarray(), or make the encoder "
    "return one, such as OneHotEncoder(sparse_output=False)"
)


@dataclass(frozen=True, eq=False)
class Table:
    """The raw columns of a table, not yet encoded.

    Parameters
    ----------
    names : tuple of str or None
        Names of the columns; None for a table without names.
    rows : int
        Number of rows, n.
    columns : sequence of d columns of length n
        Each is an array, a list or a pandas or polars Series.
    block : ndarray of shape (n, d) or None
        The whole table, if it is one array of numbers.

    Examples
    --------
    >>> from thrifty.bundle.tables import Table
    >>> table = Table.read({"age": [63, 41], "sex": ["m", None]})
    >>> table.names, table.rows
    (('age', 'sex'), 2)
    """

    names: tuple[str, ...] | None
    rows: int
    columns: Sequence[Any]
    block: NDArray[Any] | None = None

    @classmethod
    def read(cls, source: Any) -> Table:
        """Read a table of any type.

        Raises
        ------
        DataError
            If `source` is not a table, is empty, has two columns of the same name or columns of
            different lengths; the message lists every problem.
        """
        if isinstance(source, Mapping):
            table = _from_columns(list(source), list(source.values()))
        elif hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
            columns = [column for _, column in source.items()]
            table = _from_columns(list(source.columns), columns, rows=len(source))
        elif hasattr(source, "get_columns"):  # polars
            table = _from_columns(list(source.columns), source.get_columns(), rows=source.height)
        else:
            table = _from_array(source)
        shape = (table.rows, len(table.columns))
        problems = [] if table.rows else ["there are no rows"]
        if not table.columns:
            # The wording of scikit-learn, which its own checks of estimators look for.
            required = f"0 feature(s) (shape={shape}) while a minimum of 1 is required."
            problems.append(f"there are no columns of features: {required}")
        if table.block is None:
            lengths = {len(column) for column in table.columns}
            if len(lengths) > 1:
                problems.append(f"the columns differ in length: {sorted(lengths)}")
        raise_all(DataError, "table", problems)
        return table


def read_names(labels: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the names of columns; None if they are 0, 1, 2, ..., as in a table without names.

    Raises
    ------
    DataError
        If they are anything else but text, a name is there twice, or a file could not hold one.
    """
    if list(labels) == list(range(len(labels))):
        return None
    odd = [label for label in labels if not isinstance(label, str)]
    if odd:
        raise DataError(
            f"table: column names must all be text, or 0, 1, 2, ...; {odd[0]!r} is neither. "
            "Rename the columns, e.g. X.columns = X.columns.astype(str)"
        )
    names = tuple(str(label) for label in labels)
    problems = []
    if len(set(names)) < len(names):
        counts = Counter(names)
        twice = ", ".join(reprlib.repr(name) for name in counts if counts[name] > 1)
        problems.append(f"more than one column is named {twice}; rename or drop them")
    broken = [name for name in names if not is_readable(name)]
    if broken:
        shown = ", ".join(reprlib.repr(name) for name in broken)
        problems.append(f"the names {shown} are broken text; read them as UTF-8")
    raise_all(DataError, "table", problems)
    return names


def is_readable(text: str) -> bool:
    """Return whether a file can hold a text: one with half of a surrogate pair cannot be written.

    Examples
    --------
    >>> from thrifty.bundle.tables import is_readable
    >>> is_readable("é"), is_readable("\\ud800")
    (True, False)
    """
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


def is_numeric(values: NDArray[Any]) -> bool:
    """Return whether an array holds booleans, integers or floats."""
    return values.dtype.kind in "biuf"


def unmask(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array without a mask; the masked values become missing."""
    if not isinstance(array, np.ma.MaskedArray):
        return np.asarray(array)
    filled = array.astype(np.float64 if is_numeric(array) else object)
    filled[np.ma.getmaskarray(array)] = np.nan
    return np.asarray(filled.data)


def stack(columns: Sequence[NDArray[Any]], rows: int) -> NDArray[np.float64]:
    """Copy columns of length `rows` side by side into one C-ordered array.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle.tables import stack
    >>> stack([np.array([1, 2]), np.array([True, False])], 2)
    array([[1., 1.],
           [2., 0.]])
    """
    out = np.empty((rows, len(columns)))
    for start in range(0, rows, ROWS_PER_BLOCK):
        stop = start + ROWS_PER_BLOCK
        for j, column in enumerate(columns):
            out[start:stop, j] = column[start:stop]
    return out


def _from_columns(labels: list[Any], columns: list[Any], rows: int = 0) -> Table:
    """Build a table from labeled columns; `rows` counts only if there is no column."""
    names = read_names(labels)
    scalars = [
        repr(label)
        for label, column in zip(labels, columns, strict=True)
        if isinstance(column, (str, bytes))
        or not hasattr(column, "__len__")
        or getattr(column, "shape", None) == ()
    ]
    if scalars:
        raise DataError(f"table: {', '.join(scalars)} is a single value; pass a list of values")
    return Table(names, len(columns[0]) if columns else rows, columns)


def _from_array(source: Any) -> Table:
    """Build a table without names from an array or a nested list."""
    kind = type(source).__name__
    if hasattr(source, "collect_schema"):
        raise DataError(f"table: a {kind} has no rows yet; call .collect() first")
    if hasattr(source, "tocsr"):
        raise DataError(SPARSE)
    if hasattr(source, "column_names") or hasattr(source, "__dataframe__"):
        raise DataError(f"table: cannot read a {kind}; pass a pandas or polars DataFrame")
    if isinstance(source, np.ndarray):
        array = unmask(source)
    else:
        try:
            array = np.asarray(source)
        except ValueError:
            raise DataError("table: the rows of a nested list must be of equal length") from None
        if array.dtype.kind in "US":
            # NumPy turns the numbers of a mixed list into text: keep the original types.
            array = np.asarray(source, dtype=object)
    if array.ndim != 2:
        raise DataError(
            f"table: expected a 2-D table, got {array.ndim}-D data of shape {array.shape}. "
            "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row"
        )
    if array.dtype.kind == "c":
        raise DataError("table: Complex data not supported; pass real and imaginary parts")
    block = array if is_numeric(array) else None
    return Table(None, array.shape[0], list(array.T), block)
