"""What rows have bought and spent so far, with sums that no rounding can take beyond a cap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from thrifty.model.policy.policy import Policy

__all__ = ["Wallets"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass
class Wallets:
    """What some rows have bought so far.

    Attributes
    ----------
    bought : bool array (n, items)
    entered : bool array (n, groups + 1)
        Groups whose shared price is paid; the last column, for items without a group, is True.
    spent, rest : arrays (n,)
        The sum of the prices paid is ``spent + rest``, to twice the precision of a float: so that
        no rounding lets a bill exceed the cap.
    steps : int
        Number of purchases, the same for all rows.
    """

    bought: Bools
    entered: Bools
    spent: Floats
    rest: Floats
    steps: int = 0

    @classmethod
    def open(cls, policy: Policy, n: int) -> Self:
        """Return the wallets of n rows before any purchase; items that are known are bought."""
        bought = np.tile(~policy.members.any(axis=1), (n, 1))
        entered = np.zeros((n, len(policy.shared) + 1), dtype=bool)
        entered[:, -1] = True
        return cls(bought, entered, np.zeros(n), np.zeros(n))

    def take(self, rows: Bools) -> Wallets:
        """Keep some of the rows."""
        bought, entered = self.bought[rows], self.entered[rows]
        return Wallets(bought, entered, self.spent[rows], self.rest[rows], self.steps)

    def quote(self, policy: Policy) -> tuple[Floats, Bools]:
        """Return what each item costs now, and whether it can be bought within the cap."""
        shared = np.where(self.entered, 0.0, np.append(policy.shared, 0.0))[:, policy.group]
        price = policy.own + shared
        affordable = ~self.bought & (price > 0)
        if math.isfinite(policy.cap):
            total = self.spent[:, np.newaxis], self.rest[:, np.newaxis]
            total = _add(*_add(*total, policy.own), shared)
            affordable &= (total[0] < policy.cap) | ((total[0] == policy.cap) & (total[1] <= 0))
        return price, affordable

    def buy(self, policy: Policy, item: Ints) -> None:
        """Let each row buy one item, and what comes along with it."""
        rows, group = np.arange(len(item)), policy.group[item]
        shared = np.where(self.entered[rows, group], 0.0, np.append(policy.shared, 0.0)[group])
        total = _add(self.spent, self.rest, policy.own[item])
        self.spent, self.rest = _add(*total, shared)
        self.entered[rows, group] = True
        self.bought |= policy.bundle(item)
        self.steps += 1


def _add(high: Floats, low: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Add x to the number ``high + low``, to twice the precision of a float (Knuth's TwoSum)."""
    total = high + x
    part = total - high
    error = (high - (total - part)) + (x - part) + low
    high = total + error
    return high, error - (high - total)
