"""How a law is broken: one error that tells the law, the case and the first offending row."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from thrifty.checks.cases import Case

__all__ = ["Law", "LawError", "law", "require", "same"]

# An estimator, of whatever class, held to one law on one case.
Law = Callable[[Any, "Case"], None]


class LawError(AssertionError):
    """An estimator breaks a law that every estimator obeys."""


def law(statement: str) -> Callable[[Law], Law]:
    """Turn a check into a law: whatever goes wrong in it is told as a breach of `statement`."""

    def decorate(check: Law) -> Law:
        @wraps(check)
        def checked(estimator: Any, case: Case) -> None:
            try:
                with warnings.catch_warnings():
                    # The cases hold such categories on purpose.
                    warnings.filterwarnings("ignore", "categories never seen in training")
                    check(estimator, case)
            except Exception as error:
                name = type(estimator).__name__
                raise LawError(f"{statement} [{name}, case {case.name}]: {_told(error)}") from error

        return checked

    return decorate


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, LawError) else f"{type(error).__name__}: {error}"


def require(truth: object, problem: str) -> None:
    """Raise `LawError` with `problem` unless `truth`."""
    if not truth:
        raise LawError(problem)


def same(what: str, expected: Any, found: Any) -> None:
    """Raise `LawError` unless two arrays agree to the bit; tell the first row that differs.

    Examples
    --------
    >>> from thrifty.checks.verdict import same
    >>> same("bill", [1.0, 2.0], [1.0, 2.0])
    >>> same("bill", [1.0, 2.0, 3.0], [1.0, 2.5, 3.5])
    Traceback (most recent call last):
    ...
    thrifty.checks.verdict.LawError: bill of row 1: 2.5 where 2.0 is due (2 rows differ)
    """
    due, given = np.asarray(expected), np.asarray(found)
    require(
        given.shape == due.shape and given.dtype.kind == due.dtype.kind,
        f"{what}: {given.dtype} {given.shape} where {due.dtype} {due.shape} is due",
    )
    rows = np.flatnonzero(_differ(due, given))
    if len(rows):
        row = int(rows[0])
        more = f" ({len(rows)} rows differ)" if len(rows) > 1 else ""
        raise LawError(
            f"{what} of row {row}: {given[row].tolist()!r} where {due[row].tolist()!r} is due{more}"
        )


def _differ(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows in which two arrays of one shape differ."""
    different = np.atleast_1d(_bits(a) != _bits(b))
    return np.asarray(different.any(axis=tuple(range(1, different.ndim))))


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    """Floats as their bits, so that NaN equals itself and 0 differs from -0."""
    if array.dtype.kind != "f":
        return array
    return np.ascontiguousarray(array, dtype=np.float64).view(np.uint64)
