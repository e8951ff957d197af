"""Reading tables from CSV and Parquet files."""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.calls import complete_table
from thrifty.csv_files import find_format, read_header
from thrifty.errors import DataError, did_you_mean, raise_all

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    from thrifty.bundle import Predictor, Schema
    from thrifty.bundle.columns import Label
    from thrifty.learn.dataset import ValidationSet

__all__ = [
    "check_columns",
    "read_feature_table",
    "read_ids",
    "read_labeled_rows",
    "read_table",
    "read_training_table",
    "read_weights",
]

CSV_SUFFIXES = (".csv", ".tsv")
PARQUET_SUFFIXES = (".parquet", ".pq")
# The name that pandas gives to a column without one, with its position.
UNNAMED = "Unnamed: "


def check_columns(path: Path, named: Sequence[str]) -> list[str] | None:
    """Check the header of a CSV file without reading its rows, which takes no time.

    Parameters
    ----------
    path : Path
    named : sequence of str
        Columns that must exist and are no features, such as the target.

    Returns
    -------
    list of str or None
        Names of the features; None for a file of another kind.

    Raises
    ------
    DataError
        If a column does not exist, has no name, or the name of another.
    """
    if path.suffix.lower() not in CSV_SUFFIXES:
        return None
    header = [
        name or f"{UNNAMED}{i}" for i, name in enumerate(read_header(path, find_format(path)))
    ]
    features = [name for name in header if name not in set(named)]
    twice = [name for name, count in Counter(header).items() if count > 1]
    problems = [f"more than one column is named {name!r}" for name in twice]
    raise_all(DataError, str(path), problems + _column_problems(header, named))
    return features


def read_training_table(
    path: Path, target: str, qid: str | None, groups: str | None, drop: Sequence[str]
) -> tuple[DataFrame, NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]:
    """Read a table and split it into features, target, queries and groups.

    Raises
    ------
    DataError
        If a column does not exist or has no name, or target, queries or groups have missing values.
    """
    frame = read_table(path)
    named = [target, *(name for name in (qid, groups) if name is not None), *drop]
    raise_all(DataError, str(path), _column_problems(list(map(str, frame.columns)), named))
    X = frame.drop(columns=list(set(named)))
    problems = [] if len(frame) else ["there are no rows below the header"]
    problems += _missing_values(frame, [target, qid, groups])
    raise_all(DataError, str(path), problems)
    return X, *(None if name is None else frame[name].to_numpy() for name in (target, qid, groups))


def read_weights(path: Path, column: str) -> NDArray[Any]:
    """Read the weights of the rows of a table.

    Raises
    ------
    DataError
        If there is no such column, or it has a value that is not a finite number of 0 or more.
    """
    import numpy as np
    import pandas as pd

    frame = read_table(path)
    if column not in frame.columns:
        raise DataError(f"{path}: {_no_column(column, frame.columns)}")
    weight = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    problems = []
    if wrong.any():
        row = int(wrong.argmax())
        problems.append(
            f"column {column!r}: {frame[column].iloc[row]} in row {row} is not a weight; give a "
            "finite number of 0 or more"
        )
    elif not weight.any():
        problems.append(f"column {column!r}: every weight is zero; give a row a positive one")
    raise_all(DataError, str(path), problems)
    return np.asarray(weight)


def read_feature_table(schema: Schema, path: Path, text_columns: Iterable[str] = ()) -> DataFrame:
    """Read a table to predict; categorical columns get the labels that they had in training."""
    categorical = {c.name: c.categories for c in schema.columns if c.categories is not None}
    frame = read_table(path, text_columns=[*map(str, categorical), *text_columns])
    for name, labels in categorical.items():
        if name in frame.columns and not all(isinstance(label, str) for label in labels):
            cells = frame[name].map(lambda cell, of=labels: _label(of, cell), na_action="ignore")
            frame[name] = cells.astype(object)
    return frame


def read_ids(frame: DataFrame, name: str, path: Path) -> list[Any]:
    """Return the column that identifies the rows, as values that JSON can hold.

    Raises
    ------
    DataError
        If there is no such column.
    """
    if name not in frame.columns:
        raise DataError(f"{path}: {_no_column(name, frame.columns)}")
    cells = frame[name].astype(object).where(frame[name].notna(), None).tolist()
    plain = (str, int, float, type(None))
    return [cell if isinstance(cell, plain) else str(cell) for cell in cells]


def read_labeled_rows(
    predictor: Predictor, path: Path, target: str, qid: str | None, call: str | None = None
) -> ValidationSet:
    """Read features and target for a trained predictor.

    Labels that the model does not know cause a warning; such rows count as wrong.

    Raises
    ------
    DataError
        If a column does not exist or has missing values, no label is one of the model's classes, or
        queries are given to a model that is not a ranker or missing for one that is.
    """
    import numpy as np

    from thrifty.learn.dataset import ValidationSet

    classes = None if predictor.labels is None else tuple(predictor.labels)
    frame = read_feature_table(predictor.schema, path, [] if classes is None else [target])
    needed = [target, *([] if qid is None else [qid])]
    absent = [name for name in needed if name not in frame.columns]
    raise_all(DataError, str(path), [_no_column(name, frame.columns) for name in absent])
    is_ranker = (predictor.provenance or {}).get("task") == "ranking"
    problems = _missing_values(frame, [target, qid])
    if is_ranker and qid is None:
        problems.append("--qid: ranking needs the query of each row")
    if qid is not None and not is_ranker:
        problems.append("--qid: the model is not a ranker; omit it")
    raise_all(DataError, str(path), problems)
    y = frame[target].to_numpy()
    if classes is not None:
        labels = {cell: _label(classes, cell) for cell in dict.fromkeys(y.tolist())}
        unknown = [cell for cell, label in labels.items() if label not in classes]
        where = f"{path}: column {target!r}"
        if len(unknown) == len(labels):
            raise DataError(f"{where} has none of the model's classes {list(classes)[:20]}")
        if unknown:
            warnings.warn(
                f"{where}: the model does not know {unknown[:5]}; such rows count as wrong",
                stacklevel=2,
            )
        # With unknown labels, an array of one dtype would convert the known ones.
        dtype = object if unknown else None
        y = np.array([labels[cell] for cell in y.tolist()], dtype=dtype)
    task = "regression" if classes is None else "classification"
    task = (predictor.provenance or {}).get("task", task)
    queries = None if qid is None else frame[qid].to_numpy()
    frame = complete_table(predictor, call, frame)
    return ValidationSet.for_predictor(predictor, task, frame, y, queries)


def read_table(path: Path, text_columns: Iterable[str] = ()) -> DataFrame:
    """Read a CSV or Parquet file.

    Parameters
    ----------
    path : Path
    text_columns : iterable of str
        Columns of a CSV file whose cells stay text, even if they look like numbers.

    Raises
    ------
    DataError
        If the file is not a table; the message says what to do.
    """
    if path.suffix.lower() in CSV_SUFFIXES:
        return _read_csv(path, text_columns)
    if path.suffix.lower() not in PARQUET_SUFFIXES:
        raise DataError(f"{path}: a table is a .csv, a .tsv or a .parquet file")
    import pandas as pd

    try:
        from pyarrow import ArrowException
    except ImportError:
        raise DataError(
            f"{path}: Parquet needs pyarrow: pip install 'thrifty[parquet]', or use a CSV file"
        ) from None
    try:
        frame: DataFrame = pd.read_parquet(path)
    except ArrowException as error:
        raise DataError(f"{path}: not a Parquet file: {error}") from error
    return frame


def _read_csv(path: Path, text_columns: Iterable[str]) -> DataFrame:
    """Read a CSV file whose first line names the columns, each name once."""
    import pandas as pd
    from pandas.errors import ParserError, ParserWarning

    csv_format = find_format(path)
    if str(csv_format):
        click.echo(f"{path}: {csv_format}", err=True)
    try:
        header = read_header(path, csv_format)
        # Checked here, since pandas would rename the second one.
        twice = [name for name, count in Counter(header).items() if count > 1 and name]
        problems = [f"more than one column is named {name!r}" for name in twice]
        raise_all(DataError, str(path), problems)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)  # more cells than the header has
            frame: DataFrame = pd.read_csv(
                path,
                sep=csv_format.separator,
                decimal=csv_format.decimal,
                encoding=csv_format.encoding,
                index_col=False,
                low_memory=False,
                dtype={name: str for name in text_columns if name in header},
            )
    except (ParserError, ParserWarning, csv.Error) as error:
        raise DataError(f"{path}: not a table: {str(error).strip()}") from error
    return frame


def _column_problems(columns: Sequence[str], named: Sequence[str]) -> list[str]:
    """List the columns that are named but do not exist, and those that have no name."""
    problems = [_no_column(name, columns) for name in dict.fromkeys(named) if name not in columns]
    problems += [
        f"a column has no name, maybe a row number; name it, or ignore it: --drop {name!r}"
        for name in columns
        if name.startswith(UNNAMED) and name not in named
    ]
    return problems


def _no_column(name: str, columns: Iterable[str]) -> str:
    return f"there is no column {name!r}{did_you_mean(name, columns)}"


def _missing_values(frame: DataFrame, names: Sequence[str | None]) -> list[str]:
    """Describe the columns among `names` that have missing values, which they must not."""
    problems = []
    for name in dict.fromkeys(name for name in names if name is not None):
        missing = frame[name].isna().to_numpy()
        if missing.any():
            more = f" ({missing.sum()} such rows)" if missing.sum() > 1 else ""
            row = int(missing.argmax())
            problems.append(f"column {name!r} has no value in row {row}{more}; drop the row")
    return problems


def _label(labels: Sequence[Label], cell: Any) -> Any:
    """Return the label that the text of a cell stands for, or the cell itself if there is none."""
    for label in labels:
        if str(cell) == str(label):
            return label
        if isinstance(label, bool):
            if str(cell).lower() == str(label).lower():
                return label
        elif not isinstance(label, str):
            try:
                if float(cell) == label:
                    return label
            except (TypeError, ValueError):
                pass  # not a number, so not this label
    return cell
