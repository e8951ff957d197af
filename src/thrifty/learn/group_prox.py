"""The price of linear models: a norm for each column, and one for each group of columns.

The norm of all coefficients that read a column, times its price, is the convex stand-in for paying
the column once (000 OPT2); that of all columns of a group, times its shared price, for entering
the group. Groups hold columns, so their steps follow one upon the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices

__all__ = ["GroupPrices"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupPrices:
    """Column and group of each slot, and their prices; a slot of no group has the last one."""

    column: NDArray[np.int64]
    group: NDArray[np.int64]
    own: Floats
    shared: Floats

    @classmethod
    def of(cls, columns: NDArray[np.int64], prices: BoundPrices, penalty: float) -> Self:
        """Prices of slots that read these columns, times the penalty."""
        group = np.where(prices.group < 0, len(prices.shared), prices.group)
        shared = np.append(prices.shared, 0.0)
        return cls(columns, group[columns], penalty * prices.own, penalty * shared)

    def cost(self, C: Floats) -> float:
        """Sum of the priced norms of coefficients (slots, outputs)."""
        return float(
            self.own @ _norms(C, self.column, len(self.own))
            + self.shared @ _norms(C, self.group, len(self.shared))
        )

    def shrink(self, C: Floats, length: float) -> Floats:
        """The proximal step: columns first, then the groups that hold them.

        Examples
        --------
        >>> import numpy as np
        >>> from thrifty.costs import Prices
        >>> from thrifty.learn.group_prox import GroupPrices
        >>> prices = GroupPrices.of(np.array([0, 1]), Prices([1.0, 5.0]).bind(2), penalty=1.0)
        >>> prices.shrink(np.array([[3.0, 4.0], [3.0, 4.0]]), length=1.0)
        array([[2.4, 3.2],
               [0. , 0. ]])
        """
        for place, price in ((self.column, self.own), (self.group, self.shared)):
            norm = _norms(C, place, len(price))
            kept = np.maximum(1.0 - length * price / np.maximum(norm, 1e-300), 0.0)
            C = C * np.where(price > 0, kept, 1.0)[place][:, np.newaxis]
        return C


def _norms(C: Floats, place: NDArray[np.int64], count: int) -> Floats:
    return np.sqrt(np.bincount(place, np.square(C).sum(axis=1), count))
