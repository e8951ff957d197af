"""Every split of a grown tree has the least risk that brute force finds in its node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.kernels.threads import threads
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.budget_forest.grower import FLOOR, REUSE, GreedyTrees, Rules
from thrifty.learn.budget_forest.impurities import Impurity, Polynomial, Powers, ThresholdPairs

MISSING = 255
CASES = range(16)


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

    def trees(self, splits="minimax", bootstrap=False, max_features=None, max_depth=1000):
        binned = Binned.of(self.X, self.categorical, np.random.RandomState(0))
        rules = Rules(splits, max_features or self.X.shape[1], max_depth, bootstrap)
        prices = self.prices.bind(self.X.shape[1])
        return GreedyTrees(binned, prices, self.codes, self.classes, self.weight, rules)


class Brute:
    """All splits of a node, by plain loops."""

    def __init__(self, case, impurity, splits="minimax"):
        self.case, self.impurity, self.splits = case, impurity, splits
        self.bins = Binned.of(case.X, case.categorical, np.random.RandomState(0)).bins
        self.weight = np.ones(len(case.codes)) if case.weight is None else case.weight
        self.bound = case.prices.bind(case.X.shape[1])

    def counts(self, rows):
        return np.bincount(self.case.codes[rows], self.weight[rows], self.case.classes)

    def left_over(self, left, right):
        here = float(self.impurity.value(self.counts(left)))
        rest = float(self.impurity.value(self.counts(right)))
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
        before = float(self.impurity.value(self.counts(rows)))
        removed = before - self.left_over(rows[left], rows[~left])
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


@pytest.mark.parametrize("alpha", [0, 4, 15])
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_splits_are_those_of_brute_force(alpha, classes):
    cases = [Case.draw(seed, classes=classes, n=120 + 18 * alpha) for seed in CASES]
    splits = [compare(case, ThresholdPairs(alpha)) for case in cases]
    assert sum(splits) > (100 if alpha == 0 else 10)


def test_missing_values_and_weights_are_searched_on_both_sides():
    for seed in CASES:
        case = Case.draw(seed, classes=3, missing=0.2, weighted=seed % 3 > 0)
        assert compare(case, ThresholdPairs(0)) > 3
        compare(case, ThresholdPairs(2))


def test_categories_are_cut_in_the_order_of_the_largest_class():
    for seed in CASES:
        case = Case.draw(seed, classes=2 + seed % 3, missing=0.1 * (seed % 2), categorical=2)
        assert compare(case, ThresholdPairs(0)) > 3


@pytest.mark.parametrize(
    "impurity",
    [Powers(2), Powers(3), Polynomial([(2.0, (1, 1, 0)), (1.0, (1, 2, 1)), (1.0, (0, 1, 1))])],
    ids=repr,
)
def test_other_impurities_are_searched_as_exactly(impurity):
    for seed in range(8):
        compare(Case.draw(seed, classes=3, missing=0.1, categorical=1), impurity)


def test_expected_splits_are_those_of_brute_force():
    for seed in range(12):
        compare(Case.draw(seed, classes=3, missing=0.1), ThresholdPairs(0), "expected")


def test_large_nodes_read_histograms_and_agree_too():
    for classes in (2, 5):
        case = Case.draw(1, classes=classes, n=700, levels=40, missing=0.1)
        assert compare(case, ThresholdPairs(12)) > 5


class Mine(Impurity):
    """Pairs, as a user would write them."""

    def value(self, counts):
        return (counts.sum(axis=-1) ** 2 - (counts**2).sum(axis=-1)) / 2


@pytest.mark.parametrize("splits", ["minimax", "expected"])
def test_an_impurity_of_the_user_is_searched_as_exactly(splits):
    for seed in range(8):
        case = Case.draw(seed, classes=3, missing=0.1, categorical=1, weighted=seed % 2 > 0)
        assert compare(case, Mine(), splits) > 3


@pytest.mark.parametrize("settings", [{}, {"bootstrap": True}, {"max_features": 2}], ids=str)
def test_the_plain_version_grows_the_same_trees(settings):
    # Two levels: one cut a feature, so that no tie between cuts is left to either version.
    for seed in range(8):
        case = Case.draw(seed, classes=3, levels=2, n=60)
        trees = case.trees(**settings)
        for mine, ours in zip(
            trees.grow(Mine(), [1, 2]), trees.grow(ThresholdPairs(0), [1, 2]), strict=True
        ):
            for part, other in zip(mine, ours, strict=True):
                np.testing.assert_array_equal(part, other)


@pytest.mark.parametrize("impurity", [ThresholdPairs(0), Mine()], ids=["compiled", "plain"])
def test_stumps_divide_every_impure_node(impurity):
    for seed in range(6):
        case = Case.draw(seed, classes=3, missing=0.2, categorical=1, levels=30)
        tree = case.trees("stumps").grow(impurity, [seed])[0]
        brute = Brute(case, impurity)
        waiting = [(0, np.arange(len(case.codes)))]
        while waiting:
            node, rows = waiting.pop()
            if tree.left[node] < 0:
                twins = len(np.unique(np.nan_to_num(case.X[rows], nan=-1), axis=0)) == 1
                assert twins or impurity.value(brute.counts(rows)) == 0
                continue
            left = sides(tree, case, node, rows)
            assert 0 < left.sum() < len(rows)
            waiting += [(tree.left[node], rows[left]), (tree.left[node] + 1, rows[~left])]


def test_stumps_of_a_column_with_one_value_part_the_missing_ones():
    X = np.array([[1.0], [np.nan]] * 10)
    case = Case(X, np.arange(20) % 2, 2, np.zeros(1, bool), None, Prices())
    for impurity in (ThresholdPairs(0), Mine()):
        tree = case.trees("stumps").grow(impurity, [0])[0]
        assert len(tree.left) == 3
        assert not tree.missing_left[0]


def test_counts_are_those_of_the_rows_drawn():
    case = Case.draw(2, classes=5)
    tree = case.trees(bootstrap=True).grow(ThresholdPairs(0), [9])[0]
    counts = np.stack([tree.counts >> 32, tree.counts & 0xFFFFFFFF], axis=2).reshape(-1, 6)[:, :5]
    assert counts[0].sum() == len(case.codes)
    inner = np.flatnonzero(tree.left >= 0)
    np.testing.assert_array_equal(
        counts[inner], counts[tree.left[inner]] + counts[tree.left[inner] + 1]
    )


def test_a_row_of_twice_the_weight_is_drawn_twice_as_often():
    n = 4000
    weight = np.where(np.arange(n) < n // 2, 2.0, 1.0)
    case = Case(
        np.zeros((n, 1)), (np.arange(n) < n // 2) * 1, 2, np.zeros(1, bool), weight, Prices()
    )
    tree = case.trees(bootstrap=True).grow(ThresholdPairs(0), [0])[0]
    assert (tree.counts[0, 0] & 0xFFFFFFFF) / n == pytest.approx(2 / 3, abs=0.03)


def test_a_tree_stops_at_its_depth():
    case = Case.draw(4, n=300)
    tree = case.trees(max_depth=2).grow(ThresholdPairs(0), [0])[0]
    assert 3 < len(tree.left) <= 7


def test_a_seed_gives_one_tree_for_any_number_of_threads():
    case = Case.draw(5, classes=3, n=400)
    trees = case.trees(bootstrap=True, max_features=1)
    grown = []
    for count in (1, 2, 3):
        with threads(count):
            grown.append(trees.grow(ThresholdPairs(0), list(range(6))))
    for one, two, three in zip(*grown, strict=True):
        for a, b, c in zip(one, two, three, strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(a, c)
    assert len({len(tree.left) for tree in grown[0]}) > 1


def test_the_threshold_lies_in_the_middle_of_the_gap():
    X = np.array([[0.0], [1.0], [2.0], [6.0], [7.0], [8.0]])
    inner = np.array([0, 2, 3, 5])
    case = Case(X, np.array([0, 0, 0, 1, 1, 1]), 2, np.zeros(1, bool), None, Prices())
    assert case.trees().grow(ThresholdPairs(0), [0])[0].threshold[0] == 4.0
    # The rows of weight 0 keep their bins, 1 and 7, which are empty in the tree.
    case.weight = np.isin(np.arange(6), inner).astype(float)
    case.codes = np.array([0, 0, 1, 1, 1, 1])
    assert case.trees().grow(ThresholdPairs(0), [0])[0].threshold[0] == 1.0
