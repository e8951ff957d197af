"""Where values come from: a row at hand, or calls that fetch them.

A source is asked for several features at once, so that it can fetch them together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from thrifty.errors import SourceError

__all__ = ["CallSource", "Feature", "RowSource", "Source", "fetch"]

Feature = str | int


@runtime_checkable
class Source(Protocol):
    """Anything that fetches the values of features."""

    def fetch(self, features: tuple[Feature, ...]) -> Mapping[Feature, Any]:
        """Values by feature; None or NaN for a value that came back empty."""


class RowSource:
    """A row that is at hand.

    Parameters
    ----------
    row : mapping
        Values by feature; a pandas Series will do.

    Examples
    --------
    >>> from thrifty.serve import RowSource
    >>> RowSource({"age": 63, "chol": 233}).fetch(("age",))
    {'age': 63}
    """

    def __init__(self, row: Mapping[Any, Any]) -> None:
        self.row = row

    def fetch(self, features: tuple[Feature, ...]) -> dict[Feature, Any]:
        """Values of those `features` that the row has."""
        return {feature: self.row[feature] for feature in features if feature in self.row}


class CallSource:
    """Functions that fetch one value each.

    Parameters
    ----------
    calls : function of a feature, or mapping of feature to function of nothing

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
        """Values of `features`, one call after the other."""
        return {feature: self._call(feature) for feature in features if self._knows(feature)}

    def _knows(self, feature: Feature) -> bool:
        return callable(self.calls) or feature in self.calls

    def _call(self, feature: Feature) -> Any:
        try:
            return self.calls(feature) if callable(self.calls) else self.calls[feature]()
        except Exception as error:
            raise _failed((feature,), error) from error


def fetch(source: Source, features: tuple[Feature, ...]) -> dict[Feature, Any]:
    """Fetch `features` and nothing else; SourceError when one is not to be had.

    Examples
    --------
    >>> from thrifty.serve import RowSource
    >>> from thrifty.serve.sources import fetch
    >>> fetch(RowSource({"age": 63}), ("age", "chol"))
    Traceback (most recent call last):
    ...
    thrifty.errors.SourceError: feature 'chol': the source left it out; None says it came back empty
    """
    try:
        values = source.fetch(features)
        absent = tuple(feature for feature in features if feature not in values)
        if not absent:
            return {feature: values[feature] for feature in features}
    except SourceError:
        raise
    except Exception as error:
        raise _failed(features, error) from error
    raise SourceError(f"{_named(absent)}: the source left it out; None says it came back empty")


def _failed(features: tuple[Feature, ...], error: Exception) -> SourceError:
    return SourceError(f"{_named(features)}: fetching failed ({type(error).__name__}: {error})")


def _named(features: tuple[Feature, ...]) -> str:
    return f"feature{'s' * (len(features) > 1)} {', '.join(map(repr, features))}"
