"""Boosting on the workers of a cluster, which hold the rows: the head here decides.

A message goes to all parts at once. A round of boosting takes two (`derive`, `weigh`: the largest
derivatives, then their sums, which set the units of fixed point), and each tree one for its root,
one for each split whose children may be split again, and one for the sums of its nodes: eleven in
all for a tree of depth 4. A split is answered by the histogram of its smaller child, 2 kB for each
feature and part, or 4 kB with weights; if each row pays, with the weight of its rows that have not
paid yet. The trees are those of all rows in one table, to the bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.fixed_point import SUM_BITS, WIDE_BITS, unit_of
from thrifty.kernels.growth import Blocks, Growth
from thrifty.kernels.hist_tree import advance, rate_children
from thrifty.kernels.splits import COUNT_BITS
from thrifty.learn.binned import BinnedParts
from thrifty.learn.boosting.ensemble import Boosting, ForestBuilder
from thrifty.learn.boosting.tree_head import GrownTree, TreeHead
from thrifty.learn.boosting.tree_part import Debts, Split
from thrifty.learn.cluster.parts import Parts
from thrifty.learn.losses import Loss
from thrifty.learn.purchases import Purchases

__all__ = ["ClusterBoosting", "ClusterGrower", "RowSums", "sum_rows"]

# Every split whose children need histograms ends `advance`: they are counted elsewhere.
NONE_INLINE = -1
# Messages that no longer matter when their tree has been added to the outputs.
OF_ONE_TREE = ("root", "split", "sums")


class RowSums(NamedTuple):
    """Sums over all rows that are known before the first tree.

    Attributes
    ----------
    mean : array of shape (k,)
        Weighted means of `Loss.start_rows`.
    weight : float
        Weight of all rows: their number, if they have no weights.
    quanta : int
        The same in quanta.
    unit : float
        What a quantum of weight is worth.
    weighted : bool
        Whether the rows have weights.
    """

    mean: NDArray[np.float64]
    weight: float
    quanta: int
    unit: float
    weighted: bool


def sum_rows(parts: Parts, n_rows: int, weighted: bool) -> RowSums:
    """Return the sums over the rows of all parts, with the bits of `fixed_sum`."""
    units = _units(np.max(parts.call("measure"), axis=0), 62 - n_rows.bit_length())
    sizes = np.sum(parts.call("measure", units), axis=0).astype(np.float64) * units
    units = _units(sizes, WIDE_BITS)
    quanta = np.sum(parts.call("measure", units, True), axis=0)
    parts.forget("measure")
    sums = quanta.astype(np.float64) * units
    if not weighted:
        return RowSums(sums / n_rows, n_rows, n_rows, 1.0, weighted)
    return RowSums(sums[:-1] / sums[-1], sums[-1], int(quanta[-1]), units[-1], weighted)


def _units(totals: NDArray[np.float64], bits: int) -> list[float]:
    return [unit_of(total, bits) for total in totals.tolist()]


class ClusterGrower(TreeHead):
    """Grow trees on rows that lie in parts on workers; see `Grower`.

    Parameters
    ----------
    parts : Parts
        Parts of type `TreePart`.
    binned : BinnedParts
        What the bins mean, without rows.
    purchases : Purchases
        Without rows.
    sums : RowSums
        Of the rows of all parts.
    penalty, max_depth, min_samples_leaf
        As in `TreeHead`.
    features : int array or None
        The features that trees may read; None for all.
    """

    def __init__(
        self,
        parts: Parts,
        binned: BinnedParts,
        purchases: Purchases,
        sums: RowSums,
        *,
        penalty: float,
        max_depth: int,
        min_samples_leaf: float,
        features: NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(
            binned,
            purchases,
            total_weight=sums.weight,
            planes=2,
            penalty=penalty,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
        )
        self.parts, self.row_sums, self.features = parts, sums, features
        none, nodes = np.empty(0, np.int64), len(self._room.left)
        self._no_rows = Blocks(
            np.zeros(1, np.int64), none, none, np.empty((0, nodes), np.int64),
            np.empty((0, nodes), np.int64), np.empty(0, np.uint32), np.empty(1, np.uint32),
            np.empty((0, 1, binned.n_features, 256), np.int64),
        )  # fmt: skip
        self._no_quanta = np.empty((2, 0), np.int64)
        # What all rows owe for each feature and group; growing subtracts what they pay.
        self._all_owed = (
            np.full(len(purchases.paid), sums.quanta, np.int64),
            np.full(len(purchases.group_paid), sums.quanta, np.int64),
        )

    def derive(self) -> None:
        """Let the parts compute derivatives; find the scale of their sums as `total_size` does."""
        self.parts.forget("derive", *OF_ONE_TREE)
        largest = np.max(self.parts.call("derive"), axis=0)
        bits = 62 - self.binned.n_rows.bit_length()
        units = [_units(np.array([target, target * g, h]), bits) for target, g, h in largest]
        counts = np.sum(self.parts.call("weigh", units), axis=0)
        self.parts.forget("weigh")
        self._sizes = counts.astype(np.float64) * units

    def grow(self, output: int) -> GrownTree:
        """Grow a tree for the gradient of one output; it is valid until the next one is grown."""
        growth, features = self._start(output, self.features)
        while (parent := advance(growth, NONE_INLINE)) >= 0:
            self._expand(growth, parent, features)
        self.grown = self._room.trim(self._tree.nodes)
        return self.grown

    def gains(self, output: int) -> NDArray[np.float64]:
        """Return the gain of the best split of all rows on each feature, (d,); buy nothing."""
        self._start(output, np.arange(self.binned.n_features))
        return np.array(self._room.gain[0])

    def values(self, output: int, damping: float) -> NDArray[np.float64]:
        """Return the Newton step of every node of the last tree."""
        target_unit = self._target_unit(output)
        if not self.row_sums.weighted:
            target_unit = math.ldexp(target_unit, SUM_BITS - WIDE_BITS)
        units = np.array([target_unit, unit_of(self._sizes[output][2], WIDE_BITS)])
        answers = self.parts.call("sums", self._new_splits(), output, units)
        self.grown.n_rows[:] = np.sum([rows for _, rows in answers], axis=0)
        sums = units * np.sum([sums for sums, _ in answers], axis=0)
        return np.asarray(sums[:, 0] / (sums[:, 1] + damping))

    def total_due(self) -> NDArray[np.float64]:
        """Return what all rows together, weighted, would pay now to read each feature, (d,)."""
        if self.purchases.charge == "model":
            return self.purchases.due() * self.total_weight
        owed, group_owed = (owed.astype(np.float64) * self.row_sums.unit for owed in self._all_owed)
        return self.purchases.due_by_weight(owed, group_owed)

    def add(self, output: int, values: NDArray[np.float64]) -> None:
        """Add the last tree's values to one output of all rows."""
        # Rows that are read again later get the whole tree at once.
        whole = ("apply_tree", (self._tree_splits, output, values))
        self.parts.queue("add_tree", output, values, for_new=whole)

    def _start(
        self, output: int, features: NDArray[np.int64] | None
    ) -> tuple[Growth, NDArray[np.int64]]:
        """Make the root of a tree and rate its splits; return it with the features it may read."""
        unit, largest_gain = self._target_unit(output), self._sizes[output][1]
        growth, features = self._plant(
            self._no_rows, self._no_quanta, self._no_quanta,
            np.array([unit, self.row_sums.unit]), largest_gain, features,
        )  # fmt: skip
        hist, total = self._candidates[:2]
        self.parts.forget(*OF_ONE_TREE)
        answers = self.parts.call("root", output, unit, features)
        total[0] = np.sum([sums for sums, _ in answers], axis=0)
        hist[0][:, features] = add_up([counted for _, counted in answers])
        rate_children(growth, -1, 0, len(features))
        self._tree_splits: list[Split] = []
        return growth, features

    def _expand(self, growth: Growth, parent: int, features: NDArray[np.int64]) -> None:
        """Let the parts count the smaller child of a node; rate the splits of both children."""
        hist, total = self._candidates[:2]
        left = int(self._room.left[parent])
        small = left if total[left, 1] <= total[left + 1, 1] else left + 1
        answers = self.parts.call("split", self._new_splits(), small)
        hist[self._slot[small]][:, features] = add_up([counted for counted, _ in answers])
        rate_children(growth, parent, 0, len(features))
        if self.purchases.charge == "example":
            self._share_debts(parent, small, [debts for _, debts in answers])

    def _share_debts(self, parent: int, small: int, debts: list[Debts]) -> None:
        """Enter what the rows of two children have not paid yet; the sibling's by subtraction."""
        large = 2 * int(self._room.left[parent]) + 1 - small
        feature = int(self._room.feature[parent])
        bought = feature, int(self.purchases.prices.group[feature])
        for k, (unpaid, paid) in enumerate(zip(self._unpaid, bought, strict=True)):
            unpaid[small] = np.sum([debt[k] for debt in debts if debt is not None], axis=0)
            unpaid[large] = unpaid[parent] - unpaid[small]
            if paid >= 0:
                unpaid[[small, large], paid] = 0

    def _target_unit(self, output: int) -> float:
        """Return what a quantum of the gradient of an output is worth in histograms."""
        bits = WIDE_BITS if self.row_sums.weighted else SUM_BITS
        return float(unit_of(self._sizes[output][0], bits))

    def _owed(self, quanta: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self._all_owed

    def _new_splits(self) -> list[Split]:
        """Return the splits that the parts have not made yet, in order."""
        room, nodes = self._room, self._tree.nodes
        (split,) = np.nonzero(room.left[:nodes] >= 1 + 2 * len(self._tree_splits))
        new = [
            Split(
                int(node),
                int(room.left[node]),
                int(room.feature[node]),
                np.packbits(room.goes_left[node]).tobytes(),
            )
            for node in split[np.argsort(room.left[split])]
        ]
        self._tree_splits += new
        return new


def add_up(histograms: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Add up histograms (planes, features, 256); packed ones have one plane, the sum has two."""
    total = np.zeros((2, *histograms[0].shape[1:]), np.int64)
    for hist in histograms:
        if len(hist) == 2:
            total += hist
        else:
            total[0] += hist[0] >> COUNT_BITS
            total[1] += hist[0] & ((1 << COUNT_BITS) - 1)
    return total


class ClusterBoosting(Boosting):
    """An ensemble that grows on the rows of a cluster; see `Boosting`.

    Parameters
    ----------
    loss : Loss
        Bound to any target: only its outputs, link and damping are used.
    base : array of shape (k,)
        Where the outputs start.
    grower : ClusterGrower
    learning_rate : float
    """

    def __init__(
        self,
        loss: Loss,
        base: NDArray[np.float64],
        grower: ClusterGrower,
        learning_rate: float,
    ) -> None:
        self.loss, self.base, self.learning_rate, self.tracker = loss, base, learning_rate, None
        self.head = self.cluster = grower
        self.builder = ForestBuilder(grower.binned)
        grower.parts.restart()
        grower.parts.queue("begin", base, grower.row_sums.unit)

    def gains(self) -> list[NDArray[np.float64]]:
        """Return, for each output, the gain of the best split of all rows on each feature, (d,)."""
        self._derive()
        return [self.cluster.gains(k) for k in range(self.loss.outputs)]

    def _derive(self) -> None:
        self.cluster.derive()

    def _grow(self, k: int) -> tuple[GrownTree, NDArray[np.float64]]:
        return self.cluster.grow(k), self.cluster.values(k, self.loss.damping)

    def _add(self, k: int, values: NDArray[np.float64]) -> None:
        self.cluster.add(k, values)

    def _add_constant(self, k: int, value: float) -> None:
        self.cluster.parts.queue("add_constant", k, value)
