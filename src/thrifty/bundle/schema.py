"""The names and types of a table's columns, and how a table is encoded as floats.

A frozen model knows columns by index and values as floats. The schema is learned once, from the
training table, and from then on encodes every table and every single value in the same way:
numbers stay numbers, categories become codes 0, 1, 2, ..., missing values become NaN.

Models are trained on columns sorted by name, so that the order of a table decides nothing. The
schema remembers that order: arrays without names are read by it, and results are shown in it.
"""

from __future__ import annotations

import math
import reprlib
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.columns import (
    FINITE,
    MAX_CATEGORIES,
    NO_VALUES,
    Column,
    Label,
    check_finite,
    each_column,
    has_inexact,
    has_values,
    is_missing,
    join_rare,
    learn_categories,
    read_column,
    shortened,
    to_codes,
    to_number,
    to_numbers,
)
from thrifty.bundle.tables import Table, stack
from thrifty.errors import BundleError, DataError, did_you_mean, raise_all
from thrifty.untrusted import is_list, is_number, is_text, shown

__all__ = ["Schema"]

# A column whose rare categories cover more than this share of the rows may be an identifier.
LARGE_SHARE = 0.5

Unknown = dict[int, tuple[Any, ...]]
"""Categories that a schema does not know, by column index."""


class Schema:
    """Names and types of the columns of a table.

    Parameters
    ----------
    columns : sequence of Column
        In the order of the model's features.
    named : bool
        Whether features are referred to by name; otherwise by index.

    Attributes
    ----------
    names : tuple of str or int
        Names of the columns; their indices in a table without names.
    calls : frozenset of int
        Indices of the columns that stand for calls.
    table_order : int array of shape (d,)
        Index of each column of the training table, in the order of that table.

    Examples
    --------
    >>> from thrifty.bundle import Schema
    >>> schema = Schema.of({"age": [63, 41, None], "sex": ["m", "f", "m"]})
    >>> schema.columns[1]
    Column(name='sex', categories=('f', 'm'), other=None)
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
        self.calls = frozenset(j for j, column in enumerate(self.columns) if column.is_call)
        self._index = {name: j for j, name in enumerate(self.names)}
        # Code of each label, for every column of categories.
        self._codes: list[dict[Label, float] | None] = [
            None
            if column.categories is None
            else {label: float(code) for code, label in enumerate(column.categories)}
            for column in self.columns
        ]
        self._all_numbers = not any(self._codes)
        # Columns without a position, such as those of calls, follow the others.
        last = len(self.columns)
        places = [last if each.position is None else each.position for each in self.columns]
        self.table_order = np.argsort(places, kind="stable")

    @classmethod
    def of(cls, table: Any) -> Schema:
        """Learn the schema of a training table.

        Of a column with more than 255 categories, the 254 most frequent are kept, and all others
        become one, with a warning.
        """
        read = Table.read(table)
        names: tuple[str | int, ...] = read.names or tuple(range(len(read.columns)))
        block = read.block
        joined = []

        def learn_column(j: int) -> Column:
            cells, declared = read_column(read.columns[j])
            categories = learn_categories(cells, declared)
            if categories is None or len(categories) <= MAX_CATEGORIES:
                return Column(names[j], categories)
            kept, other, n_rows = join_rare(cells, categories)
            share = n_rows / len(cells)
            hint = "; it may be an identifier: drop it" if share > LARGE_SHARE else ""
            joined.append(
                f"column {names[j]!r} has {len(categories)} categories: the {len(kept) - 1} most "
                f"frequent are kept, all others ({share:.1%} of the rows) become {other!r}{hint}"
            )
            return Column(names[j], kept, other)

        if block is None or has_inexact(block) or not has_values(block):
            columns = each_column(names, learn_column)
        else:
            columns = [Column(name) for name in names]
        for message in joined:
            warnings.warn(f"table: {message}", stacklevel=2)
        return cls(tuple(columns), named=read.names is not None)

    @property
    def table_names(self) -> tuple[str | int, ...]:
        """Names of the columns in the order of the training table."""
        return tuple(self.names[j] for j in self.table_order)

    @property
    def is_in_table_order(self) -> bool:
        """Whether the columns are in the order of the training table."""
        return bool((self.table_order[1:] > self.table_order[:-1]).all())

    def sort(self) -> Schema:
        """Return the schema with its columns sorted by name; one without names as it is.

        Examples
        --------
        >>> from thrifty.bundle import Schema
        >>> schema = Schema.of({"sex": ["m", "f"], "age": [63, 41]}).sort()
        >>> schema.names, schema.table_names
        (('age', 'sex'), ('sex', 'age'))
        >>> schema.encode([["m", 63]])  # an array has the columns of the training table
        array([[63.,  1.]])
        """
        if not self.named:
            return self
        order = sorted(range(len(self)), key=lambda j: str(self.names[j]))
        places = np.argsort(self.table_order).tolist()
        return Schema(tuple(replace(self.columns[j], position=places[j]) for j in order), True)

    def placed_like(self, other: Schema) -> Schema:
        """Return the same columns with the positions that they have in another schema."""
        place = {name: k for k, name in enumerate(other.table_names)}
        columns = (replace(each, position=place.get(each.name)) for each in self.columns)
        return Schema(tuple(columns), self.named)

    def to_table_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Rearrange an array (..., d) of the columns of the schema as in the training table."""
        return values if self.is_in_table_order else values[..., self.table_order]

    def encode(
        self,
        table: Any,
        reads: NDArray[np.bool_] | None = None,
        first_row: int = 0,
        unknown: Unknown | None = None,
    ) -> NDArray[Any]:
        """Encode a table as floats, one C-ordered row per example.

        If both tables have names, the columns may be in any order and extra ones are ignored. A
        category that training never saw becomes missing, with one warning that lists them all; if
        the column has a category for all others, it becomes that. Columns that stand for calls are
        not in the table; they are NaN.

        Parameters
        ----------
        table : pandas or polars DataFrame, mapping of columns, array or nested list
        reads : bool array of shape (d,), optional
            Columns that are read; a table with names may lack the others. By default all are.
        first_row : int
            From where messages count rows, if the table is a part of a longer one.
        unknown : dict, optional
            Gets the categories that training never saw, by column, instead of a warning.

        Returns
        -------
        ndarray of shape (n, d)
            float32 if `table` is a float32 array, else float64. An array that needs no
            conversion is returned without a copy.
        """
        read = Table.read(table)
        names = read.names if self.named else None
        expected = [self.names[j] for j in self.table_order if j not in self.calls]
        if names is None and len(read.columns) != len(expected):
            raise DataError(
                f"table: X has {len(read.columns)} features, but Thrifty is expecting "
                f"{len(expected)} features as input"
            )
        if read.block is not None and self._all_numbers and not self.calls:
            dtype = np.float32 if read.block.dtype == np.float32 else np.float64
            in_order = self.is_in_table_order
            block = read.block if in_order else read.block[:, np.argsort(self.table_order)]
            X = np.ascontiguousarray(block, dtype=dtype)
            if np.isinf(X).any():
                each_column(self.names, lambda j: check_finite(X[:, j]), first_row)
            return X
        given: dict[Any, Any] = dict(zip(names or expected, read.columns, strict=True))
        found: Unknown = {} if unknown is None else unknown

        def encode_column(j: int) -> NDArray[Any]:
            name = self.names[j]
            unread = name not in given and reads is not None and not reads[j]
            if j in self.calls or unread:
                return np.full(read.rows, np.nan)
            if name not in given:
                raise DataError(f"is missing from the table{did_you_mean(name, given)}")
            return self._encode_column(j, given[name], found)

        try:
            X = stack(each_column(self.names, encode_column, first_row), read.rows)
            failed = bool(np.isinf(X).any())
        except DataError:
            failed = True
        if failed:
            # Slow: look for infinite values in each column as well, and report everything.
            finite = each_column(self.names, lambda j: check_finite(encode_column(j)), first_row)
            X = stack(finite, read.rows)
        if unknown is None:
            self.warn_of(found)
        return X

    def present_in(self, X: NDArray[Any]) -> Schema:
        """Return the schema that these rows alone would have given.

        It has the same columns, and of their categories those that occur, in the same order. Unlike
        `of`, it does not look at the text of the categories again, so rows whose categories all
        happen to be numbers written as text are not refused.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows of the training table as this schema encodes them.

        Raises
        ------
        DataError
            If there is no row, or a column has no value in any of them.

        Examples
        --------
        >>> from thrifty.bundle import Schema
        >>> table = {"age": [63, 41, 50], "sex": ["m", "f", "m"]}
        >>> schema = Schema.of(table)
        >>> schema.present_in(schema.encode(table)[[0, 2]]).columns[1]
        Column(name='sex', categories=('m',), other=None)
        """
        Table.read(X)  # refuses a table without rows
        empty = np.flatnonzero(np.isnan(X).all(axis=0))
        problems = [f"column {self.names[j]!r} {NO_VALUES}" for j in empty if j not in self.calls]
        raise_all(DataError, "table", problems)
        columns = []
        for column, values in zip(self.columns, X.T, strict=True):
            if column.categories is None:
                columns.append(column)
            else:
                counts = np.bincount(values[~np.isnan(values)].astype(np.intp))
                seen = tuple(column.categories[code] for code in np.flatnonzero(counts))
                other = column.other if column.other in seen else None
                columns.append(replace(column, categories=seen, other=other))
        return Schema(tuple(columns), self.named)

    def recode(self, X: NDArray[Any], source: Schema) -> NDArray[Any]:
        """Convert rows encoded by another schema to the encoding of this one.

        A category that this schema does not know becomes missing, with one warning that lists
        them all, as in `encode`.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows as `source` encodes them; they are not modified.
        source : Schema
            A schema with the same names in the same order.

        Returns
        -------
        ndarray of shape (n, d)
            `X` itself if both schemas are equal, else a copy.

        Examples
        --------
        >>> from thrifty.bundle import Schema
        >>> table = {"age": [63, 41, 50], "sex": ["m", "f", "m"]}
        >>> schema = Schema.of(table)
        >>> rows = schema.encode(table)[[0, 2]]
        >>> schema.present_in(rows).recode(rows, schema)
        array([[63.,  0.],
               [50.,  0.]])
        """
        if self == source:
            return X
        if self.names != source.names:
            raise DataError(
                "table: the two schemas have different columns; encode the raw table instead"
            )
        unknown: Unknown = {}

        def recode_column(j: int) -> NDArray[Any]:
            values, old, new = X[:, j], source.columns[j].categories, self._codes[j]
            if source.columns[j] == self.columns[j]:
                return values
            if old is None:  # numbers there, categories here
                return self._encode_column(j, values, unknown)
            missing = np.isnan(values)
            codes = np.where(missing, len(old), values).astype(np.intp)
            if new is None:  # categories there, numbers here
                labels = np.array([*old, None], dtype=object)
                return self._encode_column(j, labels[codes], unknown)
            other = new.get(self.columns[j].other, np.nan)  # type: ignore[arg-type]
            new_code = np.array([*(new.get(label, other) for label in old), np.nan])
            lost, first = np.unique(codes[~missing & np.isnan(new_code[codes])], return_index=True)
            if lost.size:
                unknown[j] = tuple(old[code] for code in lost[np.argsort(first)])
            return new_code[codes]

        out = stack(each_column(self.names, recode_column), len(X))
        self.warn_of(unknown)
        return out

    def encode_value(self, index: int, value: Any) -> float:
        """Encode one value of the feature at `index`."""
        return self.encode_values({self.columns[index].name: value})[index]

    def encode_values(self, values: Mapping[Any, Any]) -> dict[int, float]:
        """Encode some values of one example: from values by name to floats by index."""
        encoded: dict[int, float] = {}
        unknown: Unknown = {}
        problems = []
        for feature, value in values.items():
            index = self._index.get(feature)
            if index is None:
                problems.append(self._no_feature(feature))
                continue
            code = self._codes[index]
            try:
                if code is not None:
                    encoded[index] = code[value]
                    continue
                # A walk waits for this, so a plain float is not inspected any further.
                encoded[index] = x = value if type(value) is float else to_number(value)
                if math.isinf(x):
                    problems.append(f"{feature!r} is {value}; {FINITE}")
            except KeyError:
                other = self.columns[index].other
                encoded[index] = math.nan
                if not is_missing(value) and other is not None and code is not None:
                    encoded[index] = code[other]
                elif not is_missing(value):
                    unknown[index] = (value,)
            except TypeError:
                problems.append(f"{feature!r} is {reprlib.repr(value)}, which is not a category")
            except DataError as error:
                problems.append(f"{feature!r} {error}")
        raise_all(DataError, "values", problems)
        self.warn_of(unknown)
        return encoded

    def index(self, feature: str | int) -> int:
        """Return the index of a feature."""
        try:
            return self._index[feature]
        except (KeyError, TypeError):
            raise DataError(self._no_feature(feature)) from None

    def name(self, index: int) -> str | int:
        """Return the name of the feature at `index`; `index` itself in a table without names."""
        return self.columns[index].name

    def plain(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        columns: list[dict[str, Any]] = [
            {"name": column.name, "categories": column.categories and list(column.categories)}
            | ({"call": True} if column.is_call else {})
            for column in self.columns
        ]
        for entry, column in zip(columns, self.columns, strict=True):
            if column.other is not None:
                entry["other"] = column.other
        order = {} if self.is_in_table_order else {"order": self.table_order.tolist()}
        return {"named": self.named, "columns": columns, **order}

    @classmethod
    def build(cls, plain: Any) -> Schema:
        """Check what a model file holds and build the schema from it.

        Raises
        ------
        BundleError
            If anything is missing, unknown or malformed.
        """
        if not isinstance(plain, dict) or plain.keys() - {"order"} != {"named", "columns"}:
            raise BundleError("the schema must consist of 'named' and 'columns'")
        named, listed = plain["named"], plain["columns"]
        if not isinstance(named, bool) or not isinstance(listed, list) or not listed:
            raise BundleError("the schema must say if it is named, and list at least one column")
        columns = []
        for j, entry in enumerate(listed):
            known = {"name", "categories"}
            if not isinstance(entry, dict) or entry.keys() - {"call", "other"} != known:
                raise BundleError("a column of the schema must have a name and categories")
            name, labels, other = entry["name"], entry["categories"], entry.get("other")
            if named and not is_text(name, controls=True):
                raise BundleError(f"column {j} of the schema has {shown(name)} as name, not text")
            if not named and (type(name) is not int or name != j):
                raise BundleError("the columns of a schema without names must be 0, 1, 2, ...")
            if entry.get("call", True) is not True or ("call" in entry and labels is not None):
                raise BundleError(f"column {shown(name)} must say 'call': true, or nothing")
            if labels is not None:
                if not is_list(labels, _is_category, 1, MAX_CATEGORIES):
                    raise BundleError(
                        f"column {shown(name)} must have 1 to {MAX_CATEGORIES} categories"
                    )
                if len(set(labels)) < len(labels):
                    raise BundleError(f"column {shown(name)} has a category twice")
            is_listed = labels is not None and _is_category(other) and other in labels
            if "other" in entry and not is_listed:
                raise BundleError(f"'other' of column {shown(name)} is not one of its categories")
            columns.append(Column(name, labels and tuple(labels), other, "call" in entry))
        if len({column.name for column in columns}) < len(columns):
            raise BundleError("the schema lists a column twice")
        if "order" in plain:
            order = plain["order"]
            is_sound = isinstance(order, list) and all(type(j) is int for j in order)
            if not named or not is_sound or sorted(order) != list(range(len(columns))):
                raise BundleError("the order of the schema must list each of its columns once")
            for place, j in enumerate(order):
                columns[j] = replace(columns[j], position=place)
        return cls(tuple(columns), named)

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

    def _encode_column(self, j: int, raw: Any, unknown: Unknown) -> NDArray[Any]:
        """Encode the raw column `j`; add its unknown categories to `unknown`."""
        cells, _ = read_column(raw)
        code = self._codes[j]
        if code is None:
            return to_numbers(cells)
        other = self.columns[j].other
        encoded, lost = to_codes(cells, code, None if other is None else code[other])
        if lost:
            unknown.setdefault(j, lost)
        return encoded

    def _no_feature(self, feature: Any) -> str:
        if self.named:
            return f"there is no feature {feature!r}{did_you_mean(feature, self.names)}"
        last = len(self) - 1
        return f"there is no feature {feature!r}; features are numbered from 0 to {last}"

    def warn_of(self, unknown: Unknown) -> None:
        """Warn the caller of the calling method of unknown categories, if there are any."""
        if unknown:
            found = "; ".join(f"{self.names[j]!r}: {shortened(v)}" for j, v in unknown.items())
            message = f"categories never seen in training count as missing ({found})"
            warnings.warn(message, UserWarning, stacklevel=3)


def _is_category(label: Any) -> bool:
    """Return whether a value of a model file is a label."""
    return type(label) is bool or is_number(label) or is_text(label, controls=True)
