"""Extra-trees in plain NumPy, one step after the other, and random tables to grow them on."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field

import numpy as np

from thrifty.kernels.binning import MISSING
from thrifty.kernels.extra_tree import ExtraTree
from thrifty.kernels.random import Stream, draw, draw_below, draw_share
from thrifty.learn.binned import Binned
from thrifty.learn.extra_trees import ExtraTrees


@dataclass
class Case:
    """A random table, and how a tree is grown on it."""

    X: np.ndarray
    y: np.ndarray
    n_classes: int
    categorical: np.ndarray
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None
    features: np.ndarray = field(default_factory=lambda: np.arange(5))
    max_features: int = 2
    min_rows: int = 1
    n_draws: int | None = None

    @classmethod
    def draw(cls, seed, n=60, n_classes=3, levels=7, missing=0.0, categorical=0, **settings):
        """Draw a table of 5 columns whose target depends on the last three."""
        random = np.random.default_rng(seed)
        X = random.integers(0, levels, size=(n, 5)).astype(float)
        value = X[:, 2] + X[:, 3] * X[:, 4] / levels + random.normal(size=n)
        if n_classes:
            y = np.digitize(value, np.quantile(value, np.arange(1, n_classes) / n_classes))
        else:
            y = value
        X[random.random(X.shape) < missing] = np.nan
        return cls(X, y, n_classes, np.arange(5) >= 5 - categorical, **settings)

    def trainer(self):
        """Return what grows forests on the table."""
        binned = Binned.of(self.X, self.categorical, np.random.RandomState(0))
        return ExtraTrees(binned, self.y, self.n_classes, self.weight, self.groups)

    def grow_with(self, extra_tree, seed=5):
        """Grow a tree with this version of the kernels; return it and the leaves of other rows."""
        package = extra_tree.__name__.rpartition(".")[0]
        rows, cuts = (
            importlib.import_module(f"{package}.{name}") for name in ("bagged_rows", "random_cuts")
        )
        arguments, bagging = self._arguments()
        table, leaves = rows.BagTable(*arguments), np.empty(len(self.y), dtype=np.int32)
        tree = extra_tree.grow_extra_tree(
            table,
            rows.Bagging(*bagging),
            cuts.CutRules(self.features, self.max_features, self.min_rows),
            rows.Bag(table, int(bagging[0].max()) + 1),
            rows.NodeRows(table),
            seed,
            leaves,
        )
        return tree, leaves

    def _arguments(self):
        made = self.trainer()
        table = made._table
        names = ("bins", "by_row", "positions", "categorical", "codes", "targets")
        arrays = [np.asarray(getattr(table, name)) for name in names]
        n_draws = self.n_draws or made._n_units
        bagging = (made._unit, made._quanta, made._moments, made._n_units, n_draws)
        return (*arrays, self.n_classes), bagging

    def plain(self, seed=5):
        """Grow the same tree in NumPy."""
        (bins, _, positions, categorical, codes, targets, _), bagging = self._arguments()
        return PlainExtraTree(self, bins, positions, categorical, codes, targets, *bagging, seed)


class PlainExtraTree:
    """Grow a tree by the rules of Geurts et al. 2006, with the draws in the order of the kernel."""

    def __init__(
        self, case, bins, positions, categorical, codes, targets,
        unit, quanta, moments, n_units, n_draws, seed,
    ):  # fmt: skip
        self.case, self.bins, self.positions, self.categorical = case, bins, positions, categorical
        self.codes, self.targets, self.moments = codes, targets, moments
        self.stream = Stream(seed)
        drawn = np.zeros(unit.max() + 1, dtype=np.int64)
        for _ in range(n_draws):
            drawn[draw_below(self.stream, n_units)] += 1
        self.count = drawn[unit]
        self.weight = self.count * quanta
        self.order = list(case.features)
        self.nodes, self.subsets, self.classes, self.shares = [], [], [], []
        self.decrease = np.zeros(len(bins))
        self.grow(np.flatnonzero(self.weight))

    def grow(self, rows):
        """Split node after node, the last one made first."""
        self.nodes.append(None)
        waiting = [(0, rows, 0)]
        while waiting:
            node, rows, flat = waiting.pop()
            cut, flat = self.choose(rows, flat)
            if cut is None:
                self.nodes[node] = self.leaf(rows)
                continue
            score, feature, place, missing_left, left = cut
            self.decrease[feature] += score - self.square(rows)
            if not np.any(self.bins[feature, rows] == MISSING):
                missing_left = left.sum() > len(rows) - left.sum()
            if self.categorical[feature]:
                self.subsets.append(place)
                place = len(self.subsets) - 1
            weight = float(self.weight[rows].sum())
            self.nodes[node] = (len(self.nodes), feature, place, missing_left, weight)
            children = len(self.nodes), len(self.nodes) + 1
            self.nodes += [None, None]
            waiting += [(children[0], rows[left], flat), (children[1], rows[~left], flat)]

    def leaf(self, rows):
        """Return a leaf, and keep its entries."""
        weight, first = self.weight[rows], len(self.shares)
        if self.case.n_classes:
            totals = np.bincount(self.codes[rows], weight, self.case.n_classes)
            self.classes += np.flatnonzero(totals).tolist()
            self.shares += (totals[totals > 0] / weight.sum()).tolist()
        else:
            self.classes.append(0)
            self.shares.append(float(np.average(self.targets[rows], weights=weight)))
        return -1, len(self.shares) - first, first, 0, float(weight.sum())

    def square(self, rows):
        """Return the sum of the squared class weights, or the squared sum, by the weight."""
        weight = float(self.weight[rows].sum())
        if not self.case.n_classes:
            return float((self.count * self.moments)[rows].sum()) ** 2 / weight
        return np.sum(np.bincount(self.codes[rows], self.weight[rows]) ** 2) / weight

    def choose(self, rows, flat):
        """Return the best cut of those tried, or None, and how many features have one value."""
        target = (self.codes if self.case.n_classes else self.targets)[rows]
        if len(set(target)) == 1 or len(rows) < 2 * self.case.min_rows:
            return None, flat
        best, last, tries = None, len(self.order), 0
        while tries < self.case.max_features and flat < last:
            k = flat + draw_below(self.stream, last - flat)
            feature = self.order[k]
            bins = self.bins[feature, rows]
            if len(set(bins.tolist())) == 1:
                self.order[k], self.order[flat] = self.order[flat], feature
                flat += 1
                continue
            last, tries = last - 1, tries + 1
            self.order[k], self.order[last] = self.order[last], feature
            draw_side = self.draw_subset if self.categorical[feature] else self.draw_cut
            place, missing_left, left = draw_side(feature, bins)
            if min(left.sum(), (~left).sum()) < self.case.min_rows:
                continue
            score = self.square(rows[left]) + self.square(rows[~left])
            if best is None or score > best[0]:
                best = score, feature, place, missing_left, left
                perfect = self.case.n_classes and score >= self.weight[rows].sum()
                if len(rows) == 2 or perfect:
                    break
        return best, flat

    def draw_cut(self, feature, bins):
        """Draw a cut between the bins of a node; return its place and who goes left."""
        known, missing_left = bins[bins < MISSING].astype(int), 0
        low, high = known.min(), known.max()
        if len(known) < len(bins):
            missing_left = draw_below(self.stream, 3)
            if missing_left == 2 or low == high:
                return MISSING - 1, 0, bins < MISSING
        positions = self.positions[feature]
        place = positions[low] + draw_share(self.stream) * (positions[high] - positions[low])
        place = low + np.searchsorted(positions[low + 1 : high], place, side="right")
        return place, missing_left, np.where(bins == MISSING, missing_left == 1, bins <= place)

    def draw_subset(self, feature, bins):
        """Draw categories until some go left and some do not."""
        while True:
            words = [draw(self.stream) for _ in range(4)]
            left = np.array([words[b >> 6] >> (b & 63) & 1 for b in bins.tolist()], dtype=bool)
            if 0 < left.sum() < len(left):
                return words, words[3] >> 63, left

    def leaves(self):
        """Return the leaf of each row out of the bag, -1 for the others."""
        leaves = np.full(len(self.count), -1)
        for row in np.flatnonzero(self.count == 0):
            leaf = 0
            while self.nodes[leaf][0] >= 0:
                child, feature, place, missing_left, _ = self.nodes[leaf]
                key = int(self.bins[feature, row])
                if key == MISSING:
                    left = missing_left
                elif self.categorical[feature]:
                    left = self.subsets[place][key >> 6] >> (key & 63) & 1
                else:
                    left = key <= place
                leaf = child + 1 - int(left)
            leaves[row] = leaf
        return leaves

    def tree(self):
        """Return the tree in the form of the kernel."""
        by_node = [np.array(part) for part in zip(*self.nodes, strict=True)]
        subsets = np.array(self.subsets, dtype=np.uint64).reshape(-1, 4)
        return ExtraTree(
            *by_node, subsets, np.array(self.classes), np.array(self.shares), self.decrease
        )
