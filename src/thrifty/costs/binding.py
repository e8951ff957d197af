"""A price list meets the columns of a table: everything is checked, all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thrifty.costs.bound import BoundPrices
from thrifty.costs.columns import Columns
from thrifty.costs.faults import fault, near, number
from thrifty.errors import PriceError, raise_all

if TYPE_CHECKING:
    from thrifty.costs.prices import Prices

__all__ = ["Binding"]

# Columns named in one message before "and 12 more".
LISTED = 20


class Binding:
    """One price list being bound to one table; it lives until `bound` returns.

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> from thrifty.costs.binding import Binding
    >>> Binding(Prices({"age": 1.0}), ["age"]).bound()
    BoundPrices(1 feature, 1.00 in full)
    """

    def __init__(self, prices: Prices, names: Sequence[str] | int) -> None:
        self.prices = prices
        self.columns = Columns(names)
        self.problems = self.columns.problems()
        self.own: list[float | None] = [None] * self.columns.count
        self.group = [-1] * self.columns.count

    def bound(self) -> BoundPrices:
        """Give the prices as arrays; PriceError tells every problem."""
        self._read_own()
        self._read_groups()
        shared = self._read_shared()
        self._find_unpriced()
        calls = {name: self._call(name, price) for name, price in self.prices.calls.items()}
        evaluation = self._price("evaluation", self.prices.evaluation)
        if not isinstance(self.prices.unit, str):
            self.problems.append(f"unit: {self.prices.unit!r} is not text")
        raise_all(PriceError, "prices", self.problems)
        return BoundPrices(
            names=self.columns.names,
            own=np.array([price or 0.0 for price in self.own], dtype=np.float64),
            group=np.array(self.group, dtype=np.int64),
            shared=np.array(shared, dtype=np.float64),
            group_names=tuple(self.prices.groups),
            evaluation=evaluation,
            calls=calls,
            unit=self.prices.unit,
        )

    def _price(self, what: str, value: object) -> float:
        price = number(value)
        if (reason := fault(value)) is None and isinstance(price, float):
            return price
        self.problems.append(f"{what}: {reason}")
        return 0.0

    def _call(self, name: object, price: object) -> float:
        if not isinstance(name, str):
            self.problems.append(f"call {name!r}: the name of a call is text")
        return self._price(f"call {name!r}", price)

    def _find(self, key: object, where: str = "") -> int | None:
        try:
            return self.columns.find(key)
        except PriceError as error:
            self.problems.append(f"{where}{error}")
            return None

    def _read_own(self) -> None:
        own = self.prices.own
        if own is None:
            self.own = [1.0] * self.columns.count
        elif isinstance(own, Mapping):
            for key, price in own.items():
                self._set_own(key, price)
        elif len(own) == self.columns.count:
            self.own = [self._price(self.columns.label(j), price) for j, price in enumerate(own)]
        else:
            self.own = [0.0] * self.columns.count
            self.problems.append(
                f"{len(own)} prices for a table of {self.columns.count} columns: "
                "give one price per column"
            )

    def _set_own(self, key: object, price: object) -> None:
        j = self._find(key)
        if j is None:
            return
        if self.own[j] is not None:
            self.problems.append(f"{self.columns.label(j)} has two prices: keep one")
        self.own[j] = self._price(self.columns.label(j), price)

    def _read_groups(self) -> None:
        for g, (name, members) in enumerate(self.prices.groups.items()):
            if not isinstance(name, str):
                self.problems.append(f"group {name!r}: the name of a group is text")
            if not members:
                self.problems.append(f"group {name!r} has no members: list them, or leave it out")
            for member in members:
                self._join(g, member)

    def _join(self, g: int, member: object) -> None:
        names = list(self.prices.groups)
        j = self._find(member, f"group {names[g]!r}: ")
        if j is None:
            return
        if self.group[j] == g:
            self.problems.append(f"group {names[g]!r}: {self.columns.label(j)} is listed twice")
        elif self.group[j] >= 0:
            both = f"{names[self.group[j]]!r} and {names[g]!r}"
            self.problems.append(f"{self.columns.label(j)} is in two groups, {both}: keep one")
        else:
            self.group[j] = g

    def _read_shared(self) -> list[float]:
        groups, shared = self.prices.groups, self.prices.shared
        for name in shared:
            if name not in groups:
                hint = near(str(name), map(str, groups)) or "; add it to groups"
                self.problems.append(f"shared price for the unknown group {name!r}{hint}")
        return [self._price(f"group {name!r}", shared.get(name, 0.0)) for name in groups]

    def _find_unpriced(self) -> None:
        names = list(self.prices.groups)
        # A shared price can be the whole price of a group's members.
        covered = {g for g, name in enumerate(names) if name in self.prices.shared}
        bare = [
            self.columns.label(j)
            for j, price in enumerate(self.own)
            if price is None and self.group[j] not in covered
        ]
        if bare:
            more = f" and {len(bare) - LISTED} more" if len(bare) > LISTED else ""
            self.problems.append(
                f"no price for {', '.join(bare[:LISTED])}{more}: add it (0 for what is free)"
            )
