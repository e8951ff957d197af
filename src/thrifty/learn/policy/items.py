"""What a policy can buy at once: the items, their prices and their groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices

__all__ = ["Items"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Items:
    """Features that are bought together, in the form that `thrifty.model.Policy` has them.

    A feature is an item by itself, but the features of a group that have no price of their own are
    one item: who pays for one has all of them. What costs nothing at all is known to every row.

    A feature that requires others has their prices in its own. A row that has bought them already,
    for themselves or for another feature, is charged less than that: plans are never below bills.

    Parameters
    ----------
    item : int64 array of shape (d,)
        Item of each feature; -1 for none.
    own : array of shape (m,)
        Own price of each item, in multiples of `unit`.
    group : int64 array of shape (m,)
        Group of each item; -1 for none.
    shared : array of shape (g,)
        Price of each group, in multiples of `unit`.
    known : bool array of shape (d,)
        Features that cost nothing.
    unit : float
        A power of two near the largest price: a policy depends on ratios of prices only, and
        should be the same to the bit when all prices are doubled.

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.policy.items import Items
    >>> prices = Prices([0, 4, 3, 0, 0], groups={"scan": [2, 3, 4]}, shared={"scan": 1}).bind(5)
    >>> items = Items.of(prices)
    >>> items.item  # the first feature is free, the last two are one item
    array([-1,  0,  1,  2,  2])
    >>> items.own * items.unit, items.group
    (array([4., 3., 0.]), array([-1,  0,  0]))
    """

    item: Ints
    own: Floats
    group: Ints
    shared: Floats
    known: Bools
    unit: float

    @classmethod
    def of(cls, prices: BoundPrices, free: Bools | None = None) -> Self:
        """Derive the items from prices; `free` (d,) marks features that are known already."""
        full_own = _with_required(prices, free)
        first_price = full_own + np.append(prices.shared, 0.0)[prices.group]
        known = first_price == 0 if free is None else free | (first_price == 0)
        item = np.full(len(known), -1, dtype=np.int64)
        own: list[float] = []
        group: list[int] = []
        item_of_group: dict[int, int] = {}
        for j in np.flatnonzero(~known).tolist():
            g = int(prices.group[j])
            comes_whole = full_own[j] == 0 or (
                prices.structure is not None and len(prices.structure.panel_members(j)) > 1
            )
            if comes_whole and g in item_of_group:
                item[j] = item_of_group[g]
                continue
            if comes_whole:
                item_of_group[g] = len(own)
            item[j] = len(own)
            own.append(float(full_own[j]))
            group.append(g)
        largest = float(first_price.max(initial=0.0))
        unit = float(np.ldexp(1.0, int(np.frexp(largest)[1]))) if largest > 0 else 1.0
        return cls(
            item, np.array(own) / unit, np.array(group, dtype=np.int64), prices.shared / unit,
            known, unit,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.own)

    @property
    def first_price(self) -> Floats:
        """Price of each item for a row that has bought nothing, (m,), in multiples of `unit`."""
        return np.asarray(self.own + np.append(self.shared, 0.0)[self.group])

    def keep(self, kept: Ints) -> Items:
        """Keep some of the items, in the order given; the features of the others are never bought.

        Groups stay as they are.
        """
        place = np.full(len(self.own) + 1, -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        return Items(
            place[self.item], self.own[kept], self.group[kept], self.shared, self.known, self.unit
        )

    def read_only(self, features: Bools) -> Items:
        """Leave out all features but some (d,); every item should keep one."""
        item = np.where(features, self.item, -1)
        return Items(item, self.own, self.group, self.shared, self.known & features, self.unit)

    def readable(self, bought: Bools) -> Bools:
        """Return which features are at hand, (n, d), where items (n, m) are bought."""
        padded = np.hstack([bought, np.zeros((len(bought), 1), dtype=bool)])
        return np.asarray(padded[:, self.item] | self.known)


def _with_required(prices: BoundPrices, free: Bools | None) -> Floats:
    """Return own prices with those of all that is required and not free, (d,), rounded up."""
    if prices.structure is None:
        return prices.own
    at_hand = set() if free is None else set(np.flatnonzero(free).tolist())
    full = np.zeros(len(prices.own))
    for j in range(len(full)):
        bought = sorted(prices.structure.closure([j], at_hand))
        groups = sorted(set(prices.group[bought].tolist()) - {-1, int(prices.group[j])})
        terms = [*prices.own[bought].tolist(), *prices.shared[groups].tolist()]
        full[j] = math.fsum(terms)
        if Fraction(full[j]) < sum(map(Fraction, terms)):
            full[j] = math.nextafter(full[j], math.inf)
    return full
