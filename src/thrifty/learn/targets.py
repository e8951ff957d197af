"""Read targets: labels, numbers or relevance grades, and the queries of a ranking."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from thrifty.bundle.tables import is_readable
from thrifty.errors import DataError, raise_all
from thrifty.untrusted import LARGEST

__all__ = ["Labels", "grades", "numbers", "queries"]

# Problems of labels that one message lists.
MAX_LISTED = 5


@dataclass(frozen=True, eq=False)
class Labels:
    """Classes in increasing order, and the class code of every row."""

    classes: NDArray[Any]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, y: Any, rows: int) -> Self:
        """Read a classification target; DataError unless it has at least two classes."""
        y = _column(y, rows)
        classes, codes = _distinct(y, "target")
        _refuse_labels(classes)
        check_classification_targets(y)
        if len(classes) < 2:
            raise DataError(
                f"target: there is only one class, {classes.tolist()[0]!r}; "
                "give rows of at least two classes"
            )
        return cls(classes, codes)

    def recode(self, y: Any, rows: int) -> NDArray[np.int64]:
        """Return the class codes of another target, whose labels must be among the classes."""
        y = _column(y, rows)
        unknown = np.setdiff1d(y, self.classes)
        if len(unknown):
            raise DataError(
                f"validation target: {unknown.tolist()[:5]} are not classes of the training "
                f"target {self.classes.tolist()[:20]}"
            )
        return np.asarray(np.searchsorted(self.classes, y), dtype=np.int64)


def numbers(y: Any, rows: int) -> NDArray[np.float64]:
    """Read a regression target; every value must be finite."""
    column = _column(y, rows)
    if column.dtype.kind in "mM":
        raise DataError("target: it holds dates or times; convert them to numbers, such as days")
    try:
        target = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = reprlib.repr(column.tolist()[:3])
        raise DataError(f"target: numbers are needed, found {found}") from None
    _refuse(~np.isfinite(target), target, "is not a finite number; drop the row")
    _refuse(np.abs(target) > LARGEST, target, "is too large to square; divide the target")
    spread = float(np.ptp(target)) if len(target) else 0.0
    if 0.0 < spread < 1.0 / LARGEST:
        raise DataError(
            f"target: its values differ by {spread:g} at most, whose square is 0; multiply it"
        )
    return target


def grades(y: Any, rows: int) -> NDArray[np.float64]:
    """Read a ranking target: relevance grades from 0 up."""
    target = numbers(y, rows)
    _refuse(target < 0, target, "is negative; grades start at 0")
    _refuse(target > 60, target, "is too large for a gain of 2^grade - 1; grades are 0, 1, 2, ...")
    return target


def queries(qid: Any, rows: int, name: str = "qid") -> NDArray[np.int64]:
    """Number the queries, or groups, 0, 1, ...; without any, all rows are one query."""
    if qid is None:
        return np.zeros(rows, dtype=np.int64)
    return _distinct(_column(qid, rows, name=name), name)[1]


def _distinct(column: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct values in increasing order, and the index of each row's value."""
    try:
        values, codes = np.unique(column, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in column.tolist()})
        raise DataError(f"{name}: values of mixed kinds, {kinds}; make them one kind") from None
    return values, codes.astype(np.int64)


def _refuse_labels(classes: NDArray[Any]) -> None:
    """Raise a DataError for labels that cannot come back from a model as they are."""
    kind = classes.dtype.kind
    labels = classes.tolist()
    problems = []
    if kind not in "biufUO" or any(isinstance(label, bytes) for label in labels):
        named = {"S": "bytes", "M": "dates", "m": "time spans", "c": "complex numbers"}
        found = named.get(kind, "bytes")
        # scikit-learn's checks of estimators look for its own words about complex numbers.
        also = " (Complex data not supported)" if kind == "c" else ""
        problems.append(f"{found} are no labels{also}; make them text or whole numbers")
    text = [label for label in labels if isinstance(label, str)]
    problems += [
        f"the label {reprlib.repr(label)} ends in NUL, which NumPy drops; strip it"
        for label in text
        if label.endswith("\0")
    ]
    problems += [
        f"the label {reprlib.repr(label)} is broken text; read it as UTF-8"
        for label in text
        if not is_readable(label)
    ]
    problems += [
        f"the label {label} is beyond 64 bits; make it text"
        for label in labels
        if isinstance(label, int) and not -(2**63) <= label < 2**63
    ]
    raise_all(DataError, "target", problems[:MAX_LISTED])


def _column(y: Any, rows: int, name: str = "target") -> NDArray[Any]:
    """Return a target or queries as an array; DataError if it is missing, short or has gaps."""
    if y is None:
        raise DataError("this estimator requires y to be passed, but the target y is None")
    column: NDArray[Any] = np.asarray(column_or_1d(y, warn=True))
    if len(column) != rows:
        raise DataError(f"{name}: {len(column)} values for {rows} rows; give one value per row")
    if column.dtype.kind == "O":
        missing = np.array([value is None or value != value for value in column])
        _refuse(missing, column, "is missing; drop the row", name)
    elif column.dtype.kind == "f":
        _refuse(np.isnan(column), column, "is missing (NaN); drop the row", name)
        _refuse(np.isinf(column), column, "is infinity; drop the row", name)
    return column


def _refuse(bad: NDArray[np.bool_], y: NDArray[Any], why: str, name: str = "target") -> None:
    """Raise a DataError that names the first bad row and counts the others."""
    if bad.any():
        row = int(np.argmax(bad))
        more = f" ({int(bad.sum())} such rows)" if bad.sum() > 1 else ""
        raise DataError(f"{name}: {y.tolist()[row]!r} in row {row} {why}{more}")
