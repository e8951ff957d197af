"""What decides the splits of a tree, and knows no rows: the tree, candidates, prices and limits.

A split gains the reduction of the squared error without the factor 1/2, so lambda of Xu 2014,
eq. 2.5, enters twice. Lambda is a price per row: it is multiplied by the weight of the rows that
pay.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.growth import Blocks, Candidates, Growth, Prices, Table, Targets, Tree
from thrifty.kernels.hist_tree import plant
from thrifty.learn.binned import Binned
from thrifty.learn.purchases import Purchases

__all__ = ["GrownTree", "TreeHead"]

# A split must gain more than this share of all there is to gain: rounding is no gain.
SMALLEST_GAIN = 1e-12


class GrownTree(NamedTuple):
    """A tree as it was grown, by node; siblings are neighbors, and node 0 is the root.

    Attributes
    ----------
    left : int32 array (nodes,)
        Left child; -1 for a leaf.
    feature : int32 array (nodes,)
        Feature of a split.
    cut : int32 array (nodes,)
        Last bin that goes left at a split on an ordered feature.
    goes_left : uint8 array (nodes, 256)
        1 for the bins that go left.
    depth : int32 array (nodes,)
        Number of splits above the node.
    n_rows : int64 array (nodes,)
        Number of training rows.
    gain : float64 array (nodes, d)
        Gain of the best split on each feature, before prices.
    """

    left: NDArray[np.int32]
    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    goes_left: NDArray[np.uint8]
    depth: NDArray[np.int32]
    n_rows: NDArray[np.int64]
    gain: NDArray[np.float64]

    @classmethod
    def empty(cls, nodes: int, features: int) -> Self:
        """Allocate room for a tree of up to `nodes` nodes."""
        return cls(
            left=np.empty(nodes, np.int32), feature=np.empty(nodes, np.int32),
            cut=np.empty(nodes, np.int32), goes_left=np.empty((nodes, 256), np.uint8),
            depth=np.empty(nodes, np.int32), n_rows=np.empty(nodes, np.int64),
            gain=np.empty((nodes, features)),
        )  # fmt: skip

    def trim(self, nodes: int) -> Self:
        """Return a view of the first `nodes` nodes."""
        return self._replace(
            left=self.left[:nodes], feature=self.feature[:nodes], cut=self.cut[:nodes],
            goes_left=self.goes_left[:nodes], depth=self.depth[:nodes],
            n_rows=self.n_rows[:nodes], gain=self.gain[:nodes],
        )  # fmt: skip


class TreeHead:
    """Decide one tree after another on the same table; all pay from the same purchases.

    Parameters
    ----------
    binned : Binned
        The table.
    purchases : Purchases
        What is paid for already; growing adds to it.
    total_weight : float
        Weight of all rows.
    planes : int
        Planes of the histograms, see `kernels.histogram`.
    penalty : float
        Gain per row that one unit of price must bring (lambda); may be changed between trees.
    max_depth : int
        Largest number of splits on the way to a leaf.
    min_samples_leaf : float
        Smallest weight of a leaf.
    max_leaves : int or None
        Largest number of leaves; the best splits come first.
    """

    def __init__(
        self,
        binned: Binned,
        purchases: Purchases,
        *,
        total_weight: float,
        planes: int,
        penalty: float,
        max_depth: int,
        min_samples_leaf: float,
        max_leaves: int | None = None,
    ) -> None:
        self.binned, self.purchases, self.total_weight = binned, purchases, total_weight
        self.penalty, self.max_depth = penalty, max_depth
        self.min_samples_leaf = min_samples_leaf
        self._considered: tuple[NDArray[np.int64], Candidates] | None = None
        d, n = binned.n_features, binned.n_rows
        leaves = min(1 << max_depth, max_leaves or n + 1)
        open_leaves = min(1 << (max_depth - 1), max(n, 1), leaves)
        nodes = 2 * leaves - 1
        room = self._room = GrownTree.empty(nodes, d)
        self._table = Table(binned.stored, binned.categorical.astype(np.uint8), binned.width)
        self._slot = np.empty(nodes, np.int32)
        self._tree = Tree(
            room.left, room.feature, room.cut, room.goes_left, room.depth, room.n_rows,
            slot=self._slot,
        )  # fmt: skip
        hist = np.empty((open_leaves, planes, d, 256), np.int64)
        total, cut = np.empty((nodes, 2), np.int64), np.empty((nodes, d), np.int32)
        self._candidates = hist, total, room.gain, cut, np.empty((nodes, d), np.uint8)
        payers, groups = nodes if len(purchases.paid) else 0, len(purchases.group_paid)
        self._unpaid = np.zeros((payers, d), np.int64), np.zeros((payers, groups), np.int64)

    def total_due(self) -> NDArray[np.float64]:
        """Return what all rows together, weighted, would pay now to read each feature, (d,)."""
        raise NotImplementedError

    def _plant(
        self,
        blocks: Blocks,
        ordered: NDArray[np.int64],
        quanta: NDArray[np.int64],
        units: NDArray[np.float64],
        largest_gain: float,
        features: NDArray[np.int64] | None,
    ) -> tuple[Growth, NDArray[np.int64]]:
        """Make the root of a tree for quanta of the target at the present prices.

        Returns it with the features that it may read: `features`, or all that can pay.
        """
        purchases, prices = self.purchases, self.purchases.prices
        each_pays = purchases.charge == "example"
        charge = 2.0 * self.penalty * (units[1] if each_pays else self.total_weight)
        if features is None and each_pays:
            features = np.arange(len(prices.own))
        elif features is None:
            # What is neither bought nor cheaper than all there is to gain will not be used.
            cheap = prices.own * charge < largest_gain
            features = np.flatnonzero((purchases.features > 0) | cheap)
        # In quanta of weight: never zero, and at most beyond all rows.
        lightest_leaf = max(1, int(min(math.ceil(self.min_samples_leaf / units[1]), 2.0**62)))
        growth = Growth(
            self._table,
            blocks,
            Targets(quanta, units, ordered),
            self._tree,
            self._candidates_on(features),
            self._free if charge == 0 and not each_pays else self._charged(charge, quanta),
            self.max_depth,
            lightest_leaf,
            SMALLEST_GAIN * largest_gain,
        )
        plant(growth)
        return growth, features

    def _candidates_on(self, features: NDArray[np.int64]) -> Candidates:
        """Return the candidates for splits on these features; those of the last tree, if equal."""
        if self._considered is None or self._considered[0] is not features:
            self._considered = features, Candidates(*self._candidates, features)
        return self._considered[1]

    def _charged(self, charge: float, quanta: NDArray[np.int64]) -> Prices:
        """Return the present prices, times `charge`."""
        purchases, prices = self.purchases, self.purchases.prices
        return Prices(
            prices.own * charge, prices.shared * charge, prices.group, purchases.due() * charge,
            purchases.features, purchases.paid, purchases.group_paid, *self._owed(quanta),
            *self._unpaid,
        )  # fmt: skip

    def _owed(self, quanta: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the weight of the rows that have not paid for each feature, and each group."""
        purchases = self.purchases
        return _unpaid_weight(purchases.paid, quanta), _unpaid_weight(purchases.group_paid, quanta)

    @cached_property
    def _free(self) -> Prices:
        """Prices while nothing costs anything: the same for all trees."""
        return self._charged(0.0, np.empty((0, 0), np.int64))


def _unpaid_weight(paid: NDArray[np.uint8], quanta: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the weight, in quanta, of the rows that have not paid for each feature or group."""
    if not len(paid):
        return np.zeros(0, dtype=np.int64)
    weight = np.ones_like(quanta[0]) if len(quanta) == 1 else quanta[1]
    return np.array([weight[row == 0].sum() for row in paid], dtype=np.int64)
