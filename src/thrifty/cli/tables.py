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
    from pandas import DataFrame

    from thrifty.bundle import Predictor
    from thrifty.frontier.splits import Rows

__all__ = ["read_labelled", "read_table", "read_table_for", "read_training"]

SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def read_training(
    path: Path, target: str, qid: str | None, groups: str | None, drop: Sequence[str]
) -> tuple[DataFrame, NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]:
    """Read the features, the target, the queries and the groups of a training table."""
    frame = read_table(path)
    wanted = [target, *(name for name in (qid, groups) if name is not None), *drop]
    _refuse_absent(path, frame, wanted)
    X = frame.drop(columns=list(set(wanted)))
    problems = [_unnamed(name) for name in X.columns if _is_unnamed(name)]
    problems += _gaps(frame, [target, qid, groups])
    raise_all(DataError, str(path), problems)
    return X, *(None if name is None else frame[name].to_numpy() for name in (target, qid, groups))


def read_table_for(schema: Schema, path: Path, texts: Iterable[str] = ()) -> DataFrame:
    """Read a table to predict; the columns of categories give the labels of training."""
    categorical = [column for column in schema.columns if column.categories is not None]
    frame = read_table(path, texts=[*(str(column.name) for column in categorical), *texts])
    for column in categorical:
        if column.name in frame.columns and not _is_text(column):
            label = partial(_label, column.categories or ())
            frame[column.name] = frame[column.name].map(label, na_action="ignore").astype(object)
    return frame


def read_labelled(predictor: Predictor, path: Path, target: str, qid: str | None) -> Rows:
    """Read rows with their truth, for a predictor that is there already.

    Raises
    ------
    DataError
        If a column is missing or has gaps, no value of the target is a class, or queries are
        given to a model that ranks nothing, or not given to one that ranks.
    """
    import numpy as np

    from thrifty.frontier.splits import Rows

    classes = None if predictor.labels is None else tuple(predictor.labels)
    frame = read_table_for(predictor.schema, path, texts=[] if classes is None else [target])
    _refuse_absent(path, frame, [target, *([] if qid is None else [qid])])
    ranks = (predictor.provenance or {}).get("task") == "ranking"
    problems = _gaps(frame, [target, qid])
    if ranks and qid is None:
        problems.append("--qid: ranking needs the query of each row")
    if qid is not None and not ranks:
        problems.append("--qid: the model ranks nothing; leave it out")
    raise_all(DataError, str(path), problems)
    y = frame[target].to_numpy()
    return Rows(
        index=np.arange(len(frame)),
        X=frame,
        y=y if classes is None else _recognized(y, classes, f"{path}: column {target!r}"),
        qid=None if qid is None else frame[qid].to_numpy(),
    )


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


def _refuse_absent(path: Path, frame: DataFrame, wanted: Sequence[str]) -> None:
    absent = [name for name in dict.fromkeys(wanted) if name not in frame.columns]
    problems = [f"there is no column {name!r}{near(name, frame.columns)}" for name in absent]
    raise_all(DataError, str(path), problems + _separators(frame, absent))


def _gaps(frame: DataFrame, names: Sequence[str | None]) -> list[str]:
    """What to say about columns that may have no gaps and have some."""
    told = []
    for name in dict.fromkeys(name for name in names if name is not None):
        missing = frame[name].isna().to_numpy()
        more = f" ({missing.sum()} such rows)" if missing.sum() > 1 else ""
        if missing.any():
            row = int(missing.argmax())
            told.append(f"column {name!r} has no value in row {row}{more}; drop the row")
    return told


def _recognized(cells: NDArray[Any], classes: tuple[Label, ...], where: str) -> NDArray[Any]:
    """Cells as the classes that they spell."""
    import numpy as np

    labels = {cell: _label(classes, cell) for cell in dict.fromkeys(cells.tolist())}
    strange = [cell for cell, label in labels.items() if label not in classes]
    if len(strange) == len(labels):
        raise DataError(f"{where} has none of the model's classes {list(classes)[:20]}")
    if strange:
        warnings.warn(
            f"{where}: the model does not know {strange[:5]}; such rows count as wrong",
            stacklevel=2,
        )
    # As objects where there are strange ones: an array of one kind would change the others.
    kind = object if strange else None
    return np.array([labels[cell] for cell in cells.tolist()], dtype=kind)


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
