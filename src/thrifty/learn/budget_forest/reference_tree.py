"""The plain version of `thrifty.kernels.deep_tree`: any impurity, every cut tried, in NumPy.

It is used for impurities that a user writes, which need not be monotone, and tests compare the
kernel with it. Same rules, same order of features for the same seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.binning import MISSING
from thrifty.kernels.deep_tree import SplitPrices, SplitRules
from thrifty.kernels.growing_tree import Tree
from thrifty.kernels.minimax import EXPECTED, STUMPS
from thrifty.kernels.node_rows import HALF, MASK, Table
from thrifty.kernels.random import Stream, draw_below, draw_share
from thrifty.learn.budget_forest.impurities import Impurity

__all__ = ["ReferenceTree"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Split:
    """One way to split a node: which of the 256 bins go left; `cut` is the last of them, or -1."""

    feature: int
    goes_left: NDArray[np.bool_]
    cut: int


class ReferenceTree:
    """A growing tree.

    Parameters
    ----------
    table : Table
        The binned table.
    prices : SplitPrices
        What splits count as.
    rules : SplitRules
        How splits are searched.
    impurity : Impurity
        Anything with a `value`.
    classes : int
        Number of classes.
    unit : float
        Weight of one quantum.
    """

    def __init__(
        self,
        table: Table,
        prices: SplitPrices,
        rules: SplitRules,
        impurity: Impurity,
        classes: int,
        unit: float,
    ) -> None:
        self.rules, self.impurity, self.classes, self.unit = rules, impurity, classes, unit
        self.bins, self.edges = np.asarray(table.bins), np.asarray(table.edges)
        self.width, self.word = np.asarray(table.width), np.asarray(table.word)
        self.categorical = np.asarray(table.categorical, dtype=bool)
        self.own, self.shared = np.asarray(prices.own), np.asarray(prices.shared)
        self.group = np.asarray(prices.group)
        self.reuse, self.floor = float(prices.reuse), float(prices.floor)
        self.left: list[int] = []
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.missing_left: list[bool] = []
        self.counts: list[NDArray[np.int64]] = []
        self.subsets: list[NDArray[np.uint64]] = []

    def grow(self, rows: NDArray[np.uint32], quanta: NDArray[np.int64], seed: int) -> Tree:
        """Grow the tree on some rows and return it; call once, as nodes are appended to `self`.

        `quanta` (n,) holds the weight of each row, in the half word of its class.
        """
        self.order, self.stream = np.arange(len(self.own)), Stream(seed)
        self._leaf(rows, quanta)
        # Features on the path, and their groups as -1 - group.
        path: frozenset[int] = frozenset()
        stack = [(0, rows, quanta, 0, path)]
        while stack:
            node, rows, quanta, depth, path = stack.pop()
            split = None
            if depth < self.rules.max_depth:
                split = self._choose(rows, quanta, path)
            if split is not None:
                left = self._divide(node, split, rows, quanta)
                group = int(self.group[split.feature])
                path |= {split.feature} | ({-1 - group} if group >= 0 else set())
                child = self.left[node]
                stack.append((child, rows[left], quanta[left], depth + 1, path))
                stack.append((child + 1, rows[~left], quanta[~left], depth + 1, path))
        return Tree(
            np.array(self.left, dtype=np.int32), np.array(self.feature, dtype=np.int32),
            np.array(self.threshold), np.array(self.missing_left), np.array(self.counts),
            np.array(self.subsets, dtype=np.uint64).reshape(-1, 4),
        )  # fmt: skip

    def _leaf(self, rows: NDArray[np.uint32], quanta: NDArray[np.int64]) -> None:
        """Append a leaf with the class weights of its rows."""
        counts = np.zeros((self.classes + 1) // 2, dtype=np.int64)
        np.add.at(counts, self.word[rows], quanta)
        self.left.append(-1)
        self.feature.append(0)
        self.threshold.append(0.0)
        self.missing_left.append(False)
        self.counts.append(counts)

    def _choose(
        self, rows: NDArray[np.uint32], quanta: NDArray[np.int64], path: frozenset[int]
    ) -> Split | None:
        """Return the split with the least price per impurity removed; None if none helps."""
        # Weight of each row in the column of its class.
        columns, index = 2 * self.word[rows].astype(np.intp), np.arange(len(rows))
        weight = np.zeros((len(rows), self.classes + 1))
        weight[index, columns] = (quanta >> HALF) * self.unit
        weight[index, columns + 1] = (quanta & MASK) * self.unit
        weight = weight[:, : self.classes]
        impurity = float(self.impurity.value(weight.sum(axis=0)))
        if not impurity > 0:
            return None
        best, chosen, looked = np.inf, None, 0
        for k in range(len(self.order)):
            feature = self._shuffle(k)
            splits = self._splits(feature, rows, weight)
            if not splits:
                continue
            looked += 1
            least = self._values(splits, self._bins(feature, rows), weight)
            place = int(np.argmin(least))
            price = self._price(feature, path)
            if least[place] < impurity and price / (impurity - least[place]) < best:
                best, chosen = price / (impurity - least[place]), splits[place]
            if looked >= self.rules.max_features and chosen is not None:
                break
        return chosen

    def _bins(self, feature: int, rows: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """Return the bins of a feature, from the parts of the table."""
        size = self.bins.shape[2]
        return np.asarray(self.bins[rows // size, feature, rows % size])

    def _shuffle(self, k: int) -> int:
        """Return the k-th feature in random order."""
        j = k + draw_below(self.stream, len(self.order) - k)
        self.order[[j, k]] = self.order[[k, j]]
        return int(self.order[k])

    def _price(self, feature: int, path: frozenset[int]) -> float:
        """Return what a split on `feature` counts as, after what is on the path."""
        price = float(self.own[feature]) * (self.reuse if feature in path else 1.0)
        group = int(self.group[feature])
        if group >= 0 and -1 - group not in path:
            price += float(self.shared[group])
        return max(price, self.floor)

    def _splits(self, feature: int, rows: NDArray[np.uint32], weight: Floats) -> list[Split]:
        """Return every split of the rows on a feature that is to be tried."""
        bins = self._bins(feature, rows)
        if self.categorical[feature]:
            # Leading parts of the categories, by their share of the largest class of the node.
            by_bin = np.zeros((256, weight.shape[1]))
            np.add.at(by_bin, bins, weight)
            seen = np.flatnonzero(by_bin.sum(axis=1) > 0)
            share = by_bin[seen, by_bin.sum(axis=0).argmax()] / by_bin[seen].sum(axis=1)
            order = seen[np.argsort(share, kind="stable")]
            parts = [np.isin(np.arange(256), order[:k]) for k in range(1, len(order))]
            return [Split(feature, goes, -1) for goes in parts]
        present = np.unique(bins[bins != MISSING])
        gaps = bool(np.any(bins == MISSING))
        splits = []
        for missing_left in (False, True) if gaps else (False,):
            last = len(present) if gaps and not missing_left else len(present) - 1
            for cut in self._cuts(feature, present[:last], weight):
                goes = np.arange(256) <= cut
                goes[MISSING] = missing_left
                splits.append(Split(feature, goes, int(cut)))
        return splits

    def _cuts(
        self, feature: int, present: NDArray[np.uint8], weight: Floats
    ) -> NDArray[np.integer]:
        """Return the cuts to try: all present bins, or random ones for stumps."""
        edges = self.edges[feature, : self.width[feature] - 1]
        if self.rules.splits != STUMPS or not len(present) or present[0] >= len(edges):
            return present
        rows = weight.sum()
        count = 80 if rows > 2000 else 40 if rows > 500 else 20
        low, top = int(present[0]), min(int(present[-1]), len(edges) - 1)
        drawn = np.array([draw_share(self.stream) for _ in range(count)])
        values = edges[low] + drawn * (edges[top] - edges[low])
        return np.asarray(low + np.searchsorted(edges[low:top], values))

    def _values(self, splits: list[Split], bins: NDArray[np.uint8], weight: Floats) -> Floats:
        """Return the impurity that each split leaves: that of the worse child, or the mean."""
        by_bin = np.zeros((256, weight.shape[1]))
        np.add.at(by_bin, bins, weight)
        left = np.array([split.goes_left for split in splits]) @ by_bin
        right = by_bin.sum(axis=0) - left
        here, rest = self.impurity.value(left), self.impurity.value(right)
        if self.rules.splits != EXPECTED:
            return np.maximum(here, rest)
        share = left.sum(axis=1) / weight.sum()
        return np.asarray(share * here + (1.0 - share) * rest)

    def _divide(
        self, node: int, split: Split, rows: NDArray[np.uint32], quanta: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Make `node` a split and add its children; return which rows go left."""
        bins = self._bins(split.feature, rows)
        left: NDArray[np.bool_] = split.goes_left[bins]
        self.left[node], self.feature[node] = len(self.left), split.feature
        if self.categorical[split.feature]:
            codes = split.goes_left.copy()
            codes[MISSING] = False
            packed = np.packbits(codes, bitorder="little").view("<u8")
            self.threshold[node] = float(len(self.subsets))
            self.subsets.append(packed.astype(np.uint64))
        else:
            drawn = draw_share(self.stream) if self.rules.splits == STUMPS else 0.5
            self.threshold[node] = self._threshold(split, bins, drawn)
        weight = (quanta >> HALF) + (quanta & MASK)
        majority = 2 * weight[left].sum() > weight.sum()
        gaps = np.any(bins == MISSING)
        self.missing_left[node] = bool(split.goes_left[MISSING] if gaps else majority)
        self._leaf(rows[left], quanta[left])
        self._leaf(rows[~left], quanta[~left])
        return left

    def _threshold(self, split: Split, bins: NDArray[np.uint8], share: float) -> float:
        """Return a value between the last bin on the left and the first one on the right."""
        present = np.unique(bins[bins != MISSING])
        right = present[present > split.cut]
        if not len(right):
            return float(np.finfo(np.float64).max)
        edges = self.edges[split.feature]
        low, high = edges[present[present <= split.cut][-1]], edges[right[0] - 1]
        return float(min(max((1.0 - share) * low + share * high, low), high))
