"""The price list as a user writes it, not yet bound to the columns of a table.

A price list is immutable, so estimators can share it and scikit-learn can clone it. The
constructor checks the prices; `bind` checks the names, because it needs the columns of a table to
do so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from os import PathLike
from types import MappingProxyType
from typing import Any

import numpy as np

from thrifty.costs.binding import Binding
from thrifty.costs.bound import BoundPrices
from thrifty.costs.files import read_list
from thrifty.costs.money import as_float, price_fault
from thrifty.errors import PriceError, raise_all

__all__ = ["PriceList", "Prices"]

# Entries of a mapping or a sequence that the repr shows before "... 12 more".
MAX_SHOWN = 8


class Prices:
    """What each feature costs, and what groups, evaluations and calls cost.

    Parameters
    ----------
    own : mapping of feature to price, or sequence of prices, optional
        Own price of each feature. The keys of a mapping are column names, or positions for a
        table without names; a sequence lists the prices by position. By default every feature
        costs 1.
    groups : mapping of str to sequence of features, optional
        Features that share a price.
    shared : mapping of str to price, optional
        Price of each group, paid once by an example that uses any of its members, on top of
        their own prices. A member of a group with a shared price may have no price of its
        own; it is then 0.
    evaluation : float
        Price of one evaluation (of a tree, of a kernel).
    calls : mapping of str to price, optional
        Price of each call, for example of a remote model.
    unit : str
        Unit of the prices, such as "CAD" or "ms".
    requires : mapping of feature or group to sequence of features or groups, optional
        What must be bought before: whoever uses a feature also buys what it requires, in an
        earlier round. A group stands for all its members.
    panels : sequence of str, optional
        Groups that are only sold whole: whoever uses a member pays for all of them.
    delays : mapping of feature or group to duration, optional
        How long one waits for each feature; 0 for those that are not listed. That of a group holds
        for its members that are not listed themselves.
    delay_unit : str
        Unit of the delays, such as "min".
    also : mapping of str to Prices, optional
        Prices of the same features in other currencies, by name; what is not listed there costs
        nothing. Groups and everything else are those of this list.

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
      - no price for 'fps'; add it (0 if it is free)
    """

    __slots__ = (
        "_also", "_calls", "_delay_unit", "_delays", "_evaluation", "_groups", "_own", "_panels",
        "_requires", "_shared", "_unit",
    )  # fmt: skip

    def __init__(
        self,
        own: Mapping[str, float] | Mapping[int, float] | Sequence[float] | None = None,
        *,
        groups: Mapping[str, Sequence[str | int]] | None = None,
        shared: Mapping[str, float] | None = None,
        evaluation: float = 0.0,
        calls: Mapping[str, float] | None = None,
        unit: str = "",
        requires: Mapping[Any, Sequence[str | int]] | None = None,
        panels: Sequence[str] = (),
        delays: Mapping[Any, float] | None = None,
        delay_unit: str = "",
        also: Mapping[str, Prices] | None = None,
    ) -> None:
        problems: list[str] = []
        self._own: dict[Any, Any] | tuple[Any, ...] | None = None
        if hasattr(own, "keys"):  # a pandas Series has keys too
            self._own = _read_prices("own", "{!r}", own, problems)
        elif isinstance(own, Iterable) and not isinstance(own, str | bytes | Set):
            self._own = tuple(as_float(price) for price in own)
            _check_prices("feature {}", dict(enumerate(self._own)), problems)
        elif own is not None:
            remedy = "pass a mapping of feature to price, or one price per column"
            problems.append(f"{own!r} is not a price list; {remedy}; Prices.read reads a file")
        self._groups = _read_lists("groups", "group", groups, problems)
        self._shared = _read_prices("shared", "group {!r}", shared, problems)
        self._evaluation: Any = as_float(evaluation)
        _check_prices("{}", {"evaluation": evaluation}, problems)
        self._calls = _read_prices("calls", "call {!r}", calls, problems)
        self._unit = unit
        self._requires = _read_lists("requires", "requires of", requires, problems)
        self._panels = _read_list("panels: ", panels, "groups", problems)
        self._delays = _read_prices("delays", "delay of {!r}", delays, problems, "delay")
        self._delay_unit = delay_unit
        self._also = _read_mapping("also", also, problems)
        problems += [
            f"also {name!r}: {each!r} is not a Prices"
            for name, each in self._also.items()
            if not isinstance(each, Prices)
        ]
        raise_all(PriceError, "prices", problems)

    @classmethod
    def read(cls, path: str | PathLike[str], *, unit: str | None = None) -> Prices:
        """Read a price list from a CSV or TOML file; see `thrifty.costs.files` for the formats.

        Parameters
        ----------
        path : str or path
            A file whose name ends in .csv or .toml.
        unit : str, optional
            Unit of the prices. A TOML file can state its unit itself.

        Raises
        ------
        PriceError
            If the file cannot be used; the message lists every problem.
        """
        arguments = read_list(path, unit)
        others = arguments.pop("also", {})
        return cls(**arguments, also={name: cls(**parts) for name, parts in others.items()})

    @classmethod
    def of(cls, given: PriceList | None) -> Prices:
        """Return the price list that an estimator was given: itself, or one of own prices.

        Examples
        --------
        >>> from thrifty.costs import Prices
        >>> Prices.of({"age": 1}), Prices.of(None)
        (Prices({'age': 1.0}), Prices())
        """
        return given if isinstance(given, Prices) else cls(given)

    def bind(self, names: Sequence[str] | int) -> BoundPrices:
        """Check the prices against the columns of a table and return them as arrays.

        If the list covers more features than the table has, a warning names the others.

        Parameters
        ----------
        names : sequence of str, or int
            Names of the columns, or the number of columns of a table without names.

        Returns
        -------
        BoundPrices

        Raises
        ------
        PriceError
            If the list does not fit the table; the message lists every problem.
        """
        return Binding(self, names).bound()

    def without(self, features: Iterable[str]) -> Prices:
        """Return the list without some features, such as columns that a user drops.

        A group without members left is dropped, too. Prices by position stay as they are.

        Examples
        --------
        >>> from thrifty.costs import Prices
        >>> prices = Prices({"age": 1, "chol": 5}, groups={"blood": ["chol"]}, shared={"blood": 2})
        >>> prices.without(["chol"])
        Prices({'age': 1.0})
        """
        dropped = set(features)
        own = self._own
        if isinstance(own, dict):
            own = {name: price for name, price in own.items() if name not in dropped}
        members = {
            name: tuple(member for member in group if member not in dropped)
            for name, group in self._groups.items()
        }
        emptied = {name for name, group in self._groups.items() if group and not members[name]}
        lost = dropped | emptied
        return Prices(
            own,
            groups={name: group for name, group in members.items() if name not in emptied},
            shared={name: p for name, p in self._shared.items() if name not in emptied},
            evaluation=self._evaluation,
            calls=self._calls,
            unit=self._unit,
            requires={
                name: [each for each in before if each not in lost]
                for name, before in self._requires.items()
                if name not in lost
            },
            panels=[name for name in self._panels if name not in emptied],
            delays={name: delay for name, delay in self._delays.items() if name not in lost},
            delay_unit=self._delay_unit,
            also={name: each.without(lost) for name, each in self._also.items()},
        )

    @property
    def own(self) -> Mapping[Any, Any] | tuple[Any, ...] | None:
        """Own price of each feature, as a mapping or by position; None means 1 each."""
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
        """Unit of the prices."""
        return self._unit

    @property
    def requires(self) -> Mapping[Any, tuple[Any, ...]]:
        """What must be bought before each feature or group that requires something."""
        return MappingProxyType(self._requires)

    @property
    def panels(self) -> tuple[Any, ...]:
        """Groups that are only sold whole."""
        return self._panels

    @property
    def delays(self) -> Mapping[Any, Any]:
        """How long one waits for each feature or group that takes time."""
        return MappingProxyType(self._delays)

    @property
    def delay_unit(self) -> Any:
        """Unit of the delays."""
        return self._delay_unit

    @property
    def also(self) -> Mapping[Any, Prices]:
        """Price lists in other currencies, by name."""
        return MappingProxyType(self._also)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prices):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        given = [] if self._own is None else [_brief(self._own)]
        for name in (
            "groups", "shared", "evaluation", "calls", "unit", "requires", "panels", "delays",
            "delay_unit", "also",
        ):  # fmt: skip
            if value := getattr(self, f"_{name}"):
                given.append(f"{name}={_brief(value)}")
        return f"Prices({', '.join(given)})"


PriceList = Prices | Mapping[str, float] | Mapping[int, float] | Sequence[float]
"""What estimators take as prices: a price list, or what `Prices` takes as own prices."""


def _read_mapping(what: str, mapping: Any, problems: list[str]) -> dict[Any, Any]:
    """Copy a mapping that the user passed; note a problem if it is not one."""
    if mapping is None:
        return {}
    if not hasattr(mapping, "keys"):
        problems.append(f"{what}: {mapping!r} is not a mapping")
        return {}
    return {_plain(key): mapping[key] for key in mapping.keys()}  # noqa: SIM118 (a pandas Series)


def _read_lists(
    what: str, entry: str, mapping: Any, problems: list[str]
) -> dict[Any, tuple[Any, ...]]:
    """Copy a mapping to lists of features."""
    read = _read_mapping(what, mapping, problems)
    return {
        key: _read_list(f"{entry} {key!r}: ", features, "features", problems)
        for key, features in read.items()
    }


def _read_list(where: str, values: Any, of: str, problems: list[str]) -> tuple[Any, ...]:
    """Copy a list of features or groups; note a problem if it is not one."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        problems.append(f"{where}{values!r} is not a list of {of}")
        return ()
    return tuple(_plain(value) for value in values)


def _read_prices(
    what: str, label: str, mapping: Any, problems: list[str], noun: str = "price"
) -> dict[Any, Any]:
    """Copy a mapping to prices, or delays; note a problem for each value that is not one."""
    read = _read_mapping(what, mapping, problems)
    _check_prices(label, read, problems, noun)
    return {key: as_float(price) for key, price in read.items()}


def _check_prices(
    label: str, prices: dict[Any, Any], problems: list[str], noun: str = "price"
) -> None:
    """Note a problem for each value that is not a price; `label` says how to refer to its key."""
    faults = ((key, price_fault(price, noun)) for key, price in prices.items())
    problems += [f"{label.format(key)}: {fault}" for key, fault in faults if fault is not None]


def _plain(key: Any) -> Any:
    """Return a NumPy scalar as a Python value."""
    return key.item() if isinstance(key, np.generic) else key


def _brief(value: Any) -> str:
    """Return the repr of a mapping, a sequence or a number, with long ones cut."""
    if isinstance(value, dict):
        entries, brackets = [f"{key!r}: {_brief(entry)}" for key, entry in value.items()], "{}"
    elif isinstance(value, tuple):
        entries, brackets = [_brief(entry) for entry in value], "[]"
    else:
        return repr(value)
    if len(entries) > MAX_SHOWN:
        entries = [*entries[:MAX_SHOWN], f"... {len(entries) - MAX_SHOWN} more"]
    return f"{brackets[0]}{', '.join(entries)}{brackets[1]}"
