"""What can go wrong, by whose hand: one class per kind of mistake.

The command line maps each class to an exit code; a library user catches
`ThriftyError` for all of them. The classes also derive from the built-in error
that scikit-learn's conventions expect in the same place.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "BudgetError",
    "BundleError",
    "DataError",
    "PriceError",
    "SourceError",
    "ThriftyError",
    "raise_all",
]


class ThriftyError(Exception):
    """Base of every error that Thrifty raises on purpose."""


class DataError(ThriftyError, ValueError):
    """The table or the target cannot be used as it is."""


class PriceError(DataError):
    """The price list cannot be used as it is."""


class BudgetError(ThriftyError, ValueError):
    """No predictor meets the budget."""


class BundleError(ThriftyError, ValueError):
    """A model file is damaged, hostile or too new."""


class SourceError(ThriftyError, RuntimeError):
    """A feature could not be fetched."""


def raise_all(error: type[ThriftyError], heading: str, problems: Sequence[str]) -> None:
    """Raise one `error` that tells all `problems`; do nothing when there are none.

    Examples
    --------
    >>> from thrifty.errors import PriceError, raise_all
    >>> raise_all(PriceError, "prices", [])
    >>> raise_all(PriceError, "prices", ["age: -1 is negative"])
    Traceback (most recent call last):
    ...
    thrifty.errors.PriceError: prices: age: -1 is negative
    """
    if len(problems) == 1:
        raise error(f"{heading}: {problems[0]}")
    if problems:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        raise error(f"{heading}: {len(problems)} problems{lines}")
