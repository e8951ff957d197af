"""Prices as arrays, one entry per column of a table, and the bills they make.

What a model uses and what things cost meet here: `bill` takes which features each row
used and gives what each row pays. bill = own prices of the used features + shared
price of each touched group + evaluations + calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.costs.audit import audit
from thrifty.costs.exact import split, subset_sums
from thrifty.costs.faults import near
from thrifty.costs.money import money
from thrifty.errors import BundleError, DataError, raise_all

__all__ = ["BoundPrices"]

# Rows billed at a time: bounds the memory of the float copy of `used`. The sums are
# exact, so this number changes no bill.
ROWS = 4096


@dataclass(frozen=True, eq=False, repr=False)
class BoundPrices:
    """Prices of the columns of one table; the arrays are read-only.

    Usually made by `Prices.bind`.

    Parameters
    ----------
    names : tuple of str or None
        Names of the columns; None for a table without names.
    own : array of shape (d,)
        Own price of each column.
    group : array of shape (d,)
        Position of the column's group; -1 for a column in no group.
    shared : array of shape (G,)
        Price of each group, paid once by a row that uses any of its members.
    group_names : tuple of str
    evaluation : float
        Price of one evaluation (a tree, a kernel).
    calls : dict of str to float
        Price of each call.
    unit : str
        What the prices count: a currency, "ms".

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

    def __post_init__(self) -> None:
        for name, kind in (("own", np.float64), ("group", np.int64), ("shared", np.float64)):
            array = np.array(getattr(self, name), dtype=kind)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "calls", dict(self.calls))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        # A copy goes through the constructor: its arrays are read-only again.
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
    ) -> NDArray[np.float64]:
        """Tell what each row pays.

        The prices of features, groups and calls are added without rounding and rounded
        once, so a bill depends neither on the other rows nor on the order of the columns.

        Parameters
        ----------
        used : bool array of shape (n, d)
            Which features each row used.
        evaluations : int or array of shape (n,)
            How many evaluations each row took.
        calls : mapping of str to bool array of shape (n,), optional
            Which rows made each call.

        Returns
        -------
        array of shape (n,)
        """
        used = self._checked(used)
        made = self._made(calls or {}, len(used))
        counts = _per_row("evaluations", evaluations, len(used), "iu")
        blocks = [slice(start, start + ROWS) for start in range(0, len(used), ROWS)]
        bills = [subset_sums(self._charged(used[rows], made[rows]), self._parts) for rows in blocks]
        return np.concatenate([np.empty(0), *bills]) + self.evaluation * counts

    def marginal(self, feature: int, bought: Collection[int]) -> float:
        """Tell what a feature costs now, after the features `bought`.

        It is 0 for a feature already bought, and includes the shared price of its group
        if no member is bought yet. A set is the fastest collection here.

        Examples
        --------
        >>> from thrifty.costs import Prices
        >>> prices = Prices([1, 5, 3], groups={"blood": [1, 2]}, shared={"blood": 2}).bind(3)
        >>> prices.marginal(1, set()), prices.marginal(1, {2}), prices.marginal(1, {1})
        (7.0, 5.0, 0.0)
        """
        if feature in bought:
            return 0.0
        first, later, mates = self._fares[feature]
        return first if mates.isdisjoint(bought) else later

    def breakdown(
        self,
        used_row: NDArray[np.bool_],
        evaluations: int = 0,
        calls: Mapping[str, bool] | None = None,
    ) -> str:
        """Tell what one row pays, and for what.

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
        total = self.bill(np.asarray(used_row)[None], evaluations, made)[0]
        items = list(self._items(used_row))
        if evaluations and self.evaluation:
            cost = money(evaluations * self.evaluation)
            items.append(f"{_count(evaluations, 'evaluation')} {cost}")
        items += [f"{name} {money(self.calls[name])}" for name, on in (calls or {}).items() if on]
        return f"{money(total, self.unit)}: {' + '.join(items) or 'nothing bought'}"

    @property
    def full(self) -> float:
        """Bill of an example that uses every feature, without evaluations and calls."""
        return float(self.bill(np.ones((1, len(self.own)), dtype=bool))[0])

    def plain(self) -> dict[str, Any]:
        """Give the prices as values that JSON can hold; `build` takes them back."""
        return {
            "names": None if self.names is None else list(self.names),
            "own": self.own.tolist(),
            "group": self.group.tolist(),
            "shared": self.shared.tolist(),
            "group_names": list(self.group_names),
            "evaluation": self.evaluation,
            "calls": dict(self.calls),
            "unit": self.unit,
        }

    @classmethod
    def build(cls, plain: Mapping[str, Any]) -> Self:
        """Audit what `plain` gave and build the prices from it.

        Raises
        ------
        BundleError
            If anything is missing, unknown, misshapen or not a price.

        Examples
        --------
        >>> from thrifty.costs import BoundPrices, Prices
        >>> prices = Prices([1.0, 2.0]).bind(2)
        >>> BoundPrices.build(prices.plain()) == prices
        True
        """
        raise_all(BundleError, "the prices of the model file", audit(plain))
        return cls(
            names=None if plain["names"] is None else tuple(plain["names"]),
            own=plain["own"],
            group=plain["group"],
            shared=plain["shared"],
            group_names=tuple(plain["group_names"]),
            evaluation=float(plain["evaluation"]),
            calls={name: float(price) for name, price in plain["calls"].items()},
            unit=plain["unit"],
        )

    @cached_property
    def _members(self) -> list[NDArray[np.intp]]:
        return [np.flatnonzero(self.group == g) for g in range(len(self.shared))]

    @cached_property
    def _parts(self) -> NDArray[np.float64]:
        return split(np.concatenate([self.own, self.shared, list(self.calls.values())]))

    @cached_property
    def grouped(self) -> frozenset[int]:
        """Positions of the features that are in a group."""
        return frozenset(np.flatnonzero(self.group >= 0).tolist())

    @cached_property
    def _fares(self) -> list[tuple[float, float, frozenset[int]]]:
        # Per feature: its price as the first of its group, its price later, its group.
        mates = [frozenset(members.tolist()) for members in self._members]
        shared = self.shared.tolist()
        return [
            (own, own, frozenset()) if g < 0 else (own + shared[g], own, mates[g])
            for own, g in zip(self.own.tolist(), self.group.tolist(), strict=True)
        ]

    def _charged(self, used: NDArray[np.bool_], made: NDArray[np.bool_]) -> NDArray[np.float64]:
        # The columns follow `_parts`: features, groups, calls.
        groups = np.zeros((len(used), len(self.shared)), dtype=bool)
        for g, members in enumerate(self._members):
            groups[:, g] = used[:, members].any(axis=1)
        return np.hstack([used, groups, made]).astype(np.float64)

    def _checked(self, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
        used = np.asarray(used)
        if used.ndim != 2 or used.shape[1] != len(self.own):
            raise DataError(f"used: shape {used.shape} where (rows, {len(self.own)}) is needed")
        if used.dtype != np.bool_:
            raise DataError(f"used: values of type {used.dtype} where True or False is needed")
        return used

    def _made(self, calls: Mapping[str, ArrayLike], rows: int) -> NDArray[np.bool_]:
        unknown = [name for name in calls if name not in self.calls]
        hints = [f"no price for {name!r}{near(str(name), self.calls)}" for name in unknown]
        raise_all(DataError, "calls", hints)
        made = [_per_row(f"call {c!r}", calls.get(c, False), rows, "b") for c in self.calls]
        return np.array(made, dtype=bool).reshape(len(made), rows).T

    def _items(self, used_row: NDArray[np.bool_]) -> Iterator[str]:
        paid: set[int] = set()
        for j in np.flatnonzero(used_row).tolist():
            g = int(self.group[j])
            if g >= 0 and g not in paid and self.shared[g]:
                yield f"{self.group_names[g]} {money(self.shared[g])}"
            paid.add(g)
            label = f"[{j}]" if self.names is None else self.names[j]
            yield f"{label} {money(self.own[j])}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _per_row(what: str, values: ArrayLike, rows: int, kinds: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.shape not in ((), (rows,)):
        raise DataError(
            f"{what}: shape {array.shape} where one value per row, ({rows},), is needed"
        )
    if array.dtype.kind not in kinds:
        needed = "True or False" if kinds == "b" else "whole numbers"
        raise DataError(f"{what}: values of type {array.dtype} where {needed} are needed")
    if kinds != "b" and (array < 0).any():
        raise DataError(f"{what}: {array.min()} is negative")
    return np.broadcast_to(array, (rows,))
