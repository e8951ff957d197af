"""Grow priced trees: the arrays that live while an ensemble is fitted, and die with it.

A split gains the reduction of the squared error without the factor 1/2, so lambda of Xu 2014,
eq. 2.5, enters twice. Lambda is a price per row: it is multiplied by the weight of the rows that
pay.
"""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.fixed_point import (
    SUM_BITS,
    WIDE_BITS,
    fixed_sum,
    quantize,
    total_size,
    unit_of,
)
from thrifty.kernels.growth import Blocks, Candidates, Growth, Prices, Table, Targets, Tree
from thrifty.kernels.hist_tree import advance, expand, plant
from thrifty.kernels.histogram import add_values, node_sums
from thrifty.kernels.threads import blocks, run, thread_count
from thrifty.learn.binned import Binned
from thrifty.learn.purchases import Purchases

__all__ = ["Grower", "GrownTree"]

# Below this many bin updates, a node is expanded at once: handing it to threads would cost more.
INLINE_WORK = 1 << 17
ALL_INLINE = (1 << 63) - 1
# Up to here one histogram of all rows is packed, see `kernels.histogram`.
MAX_PACKED_ROWS = (1 << 22) - 1
# Rows of a block of a longer table.
BLOCK_ROWS = 1 << 20
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
        self.total_weight = binned.n_rows if weight is None else fixed_sum(weight)
        self.max_depth = max_depth
        self._considered: tuple[NDArray[np.int64], Candidates] | None = None
        self._allocate(max_leaves)

    def grow(self, target: NDArray[np.float64]) -> GrownTree:
        """Fit one tree to `target` by least squares minus the price of what it buys.

        The result is valid until the next tree is grown.
        """
        growth, features = self._start(target, self.features)
        # One thread expands everything inline; more of them share the features of large nodes.
        if thread_count() == 1:
            expand(growth, -1, 0, features)
            advance(growth, ALL_INLINE)
        else:
            shares = _feature_blocks(features)
            parent = -1
            while True:
                run(partial(expand, growth, parent), shares)
                parent = advance(growth, INLINE_WORK)
                if parent < 0:
                    break
        self.grown = self._room.trim(self._tree.nodes)
        return self.grown

    def gains(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gain of the best split of all rows on each feature, (d,); buy nothing.

        Overwrites the arrays of the last tree.
        """
        growth, features = self._start(target, np.arange(self.binned.n_features))
        run(partial(expand, growth, -1), _feature_blocks(features))
        return np.asarray(self._room.gain[0])

    def values(
        self, gradient: NDArray[np.float64], hessian: NDArray[np.float64] | None, damping: float
    ) -> NDArray[np.float64]:
        """Return the Newton step of every node of the last tree: sum of gradients over Hessians."""
        target, target_unit = self._last_target
        curvature = np.empty(0) if hessian is None else hessian
        weighted = gradient if self.weight is None else gradient * self.weight
        if self.weight is not None:
            curvature = self.weight if hessian is None else hessian * self.weight
        unit = target_unit if gradient is target else unit_of(total_size(weighted), WIDE_BITS)
        units = np.array([unit, unit_of(total_size(curvature), WIDE_BITS)])
        tree = self.grown
        sums = units * node_sums(self._blocks, tree.left, tree.n_rows, weighted, curvature, units)
        return np.asarray(sums[:, 0] / (sums[:, 1] + damping))

    def add(self, values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """Add the last tree's values to `out` (n,), at the rows that it was grown on."""
        add_values(self._blocks, self.grown.left, values, out)

    def _start(
        self, target: NDArray[np.float64], features: NDArray[np.int64] | None
    ) -> tuple[Growth, int]:
        """Make the root of a tree for `target` at the present prices.

        Returns it with the number of features that it may read: `features`, or all that can pay.
        """
        purchases, prices = self.purchases, self.purchases.prices
        quanta, units = quantize(target, self.weight)
        # Sums of leaves are as wide as those with weights: 21 bits more than packed ones.
        narrower = 0 if self.weight is not None else WIDE_BITS - SUM_BITS
        self._last_target = target, math.ldexp(units[0], -narrower)
        each_pays = purchases.charge == "example"
        charge = 2.0 * self.penalty * (units[1] if each_pays else self.total_weight)
        weighted = target if self.weight is None else target * self.weight
        largest_gain = total_size(weighted, target)
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
            self._blocks,
            Targets(quanta, units, self._ordered),
            self._tree,
            self._candidates_on(features),
            self._free if charge == 0 and not each_pays else self._charged(charge, quanta),
            self.max_depth,
            lightest_leaf,
            SMALLEST_GAIN * largest_gain,
        )
        plant(growth)
        return growth, len(features)

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
            purchases.features, purchases.paid, purchases.group_paid,
            _unpaid_weight(purchases.paid, quanta), _unpaid_weight(purchases.group_paid, quanta),
            *self._unpaid,
        )  # fmt: skip

    @cached_property
    def _free(self) -> Prices:
        """Prices while nothing costs anything: the same for all trees."""
        return self._charged(0.0, np.empty((0, 0), np.int64))

    def _allocate(self, max_leaves: int | None) -> None:
        """Allocate the arrays that every tree of this grower uses."""
        binned, d, n = self.binned, self.binned.n_features, self.binned.n_rows
        leaves = min(1 << self.max_depth, n + 1, max_leaves or n + 1)
        open_leaves = min(1 << (self.max_depth - 1), max(n, 1), leaves)
        nodes = 2 * leaves - 1
        room = self._room = GrownTree.empty(nodes, d)
        self._table = Table(binned.stored, binned.categorical.astype(np.uint8), binned.width)
        self._tree = Tree(
            room.left, room.feature, room.cut, room.goes_left, room.depth, room.n_rows,
            slot=np.empty(nodes, np.int32),
        )  # fmt: skip
        begin, part = _cut_rows(binned)
        row_planes = 1 if self.weight is None else 2
        planes = row_planes if len(part) == 1 else 2
        self._blocks = Blocks(
            begin, part, base=part * binned.stored.shape[2],
            first=np.zeros((len(part), nodes), np.int64),
            last=np.zeros((len(part), nodes), np.int64), rows=np.empty(n, np.uint32),
            spare=np.empty(int(np.diff(begin).max()) + 1, np.uint32),
            partial=np.empty((planes - row_planes, 1, d, 256), np.int64),
        )  # fmt: skip
        self._ordered = np.empty((row_planes, n), np.int64)
        hist = np.empty((open_leaves, planes, d, 256), np.int64)
        total, cut = np.empty((nodes, 2), np.int64), np.empty((nodes, d), np.int32)
        self._candidates = hist, total, room.gain, cut, np.empty((nodes, d), np.uint8)
        payers, groups = nodes if len(self.purchases.paid) else 0, len(self.purchases.group_paid)
        self._unpaid = np.zeros((payers, d), np.int64), np.zeros((payers, groups), np.int64)


def _cut_rows(binned: Binned) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut the rows of a table into blocks; return where they begin, and their parts."""
    n_parts, _, size = binned.stored.shape
    if n_parts == 1 and binned.n_rows <= MAX_PACKED_ROWS:
        return np.array([0, binned.n_rows], dtype=np.int64), np.zeros(1, dtype=np.int64)
    begin, part = [0], []
    for k in range(n_parts):
        for _, last in blocks(min(size, binned.n_rows - k * size), BLOCK_ROWS):
            begin.append(k * size + last)
            part.append(k)
    return np.array(begin, dtype=np.int64), np.array(part, dtype=np.int64)


def _unpaid_weight(paid: NDArray[np.uint8], quanta: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the weight, in quanta, of the rows that have not paid for each feature or group."""
    if not len(paid):
        return np.zeros(0, dtype=np.int64)
    weight = np.ones_like(quanta[0]) if len(quanta) == 1 else quanta[1]
    return np.array([weight[row == 0].sum() for row in paid], dtype=np.int64)


def _feature_blocks(features: int) -> list[tuple[int, int]]:
    """Share features evenly among the threads, in fours, as histograms take them."""
    return blocks(features, max(4, -(-features // thread_count() // 4) * 4))
