"""What a node buys: greedily what explains most per price, until its budget is spent (004 eq. 7).

A column costs its own price, and the shared price of its group if it is the first of it. Whether a
group is worth entering is decided for the best part of it as a block: the columns that together
explain most per joint price, what they share included. The first of the block is bought; the others
then cost their own price only, and follow if nothing better comes between.

By chance alone the best of many columns explains something too: what explains no more than that
is not bought, not even for nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.bought import Bought
from thrifty.learn.gram import ROUNDING
from thrifty.learn.gram_selection import Explainer

__all__ = ["Buyer"]

Floats = NDArray[np.float64]
Columns = NDArray[np.intp]
# Relative difference of gains, or of a sum of prices, that rounding can make.
TIE = 1e-9


class Buyer:
    """Purchases of one node.

    Parameters
    ----------
    explainer : Explainer
        Grows by what is bought.
    bought : Bought
        What is paid already, by the nodes above, and what the rest costs; purchases are entered.
    mass : float
        Rows, or sum of their weights; infinite to buy what explains anything at all.

    Attributes
    ----------
    columns : list of int
        Columns that are read, in the order of purchase.
    spent : list of float
        What all purchases up to each cost.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.bought import Bought
    >>> from thrifty.learn.gram import Gram
    >>> from thrifty.learn.gram_purchases import Buyer
    >>> from thrifty.learn.gram_selection import Explainer, Layout
    >>> Z = np.random.default_rng(0).normal(size=(100, 3))
    >>> explainer = Explainer.of(Gram.of(Z, Z @ [[2.0], [1.0], [0.0]]), Layout(np.arange(3), 3))
    >>> buyer = Buyer(explainer, Bought(Prices([9.0, 1.0, 1.0]).bind(3), 100, "model"), 100.0)
    >>> buyer.spend(10.0)
    >>> buyer.columns, buyer.spent
    ([1, 0], [1.0, 10.0])
    """

    def __init__(self, explainer: Explainer, bought: Bought, mass: float) -> None:
        self.explainer, self.bought, self.mass = explainer, bought, mass
        self.columns: list[int] = []
        self.spent: list[float] = []
        self._untaken = explainer.layout.sizes > 0

    def spend(self, budget: float) -> None:
        """Buy until nothing that is worth it fits in the budget."""
        left = (1.0 + TIE) * budget
        while (choice := self._choose(left)) is not None:
            column, price = choice
            self._untaken[column] = False
            before = len(self.explainer.chosen)
            self.explainer.add(column)
            if len(self.explainer.chosen) == before:  # a combination of what there is, after all
                continue
            self.bought.features[column] = 1
            left -= price
            self.columns.append(column)
            self.spent.append(price + (self.spent[-1] if self.spent else 0.0))

    def _choose(self, left: float) -> tuple[int, float] | None:
        """The next column and its price."""
        gains, due = self.explainer.gains(), self.bought.due()
        worth = self._untaken & (due <= left) & (gains > self._chance(self.explainer))
        if not worth.any():
            return None
        best, rate = _best(gains, due, worth)
        for members, shared in self._closed(worth) if np.isfinite(rate) else []:
            first, joint = self._block(members, shared, left)
            if joint > (1.0 + TIE) * rate:
                best, rate = first, joint
        return best, float(due[best])

    def _closed(self, worth: NDArray[np.bool_]) -> list[tuple[Columns, float]]:
        """Groups that no purchase has entered: columns that are worth a look, shared price."""
        group, shared = self.bought.prices.group, self.bought.prices.shared
        closed = shared > 0.0
        closed[np.unique(group[(self.bought.features > 0) & (group >= 0)])] = False
        open_to = [np.flatnonzero(worth & (group == g)) for g in range(len(shared))]
        return [
            (open_to[g], float(shared[g])) for g in np.flatnonzero(closed) if len(open_to[g]) > 1
        ]

    def _block(self, members: Columns, shared: float, left: float) -> tuple[int, float]:
        """First column of the best part of a group, and what that explains per price."""
        own = self.bought.prices.own[members]
        part = self.explainer.part(members)
        before = part.left.sum()
        price, best, first = shared, 0.0, -1
        taken = np.zeros(len(members), dtype=bool)
        while True:
            gains = part.gains()
            fits = ~taken & (gains > self._chance(part)) & (price + own <= left)
            if not fits.any():
                break
            j, rate = _best(gains, own, fits)
            if rate <= best:  # from here on the block would only get worse
                break
            first = j if first < 0 else first
            part.add(j)
            taken[j] = True
            price += own[j]
            best = max(best, float(before - part.left.sum()) / price)
        return int(members[first]), best

    def _chance(self, explainer: Explainer) -> Floats:
        """What the best of all columns would explain by chance, by their number of inputs.

        A column of pure noise explains the noise times a chi-squared variable with a degree of
        freedom for each input and target; the largest of d such stays below this bound (B.
        Laurent and P. Massart, 2000).
        """
        sizes, targets = explainer.layout.sizes, len(explainer.left)
        spare = self.mass - len(explainer.chosen) - 1.0
        noise = float(explainer.left.mean()) / max(spare, 1.0)
        degrees, log = sizes * targets, np.log(max(len(self._untaken), 2))
        bound = noise * (degrees + 2.0 * np.sqrt(degrees * log) + 2.0 * log)
        return np.where(spare > sizes, np.maximum(bound, ROUNDING * explainer.scale), np.inf)


def _best(gains: Floats, prices: Floats, among: NDArray[np.bool_]) -> tuple[int, float]:
    """The column of the largest gain per price, and that; what is free comes before all else.

    Of those that tie up to rounding it is the first.
    """
    free = among & (prices <= 0.0)
    if free.any():
        return _first_largest(np.where(free, gains, -1.0)), np.inf
    rates = np.where(among, gains / np.where(prices > 0.0, prices, 1.0), -1.0)
    best = _first_largest(rates)
    return best, float(rates[best])


def _first_largest(values: Floats) -> int:
    return int(np.argmax(values >= (1.0 - TIE) * values.max()))
