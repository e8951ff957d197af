"""Encoding one column: its raw cells become numbers or category codes.

`read_column` reads a column of any type, `learn_categories` decides whether it holds numbers
or categories, and `to_numbers` and `to_codes` encode it. A `DataError` raised here does not name
the column; the schema adds the name.
"""

from __future__ import annotations

import datetime
import math
import re
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.tables import is_numeric, is_readable, unmask
from thrifty.errors import DataError, raise_all

__all__ = [
    "FINITE",
    "MAX_CATEGORIES",
    "NO_VALUES",
    "CellError",
    "Column",
    "Label",
    "check_exact",
    "check_finite",
    "each_column",
    "has_inexact",
    "has_values",
    "is_label",
    "is_missing",
    "is_number",
    "join_rare",
    "join_rarest",
    "learn_categories",
    "read_column",
    "shortened",
    "to_codes",
    "to_number",
    "to_numbers",
]

Label = str | int | float | bool
"""A category, of a type that a model file can hold."""

# Codes 0..254 and "missing" are the 256 values of a byte, into which tree growing bins a column.
MAX_CATEGORIES = 255
# Unknown categories of one column that a warning lists before "and 12 more".
MAX_LISTED = 5

NUMBER_TYPES = (int, float, np.integer, np.floating, np.bool_, Decimal)
DATE_TYPES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
MISSING_TYPE_NAMES = {"NoneType", "NAType", "NaTType"}

NO_VALUES = "has no value at all; drop it"
FINITE = "pass a finite number, or NaN for missing"
TO_NUMBERS = "pass numbers (missing as NaN), or declare it categorical"
LOCAL = "; write a decimal point, and no marks between thousands"
EXACT = (
    "which is beyond the integers that a float holds, 2**53, and would become {near}. Drop the "
    "column if it is an identifier, make it text, .astype(str), or round it, .astype(float)"
)
DATES = "holds dates or times; convert them to numbers, e.g. days since a fixed day, or drop it"

# Text that stands for a number: as Python reads it, with a decimal comma, or in groups of three.
LOCAL_NUMBER = re.compile(r"[+-]?(\d+,\d+|\d{1,3}(,\d{3})+(\.\d+)?|\d{1,3}(\.\d{3})+(,\d+)?)")
TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?"
DAY = r"\d{4}(?P<a>[-/.])\d{1,2}(?P=a)\d{1,2}|\d{1,2}(?P<b>[-/.])\d{1,2}(?P=b)(\d{4}|\d{2})"
MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
NAMED_DAY = rf"\d{{1,2}}[- .]{{1,2}}{MONTH}[- ,]{{1,2}}\d{{2,4}}|{MONTH} \d{{1,2}},? \d{{4}}"
# A date, a time, or both, as people and programs write them.
DATE = re.compile(
    rf"({TIME}|({DAY}|{NAMED_DAY})([T ,]{{1,2}}{TIME})?\s*(Z|UTC|[+-]\d{{2}}:?\d{{2}})?)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str or int
        Its name; its index in a table without names.
    categories : tuple of labels or None
        Its categories, in the order of their codes; None for a column of numbers.
    other : label or None
        The category that stands for every label that is not listed; None if there is none, and such
        a label counts as missing.
    is_call : bool
        Whether it stands for a call of a model that is part of the file: an example can buy it, but
        no table has it.
    position : int or None
        Where it was in the training table, if that is not where it is in the schema. Columns that
        differ in nothing else are equal.
    """

    name: str | int
    categories: tuple[Label, ...] | None = None
    other: Label | None = None
    is_call: bool = field(default=False, repr=False)
    position: int | None = field(default=None, repr=False, compare=False)


class CellError(DataError):
    """A value that cannot be encoded, and its row.

    Parameters
    ----------
    before : str
        What the column does with the value, such as "holds".
    cells : sequence of n values
    row : int
        Row of the value in `cells`.
    after : str
        What is wrong with it, and the remedy.
    """

    def __init__(
        self, before: str, cells: Sequence[Any] | NDArray[Any], row: int, after: str
    ) -> None:
        self.parts = (f"{before} {_shown(cells[row])}", row, after)
        super().__init__(self.message(0))

    def message(self, first_row: int) -> str:
        """Return the message for cells of which the first is in row `first_row` of the table."""
        before, row, after = self.parts
        return f"{before} in row {first_row + row}{after}"


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, NaT or pandas' NA.

    Examples
    --------
    >>> from thrifty.bundle.columns import is_missing
    >>> [is_missing(value) for value in (None, float("nan"), 0.0, "")]
    [True, True, False, False]
    """
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return type(value).__name__ in MISSING_TYPE_NAMES


def is_label(value: Any) -> bool:
    """Return whether a value can be a category in a model file."""
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


def read_column(raw: Any) -> tuple[NDArray[Any], tuple[Label, ...] | None]:
    """Read a raw column of any type.

    Returns
    -------
    cells : ndarray of shape (n,)
        Numbers or, in an object array, the values as they are.
    declared : tuple of labels or None
        The categories that a pandas Categorical or a polars Enum declares, in its order.
    """
    dtype: Any = getattr(raw, "dtype", None)
    kind = getattr(dtype, "kind", None)
    if isinstance(raw, np.ndarray):
        cells = unmask(raw)
    elif not hasattr(raw, "to_numpy"):
        # A list. NumPy would turn the numbers of a mixed one into text: keep their types.
        cells = np.fromiter(raw, dtype=object, count=len(raw))
        try:
            converted = np.asarray(raw)
        except (ValueError, OverflowError):
            converted = cells
        cells = converted if is_numeric(converted) else cells
    elif isinstance(dtype, np.dtype) or kind is None:  # polars dtypes have no kind
        cells = np.asarray(raw.to_numpy())
        if cells.dtype.kind == "f" and hasattr(dtype, "is_integer") and dtype.is_integer():
            cells = _whole_numbers(cells, raw.to_list)
    elif kind in "Mm":
        raise DataError(DATES)
    elif kind in "biuf":  # pandas' nullable numbers
        cells = np.asarray(raw.to_numpy(dtype=np.float64, na_value=np.nan))
        if kind in "iu":
            cells = _whole_numbers(cells, lambda: raw.to_numpy(dtype=object))
    else:
        cells = np.asarray(raw.to_numpy(dtype=object))
    if cells.ndim != 1:
        raise DataError(f"has {cells.ndim} dimensions; pass one value per row")
    if cells.dtype.kind in "Mm":
        raise DataError(DATES)
    declared = None
    if type(dtype).__name__ in ("CategoricalDtype", "Enum"):
        declared = tuple(dtype.categories.to_list())
        for label in declared:
            if not is_label(label):
                shown = reprlib.repr(label)
                raise DataError(f"has {shown} as a category; convert it to text: .astype(str)")
    return cells if is_numeric(cells) else cells.astype(object), declared


def _whole_numbers(rounded: NDArray[Any], read: Callable[[], Any]) -> NDArray[Any]:
    """Return whole numbers with missing ones as floats; as they are, if floats are not exact."""
    if not (np.abs(rounded) >= 2.0**53).any():
        return rounded
    return np.array(read(), dtype=object)


def learn_categories(
    cells: NDArray[Any],
    declared: Sequence[Label] | None,
    counts: Mapping[Label, int] | None = None,
) -> tuple[Label, ...] | None:
    """Return the categories of a training column; None if it is a column of numbers.

    A wrong guess would silently cost accuracy, so a column that could be either (text that is
    mostly numbers, or a mixture of text and numbers) is refused with a remedy, and so is text that
    is mostly dates. Categories that are declared are taken as they are. With `counts`, the rows of
    each cell, the cells are distinct, and messages name no row.
    """
    if declared is not None:
        present = {cell for cell in cells.tolist() if not is_missing(cell)}
        categories = tuple(label for label in declared if label in present)
    else:
        first_rows = {} if is_numeric(cells) else _first_rows(cells)
        if "text" not in first_rows:
            if np.isnan(check_finite(to_numbers(cells))).all():
                raise DataError(NO_VALUES)
            check_exact(cells)
            return None
        at = _cell_at if counts is None else _cell_of
        words = Counter(cell for cell in cells if isinstance(cell, str))
        if counts is not None:
            words = Counter({word: counts[word] for word in words})
        _refuse_mixture(cells, first_rows, words, at)
        n_dates = sum(count for word, count in words.items() if DATE.fullmatch(word.strip()))
        if 2 * n_dates > words.total():
            raise DataError(DATES.replace(";", f", {at(first_rows['text'], cells)};", 1))
        categories = tuple(sorted(words))
    if not categories:
        raise DataError(NO_VALUES)
    broken = [each for each in categories if isinstance(each, str) and not is_readable(each)]
    if broken:
        raise DataError(f"holds {reprlib.repr(broken[0])}, which is broken text; read it as UTF-8")
    return categories


def join_rare(
    cells: NDArray[Any], categories: tuple[Label, ...]
) -> tuple[tuple[Label, ...], Label, int]:
    """Keep the most frequent categories of a training column that has too many.

    Returns
    -------
    kept : tuple of labels
        One less than `MAX_CATEGORIES`, in the order of `categories`, and then `other`.
    other : str
        The category that stands for all that were not kept.
    n_rows : int
        Number of rows in which it does.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle.columns import join_rare
    >>> cells = np.array([f"c{i:03}" for i in range(300)] + ["c299"] * 5, dtype=object)
    >>> kept, other, n_rows = join_rare(cells, tuple(sorted(set(cells))))
    >>> kept[-3:], other, n_rows
    (('c252', 'c299', '(other)'), '(other)', 46)
    """
    return join_rarest(Counter(c for c in cells.tolist() if not is_missing(c)), categories)


def join_rarest(
    counts: Counter[Any], categories: tuple[Label, ...]
) -> tuple[tuple[Label, ...], Label, int]:
    """Keep the most frequent categories of a column, of which the rows were counted.

    Returns what `join_rare` returns.
    """
    # The sort is stable: of equally frequent ones, the first are kept.
    frequent = set(sorted(categories, key=lambda label: -counts[label])[: MAX_CATEGORIES - 1])
    kept = tuple(label for label in categories if label in frequent)
    other = "(other)"
    while other in frequent:
        other += "*"
    return (*kept, other), other, counts.total() - sum(counts[label] for label in kept)


def to_numbers(cells: NDArray[Any]) -> NDArray[Any]:
    """Return the cells of a column of numbers as a numeric array; missing becomes NaN."""
    if is_numeric(cells):
        return cells
    first_rows = _first_rows(cells)
    if "text" in first_rows:
        raise CellError("is numeric but holds", cells, first_rows["text"], f"; {TO_NUMBERS}")
    return np.array([to_number(cell) for cell in cells], dtype=np.float64)


def to_number(value: Any) -> float:
    """Return one value of a column of numbers as a float; missing becomes NaN.

    Examples
    --------
    >>> from thrifty.bundle.columns import to_number
    >>> to_number(63), to_number(True), to_number(None)
    (63.0, 1.0, nan)
    """
    if is_missing(value):
        return math.nan
    if not isinstance(value, NUMBER_TYPES):
        raise DataError(f"is numeric; {reprlib.repr(value)} is not a number")
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of floats
        return math.inf


def check_finite(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers unchanged; raise a DataError if one of them is infinite."""
    infinite = np.isinf(numbers)
    if infinite.any():
        raise CellError("holds", numbers, int(infinite.argmax()), f"; {FINITE}")
    return numbers


def has_inexact(block: NDArray[Any]) -> bool:
    """Return whether an array may hold integers that are not exact as floats."""
    if block.dtype.kind not in "iu" or block.dtype.itemsize < 8 or not block.size:
        return block.dtype.kind == "O"
    return int(block.max()) > 2**53 or int(block.min()) < -(2**53)


def has_values(block: NDArray[Any]) -> bool:
    """Return whether all numbers of a table are finite or missing, and each column has one."""
    return not (np.isinf(block).any() or np.isnan(block).all(axis=0).any())


def check_exact(cells: NDArray[Any]) -> None:
    """Raise a DataError if an integer of a training column is not exact as a float.

    Two identifiers could become one. (Once a model is trained, rounding is harmless: it keeps the
    order of values.)
    """
    if cells.dtype.kind in "iu" and cells.dtype.itemsize == 8:
        rounded = cells.astype(np.float64)
        large = np.flatnonzero(np.abs(rounded) >= 2.0**53)
        rows = (row for row in large.tolist() if int(rounded[row]) != int(cells[row]))
    else:
        whole = enumerate(cells.tolist()) if cells.dtype.kind == "O" else ()
        rows = (row for row, cell in whole if type(cell) is int and int(float(cell)) != cell)
    row = next(rows, None)
    if row is not None:
        near = int(float(cells[row]))
        raise DataError(f"holds {_cell_at(row, cells)}, {EXACT.format(near=near)}")


def to_codes(
    cells: NDArray[Any], code: Mapping[Label, float], other: float | None = None
) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """Look up the codes of a column of categories.

    Parameters
    ----------
    cells : ndarray of shape (n,)
    code : mapping of label to float
    other : float, optional
        The code of values that have none of their own.

    Returns
    -------
    codes : float64 array of shape (n,)
        NaN where the value is missing or has no code.
    unknown : tuple
        The values that are present but have no code, in the order of their first rows.
    """
    values = cells.tolist()
    found: list[float | None] = []
    try:
        found.extend(map(code.get, values))
    except TypeError:  # a value that cannot be hashed; those before it have been looked up
        raise CellError("holds", values, len(found), ", which is not a category") from None
    unknown: dict[Any, None] = {}
    if None in found and other is not None:
        pairs = zip(values, found, strict=True)
        found = [other if c is None and not is_missing(v) else c for v, c in pairs]
    elif None in found:
        pairs = zip(values, found, strict=True)
        unknown = dict.fromkeys(v for v, c in pairs if c is None and not is_missing(v))
    return np.array(found, dtype=np.float64), tuple(unknown)


def _first_rows(cells: NDArray[Any]) -> dict[str, int]:
    """Return the first row of "text" and of a "number"; refuse values of any other type."""
    first: dict[str, int] = {}
    for kind in set(map(type, cells)):
        if kind.__name__ in MISSING_TYPE_NAMES:
            continue
        what = "other"
        if issubclass(kind, str):
            what = "text"
        elif issubclass(kind, NUMBER_TYPES):
            what = "number"
        elif issubclass(kind, DATE_TYPES) or kind.__name__ == "Period":
            what = "date"
        of_kind = (row for row, cell in enumerate(cells) if type(cell) is kind)
        row = next((row for row in of_kind if not is_missing(cells[row])), None)
        if row is not None:
            first[what] = min(row, first.get(what, row))
    if "date" in first:
        raise DataError(DATES)
    if "other" in first:
        raise CellError("holds", cells, first["other"], ", neither number nor text")
    return first


def _refuse_mixture(
    cells: NDArray[Any],
    first_rows: Mapping[str, int],
    words: Counter[str],
    at: Callable[[int, NDArray[Any]], str],
) -> None:
    """Refuse a column with text that also holds numbers, or whose text is mostly numbers.

    `words` are the rows of each text, and `at` says how a message refers to a cell.
    """
    n_numeric_text = sum(count for word, count in words.items() if is_number(word))
    n_numbers = 0
    if "number" in first_rows:
        n_numbers = sum(not isinstance(cell, str) and not is_missing(cell) for cell in cells)
    text = at(first_rows["text"], cells)
    if 2 * (n_numeric_text + n_numbers) > words.total() + n_numbers:
        for row, cell in enumerate(cells):
            if isinstance(cell, str) and not is_number(cell):
                raise DataError(f"looks numeric but holds {at(row, cells)}; {TO_NUMBERS}")
        local = LOCAL if LOCAL_NUMBER.fullmatch(cells[first_rows["text"]].strip()) else ""
        raise DataError(f"holds numbers as text, {text}; {TO_NUMBERS}{local}")
    if "number" in first_rows:
        number = at(first_rows["number"], cells)
        raise DataError(f"mixes text, {text}, and numbers, {number}; make them all text or numbers")


def is_number(text: str) -> bool:
    """Return whether a text is a finite number, perhaps with a decimal comma."""
    if LOCAL_NUMBER.fullmatch(text.strip()):
        return True
    try:
        return math.isfinite(float(text)) and "_" not in text
    except ValueError:
        return False


def _cell_at(row: int, cells: Sequence[Any] | NDArray[Any]) -> str:
    """Return how a message refers to a cell: its value and its row."""
    return f"{_shown(cells[row])} in row {row}"


def _cell_of(row: int, cells: Sequence[Any] | NDArray[Any]) -> str:
    """Return how a message refers to a cell whose row is not known: its value."""
    return _shown(cells[row])


def _shown(value: Any) -> str:
    """Return a value as messages show it."""
    return reprlib.repr(value.item() if isinstance(value, np.generic) else value)


def shortened(values: Sequence[Any]) -> str:
    """Return the first few of some values as messages show them, and how many others there are."""
    listed = ", ".join(reprlib.repr(value) for value in values[:MAX_LISTED])
    rest = len(values) - MAX_LISTED
    return f"{listed} and {rest} more" if rest > 0 else listed


def each_column(
    names: Iterable[str | int], act: Callable[[int], Any], first_row: int = 0
) -> list[Any]:
    """Return `act(j)` for every column; raise the problems of all columns together.

    Messages count rows from `first_row`, the row of the table in which the columns begin.
    """
    results, problems = [], []
    for j, name in enumerate(names):
        try:
            results.append(act(j))
        except CellError as error:
            problems.append(f"column {name!r} {error.message(first_row)}")
        except DataError as error:
            problems.append(f"column {name!r} {error}")
    raise_all(DataError, "table", problems)
    return results
