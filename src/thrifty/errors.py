"""The errors that Thrifty raises on purpose, and two helpers that word them.

A library user catches `ThriftyError` for all of them; the command line maps each class to an
exit code. Each class also derives from the built-in error that scikit-learn users expect in
the same place.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "BudgetError",
    "BundleError",
    "CaseConflictError",
    "CaseNotFoundError",
    "DataError",
    "LedgerError",
    "PriceError",
    "ResumeError",
    "SourceError",
    "ThriftyError",
    "did_you_mean",
    "raise_all",
]


class ThriftyError(Exception):
    """Base class of all errors that Thrifty raises on purpose."""


class DataError(ThriftyError, ValueError):
    """The table, the target or a parameter cannot be used as it is."""


class CaseNotFoundError(DataError):
    """There is no such case."""


class CaseConflictError(DataError):
    """A case is not where a step could be taken: it has another value, has ended, or is full."""


class PriceError(DataError):
    """The price list cannot be used as it is."""


class ResumeError(DataError):
    """A folder to resume from is damaged, or for other data or settings."""


class BudgetError(ThriftyError, ValueError):
    """No predictor meets the budget."""


class BundleError(ThriftyError, ValueError):
    """A model file is damaged, malicious or written by a newer version."""


class SourceError(ThriftyError, RuntimeError):
    """A feature could not be fetched.

    Nothing that was paid for is lost: the values are in `values`, and where an example was being
    predicted, `walk` has read them and `receipt` says what they cost.

    Parameters
    ----------
    message : str
    values : mapping, optional
        Values that were fetched, by feature.

    Attributes
    ----------
    values : dict
        Values that were fetched, by feature.
    walk : thrifty.bundle.NamedWalk or None
        The walk of the example, which can go on.
    receipt : thrifty.bundle.Receipt or None
        What it has bought so far.
    """

    def __init__(self, message: str, values: Mapping[Any, Any] | None = None) -> None:
        super().__init__(message)
        self.values: dict[Any, Any] = dict(values or {})
        self.walk: Any = None
        self.receipt: Any = None


class LedgerError(ThriftyError, RuntimeError):
    """A ledger cannot be read or written: nothing is bought that it could not record.

    Parameters
    ----------
    message : str

    Attributes
    ----------
    receipt : thrifty.serve.CaseReceipt or None
        What the case had bought so far, if one was being served.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.receipt: Any = None


def raise_all(error: type[ThriftyError], heading: str, problems: Sequence[str]) -> None:
    """Raise one `error` that lists all `problems`; do nothing if there are none.

    Examples
    --------
    >>> from thrifty.errors import PriceError, raise_all
    >>> raise_all(PriceError, "prices", [])
    >>> raise_all(PriceError, "prices", ["age: -1 is negative", "chol: nan is not a price"])
    Traceback (most recent call last):
    ...
    thrifty.errors.PriceError: prices: 2 problems
      - age: -1 is negative
      - chol: nan is not a price
    """
    if len(problems) == 1:
        raise error(f"{heading}: {problems[0]}")
    if problems:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        raise error(f"{heading}: {len(problems)} problems{lines}")


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return the end of a message that suggests the known name closest to `name`.

    The comparison ignores case. The text is empty if no known name is close.

    Examples
    --------
    >>> from thrifty.errors import did_you_mean
    >>> did_you_mean("Chol", ["age", "chol"])
    "; did you mean 'chol'?"
    >>> did_you_mean("zzz", ["age", "chol"])
    ''
    """
    by_lower = {str(other).casefold(): other for other in known}
    found = difflib.get_close_matches(str(name).casefold(), by_lower, n=1)
    return f"; did you mean {by_lower[found[0]]!r}?" if found else ""
