"""Greedy forward selection in the space of the inputs (Kusner et al. 2014, eq. 7 and 11).

The paper keeps a QR decomposition of the n rows. The same gains come from the Gram matrix: with
the columns S chosen, a column j explains ``r_j^2 / g_j`` more, where r and g are the products with
the target and the sums of squares of what S leaves of each column. A Cholesky step updates both
without a look at the rows.

What a node buys: greedily what explains most per price, until its budget is spent (Kusner et al. 2014, eq. 7).

A column costs its own price, and the shared price of its group if it is the first of it. Whether a
group is worth entering is decided for the best part of it as a block: the columns that together
explain most per joint price, what they share included. The first of the block is bought; the others
then cost their own price only, and follow if nothing better comes between.

By chance alone the best of many columns explains something too: what explains no more than that
is not bought, not even for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.boosting.purchases import Bought
from thrifty.learn.submodular_tree.gram import ROUNDING, Centered, Gram

__all__ = ["Buyer", "Explainer", "Layout"]

Floats = NDArray[np.float64]
# What is left of a column, relative to what it was, below which it is a combination of others.
# A condition of 1e5 leaves 1e-10; rounding about 1e-15.
NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Layout:
    """Which inputs belong to which column of the table: a category has several.

    Parameters
    ----------
    columns : int array (q,)
        Column of each input, increasing.
    n_columns : int
        Columns of the table; one may have no input (it never varies).
    """

    columns: NDArray[np.int64]
    n_columns: int

    @cached_property
    def members(self) -> list[NDArray[np.intp]]:
        """Inputs of each column."""
        starts = np.searchsorted(self.columns, np.arange(self.n_columns + 1))
        return [np.arange(a, b) for a, b in pairwise(starts)]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of inputs of each column."""
        return np.bincount(self.columns, minlength=self.n_columns)

    @cached_property
    def wide(self) -> list[int]:
        """Columns of more than one input."""
        return np.flatnonzero(self.sizes > 1).tolist()


class Explainer:
    """Least squares that grows by one column at a time.

    Parameters
    ----------
    sums : Centered
        Sums over the rows that are explained; `of` takes them from a `Gram`.
    least : array (q,)
        Sum of squares of each input that counts as nothing.
    layout : Layout
        Columns of the inputs.
    scale : float
        Sum of squares of the targets that rounding is relative to.

    Attributes
    ----------
    chosen : list of int
        Inputs so far, in the order in which they came.
    left : array (t,)
        Sum of squares of each target that is not explained.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.submodular_tree.gram import Gram
    >>> from thrifty.learn.submodular_tree.forward_selection import Explainer, Layout
    >>> Z = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> explainer = Explainer.of(Gram.of(Z, Z @ [[3.0], [1.0]]), Layout(np.arange(2), 2))
    >>> explainer.gains()
    array([18.,  2.])
    >>> explainer.add(0)
    >>> explainer.chosen, explainer.left
    ([0], array([2.]))
    """

    def __init__(self, sums: Centered, least: Floats, layout: Layout, scale: float) -> None:
        self.layout, self.scale = layout, scale
        self._inputs, self._cross, self.left = sums
        self._squares = self._inputs.diagonal().copy()
        self.total = float(self.left.sum())
        self._least = least
        self._steps = np.empty((8, len(least)))
        self.chosen: list[int] = []

    @classmethod
    def of(cls, gram: Gram, layout: Layout) -> Self:
        """Nothing is chosen yet."""
        least = NOTHING * np.maximum(gram.scale, np.finfo(float).tiny)
        return cls(gram.center(), least, layout, float(gram.target_scale.sum()))

    def part(self, columns: NDArray[np.intp]) -> Explainer:
        """What is left, with no inputs but those of some columns, in increasing order."""
        inputs = np.flatnonzero(np.isin(self.layout.columns, columns))
        sums = Centered(*self.remainder(inputs), self.left)
        layout = Layout(np.searchsorted(columns, self.layout.columns[inputs]), len(columns))
        return Explainer(sums, self._least[inputs], layout, self.scale)

    @property
    def explained(self) -> float:
        """Share of the squares of the targets that is explained, R2."""
        return 1.0 - float(self.left.sum()) / self.total if self.total > 0 else 0.0

    @property
    def is_done(self) -> bool:
        """Whether nothing but rounding is left to be explained."""
        return float(self.left.sum()) <= ROUNDING * self.scale

    def gains(self) -> Floats:
        """What each column of the table would explain more, (d,); 0 if it can add nothing."""
        live = self._squares > self._least
        each = np.zeros(len(live))
        each[live] = np.square(self._cross[live]).sum(axis=1) / self._squares[live]
        gains = np.zeros(self.layout.n_columns)
        gains[self.layout.columns] = each
        for column in self.layout.wide:
            gains[column] = self._joint_gain(self.layout.members[column])
        return gains

    def add(self, column: int) -> None:
        """Take a column, with all its inputs that are no combination of others."""
        members = self.layout.members[column]
        while len(members):
            best = members[np.argmax(self._squares[members])]
            if self._squares[best] <= self._least[best]:
                return
            self._add(int(best))
            members = members[members != best]

    def remainder(self, inputs: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Products among some inputs (m, m), and with the targets (m, t), of what is left."""
        steps = self._steps[: len(self.chosen), inputs]
        return self._inputs[np.ix_(inputs, inputs)] - steps.T @ steps, self._cross[inputs]

    def _add(self, j: int) -> None:
        count = len(self.chosen)
        if count == len(self._steps):
            self._steps = np.concatenate([self._steps, np.empty_like(self._steps)])
        root = np.sqrt(self._squares[j])
        before = self._steps[:count]
        step = (self._inputs[j] - before[:, j] @ before) / root
        weight = self._cross[j] / root
        self._cross = self._cross - np.outer(step, weight)
        self._squares -= np.square(step)
        self._squares[j], self._cross[j] = 0.0, 0.0
        self._steps[count] = step
        self.left = np.maximum(self.left - np.square(weight), 0.0)
        self.chosen.append(j)

    def _joint_gain(self, members: NDArray[np.intp]) -> float:
        squares, cross = self.remainder(members)
        values, vectors = np.linalg.eigh(squares)
        live = values > self._least[members].max()
        return float((np.square(vectors[:, live].T @ cross).sum(axis=1) / values[live]).sum())


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
    >>> from thrifty.learn.boosting.purchases import Bought
    >>> from thrifty.learn.submodular_tree.gram import Gram
    >>> from thrifty.learn.submodular_tree.forward_selection import Buyer
    >>> from thrifty.learn.submodular_tree.forward_selection import Explainer, Layout
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
