"""Tables in files, CSV or Parquet, read without guessing what they do not say."""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thrifty.bundle import Column, Schema
from thrifty.bundle.cells import Label
from thrifty.costs.faults import near
from thrifty.errors import DataError, raise_all

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame, Series

__all__ = ["read_table", "read_table_for", "read_training"]

SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def read_training(
    path: Path, target: str, qid: str | None, drop: Sequence[str]
) -> tuple[DataFrame, NDArray[Any], NDArray[Any] | None]:
    """Read the features, the target and the queries of a training table."""
    frame = read_table(path)
    wanted = [target, *([] if qid is None else [qid]), *drop]
    absent = [name for name in dict.fromkeys(wanted) if name not in frame.columns]
    problems = [f"there is no column {name!r}{near(name, frame.columns)}" for name in absent]
    raise_all(DataError, str(path), problems + _separators(frame, absent))
    X = frame.drop(columns=list(set(wanted)))
    raise_all(DataError, str(path), [_unnamed(name) for name in X.columns if _is_unnamed(name)])
    return X, _whole(frame[target]), None if qid is None else _whole(frame[qid])


def read_table_for(schema: Schema, path: Path) -> DataFrame:
    """Read a table to predict; the columns of categories give the labels of training."""
    categorical = [column for column in schema.columns if column.categories is not None]
    frame = read_table(path, texts=[str(column.name) for column in categorical])
    for column in categorical:
        if column.name in frame.columns and not _is_text(column):
            label = partial(_label, column.categories or ())
            frame[column.name] = frame[column.name].map(label, na_action="ignore").astype(object)
    return frame


def read_table(path: Path, texts: Iterable[str] = ()) -> DataFrame:
    """Read a table; columns in `texts` stay text in a CSV file.

    Raises
    ------
    DataError
        If the file is not a table, with the remedy.
    """
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"{path}: a table is a .csv or a .parquet file")
    return _read_csv(path, texts) if kind == "csv" else _read_parquet(path)


def _read_csv(path: Path, texts: Iterable[str]) -> DataFrame:
    import pandas as pd
    from pandas.errors import ParserError, ParserWarning

    try:
        header = _header(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)  # cells beyond the header
            frame: DataFrame = pd.read_csv(
                path,
                index_col=False,
                low_memory=False,
                dtype={name: str for name in texts if name in header},
            )
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text; save the file as UTF-8") from None
    except (ParserError, ParserWarning, csv.Error) as error:
        raise DataError(f"{path}: not a table: {str(error).strip()}") from error
    return frame


def _header(path: Path) -> list[str]:
    """Names in the first line; pandas would rename those that are there twice."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        header = next(csv.reader(file), [])
    if not header:
        raise DataError(f"{path}: the file is empty; its first line names the columns")
    twice = [name for name, count in Counter(header).items() if count > 1 and name]
    raise_all(DataError, str(path), [f"more than one column is named {name!r}" for name in twice])
    return header


def _read_parquet(path: Path) -> DataFrame:
    import pandas as pd

    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise DataError(
            f"{path}: Parquet needs pyarrow: pip install 'thrifty[parquet]', or give a CSV file"
        ) from None
    from pyarrow import ArrowException

    try:
        frame: DataFrame = pd.read_parquet(path)
    except ArrowException as error:
        raise DataError(f"{path}: not a Parquet file: {error}") from error
    return frame


def _whole(column: Series) -> NDArray[Any]:
    """Values of a column that may have no gaps."""
    missing = column.isna().to_numpy()
    if missing.any():
        more = f" ({missing.sum()} such rows)" if missing.sum() > 1 else ""
        row = int(missing.argmax())
        raise DataError(f"column {column.name!r} has no value in row {row}{more}; drop the row")
    values: NDArray[Any] = column.to_numpy()
    return values


def _separators(frame: DataFrame, absent: list[str]) -> list[str]:
    marks = [mark for mark in ";\t|" if len(frame.columns) == 1 and mark in str(frame.columns[0])]
    return ["the cells are not separated by commas"] if absent and marks else []


def _is_unnamed(name: object) -> bool:
    return str(name).startswith("Unnamed: ")


def _unnamed(name: str) -> str:
    return f"a column has no name, a row number perhaps; name it, or leave it out: --drop {name!r}"


def _is_text(column: Column) -> bool:
    return all(isinstance(label, str) for label in column.categories or ())


def _label(labels: tuple[Label, ...], cell: Any) -> Any:
    """The label that a cell of text spells; the cell itself when there is none."""
    for label in labels:
        if str(cell) == str(label) or _spells_number(label, cell):
            return label
    return cell


def _spells_number(label: Label, cell: Any) -> bool:
    if isinstance(label, str | bool):
        return isinstance(label, bool) and str(cell).lower() == str(label).lower()
    try:
        return float(cell) == label
    except (TypeError, ValueError):
        return False
