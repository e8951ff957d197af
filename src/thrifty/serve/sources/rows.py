"""Sources of feature values: a row in memory, or functions that fetch them.

A source is asked for several features at once, so that it can fetch them together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from thrifty.errors import SourceError

__all__ = ["CallSource", "Feature", "RowSource", "Source", "fetch"]

Feature = str | int
"""A feature by its name; by its index if the table has no names."""


@runtime_checkable
class Source(Protocol):
    """Anything that can fetch the values of features."""

    def fetch(self, features: tuple[Feature, ...]) -> Mapping[Feature, Any]:
        """Return the values by feature; None or NaN for a missing value."""


class RowSource:
    """A row in memory.

    Parameters
    ----------
    row : mapping
        Values by feature; a pandas Series works too.

    Examples
    --------
    >>> from thrifty.serve import RowSource
    >>> RowSource({"age": 63, "chol": 233}).fetch(("age",))
    {'age': 63}
    """

    def __init__(self, row: Mapping[Any, Any]) -> None:
        self.row = row

    def fetch(self, features: tuple[Feature, ...]) -> dict[Feature, Any]:
        """Return the values of those `features` that the row has."""
        return {feature: self.row[feature] for feature in features if feature in self.row}


class CallSource:
    """Functions that fetch one value each.

    Parameters
    ----------
    calls : function of a feature, or mapping of feature to function without arguments

    Examples
    --------
    >>> from thrifty.serve import CallSource
    >>> CallSource(len).fetch(("age", "thalach"))
    {'age': 3, 'thalach': 7}
    >>> CallSource({"age": lambda: 63}).fetch(("age",))
    {'age': 63}
    """

    def __init__(self, calls: Callable[[Any], Any] | Mapping[Any, Callable[[], Any]]) -> None:
        self.calls = calls

    def fetch(self, features: tuple[Feature, ...]) -> dict[Feature, Any]:
        """Return the values of `features`, fetched one after the other.

        Raises
        ------
        SourceError
            If a function fails; the message names the feature, and the error has the values that
            were fetched before.
        """
        values: dict[Feature, Any] = {}
        for feature in features:
            try:
                if callable(self.calls):
                    values[feature] = self.calls(feature)
                elif feature in self.calls:
                    values[feature] = self.calls[feature]()
            except Exception as error:
                raise _failure((feature,), error, values) from error
        return values


def fetch(source: Source, features: tuple[Feature, ...]) -> dict[Feature, Any]:
    """Fetch exactly `features` from a source.

    Raises
    ------
    SourceError
        If the source fails or leaves a feature out; the message names the features, and the error
        has the values of the others.

    Examples
    --------
    >>> from thrifty.serve import RowSource
    >>> from thrifty.serve.sources import fetch
    >>> fetch(RowSource({"age": 63}), ("age", "chol"))
    Traceback (most recent call last):
    ...
    thrifty.errors.SourceError: feature 'chol': no value from the source; use None for missing
    """
    try:
        values = source.fetch(features)
        absent = tuple(feature for feature in features if feature not in values)
        if not absent:
            return {feature: values[feature] for feature in features}
    except SourceError:
        raise
    except Exception as error:
        raise _failure(features, error) from error
    fetched = {feature: values[feature] for feature in features if feature not in absent}
    raise SourceError(f"{_listed(absent)}: no value from the source; use None for missing", fetched)


def _failure(
    features: tuple[Feature, ...], error: Exception, values: Mapping[Feature, Any] | None = None
) -> SourceError:
    text = f"{_listed(features)}: fetching failed ({type(error).__name__}: {error})"
    return SourceError(text, values)


def _listed(features: tuple[Feature, ...]) -> str:
    return f"feature{'s' * (len(features) > 1)} {', '.join(map(repr, features))}"
