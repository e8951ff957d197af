"""What a node buys: greedy forward selection by explained variance per price.

`Explainer` is the selection itself (Kusner et al. 2014, eq. 7 and 11). The paper keeps a QR
decomposition of the n rows. The same gains follow from the Gram matrix: given the chosen columns
S, a column j explains ``r_j^2 / g_j`` more, where r and g are the products with the target and the
sums of squares of what S leaves of each column. A Cholesky step updates both without another pass
over the rows.

`Buyer` spends a budget (eq. 7). A column costs its own price, plus the shared price of its group
if it is the first one bought of it. Whether a group is worth entering is decided for its best part
as a block: the columns that together explain the most per joint price, the shared price included.
The first column of the block is bought; the others then cost only their own price, and follow
unless something better comes first.

The best of many columns explains something by chance alone. A column that explains no more than
that is not bought, even if it is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.purchases import Purchases
from thrifty.learn.submodular_tree.gram import ROUNDING_TOL, Centered, Gram

__all__ = ["Buyer", "Explainer", "Layout"]

Floats = NDArray[np.float64]
# A column whose remaining sum of squares, relative to the original, is smaller is a combination of
# the chosen ones. A condition number of 1e5 leaves 1e-10; rounding leaves about 1e-15.
DEPENDENCE_TOL = 1e-12
# Relative difference of gains, or of sums of prices, that may be due to rounding.
TIE_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class Layout:
    """Which inputs belong to which column of the table: a category has several.

    Parameters
    ----------
    columns : int array of shape (q,)
        Column of each input, in increasing order.
    n_columns : int
        Number of columns of the table. One that does not vary has no input.
    """

    columns: NDArray[np.int64]
    n_columns: int

    @cached_property
    def inputs(self) -> list[NDArray[np.intp]]:
        """Inputs of each column."""
        starts = np.searchsorted(self.columns, np.arange(self.n_columns + 1))
        return [np.arange(a, b) for a, b in pairwise(starts)]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of inputs of each column, (d,)."""
        return np.bincount(self.columns, minlength=self.n_columns)


class Explainer:
    """Least squares that grows by one column at a time, computed from sums over the rows.

    Parameters
    ----------
    sums : Centered
        Sums over the rows; `of` takes them from a `Gram`.
    smallest : array of shape (q,)
        Sum of squares of each input below which it counts as 0.
    layout : Layout
        Columns of the inputs.
    scale : float
        Sum of squares of the targets; rounding errors are relative to it.

    Attributes
    ----------
    chosen : list of int
        Inputs so far, in the order in which they were chosen.
    residual : array of shape (t,)
        Sum of squares of each target that is not explained yet.

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
    >>> explainer.chosen, explainer.residual
    ([0], array([2.]))
    """

    def __init__(self, sums: Centered, smallest: Floats, layout: Layout, scale: float) -> None:
        self.layout, self.scale = layout, scale
        self._inputs, self._cross, self.residual = sums
        # What the chosen inputs leave of the sum of squares of each input.
        self._squares = self._inputs.diagonal().copy()
        self.total = float(self.residual.sum())
        self._smallest = smallest
        # Rows of the Cholesky factor, one per chosen input; the array grows when it is full.
        self._factor = np.empty((8, len(smallest)))
        self.chosen: list[int] = []

    @classmethod
    def of(cls, gram: Gram, layout: Layout) -> Self:
        """Start with nothing chosen."""
        smallest = DEPENDENCE_TOL * np.maximum(gram.scale, np.finfo(float).tiny)
        return cls(gram.center(), smallest, layout, float(gram.target_scale.sum()))

    def restrict(self, columns: NDArray[np.intp]) -> Explainer:
        """Return an explainer of the residuals that has only some columns, in increasing order."""
        inputs = np.flatnonzero(np.isin(self.layout.columns, columns))
        sums = Centered(*self.remainder(inputs), self.residual)
        layout = Layout(np.searchsorted(columns, self.layout.columns[inputs]), len(columns))
        return Explainer(sums, self._smallest[inputs], layout, self.scale)

    @property
    def r2(self) -> float:
        """Share of the variance of the targets that is explained."""
        return 1.0 - float(self.residual.sum()) / self.total if self.total > 0 else 0.0

    @property
    def is_done(self) -> bool:
        """Whether only rounding errors are left to be explained."""
        return float(self.residual.sum()) <= ROUNDING_TOL * self.scale

    def gains(self) -> Floats:
        """Return the sum of squares that each column would explain in addition, (d,)."""
        live = self._squares > self._smallest
        each = np.zeros(len(live))
        each[live] = np.square(self._cross[live]).sum(axis=1) / self._squares[live]
        gains = np.zeros(self.layout.n_columns)
        gains[self.layout.columns] = each
        # A column of several inputs explains what they explain together.
        for column in np.flatnonzero(self.layout.sizes > 1).tolist():
            inputs = self.layout.inputs[column]
            squares, cross = self.remainder(inputs)
            values, vectors = np.linalg.eigh(squares)
            live = values > self._smallest[inputs].max()
            explained = np.square(vectors[:, live].T @ cross).sum(axis=1) / values[live]
            gains[column] = float(explained.sum())
        return gains

    def add(self, column: int) -> None:
        """Choose a column: all its inputs that are not a combination of others."""
        inputs = self.layout.inputs[column]
        while len(inputs):
            j = int(inputs[np.argmax(self._squares[inputs])])
            if self._squares[j] <= self._smallest[j]:
                return
            count = len(self.chosen)
            if count == len(self._factor):
                self._factor = np.concatenate([self._factor, np.empty_like(self._factor)])
            root = np.sqrt(self._squares[j])
            before = self._factor[:count]
            row = (self._inputs[j] - before[:, j] @ before) / root
            target_row = self._cross[j] / root
            self._cross = self._cross - np.outer(row, target_row)
            self._squares -= np.square(row)
            self._squares[j], self._cross[j] = 0.0, 0.0
            self._factor[count] = row
            self.residual = np.maximum(self.residual - np.square(target_row), 0.0)
            self.chosen.append(j)
            inputs = inputs[inputs != j]

    def remainder(self, inputs: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return what is left of the products among some inputs (m, m), and with targets (m, t)."""
        factor = self._factor[: len(self.chosen), inputs]
        return self._inputs[np.ix_(inputs, inputs)] - factor.T @ factor, self._cross[inputs]


class Buyer:
    """Spends the budget of one node on columns.

    Parameters
    ----------
    explainer : Explainer
        Grows by the columns that are bought.
    purchases : Purchases
        What the nodes above have paid for; columns that are bought here are added.
    total_weight : float
        Number of rows, or sum of their weights; infinite to ignore chance.
    stop_at_first : bool
        Whether to stop at the first column that the budget does not cover, as in the paper, or to
        look for cheaper ones.

    Attributes
    ----------
    columns : list of int
        Columns that the node reads, in the order in which they were bought.
    spent : list of float
        Cost of all purchases up to each of these.

    Examples
    --------
    The first column explains four times as much as the second, but costs nine times as much:

    >>> import numpy as np
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.purchases import Purchases
    >>> from thrifty.learn.submodular_tree.gram import Gram
    >>> from thrifty.learn.submodular_tree.forward_selection import Buyer
    >>> from thrifty.learn.submodular_tree.forward_selection import Explainer, Layout
    >>> Z = np.random.default_rng(0).normal(size=(100, 3))
    >>> explainer = Explainer.of(Gram.of(Z, Z @ [[2.0], [1.0], [0.0]]), Layout(np.arange(3), 3))
    >>> buyer = Buyer(explainer, Purchases(Prices([9.0, 1.0, 1.0]).bind(3), 100, "model"), 100.0)
    >>> buyer.spend(10.0)
    >>> buyer.columns, buyer.spent
    ([1, 0], [1.0, 10.0])
    """

    def __init__(
        self,
        explainer: Explainer,
        purchases: Purchases,
        total_weight: float,
        stop_at_first: bool = False,
    ) -> None:
        self.explainer, self.purchases, self.total_weight = explainer, purchases, total_weight
        self.stop_at_first = stop_at_first
        self.columns: list[int] = []
        self.spent: list[float] = []
        self._untried = explainer.layout.sizes > 0

    def spend(self, budget: float) -> None:
        """Buy columns until none that is worth its price fits into the budget."""
        left = (1.0 + TIE_TOL) * budget
        while (choice := self._choose(left)) is not None:
            column, price = choice
            self._untried[column] = False
            before = len(self.explainer.chosen)
            self.explainer.add(column)
            if len(self.explainer.chosen) == before:  # a combination of the others after all
                continue
            self.purchases.features[column] = 1
            left -= price
            self.columns.append(column)
            self.spent.append(price + (self.spent[-1] if self.spent else 0.0))

    def _choose(self, left: float) -> tuple[int, float] | None:
        """Return the next column and its price, or None if nothing is worth buying."""
        gains, due = self.explainer.gains(), self.purchases.due()
        candidates = self._untried & (gains > self._gain_by_chance(self.explainer))
        if not self.stop_at_first:
            candidates &= due <= left
        if not candidates.any():
            return None
        best, rate = _best_rate(gains, due, candidates)
        if due[best] > left:
            return None
        if not np.isfinite(rate):  # free columns come first
            return best, float(due[best])
        # A group that no purchase has entered yet competes as a block.
        group, shared = self.purchases.prices.group, self.purchases.prices.shared
        closed = shared > 0.0
        closed[np.unique(group[(self.purchases.features > 0) & (group >= 0)])] = False
        for g in np.flatnonzero(closed):
            members = np.flatnonzero(candidates & (group == g))
            if len(members) > 1:
                first, block_rate = self._best_block(members, float(shared[g]), left)
                if block_rate > (1.0 + TIE_TOL) * rate:
                    best, rate = first, block_rate
        return best, float(due[best])

    def _best_block(
        self, members: NDArray[np.intp], shared: float, left: float
    ) -> tuple[int, float]:
        """Return the first column of the best part of a group, and the gain of it per price."""
        own = self.purchases.prices.own[members]
        block = self.explainer.restrict(members)
        before = block.residual.sum()
        price, best, first = shared, 0.0, -1
        taken = np.zeros(len(members), dtype=bool)
        while True:
            gains = block.gains()
            fits = ~taken & (gains > self._gain_by_chance(block)) & (price + own <= left)
            if not fits.any():
                break
            j, rate = _best_rate(gains, own, fits)
            if rate <= best:  # from here on the block would only get worse
                break
            first = j if first < 0 else first
            block.add(j)
            taken[j] = True
            price += own[j]
            best = max(best, float(before - block.residual.sum()) / price)
        return int(members[first]), best

    def _gain_by_chance(self, explainer: Explainer) -> Floats:
        """Return what the best of all columns would explain by chance, by number of inputs, (d,).

        A column of pure noise explains the noise times a chi-squared variable with one degree of
        freedom per input and target; the largest of d of them stays below this bound (Laurent and
        Massart 2000).
        """
        sizes, targets = explainer.layout.sizes, len(explainer.residual)
        spare = self.total_weight - len(explainer.chosen) - 1.0
        noise = float(explainer.residual.mean()) / max(spare, 1.0)
        degrees, log = sizes * targets, np.log(max(len(self._untried), 2))
        bound = noise * (degrees + 2.0 * np.sqrt(degrees * log) + 2.0 * log)
        bound = np.maximum(bound, ROUNDING_TOL * explainer.scale)
        return np.where(spare > sizes, bound, np.inf)


def _best_rate(gains: Floats, prices: Floats, among: NDArray[np.bool_]) -> tuple[int, float]:
    """Return the column of the largest gain per price and that rate, infinite if it is free.

    Of the columns that tie up to rounding, it is the first.
    """
    free = among & (prices <= 0.0)
    if free.any():
        values = np.where(free, gains, -1.0)
    else:
        values = np.where(among, gains / np.where(prices > 0.0, prices, 1.0), -1.0)
    best = int(np.argmax(values >= (1.0 - TIE_TOL) * values.max()))
    return best, np.inf if free.any() else float(values[best])
