"""A table whose halves need different columns, and helpers that read a fitted tree."""

from __future__ import annotations

import numpy as np

from thrifty import SubmodularTreeRegressor


def two_halves(n=1000, seed=0):
    """Column 0 separates two halves; columns 1 and 2 matter in one half each; 3 is noise."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, 4.0 * X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], -X[:, 2])


def small_tree(**settings):
    return SubmodularTreeRegressor(min_samples_leaf=20, **settings)


def columns_of_node(tree, node):
    return set(tree.encoding.columns[tree.inputs[tree.starts[node] : tree.starts[node + 1]]])


def has_finite_weights(model):
    tree = model.model_
    return all(np.isfinite(a).all() for a in (tree.weights, tree.route, tree.bias, tree.threshold))
