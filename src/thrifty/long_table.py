"""Tables in one or many files that are read in batches, never as a whole."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

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
    from pandas import DataFrame

__all__ = ["Batch", "Table", "find_files", "read_file"]

# Problems of files that one message lists.
MAX_LISTED = 10


class Batch(NamedTuple):
    """Some consecutive rows of a file.

    Attributes
    ----------
    path : Path
        The file.
    first_row : int
        Number of rows of the file before these.
    frame : DataFrame
        The rows: features and target.
    """

    path: Path
    first_row: int
    frame: DataFrame


class Table:
    """A training table in files that may be larger than memory.

    Parameters
    ----------
    files : sequence of Path
        Files of the same columns, whose rows follow each other.
    target : str
        The column to predict.
    drop : sequence of str
        Columns to ignore.
    weight : str, optional
        The column with the weights of the rows, which is not a feature. Rows of weight 0 are not
        trained on.

    Attributes
    ----------
    features : list of str
        The other columns, in the order of the first file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, pandas as pd
    >>> from thrifty import GreedyMiserClassifier, Table
    >>> X = pd.DataFrame({"age": np.arange(100) % 50, "chol": np.arange(100) % 7})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for year, rows in (("2024", X[:60]), ("2025", X[60:])):
    ...         rows.assign(ill=rows["age"] > 24).to_parquet(f"{folder}/{year}.parquet")
    ...     table = Table.parquet(folder, target="ill")
    ...     model = GreedyMiserClassifier(n_estimators=5).fit(table)
    >>> table.n_rows, table.features
    (100, ['age', 'chol'])
    >>> model.predict(X)[[10, 40]]
    array([False,  True])
    """

    def __init__(
        self,
        files: Sequence[Path],
        target: str,
        drop: Sequence[str] = (),
        weight: str | None = None,
    ) -> None:
        self.files, self.target, self.drop, self.weight = list(files), target, list(drop), weight
        columns = read_columns(self.files[0])
        named = [target, *drop, *([] if weight is None else [weight])]
        problems = [
            f"there is no column {name!r}{did_you_mean(name, columns)}"
            for name in named
            if name not in columns
        ]
        if weight == target:
            problems.append(f"column {target!r} is the target and the weight; name another one")
        raise_all(DataError, str(self.files[0]), problems)
        self.features = [name for name in columns if name not in named]
        self._check_files()

    @classmethod
    def parquet(
        cls,
        where: str | os.PathLike[str],
        target: str,
        drop: Sequence[str] = (),
        weight: str | None = None,
    ) -> Self:
        """Find the Parquet files of a table.

        Parameters
        ----------
        where : path
            A folder of ``.parquet`` files, a pattern such as ``"2025/*.parquet"``, or one file. The
            files are read in the order of their names.
        target : str
            The column to predict.
        drop : sequence of str
            Columns to ignore.
        weight : str, optional
            The column with the weights of the rows, which is not a feature.

        Raises
        ------
        DataError
            If there is no such file, one of them cannot be read, or their columns differ.
        """
        return cls(_require_files(where, PARQUET_SUFFIXES), target, drop, weight)

    @classmethod
    def csv(
        cls,
        where: str | os.PathLike[str],
        target: str,
        drop: Sequence[str] = (),
        weight: str | None = None,
    ) -> Self:
        """Find the CSV files of a table; see `parquet`."""
        return cls(_require_files(where, CSV_SUFFIXES), target, drop, weight)

    @property
    def n_rows(self) -> int:
        """Number of rows of all files; CSV files are read for it."""
        return sum(self.file_rows)

    @cached_property
    def file_rows(self) -> list[int]:
        """Number of rows of each file; CSV files are read for it."""
        if self.files[0].suffix.lower() not in CSV_SUFFIXES:
            return [_read_footer(path).num_rows for path in self.files]
        tables = [self._with_file(path) for path in self.files]
        return [sum(len(batch.frame) for batch in table.batches()) for table in tables]

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield all rows in order, some thousand at a time.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns to read; by default the features and the target.

        Raises
        ------
        DataError
            If a file is damaged; the message names it.
        """
        columns, text = columns or [*self.features, self.target], self.text_columns
        for path in self.files:
            first_row = 0
            for frame in read_batches(path, columns, text):
                if path.suffix.lower() in CSV_SUFFIXES:
                    for name in columns:
                        if name not in text and frame[name].dtype.kind not in "biuf":
                            frame[name] = parse_numbers(frame[name])
                if len(frame):
                    yield Batch(path, first_row, frame)
                first_row += len(frame)

    def to_dask(self) -> tuple[Any, ...]:
        """Return the features and the target as a Dask DataFrame and Series, a partition a file.

        With a column of weights, these are a third: ``fit(*table.to_dask())`` takes all. Workers
        read the files when they are needed, so they have to see the same paths. What is
        wrong with a file is reported with its name.

        Examples
        --------
        >>> import tempfile
        >>> import pandas as pd
        >>> from thrifty import Table
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pd.DataFrame({"age": [63, 41], "ill": [1, 0]}).to_parquet(f"{folder}/1.parquet")
        ...     X, y = Table.parquet(folder, target="ill").to_dask()
        ...     X.columns.tolist(), y.compute().tolist()
        (['age'], [1, 0])
        """
        import dask.dataframe as dd

        series = [self.target] if self.weight is None else [self.target, self.weight]
        first = next(self.batches([*self.features, *series]), None)
        if first is None:
            raise DataError(f"{self.files[0]}: there are no rows")
        empty = first.frame[:0]
        paths = [path.absolute() for path in self.files]  # workers run in other folders
        frame = dd.from_map(
            read_file, paths, table=self, empty=empty, meta=empty, enforce_metadata=False
        )
        return frame[self.features], *(frame[name] for name in series)

    @cached_property
    def text_columns(self) -> set[str]:
        """Columns that hold text or categories; those of CSV files by their first rows."""
        columns = [*self.features, self.target]
        if self.files[0].suffix.lower() not in CSV_SUFFIXES:
            kinds = _read_kinds(self.files[0])
            return {name for name in columns if kinds[name] in ("text", "categories")}
        for path in self.files:
            first = next(iter(read_batches(path, columns)), None)
            if first is not None and len(first):
                return {
                    name
                    for name in columns
                    if first[name].dtype.kind not in "biuf" and first[name].notna().any()
                }
        return set()

    def _with_file(self, path: Path) -> Self:
        """Return the same table with one file."""
        self.text_columns  # noqa: B018 - found once, for all files
        one = copy(self)
        one.files = [path]
        return one

    def _check_files(self) -> None:
        """Raise a DataError that names all files whose columns are not those of the first one."""
        problems: list[str] = []
        first = None
        for path in self.files:
            try:
                kinds = _read_kinds(path)
            except (DataError, OSError) as error:
                problems.append(str(error))
                continue
            first = first or kinds
            for name in (*self.features, self.target, *filter(None, [self.weight])):
                expected, found = first.get(name), kinds.get(name)
                if found is None:
                    problems.append(f"{path}: there is no column {name!r}, as in {self.files[0]}")
                elif found != expected:
                    problems.append(
                        f"{path}: column {name!r} holds {found}, but {expected} in {self.files[0]}"
                    )
            problems += [
                f"{path}: column {name!r} is not in {self.files[0]}; drop it"
                for name in kinds
                if name not in first and name not in self.drop
            ]
        more = [f"and {len(problems) - MAX_LISTED} more"] if len(problems) > MAX_LISTED else []
        raise_all(DataError, "table", problems[:MAX_LISTED] + more)

    def __repr__(self) -> str:
        return f"Table({len(self.files)} files, {len(self.features)} features)"


def _require_files(where: str | os.PathLike[str], suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files of a folder or a pattern; raise a DataError if there is none."""
    files = find_files(where, suffixes)
    if not files:
        raise DataError(
            f"{os.fspath(where)}: there is no {' or '.join(suffixes)} file; check the path"
        )
    return files


def find_files(where: str | os.PathLike[str], suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files of a folder or a pattern with some suffixes, in the order of their names.

    Raises
    ------
    DataError
        If the folder cannot be read.
    """
    text = os.fspath(where)
    try:
        if os.path.isdir(text):
            names = [os.path.join(text, name) for name in os.listdir(text)]
        else:
            names = [text] if os.path.exists(text) else glob.glob(text)
        if not names:
            os.listdir(_folder_of(text))  # one that cannot be read seems to have no files
    except OSError as error:
        raise DataError(f"{text}: the folder cannot be read: {error.strerror}") from error
    return [Path(name) for name in sorted(names) if name.lower().endswith(suffixes)]


def _folder_of(where: str) -> str:
    """Return the last folder of a path or a pattern that exists."""
    folder = where
    while glob.has_magic(folder) or not os.path.isdir(folder):
        folder = os.path.dirname(folder) or os.curdir
    return folder


def read_file(path: Path, table: Table, empty: Any = None) -> Any:
    """Return all rows of one file of a table; `empty` if there are none."""
    import pandas as pd

    columns = [*table.features, table.target, *filter(None, [table.weight])]
    frames = [batch.frame for batch in table._with_file(path).batches(columns)]
    return pd.concat(frames, ignore_index=True) if frames else empty


def _read_footer(path: Path) -> Any:
    """Return the metadata of a Parquet file."""
    with naming_parquet(path):
        from pyarrow.parquet import read_metadata

        return read_metadata(path)


def _read_kinds(path: Path) -> dict[str, str]:
    """Return what each column of a file holds, as far as it says so: numbers, text, or dates."""
    columns = read_columns(path)
    if path.suffix.lower() in CSV_SUFFIXES:
        return dict.fromkeys(columns, "text")  # what it means is found while it is read
    with naming_parquet(path):
        from pyarrow import types
        from pyarrow.parquet import read_schema

        schema = read_schema(path)

    def kind(arrow_type: Any) -> str:
        if types.is_dictionary(arrow_type):
            return "categories"
        if types.is_string(arrow_type) or types.is_large_string(arrow_type):
            return "text"
        is_number = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal
        return "numbers" if any(test(arrow_type) for test in is_number) else str(arrow_type)

    return {name: kind(schema.field(name).type) for name in columns}
