"""The interface of sources: what they deliver, on which terms, and how they may fail.

A source is asked with a `Query` and returns values by feature. Its `Terms` say what it delivers and
what that costs. How it fails matters, as a failure may have been paid for:

- `UnsentError`: the request never reached the source, so nothing was charged;
- `RefusedError`: the source answered that it has no values; charged only if the terms say so.
  `NotFoundError`, if that is no sign of trouble: it has none for this example;
- `UnusableError`: the source delivered something that cannot be read; it counts as paid;
- `UnclearError`: nobody can tell whether the request arrived (no answer in time, connection lost),
  so it counts as paid.

Any other error that a source raises counts as `RefusedError`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from thrifty.costs.money import as_float, price_fault
from thrifty.errors import DataError, SourceError, raise_all
from thrifty.serve.sources.rows import Feature
from thrifty.untrusted import LARGEST, is_count, is_number, shown

__all__ = [
    "AsyncSource",
    "NotFoundError",
    "Query",
    "RefusedError",
    "Sold",
    "Terms",
    "UnclearError",
    "UnsentError",
    "UnusableError",
]

Sold = Literal["each", "together"]
# Timers of an event loop take no more: a century.
MAX_SECONDS = 3e9
MAX_COUNT = 10**9


@dataclass(frozen=True)
class Terms:
    """What a source delivers, and on which terms.

    Parameters
    ----------
    name : str
        Name of the source, in the ledger and on receipts.
    features : tuple of str or int
        The features that it delivers.
    price : float, mapping of feature to float, or None
        What one purchase costs: all features if they are sold together, else each of them. None:
        as the model's prices say. A price that differs from the model's is charged and leads to a
        warning.
    sold : {"each", "together"}
        What one charge is for. "together": a purchase delivers all features, whichever are wanted.
        "each": every feature is charged by itself, even if several are fetched in one go.
    timeout : float
        Seconds after which a walk goes on without the values. The purchase itself goes on, and what
        arrives late is recorded.
    retries : int
        How often to try again. Only a failure that was certainly not charged is tried again, or any
        failure of a source that is `idempotent`.
    pause : float
        Seconds before the first retry, doubled before each further one.
    bills_failures : bool
        Whether the source charges for requests that it refuses.
    idempotent : bool
        Whether the source charges two requests with the same `Query.key` once.
    max_age : float
        How old, in seconds, a value kept from an earlier case of the same subject may be. 0: values
        are not reused from case to case.
    at_once : int
        Requests under way at the same time; others wait.
    trips_after : int
        Failures in a row after which the source counts as down and is not asked.
    rests : float
        Seconds for which it is not asked then; after that one request tries whether it is back.

    Raises
    ------
    DataError
        All that is wrong, at once.

    Examples
    --------
    >>> from thrifty.serve import Terms
    >>> Terms("lab", ("chol", "fbs"), price=12.0, sold="together", timeout=2.0).sold
    'together'
    >>> Terms("lab", (), price=-1)
    Traceback (most recent call last):
    ...
    thrifty.errors.DataError: source 'lab': 2 problems
      - features: there are none
      - price: -1.0 is negative; a price is 0 or more
    """

    name: str
    features: tuple[Feature, ...]
    price: float | Mapping[Feature, float] | None = None
    sold: Sold = "each"
    timeout: float = 10.0
    retries: int = 0
    pause: float = 0.05
    bills_failures: bool = False
    idempotent: bool = False
    max_age: float = 0.0
    at_once: int = 64
    trips_after: int = 5
    rests: float = 30.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        raise_all(DataError, f"source {self.name!r}", list(self._problems()))
        if isinstance(self.price, Mapping):
            object.__setattr__(self, "price", MappingProxyType(dict(self.price)))
        elif self.price is not None:
            object.__setattr__(self, "price", float(self.price))

    def _problems(self) -> list[str]:
        problems = []
        if not (isinstance(self.name, str) and self.name.isprintable() and "/" not in self.name):
            problems.append("name: it must be a text of printable characters without '/'")
        elif not self.name:
            problems.append("name: it is empty")
        if not self.features:
            problems.append("features: there are none")
        problems += [f"features: {shown(feature)} is neither a name nor a position"
                     for feature in self.features if type(feature) not in (str, int)]  # fmt: skip
        twice = sorted({str(f) for f in self.features if self.features.count(f) > 1})
        if twice:
            problems.append(f"features: {', '.join(twice)} named twice")
        prices = self.price if isinstance(self.price, Mapping) else {None: self.price}
        for feature, price in prices.items():
            where = "price" if feature is None else f"price of {feature!r}"
            fault = None if price is None else price_fault(as_float(price))
            if fault is not None:
                problems.append(f"{where}: {fault}")
        if isinstance(self.price, Mapping):
            if self.sold == "together":
                problems.append("price: what is sold together has one price; pass a number")
            elif set(self.price) != set(self.features):
                problems.append("price: pass the price of every feature, and of no other")
        if self.sold not in ("each", "together"):
            problems.append(f"sold: {self.sold!r} is not 'each' or 'together'")
        for name in ("timeout", "pause", "max_age", "rests"):
            value, most = getattr(self, name), LARGEST if name == "max_age" else MAX_SECONDS
            if not is_number(value, 0, most) or (name == "timeout" and value == 0):
                least = "above 0" if name == "timeout" else "of 0 or more"
                problems.append(f"{name}: {shown(value)} is not a number of seconds {least}")
        for name, least_count in (("retries", 0), ("at_once", 1), ("trips_after", 1)):
            value = getattr(self, name)
            if not is_count(value, least_count, MAX_COUNT):
                problems.append(
                    f"{name}: {shown(value)} is not a whole number of {least_count} or more"
                )
        return problems


@dataclass(frozen=True)
class Query:
    """One request to a source. Its repr shows no value and no identifier.

    Parameters
    ----------
    features : tuple of str or int
        What is wanted.
    values : mapping
        Values of the example so far, by feature.
    context : mapping of str to object
        Identifiers that came with the case, such as the number of a customer: what a URL or a
        query of a database refers to. They are neither stored nor logged.
    key : str
        Idempotency key: the same for every attempt to buy this for this case, in any process.
    """

    features: tuple[Feature, ...]
    values: Mapping[Feature, Any] = field(default_factory=dict, repr=False)
    context: Mapping[str, Any] = field(default_factory=dict, repr=False)
    key: str = field(default="", repr=False)


class AsyncSource(ABC):
    """A source that `Runtime` can ask.

    Parameters
    ----------
    terms : Terms

    Examples
    --------
    >>> import asyncio
    >>> from thrifty.serve import AsyncSource, Query, Terms
    >>> class Clock(AsyncSource):
    ...     async def fetch(self, query):
    ...         return {"hour": 12}
    >>> clock = Clock(Terms("clock", ("hour",)))
    >>> asyncio.run(clock.fetch(Query(("hour",))))
    {'hour': 12}
    """

    needs: Sequence[str] = ()
    """Names that it looks up in the context of a case, or among its values."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    @abstractmethod
    async def fetch(self, query: Query) -> Mapping[Feature, Any]:
        """Return values by feature.

        None or NaN is a value that was delivered empty. A feature that is left out was not
        delivered.

        Raises
        ------
        UnsentError, RefusedError, UnusableError or UnclearError
            If there are no values. Any other error counts as `RefusedError`.
        """

    async def close(self) -> None:  # noqa: B027 -- most sources hold nothing
        """Free what the source holds, such as connections."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.terms.name!r}, {len(self.terms.features)} features)"


class UnsentError(SourceError):
    """The request never reached the source: nothing was charged."""


class RefusedError(SourceError):
    """The source answered that it has no values; charged only if its terms say so."""


class NotFoundError(RefusedError):
    """The source works, and has no values for this example: no reason to leave it alone."""


class UnusableError(SourceError):
    """The source delivered something that cannot be read: it counts as paid."""


class UnclearError(SourceError):
    """Nobody can tell whether the request was answered and charged: it counts as paid."""
