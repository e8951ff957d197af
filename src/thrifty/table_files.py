"""Tables in CSV and Parquet files: their columns, and their rows in batches.

`read_batches` holds one batch at a time, so memory does not grow with the length of a file.
"""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thrifty.csv_files import CsvFormat, find_format, read_header
from thrifty.errors import DataError, raise_all

if TYPE_CHECKING:
    from pandas import DataFrame, Series

__all__ = [
    "CSV_SUFFIXES",
    "PARQUET_SUFFIXES",
    "UNNAMED",
    "naming_csv",
    "naming_parquet",
    "open_csv",
    "parse_numbers",
    "read_batches",
    "read_columns",
]

CSV_SUFFIXES = (".csv", ".tsv")
PARQUET_SUFFIXES = (".parquet", ".pq")
# The name that pandas gives to a column without one, with its position.
UNNAMED = "Unnamed: "
# Rows that are read at a time: 8 MB for 50 columns of floats. More is not faster.
ROWS_PER_BATCH = 20_000
# Bytes of a column of a Parquet file that are read at a time.
BYTES_PER_READ = 1 << 16


def read_columns(path: Path, csv_format: CsvFormat | None = None) -> list[str]:
    """Read the names of the columns without the rows, which takes no time.

    A column without a name gets the name that it would have in the table. How a CSV file is
    written is found out, if that is not given.

    Raises
    ------
    DataError
        If the file is not a table.
    """
    if path.suffix.lower() in CSV_SUFFIXES:
        header = read_header(path, csv_format or find_format(path))
        return [name or f"{UNNAMED}{i}" for i, name in enumerate(header)]
    with naming_parquet(path):
        from pyarrow.parquet import read_schema

        schema = read_schema(path)
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        return [name for name in schema.names if name not in index]


def read_batches(
    path: Path,
    columns: Sequence[str],
    text_columns: Iterable[str] = (),
    exact: Sequence[str] = (),
    csv_format: CsvFormat | None = None,
) -> Iterator[DataFrame]:
    """Yield the rows of a CSV or Parquet file in order, some thousand at a time.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        Columns to read. Of a Parquet file, the others are never touched.
    text_columns : iterable of str
        Columns of a CSV file whose cells stay text, even if they look like numbers.
    exact : sequence of str
        Columns of a Parquet file that keep their type, even if values are missing.
    csv_format : CsvFormat, optional
        How a CSV file is written; by default that is found out.

    Raises
    ------
    DataError
        If the file is not a table, even if that is noticed after some batches.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from thrifty.table_files import read_batches
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("id,age,sex\\n007,63,m\\n008,41,f\\n")
    ...     [batch.values.tolist() for batch in read_batches(path, ["id", "age"], ["id"])]
    [[['007', 63], ['008', 41]]]
    """
    columns = list(dict.fromkeys(columns))
    if path.suffix.lower() in CSV_SUFFIXES:
        with naming_csv(path):
            # All columns are parsed: with `usecols`, pandas ignores cells beyond the header.
            csv_format = csv_format or find_format(path)
            file = open_csv(path, csv_format, text_columns, chunksize=ROWS_PER_BATCH)
        with file:
            while True:
                # Around each batch, not around all: the caller's filters of warnings are its own.
                with naming_csv(path):
                    chunk = next(file, None)
                if chunk is None:
                    return
                yield chunk[columns].copy()
    with naming_parquet(path):
        yield from _parquet_batches(path, columns, exact)


def _parquet_batches(path: Path, columns: list[str], exact: Sequence[str]) -> Iterator[DataFrame]:
    """Yield the rows of a Parquet file; what is read for a row group is released with it."""
    import pandas as pd
    from pyarrow import Table, default_memory_pool
    from pyarrow.parquet import ParquetFile

    # With buffers filled ahead, memory grows with the length of the file; without buffers, whole
    # columns of a row group are read at once.
    with ParquetFile(path, pre_buffer=False, buffer_size=BYTES_PER_READ) as file:
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(
                ROWS_PER_BATCH, row_groups=[group], columns=columns, use_threads=False
            ):
                frame = batch.to_pandas().reset_index(drop=True)[columns].copy()
                for name in exact:
                    kept = Table.from_batches([batch]).select([name])
                    frame[name] = kept.to_pandas(types_mapper=pd.ArrowDtype)[name].array
                yield frame
                del frame, batch
                default_memory_pool().release_unused()
            default_memory_pool().release_unused()


def parse_numbers(cells: Series[Any]) -> Series[Any]:
    """Return the cells of a CSV file as floats; if some are not numbers, those stay as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from thrifty.table_files import parse_numbers
    >>> parse_numbers(pd.Series(["1", "abc", "2.5"])).tolist()
    [1.0, 'abc', 2.5]
    """
    import pandas as pd

    numbers = pd.to_numeric(cells, errors="coerce").astype(float)
    is_text = numbers.isna() & cells.notna()
    return numbers.astype(object).where(~is_text, cells) if is_text.any() else numbers


def open_csv(path: Path, csv_format: CsvFormat, text_columns: Iterable[str], **options: Any) -> Any:
    """Read a CSV file whose first line names the columns, each name once, with pandas.

    Parameters
    ----------
    path : Path
    csv_format : CsvFormat
    text_columns : iterable of str
        Columns whose cells stay text, even if they look like numbers.
    **options
        Other arguments of `pandas.read_csv`.
    """
    import pandas as pd

    header = read_header(path, csv_format)
    # Checked here, since pandas would rename the second one.
    twice = [name for name, count in Counter(header).items() if count > 1 and name]
    raise_all(DataError, str(path), [f"more than one column is named {name!r}" for name in twice])
    return pd.read_csv(
        path,
        sep=csv_format.separator,
        decimal=csv_format.decimal,
        encoding=csv_format.encoding,
        index_col=False,
        low_memory=False,
        dtype={name: str for name in text_columns if name in header},
        **options,
    )


@contextmanager
def naming_csv(path: Path) -> Iterator[None]:
    """Let errors of the block be a `DataError` that names the file, too many cells included."""
    from pandas.errors import ParserError, ParserWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)  # more cells than the header has
            yield
    except (ParserError, ParserWarning, csv.Error) as error:
        raise DataError(f"{path}: not a table: {str(error).strip()}") from error


@contextmanager
def naming_parquet(path: Path) -> Iterator[None]:
    """Let errors of the block be a `DataError` that names the Parquet file."""
    if path.suffix.lower() not in PARQUET_SUFFIXES:
        raise DataError(f"{path}: a table is a .csv, a .tsv or a .parquet file")
    try:
        from pyarrow import ArrowException
    except ImportError:
        raise DataError(
            f"{path}: Parquet needs pyarrow: pip install 'thrifty[parquet]', or use a CSV file"
        ) from None
    try:
        yield
    except (ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the operating system; Arrow's own, of damaged pages, have no number
        raise DataError(f"{path}: not a Parquet file: {error}") from error
