"""Small trees of the least total cost: no tree that brute force finds is cheaper."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import Prices
from thrifty.learn.shallow_tree import Splits, TreeSearch, freeze_tree
from thrifty.learn.shallow_tree.search import Tree

PRICES = Prices([1.0, 3.0, 2.0], groups={"blood": [1, 2]}, shared={"blood": 4.0}).bind(3)


def table(seed: int, n: int = 40):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) + rng.normal(size=n) > 2).astype(int)
    return X, y


def search(X, y, seed=0, leaf_costs=(0.0,), fewest=1.0):
    splits = Splits.of(X, np.array([False, False, True]))
    weight = np.random.default_rng(seed).integers(1, 3, size=len(y)).astype(float)
    costs = np.array([[0.0, 20.0], [50.0, 0.0]])[y] * weight[:, np.newaxis]
    yes = splits.answers(X)
    found = TreeSearch(yes, splits.feature, costs, weight, PRICES, leaf_costs, fewest)
    return splits, found


def cheapest(found, rows, bought, depth, leaf_cost):
    """Try every split on every path."""
    best = found.costs[rows].sum(axis=0).min() + leaf_cost
    if depth == 0:
        return best
    for split, feature in enumerate(found.feature.tolist()):
        left, right = rows & found.yes[:, split], rows & ~found.yes[:, split]
        if min(found.weight[left].sum(), found.weight[right].sum()) < found.fewest:
            continue
        price = PRICES.marginal(feature, bought) * found.weight[rows].sum()
        sides = [
            cheapest(found, side, bought | {feature}, depth - 1, leaf_cost)
            for side in (left, right)
        ]
        best = min(best, price + sum(sides))
    return best


def cost_of(found, tree, rows, bought, leaf_cost):
    if tree is None:
        return found.costs[rows].sum(axis=0).min() + leaf_cost
    feature = int(found.feature[tree.split])
    price = PRICES.marginal(feature, bought) * found.weight[rows].sum()
    yes = found.yes[:, tree.split]
    sides = ((tree.yes, rows & yes), (tree.no, rows & ~yes))
    return price + sum(
        cost_of(found, side, part, bought | {feature}, leaf_cost) for side, part in sides
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_tree_is_cheaper(seed, depth):
    X, y = table(seed, n=25)
    leaf_costs, rows = (0.0, 15.0), np.ones(25, dtype=bool)
    _, found = search(X, y, seed, leaf_costs, fewest=2.0)
    for leaf_cost, tree in zip(leaf_costs, found.best(depth), strict=True):
        least = cheapest(found, rows, frozenset(), depth, leaf_cost)
        assert cost_of(found, tree, rows, frozenset(), leaf_cost) == pytest.approx(least)


def test_a_dear_leaf_makes_a_small_tree():
    X, y = table(0, n=200)
    _, found = search(X, y, leaf_costs=(0.0, 1e6))
    large, none = found.best(3)
    assert large is not None and none is None
    assert TreeSearch(found.yes[:, :0], found.feature[:0], found.costs, found.weight, PRICES,
                      (0.0,), 1.0).best(3) == [None]  # fmt: skip


def test_a_frozen_tree_sends_rows_where_the_search_did():
    X, y = table(3, n=200)
    splits, found = search(X, y)
    members = found.weight[:, np.newaxis] * (y[:, np.newaxis] == np.arange(2))
    for split in range(len(splits)):
        tree = Tree(split, None, Tree(0, None, None))
        forest = freeze_tree(tree, splits, found.yes, members, 3, prior_rows=1e-9)
        left = found.yes[:, split]
        shares = members[left].sum(axis=0) / members[left].sum()
        assert forest.score(X[left]) == pytest.approx(np.tile(shares, (left.sum(), 1)))
        assert forest.used(X)[:, splits.feature[split]].all()
        assert forest.used(X)[~left, splits.feature[0]].all()
    constant = freeze_tree(None, splits, found.yes, members, 3, prior_rows=1.0)
    assert constant.used(X).sum() == 0
