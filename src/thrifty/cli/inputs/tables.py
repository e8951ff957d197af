"""Reading tables from CSV and Parquet files."""

from __future__ import annotations

import difflib
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from thrifty.cli.calls import complete_table
from thrifty.csv_files import find_format
from thrifty.errors import DataError, did_you_mean, raise_all
from thrifty.table_files import CSV_SUFFIXES, UNNAMED, naming_csv, naming_parquet, open_csv

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    from thrifty.bundle import Predictor, Schema
    from thrifty.bundle.columns import Label
    from thrifty.learn.dataset import ValidationSet

__all__ = [
    "TrainingTable",
    "check_columns",
    "likely_features",
    "match_labels",
    "read_feature_table",
    "read_groups",
    "read_labeled_rows",
    "read_table",
    "read_training_table",
    "read_weights",
]


def check_columns(path: Path, columns: Sequence[str], named: Sequence[str]) -> None:
    """Check the names of the columns.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        The columns of the file.
    named : sequence of str
        Columns that must exist, such as the target.

    Raises
    ------
    DataError
        If a column does not exist, has no name, or the name of another.
    """
    twice = [name for name, count in Counter(columns).items() if count > 1]
    problems = [f"more than one column is named {name!r}" for name in twice]
    raise_all(DataError, str(path), problems + _column_problems(columns, named))


def likely_features(columns: Sequence[str], named: Sequence[str]) -> list[str]:
    """Return the columns that are features, if those are left out that `named` may be meant for."""
    meant = {match for name in named for match in difflib.get_close_matches(name, columns)}
    unknown = set(named) - set(columns)
    left_out = set(named) | (meant if unknown else set())
    return [c for c in dict.fromkeys(columns) if c not in left_out and not c.startswith(UNNAMED)]


class TrainingTable(NamedTuple):
    """A table as it was read, and its parts.

    Parameters
    ----------
    frame : DataFrame
        All columns.
    X : DataFrame
        The features.
    y : array of shape (n,)
        The target.
    qid, groups : array of shape (n,) or None
        Query and group of each row.
    """

    frame: DataFrame
    X: DataFrame
    y: NDArray[Any]
    qid: NDArray[Any] | None
    groups: NDArray[Any] | None


def read_training_table(
    path: Path, target: str, qid: str | None, groups: str | None, drop: Sequence[str]
) -> TrainingTable:
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
    query, group = (None if name is None else frame[name].to_numpy() for name in (qid, groups))
    return TrainingTable(frame, X, frame[target].to_numpy(), query, group)


def read_weights(frame: DataFrame, column: str, path: Path) -> NDArray[Any]:
    """Return the weights of the rows of a table that was read from a file.

    Raises
    ------
    DataError
        If the column has a value that is not a finite number of 0 or more.
    """
    import numpy as np
    import pandas as pd

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


def read_groups(frame: DataFrame, by: Sequence[str], path: Path) -> dict[str, NDArray[Any]]:
    """Return the columns to compare groups by, of a table that was read from a file.

    Raises
    ------
    DataError
        If a column does not exist, or has too many values.
    """
    if not by:
        return {}
    from thrifty.report.fairness import group_rows

    problems = []
    for name in dict.fromkeys(by):
        if name not in frame.columns:
            problems.append(_no_column(name, frame.columns))
            continue
        try:
            group_rows(frame[name], name)
        except DataError as error:
            problems.append(str(error))
    raise_all(DataError, f"{path}, --by", problems)
    return {name: frame[name].to_numpy() for name in dict.fromkeys(by)}


def read_feature_table(schema: Schema, path: Path, text_columns: Iterable[str] = ()) -> DataFrame:
    """Read a table to predict; categorical columns get the labels that they had in training."""
    categorical = {c.name: c.categories for c in schema.columns if c.categories is not None}
    frame = read_table(path, text_columns=[*map(str, categorical), *text_columns])
    match_labels(schema, frame)
    return frame


def match_labels(schema: Schema, frame: DataFrame) -> None:
    """Replace the text of categorical columns by the labels that they had in training."""
    for column in schema.columns:
        name, labels = column.name, column.categories
        if name not in frame.columns or labels is None:
            continue
        if not all(isinstance(label, str) for label in labels):
            cells = frame[name].map(lambda cell, of=labels: _label(of, cell), na_action="ignore")
            frame[name] = cells.astype(object)


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
        csv_format = find_format(path)
        if str(csv_format):
            click.echo(f"{path}: {csv_format}", err=True)
        with naming_csv(path):
            frame: DataFrame = open_csv(path, csv_format, text_columns)
        return frame
    with naming_parquet(path):
        import pandas as pd

        return pd.read_parquet(path)


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
