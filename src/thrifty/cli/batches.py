"""Long tables of `thrifty predict`: batches of rows to score, and what is written of the results.

Nothing here holds more than one batch, so memory does not grow with the number of rows.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.csv_files import find_format
from thrifty.errors import DataError, did_you_mean, raise_all
from thrifty.table_files import (
    CSV_SUFFIXES,
    PARQUET_SUFFIXES,
    naming_parquet,
    parse_numbers,
    read_batches,
    read_columns,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from thrifty.bundle import Predictor

__all__ = ["Results", "TableFile", "csv_or_parquet", "is_parquet", "plain_values"]


class TableFile:
    """A CSV or Parquet file whose rows are to be scored.

    Parameters
    ----------
    path : Path
    id_column : str or None
        Column that identifies the rows.

    Attributes
    ----------
    columns : list of str
        The columns of the file.

    Raises
    ------
    DataError
        If the file is not a table, or lacks the column of the identifiers.
    """

    def __init__(self, path: Path, id_column: str | None) -> None:
        self.path, self.id_column = path, id_column
        self._csv_format = find_format(path) if path.suffix.lower() in CSV_SUFFIXES else None
        if self._csv_format is not None and str(self._csv_format):
            click.echo(f"{path}: {self._csv_format}", err=True)
        self.columns = read_columns(path, self._csv_format)
        if id_column is not None and id_column not in self.columns:
            hint = did_you_mean(id_column, self.columns)
            raise DataError(f"{path}: there is no column {id_column!r}{hint}")

    def batches(self, predictor: Predictor) -> Iterator[DataFrame]:
        """Yield the rows in order, with the columns that a predictor reads and the identifiers.

        Raises
        ------
        DataError
            If a column is missing, there are no rows, or the file is damaged.
        """
        from thrifty.cli.inputs.tables import match_labels

        schema, is_csv = predictor.schema, self._csv_format is not None
        numbers = {c.name for c in schema.columns if c.categories is None}
        text = {str(c.name) for c in schema.columns if c.categories is not None}
        ids = [] if self.id_column is None else [self.id_column]
        # An identifier such as 007 stays as it is, unless it is also a number that the model reads.
        text.update(name for name in ids if name not in numbers)
        columns, n_rows = self._needed(predictor), 0
        for frame in read_batches(self.path, columns, text, ids, self._csv_format):
            if is_csv:
                for name in filter(numbers.__contains__, columns):
                    frame[name] = parse_numbers(frame[name])
            match_labels(schema, frame)
            n_rows += len(frame)
            yield frame
        if not n_rows:
            raise DataError(f"{self.path}: there are no rows below the header")

    def _needed(self, predictor: Predictor) -> list[str]:
        """Return the columns to read, in the order of the file; refuse a file that lacks some."""
        schema = predictor.schema
        if not schema.named or predictor.caller is not None:
            return self.columns  # by position, or for the model that is called
        needed = {
            str(name)
            for j, name in enumerate(schema.names)
            if predictor.reads[j] and j not in schema.calls
        }
        missing = [name for name in schema.names if name in needed - {*self.columns}]
        problems = [
            f"column {name!r} is missing from the table{did_you_mean(name, self.columns)}"
            for name in missing
        ]
        raise_all(DataError, str(self.path), problems)
        found = [name for name in self.columns if name in needed or name == self.id_column]
        return found or self.columns[:1]  # whose length is the number of rows


class Results:
    """The results of a table, batch by batch; the frames are made while they are iterated over.

    Parameters
    ----------
    file : TableFile
    predictor : Predictor
    asked : dict of str to bool
        Which of the columns of `score_batches` are wanted; those that it does not name are.
    plain_ids : bool
        Whether identifiers become values that CSV and JSON can hold.
    """

    def __init__(
        self, file: TableFile, predictor: Predictor, asked: dict[str, bool], plain_ids: bool
    ) -> None:
        self.file, self.predictor, self.asked = file, predictor, asked
        self.plain_ids = plain_ids
        self.n_rows, self.total_bill = 0, 0.0

    def __iter__(self) -> Iterator[DataFrame]:
        from thrifty.bundle import score_batches

        name, batches = self.file.id_column, self.file.batches(self.predictor)
        try:
            for scored in score_batches(self.predictor, batches, id_column=name):
                self.n_rows += len(scored)
                self.total_bill += float(scored["bill"].sum())
                if name is not None and self.plain_ids:
                    scored[name] = plain_values(scored[name])
                yield scored[[column for column in scored if self.asked.get(column, True)]]
        except DataError as error:
            if not str(error).startswith("table: "):
                raise
            raise DataError(f"{self.file.path}{str(error).removeprefix('table')}") from error

    def summary(self) -> dict[str, Any]:
        """Return the number of rows so far and their mean bill."""
        mean = self.total_bill / self.n_rows
        return {"rows": self.n_rows, "mean_bill": mean, "unit": self.predictor.prices.unit}


def plain_values(cells: Series[Any]) -> Series[Any]:
    """Return identifiers as values that CSV and JSON can hold.

    Examples
    --------
    >>> import pandas as pd
    >>> from thrifty.cli.batches import plain_values
    >>> plain_values(pd.Series([pd.Timestamp("2026-03-01"), None])).tolist()
    ['2026-03-01 00:00:00', None]
    """
    import pandas as pd

    plain = (str, int, float, type(None))
    values = cells.astype(object).where(cells.notna(), None).tolist()
    values = [value if isinstance(value, plain) else str(value) for value in values]
    return pd.Series(values, index=cells.index, dtype=object)


def is_parquet(path: Path | None) -> bool:
    """Return whether the name of a file says that it is a Parquet file."""
    return path is not None and path.suffix.lower() in PARQUET_SUFFIXES


def csv_or_parquet(path: Path | None, frames: Iterable[DataFrame]) -> Iterator[bytes]:
    """Yield the parts of a Parquet file, or of a CSV file if the name does not say Parquet."""
    if path is not None and is_parquet(path):
        yield from _parquet_parts(path, frames)
        return
    from thrifty.cli.csv_output import safe_csv_parts

    for k, frame in enumerate(frames):
        for part in safe_csv_parts(frame, header=k == 0):
            yield part.encode("utf-8")


def _parquet_parts(path: Path, frames: Iterable[DataFrame]) -> Iterator[bytes]:
    """Yield the parts of a Parquet file with a row group for each frame."""
    with naming_parquet(path):
        from pyarrow import Table
        from pyarrow.parquet import ParquetWriter

    sink, writer = _Parts(), None
    for frame in frames:
        schema = None if writer is None else writer.schema
        table = Table.from_pandas(frame, schema=schema, preserve_index=False)
        writer = writer or ParquetWriter(sink, table.schema)
        writer.write_table(table)
        yield sink.take()
    if writer is not None:
        writer.close()
    yield sink.take()


class _Parts(io.RawIOBase):
    """A file that keeps what is written until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._length += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        return self._length

    def take(self) -> bytes:
        """Return what was written since the last time."""
        taken, self._parts = b"".join(self._parts), []
        return taken
