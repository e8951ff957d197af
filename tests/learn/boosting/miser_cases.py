"""A table and the GreedyMiser estimators that the tests of this folder share."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor, Prices

PRICES = Prices([1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0})
ESTIMATORS = [
    GreedyMiserRegressor(),
    GreedyMiserClassifier(),
    GreedyMiserClassifier(loss="squared_hinge"),
    GreedyMiserRanker(),
    GreedyMiserRanker(loss="squared"),
]
CHARGES = pytest.mark.parametrize("charge", ["model", "example"])


def draw(seed=0, n=300, classes=3):
    """A table with a target for every estimator: numbers, labels and grades."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 6)), 1)
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    X[rng.random(X.shape) < 0.05] = np.nan
    labels = np.digitize(value, np.quantile(value, np.arange(1, classes) / classes))
    return X, value, labels


def target_of(model, value, labels):
    return value if isinstance(model, GreedyMiserRegressor) else labels


def named(model):
    return f"{type(model).__name__[11:]}-{getattr(model, 'loss', 'squared')}"


EVERY = pytest.mark.parametrize("model", ESTIMATORS, ids=named)


def raw_of(model, X):
    return model.model_.raw(model.schema_.encode(X))
