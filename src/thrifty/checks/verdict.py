"""How a law is checked: assertions that raise `LawError`, and a decorator that adds the context."""

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

# Takes an estimator of any class and a case; raises `LawError` if the estimator breaks the law.
Law = Callable[[Any, "Case"], None]


class LawError(AssertionError):
    """An estimator breaks one of the laws in `thrifty.checks`."""


def law(statement: str) -> Callable[[Law], Law]:
    """Turn a check into a law: any error in it becomes a `LawError` that quotes `statement`."""

    def decorate(check: Law) -> Law:
        @wraps(check)
        def checked(estimator: Any, case: Case) -> None:
            try:
                with warnings.catch_warnings():
                    # The cases contain unknown categories on purpose.
                    warnings.filterwarnings("ignore", "categories never seen in training")
                    check(estimator, case)
            except Exception as error:
                kind = "" if isinstance(error, LawError) else f"{type(error).__name__}: "
                where = f"[{type(estimator).__name__}, case {case.name}]"
                raise LawError(f"{statement} {where}: {kind}{error}") from error

        return checked

    return decorate


def require(condition: object, problem: str) -> None:
    """Raise `LawError` with the message `problem` unless `condition` is true."""
    if not condition:
        raise LawError(problem)


def same(what: str, expected: Any, found: Any) -> None:
    """Raise `LawError` unless two arrays agree to the bit; report the first row that differs.

    Examples
    --------
    >>> from thrifty.checks.verdict import same
    >>> same("bill", [1.0, 2.0], [1.0, 2.0])
    >>> same("bill", [1.0, 2.0, 3.0], [1.0, 2.5, 3.5])
    Traceback (most recent call last):
    ...
    thrifty.checks.verdict.LawError: bill of row 1: 2.5 instead of 2.0 (2 rows differ)
    """
    due, given = np.asarray(expected), np.asarray(found)
    require(
        given.shape == due.shape and given.dtype.kind == due.dtype.kind,
        f"{what}: {given.dtype} {given.shape} instead of {due.dtype} {due.shape}",
    )
    different = np.atleast_1d(_bits(due) != _bits(given))
    rows = np.flatnonzero(different.any(axis=tuple(range(1, different.ndim))))
    if len(rows):
        row = int(rows[0])
        more = f" ({len(rows)} rows differ)" if len(rows) > 1 else ""
        raise LawError(
            f"{what} of row {row}: {given[row].tolist()!r} instead of {due[row].tolist()!r}{more}"
        )


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return floats as their bits, so that NaN equals itself and 0 differs from -0."""
    if array.dtype.kind != "f":
        return array
    return np.ascontiguousarray(array, dtype=np.float64).view(np.uint64)
