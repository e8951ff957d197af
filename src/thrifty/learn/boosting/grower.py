"""Grow priced trees: the arrays that live while an ensemble is fitted, and die with it.

A `TreeHead` decides the splits; a `Grower` adds the rows, in blocks.
"""

from __future__ import annotations

import math
from functools import partial

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
from thrifty.kernels.growth import Blocks, Growth
from thrifty.kernels.hist_tree import advance, expand
from thrifty.kernels.histogram import add_values, node_sums
from thrifty.kernels.threads import blocks, run, thread_count
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.tree_head import GrownTree, TreeHead
from thrifty.learn.purchases import Purchases

__all__ = ["Grower", "GrownTree"]

# Below this many bin updates, a node is expanded at once: handing it to threads would cost more.
INLINE_WORK = 1 << 17
ALL_INLINE = (1 << 63) - 1
# Up to here one histogram of all rows is packed, see `kernels.histogram`.
MAX_PACKED_ROWS = (1 << 22) - 1
# Rows of a block of a longer table.
BLOCK_ROWS = 1 << 20


class Grower(TreeHead):
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
        begin, part = _cut_rows(binned)
        row_planes = 1 if weight is None else 2
        planes = row_planes if len(part) == 1 else 2
        super().__init__(
            binned,
            purchases,
            total_weight=binned.n_rows if weight is None else fixed_sum(weight),
            planes=planes,
            penalty=penalty,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            max_leaves=max_leaves,
        )
        self.weight, self.features = weight, features
        nodes = len(self._room.left)
        self._blocks = Blocks(
            begin, part, base=part * binned.stored.shape[2],
            first=np.zeros((len(part), nodes), np.int64),
            last=np.zeros((len(part), nodes), np.int64), rows=np.empty(binned.n_rows, np.uint32),
            spare=np.empty(int(np.diff(begin).max()) + 1, np.uint32),
            partial=np.empty((planes - row_planes, 1, binned.n_features, 256), np.int64),
        )  # fmt: skip
        self._ordered = np.empty((row_planes, binned.n_rows), np.int64)

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
        return np.array(self._room.gain[0])  # a copy: other outputs overwrite it

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

    def total_due(self) -> NDArray[np.float64]:
        """Return what all rows together, weighted, would pay now to read each feature, (d,)."""
        return self.purchases.total_due(self.weight)

    def _start(
        self, target: NDArray[np.float64], features: NDArray[np.int64] | None
    ) -> tuple[Growth, int]:
        """Make the root of a tree for `target` at the present prices.

        Returns it with the number of features that it may read: `features`, or all that can pay.
        """
        quanta, units = quantize(target, self.weight)
        # Sums of leaves are as wide as those with weights: 21 bits more than packed ones.
        narrower = 0 if self.weight is not None else WIDE_BITS - SUM_BITS
        self._last_target = target, math.ldexp(units[0], -narrower)
        weighted = target if self.weight is None else target * self.weight
        largest_gain = total_size(weighted, target)
        growth, features = self._plant(
            self._blocks, self._ordered, quanta, units, largest_gain, features
        )
        return growth, len(features)


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


def _feature_blocks(features: int) -> list[tuple[int, int]]:
    """Share features evenly among the threads, in fours, as histograms take them."""
    return blocks(features, max(4, -(-features // thread_count() // 4) * 4))
