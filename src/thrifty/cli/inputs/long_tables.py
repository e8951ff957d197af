"""Training data in many files, or in one that is too large to be read as a whole."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.fit_progress import learner_progress
from thrifty.errors import DataError, raise_all
from thrifty.table_files import CSV_SUFFIXES, PARQUET_SUFFIXES, naming_parquet, read_columns

if TYPE_CHECKING:
    from thrifty.costs import Prices
    from thrifty.learn.sampled_training_set import SampledTrainingSet
    from thrifty.long_table import Table

__all__ = ["TABLE", "TablePath", "draw_rows", "is_long", "open_table"]

# A file of more values than these, rows times columns, is not read as a whole: a ladder on it would
# take about 2.5 GB.
MAX_VALUES = 50_000_000
# Bytes of a CSV file from which the number of its rows is estimated.
LOOKED_AT = 1 << 20


class TablePath(click.Path):
    """Type of an argument for a table: a file, a folder of files, or a pattern of their names."""

    def __init__(self) -> None:
        super().__init__(exists=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Check that there is such a file or folder, or any file of the pattern."""
        if not os.path.exists(value) and glob.has_magic(os.fspath(value)):
            if not glob.glob(os.fspath(value)):
                from thrifty.long_table import find_files

                find_files(value, (*PARQUET_SUFFIXES, *CSV_SUFFIXES))  # can the folder be read?
                self.fail(f"No file matches '{value}'.", param, ctx)
            return Path(value)
        return Path(os.fsdecode(super().convert(value, param, ctx)))


TABLE = TablePath()


def is_long(path: Path) -> bool:
    """Return whether a table is read in batches: a folder, a pattern, or a file of many values.

    The number of rows of a CSV file is estimated from its first lines.
    """
    if not path.is_file():
        return True
    suffix = path.suffix.lower()
    if suffix in PARQUET_SUFFIXES:
        with naming_parquet(path):
            from pyarrow.parquet import read_metadata

            footer = read_metadata(path)
            return bool(footer.num_rows * footer.num_columns > MAX_VALUES)
    if suffix not in CSV_SUFFIXES or path.stat().st_size <= MAX_VALUES:
        return False  # each value takes a byte at least
    with path.open("rb") as file:
        start = file.read(LOOKED_AT)
    n_rows = path.stat().st_size * start.count(b"\n") / len(start)
    return n_rows * len(read_columns(path)) > MAX_VALUES


def open_table(path: Path, target: str, drop: Sequence[str], weight: str | None = None) -> Table:
    """Return the table of a file, of a folder or of a pattern, Parquet or CSV.

    Raises
    ------
    DataError
        If there is no such file, there are both kinds, or their columns differ.
    """
    from thrifty.long_table import Table, find_files

    kinds = {suffixes: find_files(path, suffixes) for suffixes in (PARQUET_SUFFIXES, CSV_SUFFIXES)}
    found = [files for files in kinds.values() if files]
    if len(found) != 1:
        what = "both Parquet and CSV files" if found else "no Parquet and no CSV file"
        remedy = "name those of the table, as in 'folder/*.parquet'" if found else "check the path"
        raise DataError(f"{path}: there are {what}; {remedy}")
    return Table(found[0], target, drop, weight)


def draw_rows(
    table: Table, task: str | None, prices: Prices, by: Sequence[str], seed: int
) -> SampledTrainingSet:
    """Check all rows of a table, and draw those on which learners are compared.

    Parameters
    ----------
    table : Table
    task : str or None
        By default it is guessed from the first rows.
    prices : Prices
    by : sequence of str
        Columns to compare groups by, which have to be features.
    seed : int
    """
    from thrifty.frontier.fit_budget import draw_training_set

    raise_all(
        DataError,
        "--by",
        [f"column {name!r} is no feature; of a long table, only features are compared by"
         for name in by if name not in table.features],
    )  # fmt: skip
    with learner_progress():
        return draw_training_set(table, task, prices, seed)
