"""At price 0 the trees are LightGBM's: same features, same rows in each leaf, same predictions.

Both grow the leaf of the largest gain first. LightGBM stops at `num_leaves`, we at a depth: with
num_leaves = 2 ** depth both split every node that gains, and the order leaves no trace.
"""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from thrifty.learn import GreedyMiserRegressor
from thrifty.model.forest.nodes import CATEGORICAL, INDEX, is_leaf

TREES = 8
LEAF = 15


def draw(seed, n=600, d=6, missing=0.0):
    """Whole numbers of fewer than 255 values, so that both make the same bins."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-20, rng.integers(2, 100, size=d), size=(n, d)).astype(float)
    signal = np.sin(X[:, 0] / 7) + (X[:, 1] > 5) * (X[:, 2] / 50) + 0.3 * (X[:, 3] < 0)
    y = signal + rng.normal(scale=0.3, size=n)
    X[rng.random((n, d)) < missing] = np.nan
    return X, y


def fit_lightgbm(X, y, depth, weight=None, trees=TREES, least=LEAF):
    parameters = {
        "objective": "regression",
        "num_leaves": 2**depth,
        "max_depth": depth,
        "learning_rate": 0.3,
        "min_data_in_leaf": least,
        "min_sum_hessian_in_leaf": 1e-9,
        "min_data_in_bin": 1,
        "max_bin": 255,
        "lambda_l2": 0.0,
        "boost_from_average": True,
        "feature_pre_filter": False,
        "deterministic": True,
        "force_col_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    data = lightgbm.Dataset(X, y, weight=weight, params=parameters)
    return lightgbm.train(parameters, data, num_boost_round=trees)


def fit_ours(X, y, depth, weight=None, trees=TREES, least=LEAF):
    model = GreedyMiserRegressor(
        n_estimators=trees, learning_rate=0.3, max_depth=depth, min_samples_leaf=least
    )
    return model.fit(X, y, sample_weight=weight)


def partition(leaves):
    """Rows that share a leaf, as a set of sets."""
    return {frozenset(np.flatnonzero(leaves == leaf).tolist()) for leaf in np.unique(leaves)}


def splits_of_lightgbm(booster, X):
    """Per tree, the rows of each inner node with its feature."""
    for tree in booster.dump_model()["tree_info"]:
        splits = set()
        open_nodes = [(tree["tree_structure"], np.arange(len(X)))]
        while open_nodes:
            node, rows = open_nodes.pop()
            if "split_feature" not in node:
                continue
            splits.add((node["split_feature"], frozenset(rows.tolist())))
            x = X[rows, node["split_feature"]]
            left = np.where(np.isnan(x), node["default_left"], x <= node["threshold"])
            open_nodes += [(node["left_child"], rows[left]), (node["right_child"], rows[~left])]
        yield splits


def splits_of_ours(forest, X):
    for tree, root in enumerate(forest.roots):
        end = forest.roots[tree + 1] if tree + 1 < len(forest.roots) else len(forest.nodes)
        nodes = forest.nodes[root:end]
        assert not np.any(nodes["feature"] & CATEGORICAL)
        leaf = forest.leaves(X)[tree] - root
        rows = {place: set(np.flatnonzero(leaf == place).tolist()) for place in range(len(nodes))}
        splits = set()
        for place in np.flatnonzero(~is_leaf(forest.nodes)[root:end])[::-1]:
            child = nodes["child"][place] - root
            rows[place] = rows[child] | rows[child + 1]
            splits.add((int(nodes["feature"][place]) & INDEX, frozenset(rows[place])))
        yield splits


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_trees_at_price_0_are_those_of_lightgbm(seed, depth, missing):
    X, y = draw(seed, missing=missing)
    theirs, ours = fit_lightgbm(X, y, depth), fit_ours(X, y, depth)
    leaves = theirs.predict(X, pred_leaf=True).reshape(len(X), -1)
    assert leaves.shape[1] == len(ours.model_.roots) == TREES
    for tree, mine in enumerate(ours.model_.leaves(X)):
        assert partition(mine) == partition(leaves[:, tree])
    for mine, other in zip(
        splits_of_ours(ours.model_, X), splits_of_lightgbm(theirs, X), strict=True
    ):
        assert mine == other
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_many_rounds_predict_what_lightgbm_predicts(seed):
    X, y = draw(seed, n=1500)
    theirs, ours = fit_lightgbm(X, y, 3, trees=40), fit_ours(X, y, 3, trees=40)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_weighted_trees_are_those_of_lightgbm(seed):
    X, y = draw(seed)
    weight = np.random.default_rng(seed).uniform(1.0, 3.0, size=len(y))
    # One counts rows and the other weight: let neither be a limit.
    theirs, ours = fit_lightgbm(X, y, 3, weight, least=1), fit_ours(X, y, 3, weight, least=1)
    leaves = theirs.predict(X, pred_leaf=True)
    for tree, mine in enumerate(ours.model_.leaves(X)):
        assert partition(mine) == partition(leaves[:, tree])
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-6)
