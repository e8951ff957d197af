"""Random tables for trees of BudgetRF, and a search of all their splits by plain loops."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import numpy as np
import pytest
from table_parts import in_parts

from thrifty.costs import Prices
from thrifty.learn.binned import Binned
from thrifty.learn.budget_forest.grower import FLOOR, REUSE, SPLITS, Rules, TreeGrower
from thrifty.learn.budget_forest.impurities import Impurity

MISSING = 255


@dataclass
class Case:
    """A random table with prices in groups."""

    X: np.ndarray
    codes: np.ndarray
    classes: int
    categorical: np.ndarray
    weight: np.ndarray | None
    prices: Prices

    @classmethod
    def draw(cls, seed, *, classes=2, n=90, missing=0.0, categorical=0, weighted=False, levels=9):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 6))
        X = rng.integers(0, levels, size=(n, d)).astype(float)
        codes = (X @ rng.normal(size=d) + rng.normal(scale=3.0, size=n)).argsort().argsort()
        codes = codes * classes // n
        X[rng.random((n, d)) < missing] = np.nan
        own = rng.choice([0.0, 0.5, 1.0, 1.0, 1.25], size=d).tolist()
        groups = {"lab": list(range(min(2, d)))} if seed % 2 else {}
        shared = {"lab": float(rng.choice([0.0, 0.5, 2.0]))} if groups else {}
        weight = rng.choice([0.5, 1.0, 3.0], size=n) if weighted else None
        prices = Prices(own, groups=groups, shared=shared)
        return cls(X, codes, classes, np.arange(d) < categorical, weight, prices)

    def trees(
        self, splits="minimax", bootstrap=False, max_features=None, max_depth=1000, size=None
    ):
        binned = Binned.of(self.X, self.categorical, np.random.RandomState(0))
        binned = binned if size is None else in_parts(binned, size)
        rules = Rules(splits, max_features or self.X.shape[1], max_depth, bootstrap)
        prices = self.prices.bind(self.X.shape[1])
        return TreeGrower(binned, prices, self.codes, self.classes, self.weight, rules)

    def grow_with(
        self, deep_tree, impurity, splits="minimax", max_features=None, max_depth=1000, size=None
    ):
        """Grow a tree on all rows with this version of the kernels, compiled or not.

        The table is in one part, or in parts of `size` rows.
        """
        package = deep_tree.__name__.rpartition(".")[0]
        node_rows, minimax = (
            importlib.import_module(f"{package}.{name}") for name in ("node_rows", "minimax")
        )
        binned = Binned.of(self.X, self.categorical, np.random.RandomState(0))
        bound = self.prices.bind(self.X.shape[1])
        table = node_rows.Table(
            binned.bins[np.newaxis] if size is None else in_parts(binned, size).stored,
            np.ascontiguousarray(binned.bins.T) if size is None else np.empty((0, 0), np.uint8),
            binned.uppers,
            binned.width,
            self.categorical.view(np.uint8),
            (self.codes >> 1).astype(np.uint8),
        )
        form = impurity.form(self.classes, 1.0)
        rows = np.argsort(self.codes >> 1, kind="stable")
        quanta = np.ones(len(rows), dtype=np.int64) if self.weight is None else 2 * self.weight
        packed = quanta.astype(np.int64)[rows] << np.where(self.codes[rows] & 1, 0, 32)
        return deep_tree.grow_tree(
            table,
            deep_tree.SplitPrices(bound.own, bound.shared, bound.group, REUSE, FLOOR),
            deep_tree.SplitRules(SPLITS[splits], max_features or self.X.shape[1], max_depth),
            minimax.ImpurityForm(
                form.kind,
                form.number,
                np.asarray(form.coefficients),
                np.asarray(form.powers),
                form.classes,
                form.unit,
            ),
            rows.astype(np.uint32),
            packed,
            5,
        )


class Brute:
    """All splits of a node, by plain loops."""

    def __init__(self, case, impurity, splits="minimax"):
        self.case, self.impurity, self.splits = case, impurity, splits
        self.bins = Binned.of(case.X, case.categorical, np.random.RandomState(0)).bins
        self.weight = np.ones(len(case.codes)) if case.weight is None else case.weight
        self.bound = case.prices.bind(case.X.shape[1])
        self.values = {}

    def counts(self, rows):
        return np.bincount(self.case.codes[rows], self.weight[rows], self.case.classes)

    def impurity_of(self, rows):
        counts = self.counts(rows)
        key = counts.tobytes()  # the same counts come back in many divisions
        if key not in self.values:
            self.values[key] = float(self.impurity.value(counts))
        return self.values[key]

    def left_over(self, left, right):
        here, rest = self.impurity_of(left), self.impurity_of(right)
        if self.splits == "minimax":
            return max(here, rest)
        a, b = self.weight[left].sum(), self.weight[right].sum()
        return (a * here + b * rest) / (a + b)

    def price(self, feature, path):
        bound = self.bound
        entry = np.append(bound.shared, 0.0)[bound.group]
        mean = np.mean(bound.own + entry)
        price = bound.own[feature] * (REUSE if feature in path else 1.0)
        group = bound.group[feature]
        if group >= 0 and group not in {bound.group[f] for f in path}:
            price += bound.shared[group]
        return max(price, FLOOR * mean if mean > 0 else 1.0)

    def risk(self, rows, feature, left, path):
        removed = self.impurity_of(rows) - self.left_over(rows[left], rows[~left])
        return self.price(feature, path) / removed if removed > 0 else np.inf

    def divisions(self, rows, feature):
        bins = self.bins[feature, rows]
        if self.case.categorical[feature]:
            yield from self.leading_sets(rows, bins)
            return
        present = sorted(set(bins.tolist()))
        for cut in present:
            for missing_left in (False, True) if MISSING in present else (False,):
                left = (bins <= cut) | ((bins == MISSING) & missing_left)
                if 0 < left.sum() < len(rows):
                    yield left

    def leading_sets(self, rows, bins):
        largest = int(np.argmax(self.counts(rows)))
        share = {}
        for b in sorted(set(bins.tolist())):
            inside = self.counts(rows[bins == b])
            share[b] = inside[largest] / inside.sum()
        order = sorted(share, key=lambda b: share[b])
        for k in range(1, len(order)):
            yield np.isin(bins, order[:k])

    def least(self, rows, path):
        risks = [
            self.risk(rows, feature, left, path)
            for feature in range(len(self.bins))
            for left in self.divisions(rows, feature)
        ]
        return min(risks, default=np.inf)


def sides(tree, case, node, rows):
    """Which rows of a node go left, read off the frozen threshold and the raw values."""
    feature = tree.feature[node]
    x = case.X[rows, feature]
    if case.categorical[feature]:
        subset = tree.subsets[int(tree.threshold[node])]
        code = np.nan_to_num(x).astype(np.uint64)
        left = (subset[(code >> np.uint64(6)).astype(int)] >> (code & np.uint64(63))) & np.uint64(1)
        left = left.astype(bool)
    else:
        left = x <= tree.threshold[node]
    return np.where(np.isnan(x), tree.missing_left[node], left)


def compare(case, impurity, splits="minimax", trees=None):
    """Check every node of a tree; returns the number of splits."""
    tree = (trees or case.trees(splits)).grow(impurity, [3])[0]
    brute = Brute(case, impurity, splits)
    waiting = [(0, np.arange(len(case.codes)), frozenset())]
    count = 0
    while waiting:
        node, rows, path = waiting.pop()
        if tree.left[node] < 0:
            impure = float(impurity.value(brute.counts(rows))) > 0
            assert not impure or brute.least(rows, path) == np.inf
            continue
        feature = int(tree.feature[node])
        left = sides(tree, case, node, rows)
        assert 0 < left.sum() < len(rows)
        risk = brute.risk(rows, feature, left, path)
        assert risk == pytest.approx(brute.least(rows, path), rel=1e-12)
        count += 1
        child = tree.left[node]
        waiting.append((child, rows[left], path | {feature}))
        waiting.append((child + 1, rows[~left], path | {feature}))
    return count


class Mine(Impurity):
    """Pairs, as a user would write them."""

    def value(self, counts):
        return (counts.sum(axis=-1) ** 2 - (counts**2).sum(axis=-1)) / 2
