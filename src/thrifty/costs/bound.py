"""Prices as arrays, one entry per column of a table, and the bills they lead to.

This is where the features that a model used meet what they cost::

    bill = own prices of the used features + shared price of each group with a used member
           + evaluation price x number of evaluations + prices of the calls made

where "used" includes what comes along with a used feature (`thrifty.costs.structure`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from math import fsum
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.costs.audit import AMOUNTS, price_problems
from thrifty.costs.exact import split, subset_sums
from thrifty.costs.money import money
from thrifty.costs.structure import Structure
from thrifty.errors import BundleError, DataError, did_you_mean, raise_all
from thrifty.lazy import cached_property

__all__ = ["BoundPrices"]

# Rows billed at a time, to bound the memory of the float copy of `used`. The sums are exact, so
# this number affects no bill.
ROWS_PER_BLOCK = 4096
# Name of the main currency if it has no unit, and that of the waiting time in budgets.
MAIN, LATENCY = "price", "latency"


@dataclass(frozen=True, eq=False, repr=False)
class BoundPrices:
    """Prices of the columns of one table; all arrays are read-only.

    Usually created by `Prices.bind`.

    Parameters
    ----------
    names : tuple of str or None
        Names of the columns; None for a table without names.
    own : float64 array of shape (d,)
        Own price of each column.
    group : int64 array of shape (d,)
        Index of the group of each column; -1 for a column in no group.
    shared : float64 array of shape (G,)
        Price of each group, paid once by a row that uses any of its members.
    group_names : tuple of str
        Name of each group, G in all.
    evaluation : float
        Price of one evaluation (of a tree, of a kernel).
    calls : dict of str to float
        Price of each call.
    unit : str
        Unit of the prices, such as "CAD" or "ms".
    structure : Structure or None
        What requires what, and which features are only sold together.
    delays : float64 array of shape (d,), or None
        How long one waits for each feature.
    delay_unit : str
        Unit of the delays, such as "min".
    also : dict of str to BoundPrices
        Prices of the same columns in other currencies, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs import Prices
    >>> prices = Prices({"age": 1.0, "chol": 5.0, "fbs": 3.0}, groups={"blood": ["chol", "fbs"]},
    ...                 shared={"blood": 2.0}, unit="CAD").bind(["age", "chol", "fbs"])
    >>> prices
    BoundPrices(3 features, 1 group, CAD 11.00 in full)
    >>> prices.bill(np.array([[True, False, False], [False, True, True]]))
    array([ 1., 10.])
    """

    names: tuple[str, ...] | None
    own: NDArray[np.float64]
    group: NDArray[np.int64]
    shared: NDArray[np.float64]
    group_names: tuple[str, ...]
    evaluation: float
    calls: dict[str, float]
    unit: str
    structure: Structure | None = None
    delays: NDArray[np.float64] | None = None
    delay_unit: str = ""
    also: dict[str, BoundPrices] = field(default_factory=dict)

    def __post_init__(self) -> None:
        dtypes = {"own": np.float64, "group": np.int64, "shared": np.float64}
        if self.delays is not None:
            dtypes["delays"] = np.float64
        for name, dtype in dtypes.items():
            array = np.array(getattr(self, name), dtype=dtype)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "calls", dict(self.calls))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        # A copy goes through the constructor, so its arrays are read-only too.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __eq__(self, other: object) -> bool:
        return self.plain() == other.plain() if isinstance(other, BoundPrices) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = [_count(len(self.own), "feature")]
        if self.group_names:
            counts.append(_count(len(self.group_names), "group"))
        if self.calls:
            counts.append(_count(len(self.calls), "call"))
        return f"BoundPrices({', '.join(counts)}, {money(self.full, self.unit)} in full)"

    def bill(
        self,
        used: NDArray[np.bool_],
        evaluations: ArrayLike = 0,
        calls: Mapping[str, ArrayLike] | None = None,
        *,
        with_required: bool = True,
    ) -> NDArray[np.float64]:
        """Compute what each row pays.

        The prices of features, groups and calls are added exactly and rounded once, so a bill
        depends neither on the other rows nor on the order of the columns.

        Parameters
        ----------
        used : bool array of shape (n, d)
            Which features each row used.
        evaluations : int or int array of shape (n,)
            Number of evaluations of each row.
        calls : mapping of str to bool array of shape (n,), optional
            Which rows made each call.
        with_required : bool
            Whether what a used feature requires is charged, too. It is not if `used` is all that
            was bought, and the rest was known.

        Returns
        -------
        float64 array of shape (n,)
        """
        used = np.asarray(used)
        if used.ndim != 2 or used.shape[1] != len(self.own):
            raise DataError(f"used: shape {used.shape} where (rows, {len(self.own)}) is needed")
        if used.dtype != np.bool_:
            raise DataError(f"used: values of type {used.dtype} where True or False is needed")
        if with_required and self.structure is not None:
            used = self.structure.bought(used)
        n = len(used)
        calls = calls or {}
        unpriced = [name for name in calls if name not in self.calls]
        problems = [f"no price for {name!r}{did_you_mean(name, self.calls)}" for name in unpriced]
        raise_all(DataError, "calls", problems)
        made = np.empty((n, len(self.calls)), dtype=bool)
        for k, name in enumerate(self.calls):
            made[:, k] = _per_row(f"call {name!r}", calls.get(name, False), n, "b")
        counts = _per_row("evaluations", evaluations, n, "iu")

        bills = np.empty(n)
        for start in range(0, n, ROWS_PER_BLOCK):
            rows = slice(start, start + ROWS_PER_BLOCK)
            touched = np.zeros((len(used[rows]), len(self.shared)), dtype=bool)
            for g, members in enumerate(self._members):
                touched[:, g] = used[rows, members].any(axis=1)
            charged = np.hstack([used[rows], touched, made[rows]])  # columns as in `_parts`
            bills[rows] = subset_sums(charged.astype(np.float64), self._parts)
        return bills + self.evaluation * counts

    def total(
        self, features: Collection[int], evaluations: int = 0, *, with_required: bool = True
    ) -> float:
        """Compute what one row pays for some features: `bill`, to the bit, without its arrays.

        Examples
        --------
        >>> from thrifty.costs import Prices
        >>> prices = Prices([1, 5, 3], groups={"blood": [1, 2]}, shared={"blood": 2}).bind(3)
        >>> prices.total([1, 2])
        10.0
        """
        if with_required and self.structure is not None:
            features = self.structure.closure(features)
        own, group, shared = self._lists
        charged = [own[j] for j in features]
        charged += [shared[g] for g in {group[j] for j in features} if g >= 0]
        return fsum(charged) + self.evaluation * evaluations

    @property
    def currencies(self) -> dict[str, BoundPrices]:
        """The prices by name of the currency, the main one first."""
        return {self.unit or MAIN: self, **self.also}

    def in_currency(self, name: str, **amounts: Any) -> Self:
        """Return prices of the same columns in another currency."""
        return replace(self, **amounts, unit=name, delays=None, delay_unit="", also={})

    def marginal(self, feature: int, bought: Collection[int], free: Collection[int] = ()) -> float:
        """Return what `feature` costs now, given the features already `bought`.

        That is 0 for a feature already bought, and includes the shared price of its group if
        no member has been bought yet, and the prices of all that comes along. What is `free` was
        known beforehand: it need not be bought. A set is the fastest collection to pass.

        Examples
        --------
        >>> from thrifty.costs import Prices
        >>> prices = Prices([1, 5, 3], groups={"blood": [1, 2]}, shared={"blood": 2}).bind(3)
        >>> prices.marginal(1, set()), prices.marginal(1, {2}), prices.marginal(1, {1})
        (7.0, 5.0, 0.0)
        """
        if feature in bought:
            return 0.0
        if self.structure is not None:
            due = sorted(self.structure.closure([feature], free).difference(bought))
            entered = {-1, *self.group[list(bought)].tolist()}
            groups = sorted(set(self.group[due].tolist()) - entered)
            return fsum([*self.own[due].tolist(), *self.shared[groups].tolist()])
        first, later, members = self._marginals[feature]
        return first if members.isdisjoint(bought) else later

    def breakdown(
        self,
        used_row: NDArray[np.bool_],
        evaluations: int = 0,
        calls: Mapping[str, bool] | None = None,
    ) -> str:
        """Return the bill of one row and what it is made of, as text.

        Examples
        --------
        >>> import numpy as np
        >>> from thrifty.costs import Prices
        >>> prices = Prices({"age": 1, "chol": 5}, groups={"blood": ["chol"]},
        ...                 shared={"blood": 2.1}, unit="CAD").bind(["age", "chol"])
        >>> prices.breakdown(np.array([True, True]))
        'CAD 8.10: age 1.00 + blood 2.10 + chol 5.00'
        >>> prices.breakdown(np.array([False, False]))
        'CAD 0.00: nothing bought'
        """
        made = {name: [on] for name, on in (calls or {}).items()}
        used = np.asarray(used_row)[None]
        total = self.bill(used, evaluations, made)[0]
        bought = used if self.structure is None else self.structure.bought(used)
        items = []
        paid: set[int] = set()
        for j in np.flatnonzero(bought).tolist():
            g = int(self.group[j])
            if g >= 0 and g not in paid and self.shared[g]:
                items.append(f"{self.group_names[g]} {money(self.shared[g])}")
            paid.add(g)
            label = f"[{j}]" if self.names is None else self.names[j]
            items.append(f"{label} {money(self.own[j])}")
        if evaluations and self.evaluation:
            cost = money(evaluations * self.evaluation)
            items.append(f"{_count(evaluations, 'evaluation')} {cost}")
        items += [f"{name} {money(self.calls[name])}" for name, on in (calls or {}).items() if on]
        return f"{money(total, self.unit)}: {' + '.join(items) or 'nothing bought'}"

    @property
    def full(self) -> float:
        """Bill of an example that uses every feature, without evaluations and calls."""
        return float(self.bill(np.ones((1, len(self.own)), dtype=bool))[0])

    @cached_property
    def first_prices(self) -> NDArray[np.float64]:
        """What each feature costs a row that has bought nothing, (d,), with what comes along."""
        if self.structure is None:
            return np.asarray(self.own + np.append(self.shared, 0.0)[self.group])
        return np.array([self.marginal(j, ()) for j in range(len(self.own))])

    def after(self, bought: Collection[int]) -> Self:
        """Return the prices of rows that have bought some features: these are free from then on."""
        taken = sorted(bought if self.structure is None else self.structure.closure(bought))
        own, shared = self.own.copy(), self.shared.copy()
        own[taken] = 0.0
        groups = self.group[taken]
        shared[groups[groups >= 0]] = 0.0
        return replace(self, own=own, shared=shared)

    def with_group(
        self, names: tuple[str, ...] | None, n_members: int, group: str, price: float
    ) -> Self:
        """Return prices with more columns at the end: a group that costs one shared price.

        They come at once, and cost nothing in other currencies.
        """
        also: dict[str, BoundPrices] = {
            name: each.with_group(names, n_members, group, 0.0) for name, each in self.also.items()
        }
        return replace(
            self,
            names=names,
            own=np.append(self.own, np.zeros(n_members)),
            group=np.append(self.group, np.full(n_members, len(self.shared))),
            shared=np.append(self.shared, price),
            group_names=(*self.group_names, group),
            delays=None if self.delays is None else np.append(self.delays, np.zeros(n_members)),
            also=also,
        )

    def with_column(self, names: tuple[str, ...] | None, price: float) -> Self:
        """Return prices with one more column at the end, which is in no group.

        It comes at once, and costs nothing in other currencies.
        """
        also: dict[str, BoundPrices] = {
            name: each.with_column(names, 0.0) for name, each in self.also.items()
        }
        return replace(
            self,
            names=names,
            own=np.append(self.own, price),
            group=np.append(self.group, -1),
            delays=None if self.delays is None else np.append(self.delays, 0.0),
            also=also,
        )

    def take(self, columns: NDArray[np.intp]) -> Self:
        """Return the prices of the same columns in another order, given by their positions.

        Examples
        --------
        >>> import numpy as np
        >>> from thrifty.costs import Prices
        >>> Prices({"b": 2.0, "a": 1.0}).bind(["b", "a"]).take(np.array([1, 0])).names
        ('a', 'b')
        """
        place = np.argsort(columns).tolist()
        also: dict[str, BoundPrices] = {
            name: each.take(columns) for name, each in self.also.items()
        }
        return replace(
            self,
            names=None if self.names is None else tuple(self.names[j] for j in columns),
            own=self.own[columns],
            group=self.group[columns],
            structure=None if self.structure is None else self.structure.renumber(place),
            delays=None if self.delays is None else self.delays[columns],
            also=also,
        )

    def closure(self, features: ArrayLike) -> NDArray[np.int64]:
        """Return features, by position, with all that comes along with them, in order."""
        known = np.asarray(features, dtype=np.int64)
        if self.structure is None:
            return known
        return np.array(sorted(self.structure.closure(known.tolist())), dtype=np.int64)

    @cached_property
    def grouped(self) -> frozenset[int]:
        """Indices of the features whose purchase may change the price of others."""
        grouped = frozenset(np.flatnonzero(self.group >= 0).tolist())
        if self.structure is None:
            return grouped
        return grouped.union(*self.structure.requires.values())

    def plain(self) -> dict[str, Any]:
        """Return the prices as values that JSON can hold; `build` is the inverse."""
        optional: dict[str, Any] = {} if self.structure is None else self.structure.plain()
        if self.delays is not None:
            optional |= {"delays": self.delays.tolist(), "delay_unit": self.delay_unit}
        if self.also:
            others = {name: each.plain() for name, each in self.also.items()}
            optional["also"] = {
                name: {part: each[part] for part in AMOUNTS} for name, each in others.items()
            }
        return {
            "names": None if self.names is None else list(self.names),
            "own": self.own.tolist(),
            "group": self.group.tolist(),
            "shared": self.shared.tolist(),
            "group_names": list(self.group_names),
            "evaluation": self.evaluation,
            "calls": dict(self.calls),
            "unit": self.unit,
            **optional,
        }

    @classmethod
    def build(cls, plain: Mapping[str, Any]) -> Self:
        """Check what a model file holds and build the prices from it.

        Raises
        ------
        BundleError
            If a field is missing, unknown or malformed, or holds what is not a price.

        Examples
        --------
        >>> from thrifty.costs import BoundPrices, Prices
        >>> BoundPrices.build(Prices([1.0, 2.0]).bind(2).plain())
        BoundPrices(2 features, 3.00 in full)
        """
        raise_all(BundleError, "the prices of the model file", price_problems(plain))
        main = cls(
            names=None if plain["names"] is None else tuple(plain["names"]),
            own=plain["own"],
            group=plain["group"],
            shared=plain["shared"],
            group_names=tuple(plain["group_names"]),
            evaluation=float(plain["evaluation"]),
            calls={name: float(price) for name, price in plain["calls"].items()},
            unit=plain["unit"],
            structure=Structure.build(plain),
            delays=plain.get("delays"),
            delay_unit=plain.get("delay_unit", ""),
        )
        others = plain.get("also", {})
        also: dict[str, BoundPrices] = {
            name: main.in_currency(name, **each) for name, each in others.items()
        }
        return replace(main, also=also) if also else main

    @cached_property
    def _members(self) -> list[NDArray[np.intp]]:
        """Feature indices of each group."""
        counts = np.bincount(self.group + 1, minlength=len(self.shared) + 1)
        return np.split(np.argsort(self.group, kind="stable"), np.cumsum(counts)[:-1])[1:]

    @cached_property
    def _parts(self) -> NDArray[np.float64]:
        """Prices of features, groups and calls, split for exact sums."""
        return split(np.concatenate([self.own, self.shared, list(self.calls.values())]))

    @cached_property
    def _lists(self) -> tuple[list[float], list[int], list[float]]:
        """Own prices, groups and shared prices as Python values, which are faster one by one."""
        return self.own.tolist(), self.group.tolist(), self.shared.tolist()

    @cached_property
    def _marginals(self) -> list[tuple[float, float, frozenset[int]]]:
        """Price of each feature as the first of its group, as a later one, and its group."""
        groups = [frozenset(members.tolist()) for members in self._members]
        shared = self.shared.tolist()
        return [
            (own, own, frozenset()) if g < 0 else (own + shared[g], own, groups[g])
            for own, g in zip(self.own.tolist(), self.group.tolist(), strict=True)
        ]


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _per_row(what: str, values: ArrayLike, n: int, kinds: str) -> NDArray[Any]:
    """Return `values` as one value per row, if their dtype kind is one of `kinds`."""
    array = np.asarray(values)
    if array.shape not in ((), (n,)):
        raise DataError(f"{what}: shape {array.shape} where one value per row, ({n},), is needed")
    if array.dtype.kind not in kinds:
        needed = "True or False" if kinds == "b" else "whole numbers"
        raise DataError(f"{what}: values of type {array.dtype} where {needed} are needed")
    if kinds != "b" and (array < 0).any():
        raise DataError(f"{what}: {array.min()} is negative")
    return np.broadcast_to(array, (n,))
