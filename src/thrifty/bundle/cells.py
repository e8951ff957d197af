"""The cells of one column: raw values become floats or category codes.

A column is `read` whoever made it, and its cells are turned into `numbers` or `codes`. Each
function raises a `DataError` without the column's name, which the schema adds.
"""

from __future__ import annotations

import datetime
import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.tables import is_numeric, unmask
from thrifty.errors import DataError

__all__ = [
    "FINITE",
    "TO_NUMBERS",
    "Label",
    "at",
    "codes",
    "first_row",
    "is_label",
    "is_missing",
    "number",
    "numbers",
    "read",
    "refuse_infinite",
    "survey",
]

Label = str | int | float | bool

NUMBERS = (int, float, np.integer, np.floating, np.bool_, Decimal)
DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
NO_VALUE = {"NoneType", "NAType", "NaTType"}

TO_NUMBERS = "give numbers (missing as NaN), or declare it categorical"
FINITE = "give a finite number, or NaN for missing"
_DATES = "holds dates or times; turn them into numbers first, e.g. days since a fixed day"


def is_missing(value: Any) -> bool:
    """Tell whether a value came back empty: None, NaN, NaT or pandas' NA.

    Examples
    --------
    >>> from thrifty.bundle.cells import is_missing
    >>> [is_missing(value) for value in (None, float("nan"), 0.0, "")]
    [True, True, False, False]
    """
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return type(value).__name__ in NO_VALUE


def is_label(value: Any) -> bool:
    """Tell whether a value can be a category that a model file keeps."""
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


def read(raw: Any) -> tuple[NDArray[Any], tuple[Label, ...] | None]:
    """Read a raw column: its cells, numeric or objects, and the categories it declares."""
    dtype = getattr(raw, "dtype", None)
    cells = _series(raw, dtype) if hasattr(raw, "to_numpy") else _sequence(raw)
    if cells.ndim != 1:
        raise DataError(f"has {cells.ndim} dimensions; give one value per row")
    if cells.dtype.kind in "Mm":
        raise DataError(_DATES)
    declared = _declared(dtype)
    return cells if is_numeric(cells) else cells.astype(object), declared


def numbers(cells: NDArray[Any]) -> NDArray[Any]:
    """Read the cells of a numeric column as numbers, NaN where one is missing."""
    if not is_numeric(cells):
        first = survey(cells)
        if "text" in first:
            raise DataError(f"is numeric but holds {at(first['text'], cells)}; {TO_NUMBERS}")
        return np.array([number(cell) for cell in cells], dtype=np.float64)
    return cells


def refuse_infinite(numbers: NDArray[Any]) -> NDArray[Any]:
    """Give the numbers back, if none is infinite."""
    infinite = np.isinf(numbers)
    if infinite.any():
        raise DataError(f"holds {at(int(infinite.argmax()), numbers)}; {FINITE}")
    return numbers


def number(value: Any) -> float:
    """Read one value of a numeric column; NaN when it is missing.

    Examples
    --------
    >>> from thrifty.bundle.cells import number
    >>> number(63), number(True), number(None)
    (63.0, 1.0, nan)
    """
    if is_missing(value):
        return math.nan
    if not isinstance(value, NUMBERS):
        raise DataError(f"is numeric; {reprlib.repr(value)} is not a number")
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of floats
        return math.inf


def codes(
    cells: NDArray[Any], code: Mapping[Label, float]
) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """Look up the codes of a category column; also give the values without a code."""
    values = cells.tolist()
    try:
        found = [code.get(value) for value in values]
    except TypeError:
        row = first_row(values, _is_unhashable)
        raise DataError(f"holds {at(row or 0, values)}, which is not a category") from None
    strange: Iterable[Any] = ()
    if None in found:
        lost = (v for v, c in zip(values, found, strict=True) if c is None and not is_missing(v))
        strange = dict.fromkeys(lost)
    return np.array(found, dtype=np.float64), tuple(strange)


def survey(cells: NDArray[Any]) -> dict[str, int]:
    """First row of text and of numbers; any other kind of value is refused."""
    first: dict[str, int] = {}
    for kind in set(map(type, cells)):
        row = first_row(cells, partial(_is_present, kind))
        name = _name_of(kind)
        if name is not None and row is not None:
            first[name] = min(row, first.get(name, row))
    if "date" in first:
        raise DataError(_DATES)
    if "other" in first:
        raise DataError(f"holds {at(first['other'], cells)}, neither number nor text")
    return first


def first_row(cells: Iterable[Any], test: Callable[[Any], bool]) -> int | None:
    """Find the first row whose cell passes a test."""
    return next((row for row, cell in enumerate(cells) if test(cell)), None)


def at(row: int, cells: Sequence[Any] | NDArray[Any]) -> str:
    """Tell a cell and its row, for a message."""
    value = cells[row]
    shown = reprlib.repr(value.item() if isinstance(value, np.generic) else value)
    return f"{shown} in row {row}"


def _series(raw: Any, dtype: Any) -> NDArray[Any]:
    """Cells of a pandas or polars series."""
    kind = getattr(dtype, "kind", None)
    if isinstance(dtype, np.dtype) or kind is None:  # polars has dtypes without a kind
        return np.asarray(raw.to_numpy())
    if kind in "Mm":
        raise DataError(_DATES)
    if kind in "biuf":
        return np.asarray(raw.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(raw.to_numpy(dtype=object))


def _sequence(raw: Any) -> NDArray[Any]:
    """Cells of an array or a list; a mixed list keeps the types that its values have."""
    if isinstance(raw, np.ndarray):
        return unmask(raw)
    cells = np.fromiter(raw, dtype=object, count=len(raw))
    try:
        tight = np.asarray(raw)
    except (ValueError, OverflowError):
        return cells
    return tight if is_numeric(tight) else cells


def _declared(dtype: Any) -> tuple[Label, ...] | None:
    """Categories in the order that a pandas categorical or a polars Enum declares."""
    if type(dtype).__name__ not in ("CategoricalDtype", "Enum"):
        return None
    labels = tuple(dtype.categories.to_list())
    for label in labels:
        if not is_label(label):
            raise DataError(
                f"has {reprlib.repr(label)} as a category; turn it into text: .astype(str)"
            )
    return labels


def _is_present(kind: type, cell: Any) -> bool:
    return type(cell) is kind and not is_missing(cell)


def _name_of(kind: type) -> str | None:
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, NUMBERS):
        return "number"
    if issubclass(kind, DATES) or kind.__name__ == "Period":
        return "date"
    return None if kind.__name__ in NO_VALUE else "other"


def _is_unhashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return True
    return False
