"""Growing trees: the arrays that live while an ensemble is fitted, and die with it.

Gain is the reduction of the squared error without the 1/2, so lambda of Xu 2014, eq. 2.5 enters twice;
it is a price per row, so it is multiplied by the weight of the rows that pay.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.hist_tree import Growth, advance, expand, plant
from thrifty.kernels.histogram import add_values, node_sums, quantize
from thrifty.kernels.threads import blocks, run, thread_count
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.boosting.purchases import Bought

__all__ = ["Grower"]

# Below this many bin updates a node is expanded at once: handing it to threads would cost more.
INLINE_WORK = 1 << 19


class Grower:
    """Grows one tree after another on the same table, from the same purse.

    Parameters
    ----------
    binned : Binned
        The table.
    bought : Bought
        What is paid for already; growing adds to it.
    penalty : float
        Gain that must be had for one unit of price, per row (lambda).
    max_depth : int
        Largest number of questions on the way to a leaf.
    min_samples_leaf : float
        Smallest weight of a leaf.
    weight : array (n,) or None
        Weights of the rows.
    max_leaves : int or None
        Largest number of leaves; the best splits come first.
    features : int array or None
        The features that trees may read; None for all.
    """

    def __init__(
        self,
        binned: Binned,
        bought: Bought,
        *,
        penalty: float = 0.0,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        weight: NDArray[np.float64] | None = None,
        max_leaves: int | None = None,
        features: NDArray[np.int64] | None = None,
    ) -> None:
        self.binned, self.bought, self.weight = binned, bought, weight
        self.features = features
        self.rate = 2.0 * penalty
        self.min_samples_leaf = min_samples_leaf
        self.rows_weight = binned.bins.shape[1] if weight is None else float(weight.sum())
        self.growth = self._allocate(max_depth, max_leaves)

    def grow(self, target: NDArray[np.float64]) -> Growth:
        """Fit one tree to `target` by least squares minus the price of what it buys.

        The result is valid until the next tree is grown.
        """
        growth = self.growth = self._start(target)
        plant(growth)
        # One thread expands everything inline; more take the wide nodes apart by features.
        inline = INLINE_WORK if thread_count() > 1 else np.iinfo(np.int64).max
        shares = blocks(len(growth.active), _share(len(growth.active)))
        parent = -1
        while True:
            run(partial(expand, growth, parent), shares)
            parent = advance(growth, inline)
            if parent < 0:
                return growth

    def gains(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Raw gain of the best split of all rows on each feature; nothing is bought."""
        growth = self._start(target)._replace(active=np.arange(len(self.binned.bins)))
        plant(growth)
        run(partial(expand, growth, -1), blocks(len(growth.active), _share(len(growth.active))))
        return np.asarray(growth.gain[0])

    def values(
        self, gradient: NDArray[np.float64], hessian: NDArray[np.float64] | None, damping: float
    ) -> NDArray[np.float64]:
        """Newton step of every node of the last tree: its sum of gradients over its hessians."""
        curve = np.empty(0) if hessian is None else hessian
        if self.weight is not None:
            gradient = gradient * self.weight
            curve = self.weight if hessian is None else hessian * self.weight
        sums = node_sums(*self._leaves(), gradient, curve)
        return np.asarray(sums[:, 0] / (sums[:, 1] + damping))

    def add(self, values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """Add the last tree's values to the rows it was grown on."""
        add_values(*self._leaves(), values, out)

    def _leaves(self) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64],
                               NDArray[np.int32], int]:  # fmt: skip
        growth = self.growth
        return growth.rows, growth.first, growth.last, growth.left, int(growth.count[0])

    def _start(self, target: NDArray[np.float64]) -> Growth:
        """The arrays of the last tree, reset for a new target and today's prices."""
        growth, bought = self.growth, self.bought
        quanta, units = quantize(target, self.weight)
        most = self._most(target)
        charge = self.rate * (self.rows_weight if bought.charge == "model" else units[1])
        own, shared = bought.prices.own * charge, bought.prices.shared * charge
        return growth._replace(
            quanta=quanta, units=units, own=own, shared=shared, due=bought.due() * charge,
            active=self._active(own, most),
            owed=self._owed(bought.paid, quanta), group_owed=self._owed(bought.group_paid, quanta),
            lightest=self._lightest(units[1]), floor=1e-12 * most,
        )  # fmt: skip

    def _lightest(self, unit: float) -> int:
        """Smallest weight of a leaf, in quanta; never zero, and beyond all rows at the most."""
        return max(1, int(min(np.ceil(self.min_samples_leaf / unit), 2.0**62)))

    def _most(self, target: NDArray[np.float64]) -> float:
        """Sum of squares: no tree can gain more."""
        weighted = target if self.weight is None else target * self.weight
        return float(np.sum(weighted * target))

    def _active(self, own: NDArray[np.float64], most: float) -> NDArray[np.int64]:
        """Features that this tree may come to use: bought, or cheaper than all there is to gain."""
        if self.features is not None:
            return self.features
        if self.bought.charge == "example":
            return np.arange(len(own))
        return np.flatnonzero((self.bought.features > 0) | (own < most))

    @staticmethod
    def _owed(paid: NDArray[np.uint8], quanta: NDArray[np.int64]) -> NDArray[np.int64]:
        """Weight, in quanta, of the rows that have not paid for each feature or group."""
        if not len(paid):
            return np.zeros(0, dtype=np.int64)
        weight = np.ones_like(quanta[0]) if len(quanta) == 1 else quanta[1]
        return np.array([weight[row == 0].sum() for row in paid], dtype=np.int64)

    def _allocate(self, max_depth: int, max_leaves: int | None) -> Growth:
        d, n = self.binned.bins.shape
        leaves = min(1 << max_depth, n + 1, max_leaves or n + 1)
        open_leaves = min(1 << (max_depth - 1), max(n, 1), leaves)
        nodes = 2 * leaves - 1
        planes = len(quantize(np.zeros(n), self.weight)[0])
        bought = self.bought
        return Growth(
            bins=self.binned.bins, categorical=self.binned.categorical.astype(np.uint8),
            width=self.binned.width, active=np.arange(d),
            quanta=np.empty((planes, n), np.int64), units=np.ones(2),
            rows=np.empty(n, np.uint32), ordered=np.empty((planes, n), np.int64),
            spare=np.empty(n + 1, np.uint32),
            first=np.empty(nodes, np.int64), last=np.empty(nodes, np.int64),
            depth=np.empty(nodes, np.int32), left=np.empty(nodes, np.int32),
            feature=np.empty(nodes, np.int32), goes_left=np.empty((nodes, 256), np.uint8),
            cut=np.empty(nodes, np.int32), slot=np.empty(nodes, np.int32),
            count=np.zeros(2, np.int64),
            hist=np.empty((open_leaves, planes, d, 256), np.int64),
            total=np.empty((nodes, 2), np.int64), gain=np.empty((nodes, d)),
            bin=np.empty((nodes, d), np.int32), missing_left=np.empty((nodes, d), np.uint8),
            unpaid=np.zeros((nodes if len(bought.paid) else 0, d), np.int64),
            group_unpaid=np.zeros((nodes if len(bought.paid) else 0, len(bought.prices.shared)),
                                  np.int64),
            own=np.zeros(d), shared=np.zeros(len(bought.prices.shared)), group=bought.prices.group,
            due=np.zeros(d), bought=bought.features, paid=bought.paid,
            group_paid=bought.group_paid, owed=np.zeros(0, np.int64),
            group_owed=np.zeros(0, np.int64),
            max_depth=max_depth, lightest=1, floor=0.0,
        )  # fmt: skip


def _share(features: int) -> int:
    """Features a thread takes: an even share, in fours, as histograms take them."""
    return max(4, -(-features // thread_count() // 4) * 4)
