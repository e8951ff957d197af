"""Boosting on the workers of a cluster, which hold the rows: the head here decides.

A message goes to all parts at once. A round of boosting takes two (`derive`, `weigh`: the largest
derivatives, then their sums, which set the units of fixed point), and each tree one for its root,
one for each split whose children may be split again, and one for the sums of its nodes: eleven in
all for a tree of depth 4. A split is answered by the histogram of its smaller child, 2 kB for each
feature and part. The trees are those of all rows in one table, to the bit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.fixed_point import SUM_BITS, WIDE_BITS, unit_of
from thrifty.kernels.growth import Blocks
from thrifty.kernels.hist_tree import advance, rate_children
from thrifty.kernels.splits import COUNT_BITS
from thrifty.learn.binned import BinnedParts
from thrifty.learn.boosting.ensemble import Boosting, ForestBuilder
from thrifty.learn.boosting.tree_head import GrownTree, TreeHead
from thrifty.learn.boosting.tree_part import Split
from thrifty.learn.cluster.parts import Parts
from thrifty.learn.losses import Loss
from thrifty.learn.purchases import Purchases

__all__ = ["ClusterBoosting", "ClusterGrower", "target_mean"]

# Every split whose children need histograms ends `advance`: they are counted elsewhere.
NONE_INLINE = -1
# Messages that no longer matter when their tree has been added to the outputs.
OF_ONE_TREE = ("root", "split", "sums")


class ClusterGrower(TreeHead):
    """Grow trees on rows that lie in parts on workers; see `Grower`.

    Parameters
    ----------
    parts : Parts
        Parts of type `TreePart`.
    binned : BinnedParts
        What the bins mean, without rows.
    purchases, penalty, max_depth, min_samples_leaf
        As in `TreeHead`.
    """

    def __init__(
        self,
        parts: Parts,
        binned: BinnedParts,
        purchases: Purchases,
        *,
        penalty: float,
        max_depth: int,
        min_samples_leaf: float,
    ) -> None:
        super().__init__(
            binned,
            purchases,
            total_weight=binned.n_rows,
            planes=2,
            penalty=penalty,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
        )
        self.parts = parts
        none, nodes = np.empty(0, np.int64), len(self._room.left)
        self._no_rows = Blocks(
            np.zeros(1, np.int64), none, none, np.empty((0, nodes), np.int64),
            np.empty((0, nodes), np.int64), np.empty(0, np.uint32), np.empty(1, np.uint32),
            np.empty((0, 1, binned.n_features, 256), np.int64),
        )  # fmt: skip
        self._no_quanta = np.empty((2, 0), np.int64)

    def derive(self) -> None:
        """Let the parts compute derivatives; find the scale of their sums as `total_size` does."""
        self.parts.forget("derive", *OF_ONE_TREE)
        largest = np.max(self.parts.call("derive"), axis=0)
        bits = 62 - self.binned.n_rows.bit_length()
        units = [[unit_of(bound, bits) for bound in (g, g * g, h)] for g, h in largest]
        counts = np.sum(self.parts.call("weigh", units), axis=0)
        self.parts.forget("weigh")
        self._sizes = counts.astype(np.float64) * units

    def grow(self, output: int) -> GrownTree:
        """Grow a tree for the gradient of one output; it is valid until the next one is grown."""
        size, largest_gain, _ = self._sizes[output]
        unit = unit_of(size, SUM_BITS)
        growth, features = self._plant(
            self._no_rows, self._no_quanta, self._no_quanta, np.array([unit, 1.0]),
            largest_gain, None,
        )  # fmt: skip
        hist, total = self._candidates[:2]
        self.parts.forget(*OF_ONE_TREE)
        answers = self.parts.call("root", output, unit, features)
        total[0] = np.sum([sums for sums, _ in answers], axis=0)
        self._tree_splits: list[Split] = []
        parent, slot = -1, 0
        while True:
            hist[slot][:, features] = add_up([counted for _, counted in answers])
            rate_children(growth, parent, 0, len(features))
            parent = advance(growth, NONE_INLINE)
            if parent < 0:
                break
            left = self._room.left[parent]
            small = left if total[left, 1] <= total[left + 1, 1] else left + 1
            slot = self._slot[small]
            counted = self.parts.call("split", self._new_splits(), int(small))
            answers = [(None, one) for one in counted]
        self.grown = self._room.trim(self._tree.nodes)
        return self.grown

    def values(self, output: int, damping: float) -> NDArray[np.float64]:
        """Return the Newton step of every node of the last tree."""
        size, _, hessian_size = self._sizes[output]
        target_unit = math.ldexp(unit_of(size, SUM_BITS), SUM_BITS - WIDE_BITS)
        units = np.array([target_unit, unit_of(hessian_size, WIDE_BITS)])
        answers = self.parts.call("sums", self._new_splits(), output, units)
        self.grown.n_rows[:] = np.sum([rows for _, rows in answers], axis=0)
        sums = units * np.sum([sums for sums, _ in answers], axis=0)
        return np.asarray(sums[:, 0] / (sums[:, 1] + damping))

    def add(self, output: int, values: NDArray[np.float64]) -> None:
        """Add the last tree's values to one output of all rows."""
        # Rows that are read again later get the whole tree at once.
        whole = ("apply_tree", (self._tree_splits, output, values))
        self.parts.queue("add_tree", output, values, for_new=whole)

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


def target_mean(parts: Parts, n_rows: int) -> NDArray[np.float64]:
    """Return the mean (1,) of the targets of all parts, with the bits of `Loss.start`."""
    largest = max(parts.call("measure_target", None))
    unit = unit_of(largest, 62 - n_rows.bit_length())
    size = float(sum(parts.call("measure_target", unit))) * unit
    unit = unit_of(size, WIDE_BITS)
    total = float(sum(parts.call("measure_target", unit, True))) * unit
    parts.forget("measure_target")
    return np.array([total / n_rows])


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
        self.loss, self.base, self.cluster = loss, base, grower
        self.learning_rate, self.tracker = learning_rate, None
        self.builder = ForestBuilder(grower.binned)
        grower.parts.queue("begin", base)

    def _derive(self) -> None:
        self.cluster.derive()

    def _grow(self, k: int) -> tuple[GrownTree, NDArray[np.float64]]:
        return self.cluster.grow(k), self.cluster.values(k, self.loss.damping)

    def _add(self, k: int, values: NDArray[np.float64]) -> None:
        self.cluster.add(k, values)

    def _add_constant(self, k: int, value: float) -> None:
        self.cluster.parts.queue("add_constant", k, value)
