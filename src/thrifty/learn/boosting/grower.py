"""Grow priced trees: the arrays that live while an ensemble is fitted, and die with it.

A split gains the reduction of the squared error without the factor 1/2, so lambda of Xu 2014,
eq. 2.5, enters twice. Lambda is a price per row: it is multiplied by the weight of the rows that
pay.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.hist_tree import Growth, advance, expand, plant
from thrifty.kernels.histogram import add_values, node_sums, quantize
from thrifty.kernels.threads import blocks, run, thread_count
from thrifty.learn.binned import Binned
from thrifty.learn.purchases import Purchases

__all__ = ["Grower"]

# Below this many bin updates, a node is expanded at once: handing it to threads would cost more.
INLINE_WORK = 1 << 19
# A split must gain more than this share of all there is to gain: rounding is no gain.
SMALLEST_GAIN = 1e-12


class Grower:
    """Grow one tree after another on the same table; all pay from the same purchases.

    Parameters
    ----------
    binned : Binned
        The table.
    purchases : Purchases
        What is paid for already; growing adds to it.
    penalty : float
        Gain per row that one unit of price must bring (lambda); may be changed between trees.
    max_depth : int
        Largest number of splits on the way to a leaf.
    min_samples_leaf : float
        Smallest weight of a leaf.
    weight : array of shape (n,) or None
        Weights of the rows.
    max_leaves : int or None
        Largest number of leaves; the best splits come first.
    features : int array or None
        The features that trees may read; None for all.
    """

    def __init__(
        self,
        binned: Binned,
        purchases: Purchases,
        *,
        penalty: float = 0.0,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        weight: NDArray[np.float64] | None = None,
        max_leaves: int | None = None,
        features: NDArray[np.int64] | None = None,
    ) -> None:
        self.binned, self.purchases, self.weight = binned, purchases, weight
        self.features = features
        self.penalty = penalty
        self.min_samples_leaf = min_samples_leaf
        self.total_weight = binned.bins.shape[1] if weight is None else float(weight.sum())
        self.growth = self._allocate(max_depth, max_leaves)

    def grow(self, target: NDArray[np.float64]) -> Growth:
        """Fit one tree to `target` by least squares minus the price of what it buys.

        The result is valid until the next tree is grown.
        """
        growth = self.growth = self._reset(target)
        plant(growth)
        # One thread expands everything inline; more of them share the features of large nodes.
        inline = INLINE_WORK if thread_count() > 1 else np.iinfo(np.int64).max
        shares = _feature_blocks(len(growth.active))
        parent = -1
        while True:
            run(partial(expand, growth, parent), shares)
            parent = advance(growth, inline)
            if parent < 0:
                return growth

    def gains(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gain of the best split of all rows on each feature, (d,); buy nothing.

        Overwrites the arrays of the last tree.
        """
        growth = self._reset(target)._replace(active=np.arange(len(self.binned.bins)))
        plant(growth)
        run(partial(expand, growth, -1), _feature_blocks(len(growth.active)))
        return np.asarray(growth.gain[0])

    def values(
        self, gradient: NDArray[np.float64], hessian: NDArray[np.float64] | None, damping: float
    ) -> NDArray[np.float64]:
        """Return the Newton step of every node of the last tree: sum of gradients over Hessians."""
        curvature = np.empty(0) if hessian is None else hessian
        if self.weight is not None:
            gradient = gradient * self.weight
            curvature = self.weight if hessian is None else hessian * self.weight
        growth = self.growth
        leaves = growth.rows, growth.first, growth.last, growth.left, int(growth.count[0])
        sums = node_sums(*leaves, gradient, curvature)
        return np.asarray(sums[:, 0] / (sums[:, 1] + damping))

    def add(self, values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """Add the last tree's values to `out` (n,), at the rows that it was grown on."""
        growth = self.growth
        leaves = growth.rows, growth.first, growth.last, growth.left, int(growth.count[0])
        add_values(*leaves, values, out)

    def _reset(self, target: NDArray[np.float64]) -> Growth:
        """Prepare the arrays of the last tree for a new target and the present prices."""
        purchases, prices = self.purchases, self.purchases.prices
        quanta, units = quantize(target, self.weight)
        each_pays = purchases.charge == "example"
        charge = 2.0 * self.penalty * (units[1] if each_pays else self.total_weight)
        own, shared = prices.own * charge, prices.shared * charge
        weighted = target if self.weight is None else target * self.weight
        largest_gain = float(np.sum(weighted * target))
        if self.features is not None:
            active = self.features
        elif each_pays:
            active = np.arange(len(own))
        else:
            # What is neither bought nor cheaper than all there is to gain will not be used.
            active = np.flatnonzero((purchases.features > 0) | (own < largest_gain))
        # In quanta of weight: never zero, and at most beyond all rows.
        lightest_leaf = max(1, int(min(np.ceil(self.min_samples_leaf / units[1]), 2.0**62)))
        return self.growth._replace(
            quanta=quanta, units=units, own=own, shared=shared, due=purchases.due() * charge,
            active=active,
            owed=_unpaid_weight(purchases.paid, quanta),
            group_owed=_unpaid_weight(purchases.group_paid, quanta),
            lightest=lightest_leaf, floor=SMALLEST_GAIN * largest_gain,
        )  # fmt: skip

    def _allocate(self, max_depth: int, max_leaves: int | None) -> Growth:
        """Allocate the arrays that every tree of this grower uses."""
        d, n = self.binned.bins.shape
        leaves = min(1 << max_depth, n + 1, max_leaves or n + 1)
        open_leaves = min(1 << (max_depth - 1), max(n, 1), leaves)
        nodes = 2 * leaves - 1
        planes = len(quantize(np.zeros(n), self.weight)[0])
        purchases, prices = self.purchases, self.purchases.prices
        groups, each_pays = len(prices.shared), len(purchases.paid) > 0
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
            unpaid=np.zeros((nodes if each_pays else 0, d), np.int64),
            group_unpaid=np.zeros((nodes if each_pays else 0, groups), np.int64),
            own=np.zeros(d), shared=np.zeros(groups), group=prices.group,
            due=np.zeros(d), bought=purchases.features, paid=purchases.paid,
            group_paid=purchases.group_paid, owed=np.zeros(0, np.int64),
            group_owed=np.zeros(0, np.int64),
            max_depth=max_depth, lightest=1, floor=0.0,
        )  # fmt: skip


def _unpaid_weight(paid: NDArray[np.uint8], quanta: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the weight, in quanta, of the rows that have not paid for each feature or group."""
    if not len(paid):
        return np.zeros(0, dtype=np.int64)
    weight = np.ones_like(quanta[0]) if len(quanta) == 1 else quanta[1]
    return np.array([weight[row == 0].sum() for row in paid], dtype=np.int64)


def _feature_blocks(features: int) -> list[tuple[int, int]]:
    """Share features evenly among the threads, in fours, as histograms take them."""
    return blocks(features, max(4, -(-features // thread_count() // 4) * 4))
