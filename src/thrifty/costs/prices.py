"""The price list as a user writes it, not yet bound to the columns of a table.

It is a value: nothing changes it, so estimators can share it and scikit-learn can
clone it. The constructor stores, and `bind` checks, because only a table tells which
features there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from os import PathLike
from types import MappingProxyType
from typing import Any

import numpy as np

from thrifty.costs.binding import Binding
from thrifty.costs.bound import BoundPrices
from thrifty.costs.faults import number
from thrifty.costs.files import read_list
from thrifty.errors import PriceError, raise_all

__all__ = ["Prices"]

# Entries of one table that a repr shows before "... 12 more".
SHOWN = 8


class Prices:
    """What each feature costs, and what groups, evaluations and calls cost.

    Parameters
    ----------
    own : mapping of feature to price, or sequence of prices, optional
        Own price of each feature. A mapping goes by column name, or by position for a
        table without names; a sequence goes by position. Left out, each feature costs 1.
    groups : mapping of str to sequence of features, optional
        Features that are bought together.
    shared : mapping of str to price, optional
        Price of each group, paid once by an example that uses any of its members, on top
        of their own prices. A member of a group that has a shared price may leave out its
        own price, which is then 0.
    evaluation : float
        Price of one evaluation (a tree, a kernel).
    calls : mapping of str to price, optional
        Price of each call, such as a remote model.
    unit : str
        What the prices count: a currency, "ms".

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> prices = Prices({"age": 1.0, "chol": 7.27, "thal": 102.9},
    ...                 groups={"blood": ["chol", "fbs"]}, shared={"blood": 2.10}, unit="CAD")
    >>> prices.bind(["age", "chol", "thal", "fbs"])
    BoundPrices(4 features, 1 group, CAD 113.27 in full)
    >>> prices.bind(["age", "chol", "thal", "fps"])
    Traceback (most recent call last):
    ...
    thrifty.errors.PriceError: prices: 2 problems
      - group 'blood': 'fbs' is not a column of the table; did you mean 'fps'?
      - no price for 'fps': add it (0 for what is free)
    """

    __slots__ = ("_calls", "_evaluation", "_groups", "_own", "_shared", "_unit")

    def __init__(
        self,
        own: Mapping[str, float] | Mapping[int, float] | Sequence[float] | None = None,
        *,
        groups: Mapping[str, Sequence[str | int]] | None = None,
        shared: Mapping[str, float] | None = None,
        evaluation: float = 0.0,
        calls: Mapping[str, float] | None = None,
        unit: str = "",
    ) -> None:
        problems: list[str] = []
        self._own = _own(own, problems)
        self._groups = {
            name: _members(name, members, problems)
            for name, members in _table("groups", groups, problems).items()
        }
        self._shared = _numbers(_table("shared", shared, problems))
        self._evaluation = number(evaluation)
        self._calls = _numbers(_table("calls", calls, problems))
        self._unit = unit
        raise_all(PriceError, "prices", problems)

    @classmethod
    def read(cls, path: str | PathLike[str], *, unit: str | None = None) -> Prices:
        """Read a price list from a CSV or TOML file; `thrifty.costs.files` shows both.

        Parameters
        ----------
        path : str or path
            A file that ends in .csv or .toml.
        unit : str, optional
            What the prices count. A TOML file can tell its unit itself.

        Raises
        ------
        PriceError
            If the file cannot be used; the message tells every problem.
        """
        return cls(**read_list(path, unit))

    def bind(self, names: Sequence[str] | int) -> BoundPrices:
        """Check the prices against the columns of a table and give them as arrays.

        Parameters
        ----------
        names : sequence of str, or int
            Names of the columns; or the number of columns of a table without names.

        Raises
        ------
        PriceError
            If the list does not fit the table; the message tells every problem.
        """
        return Binding(self, names).bound()

    @property
    def own(self) -> Mapping[Any, Any] | tuple[Any, ...] | None:
        """Own price of each feature, as a mapping or by position; None: 1 each."""
        return MappingProxyType(self._own) if isinstance(self._own, dict) else self._own

    @property
    def groups(self) -> Mapping[Any, tuple[Any, ...]]:
        """Members of each group."""
        return MappingProxyType(self._groups)

    @property
    def shared(self) -> Mapping[Any, Any]:
        """Shared price of each group that has one."""
        return MappingProxyType(self._shared)

    @property
    def evaluation(self) -> Any:
        """Price of one evaluation."""
        return self._evaluation

    @property
    def calls(self) -> Mapping[Any, Any]:
        """Price of each call."""
        return MappingProxyType(self._calls)

    @property
    def unit(self) -> Any:
        """What the prices count."""
        return self._unit

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prices):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        given = [] if self._own is None else [_brief(self._own)]
        for name in ("groups", "shared", "evaluation", "calls", "unit"):
            if value := getattr(self, f"_{name}"):
                given.append(f"{name}={_brief(value)}")
        return f"Prices({', '.join(given)})"


def _own(own: Any, problems: list[str]) -> dict[Any, Any] | tuple[Any, ...] | None:
    # A pandas Series has keys too, and goes by them.
    if own is None or hasattr(own, "keys"):
        return None if own is None else _numbers(_table("own", own, problems))
    if not isinstance(own, Iterable) or isinstance(own, str | bytes | Set):
        remedy = "give a mapping of feature to price, or one price per column"
        problems.append(f"{own!r} is no price list: {remedy}; Prices.read reads a file")
        return None
    return tuple(number(price) for price in own)


def _table(what: str, table: Any, problems: list[str]) -> dict[Any, Any]:
    if table is not None and not hasattr(table, "keys"):
        problems.append(f"{what}: {table!r} is not a mapping")
        return {}
    return {_plain(key): table[key] for key in (() if table is None else table.keys())}


def _numbers(table: dict[Any, Any]) -> dict[Any, Any]:
    return {key: number(price) for key, price in table.items()}


def _members(name: object, members: Any, problems: list[str]) -> tuple[Any, ...]:
    if isinstance(members, str | bytes) or not isinstance(members, Iterable):
        problems.append(f"group {name!r}: {members!r} is not a list of features")
        return ()
    return tuple(_plain(member) for member in members)


def _plain(key: Any) -> Any:
    return key.item() if isinstance(key, np.generic) else key


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{_listed([f'{key!r}: {_brief(entry)}' for key, entry in value.items()])}}}"
    if isinstance(value, tuple):
        return f"[{_listed([_brief(entry) for entry in value])}]"
    return repr(value)


def _listed(entries: list[str]) -> str:
    more = [f"... {len(entries) - SHOWN} more"] if len(entries) > SHOWN else []
    return ", ".join(entries[:SHOWN] + more)
