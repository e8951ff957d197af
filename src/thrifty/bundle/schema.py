"""The names and kinds of a table's columns, and how a table becomes floats.

A frozen model knows columns by position and values as floats. The schema is learned once,
from the training table, and from then on reads every table and every single value in the
same way: numbers stay numbers, categories become codes 0, 1, 2, ..., missing becomes NaN.
"""

from __future__ import annotations

import math
import reprlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import cells
from thrifty.bundle.audit import audit_columns
from thrifty.bundle.categories import learn
from thrifty.bundle.cells import Label
from thrifty.bundle.tables import Table, stack
from thrifty.costs.faults import near
from thrifty.errors import DataError, raise_all

__all__ = ["Column", "Schema"]

Strange = dict[int, tuple[Any, ...]]


@dataclass(frozen=True)
class Column:
    """One column: its name (position in a nameless table) and its categories, if any."""

    name: str | int
    categories: tuple[Label, ...] | None = None


class Schema:
    """Names and kinds of the columns of a table.

    Parameters
    ----------
    columns : sequence of Column
        In the order of the model's features.
    named : bool
        Whether features go by name; they go by position otherwise.

    Examples
    --------
    >>> from thrifty.bundle import Schema
    >>> schema = Schema.of({"age": [63, 41, None], "sex": ["m", "f", "m"]})
    >>> schema.columns[1]
    Column(name='sex', categories=('f', 'm'))
    >>> schema.encode({"sex": ["m", None], "age": [50, 37]})
    array([[50.,  1.],
           [37., nan]])
    >>> schema.encode_value(schema.index("sex"), "f")
    0.0
    """

    def __init__(self, columns: tuple[Column, ...], named: bool) -> None:
        self.columns = tuple(columns)
        self.named = named
        self.names = tuple(column.name for column in self.columns)
        self._positions = {name: j for j, name in enumerate(self.names)}
        self._codes = tuple(_code(column) for column in self.columns)
        self._numeric = not any(self._codes)

    @classmethod
    def of(cls, table: Any) -> Schema:
        """Learn the schema of a training table."""
        read = Table.read(table)
        names: tuple[str | int, ...] = read.names or tuple(range(len(read.columns)))
        learned = [None] * len(names)
        if read.block is None or not _is_clean(read.block):
            learned = _each(read.columns, lambda j, raw: learn(*cells.read(raw)), names)
        columns = tuple(Column(*pair) for pair in zip(names, learned, strict=True))
        return cls(columns, named=read.names is not None)

    def encode(self, table: Any) -> NDArray[Any]:
        """Turn a table into floats, one C-ordered row per example.

        The columns may come in any order and among others. A category that training never
        saw becomes missing, with one warning that names them all.

        Returns
        -------
        ndarray of shape (n, d)
            float32 if `table` is a float32 array, else float64. An array that is so already
            is given back without a copy.
        """
        read = Table.read(table)
        if read.block is not None and self._numeric:
            self._refuse_width(read)
            return self._block(read.block)
        strange: Strange = {}
        X = self._stack(self._pick(read), read.rows, strange)
        self._warn(strange)
        return X

    def encode_value(self, index: int, value: Any) -> float:
        """Turn one value of the feature at position `index` into a float."""
        return self.encode_values({self.columns[index].name: value})[index]

    def encode_values(self, values: Mapping[Any, Any]) -> dict[int, float]:
        """Turn values by name into floats by position: one example, or a part of it."""
        encoded: dict[int, float] = {}
        strange: Strange = {}
        problems = []
        for feature, value in values.items():
            try:
                index = self._positions[feature]
                encoded[index] = self._value(index, value, strange)
            except KeyError:
                problems.append(self._unknown(feature))
            except DataError as error:
                problems.append(f"{feature!r} {error}")
        raise_all(DataError, "values", problems)
        if strange:
            self._warn(strange)
        return encoded

    def index(self, feature: str | int) -> int:
        """Position of a feature."""
        try:
            return self._positions[feature]
        except (KeyError, TypeError):
            raise DataError(self._unknown(feature)) from None

    def name(self, index: int) -> str | int:
        """Name of the feature at a position; the position itself in a nameless table."""
        return self.columns[index].name

    def plain(self) -> dict[str, Any]:
        """What a model file keeps."""
        columns = [
            {"name": column.name, "categories": column.categories and list(column.categories)}
            for column in self.columns
        ]
        return {"named": self.named, "columns": columns}

    @classmethod
    def build(cls, plain: Any) -> Schema:
        """Build the schema from what a model file holds; BundleError if it is not sound."""
        named, columns = audit_columns(plain)
        return cls(tuple(Column(name, labels) for name, labels in columns), named)

    def __len__(self) -> int:
        return len(self.columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return (self.columns, self.named) == (other.columns, other.named)

    def __hash__(self) -> int:
        return hash((self.columns, self.named))

    def __repr__(self) -> str:
        n_categorical = sum(column.categories is not None for column in self.columns)
        return f"Schema({len(self)} columns, {n_categorical} categorical, named={self.named})"

    def _block(self, block: NDArray[Any]) -> NDArray[Any]:
        dtype = np.float32 if block.dtype == np.float32 else np.float64
        X = np.ascontiguousarray(block, dtype=dtype)
        if np.isinf(X).any():
            _each(X.T, lambda j, column: cells.refuse_infinite(column), self.names)
        return X

    def _stack(self, columns: list[Any], rows: int, strange: Strange) -> NDArray[np.float64]:
        try:
            X = stack(_each(columns, partial(self._column, strange), self.names), rows)
            if not np.isinf(X).any():
                return X
        except DataError:
            pass
        # Something is wrong: look again, column by column, which is slow, and tell all of it.
        return stack(_each(columns, partial(self._finite_column, strange), self.names), rows)

    def _finite_column(self, strange: Strange, index: int, raw: Any) -> NDArray[Any]:
        return cells.refuse_infinite(self._column(strange, index, raw))

    def _column(self, strange: Strange, index: int, raw: Any) -> NDArray[Any]:
        if isinstance(raw, DataError):
            raise raw
        values, _ = cells.read(raw)
        code = self._codes[index]
        if code is None:
            return cells.numbers(values)
        encoded, lost = cells.codes(values, code)
        if lost:
            strange[index] = lost
        return encoded

    def _value(self, index: int, value: Any, strange: Strange) -> float:
        """One value. A walk waits for this: plain finite floats and known labels go first."""
        code = self._codes[index]
        if code is None:
            x = value if type(value) is float else cells.number(value)
            if math.isinf(x):
                raise DataError(f"is {value}; {cells.FINITE}")
            return x
        try:
            return code[value]
        except KeyError:
            if not cells.is_missing(value):
                strange[index] = (value,)
            return math.nan
        except TypeError:
            raise DataError(f"is {reprlib.repr(value)}, which is not a category") from None

    def _pick(self, read: Table) -> list[Any]:
        """Columns of `read` in the order of the schema; an error in place of an absent one."""
        if not self.named or read.names is None:
            self._refuse_width(read)
            return list(read.columns)
        given: dict[Any, Any] = dict(zip(read.names, read.columns, strict=True))
        absent = {name: _absent(name, given) for name in self.names if name not in given}
        return [given.get(name, absent.get(name)) for name in self.names]

    def _refuse_width(self, read: Table) -> None:
        n, d = len(read.columns), len(self)
        if n != d:
            raise DataError(
                f"table: X has {n} features, but Thrifty is expecting {d} features as input"
            )

    def _unknown(self, feature: Any) -> str:
        if not self.named:
            return f"there is no feature {feature!r}; features go by position, 0 to {len(self) - 1}"
        return f"there is no feature {feature!r}{near(str(feature), map(str, self._positions))}"

    def _warn(self, strange: Strange) -> None:
        if strange:
            found = "; ".join(
                f"{self.columns[j].name!r}: {_some(values)}" for j, values in strange.items()
            )
            message = f"categories never seen in training count as missing ({found})"
            warnings.warn(message, UserWarning, stacklevel=3)


def _code(column: Column) -> dict[Label, float] | None:
    if column.categories is None:
        return None
    return {label: float(code) for code, label in enumerate(column.categories)}


def _is_clean(block: NDArray[Any]) -> bool:
    """No infinite value and no empty column, told by passes over the rows: columns are slow."""
    return not (np.isinf(block).any() or np.isnan(block).all(axis=0).any())


def _each(columns: Any, act: Callable[[int, Any], Any], names: tuple[str | int, ...]) -> list[Any]:
    """Apply `act` to every column; raise the problems of all columns at once."""
    results, problems = [], []
    for j, column in enumerate(columns):
        try:
            results.append(act(j, column))
        except DataError as error:
            problems.append(f"column {names[j]!r} {error}")
    raise_all(DataError, "table", problems)
    return results


def _absent(name: Any, given: Mapping[Any, Any]) -> DataError:
    return DataError(f"is missing from the table{near(str(name), given)}")


def _some(values: tuple[Any, ...], most: int = 5) -> str:
    rest = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(reprlib.repr(value) for value in values[:most]) + rest
