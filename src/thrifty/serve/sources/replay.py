"""Sources in memory: recorded rows, for tests, demonstrations and replays."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from thrifty.bundle.tables import Table
from thrifty.csv_files import read_text
from thrifty.errors import DataError
from thrifty.serve.sources.base import AsyncSource, NotFoundError, Query, Terms, UnsentError
from thrifty.serve.sources.rows import Feature

__all__ = ["ReplaySource"]

# Largest size of a CSV file, in bytes: all of it is kept in memory.
MAX_BYTES = 1 << 28


class ReplaySource(AsyncSource):
    """Rows by an identifier, or one row for all cases.

    Parameters
    ----------
    name : str
    rows : mapping
        Row, a mapping of feature to value, by identifier; a single row if `by` is None. A value
        that is absent is not delivered; None is delivered empty.
    features : sequence of str or int
    by : str, optional
        Name of the identifier in the context of a case.
    **terms
        Other parameters of `Terms`.

    Examples
    --------
    >>> import asyncio
    >>> from thrifty.serve import Query
    >>> from thrifty.serve import ReplaySource
    >>> rows = {"ann": {"age": 63}, "bob": {"age": 41}}
    >>> source = ReplaySource("register", rows, ["age"], by="who")
    >>> asyncio.run(source.fetch(Query(("age",), context={"who": "bob"})))
    {'age': 41}
    """

    def __init__(
        self,
        name: str,
        rows: Mapping[Any, Any],
        features: Sequence[Feature],
        by: str | None = None,
        **terms: Any,
    ) -> None:
        super().__init__(Terms(name, tuple(features), **terms))
        self._rows, self._by = rows, by
        self.needs = () if by is None else (by,)
        self._is_text = False  # whether identifiers are compared as text

    @classmethod
    def from_table(
        cls, name: str, table: Any, by: str, features: Sequence[Feature] | None = None, **terms: Any
    ) -> Self:
        """Return the source of a table with a column of identifiers.

        Parameters
        ----------
        name : str
        table : mapping of columns, or a pandas or polars DataFrame
        by : str
            The column of identifiers, and their name in the context of a case.
        features : sequence of str, optional
            By default all other columns.
        **terms
            Other parameters of `Terms`.
        """
        read = Table.read(table)
        columns: dict[Feature, Any] = dict(zip(read.names or (), read.columns, strict=True))
        wanted = [c for c in columns if c != by] if features is None else list(features)
        for column in (by, *wanted):
            if column not in columns:
                raise DataError(f"source {name!r}: the table has no column {column!r}")
        lists = {column: list(columns[column]) for column in wanted}
        rows = {
            key: {column: cells[i] for column, cells in lists.items()}
            for i, key in enumerate(list(columns[by]))
        }
        return cls(name, rows, wanted, by, **terms)

    @classmethod
    def from_csv(
        cls,
        name: str,
        path: str | os.PathLike[str],
        by: str,
        features: Sequence[str] | None = None,
        **terms: Any,
    ) -> Self:
        """Return the source of a CSV file with a column of identifiers.

        A column whose cells are all numbers holds numbers, any other one text; identifiers are
        text. An empty cell is a value that is delivered empty.
        """
        file = Path(path)
        try:
            records = csv.DictReader(io.StringIO(read_text(file, MAX_BYTES), newline=""))
            rows = list(records)
        except OSError as error:
            raise DataError(f"source {name!r}: {path}: {error.strerror}") from None
        except (DataError, csv.Error) as error:
            raise DataError(f"source {name!r}: {error}") from None
        names = records.fieldnames or ()
        twice = sorted({column for column in names if names.count(column) > 1})
        if twice:
            raise DataError(f"source {name!r}: {path}: two columns are named {twice[0]!r}")
        columns: dict[str, list[Any]] = {
            column: [row.get(column) or None for row in rows] for column in names
        }
        for column, cells in columns.items():
            if column != by:
                try:
                    columns[column] = [None if cell is None else float(cell) for cell in cells]
                except ValueError:
                    continue
        source = cls.from_table(name, columns, by, features, **terms)
        source._is_text = True
        return source

    async def fetch(self, query: Query) -> Mapping[Feature, Any]:
        """Return the values of the row of the case."""
        row: Mapping[Any, Any] | None = self._rows
        if self._by is not None:
            if self._by not in query.context:
                raise UnsentError(f"source {self.terms.name!r}: pass {self._by!r} in the context")
            key = query.context[self._by]
            row = self._rows.get(str(key) if self._is_text else key)
            if row is None:
                raise NotFoundError(f"source {self.terms.name!r}: it has no such row")
        return {f: row[f] for f in query.features if row is not None and f in row}
