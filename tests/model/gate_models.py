"""Random forests and rows for the tests of `Gate`, `LeafGate` and `CallResult`."""

from __future__ import annotations

import numpy as np
from forests import Shape, draw_forest


def draw_parts(seed, features=5):
    """A gate, a local model and an expensive model that fit together."""
    rng = np.random.default_rng(seed)
    gate = draw_forest(rng, Shape.of("sum", trees=4, depth=2, features=features))
    local = draw_forest(rng, Shape.of("softmax", trees=6, depth=2, features=features))
    expensive = draw_forest(rng, Shape.of("softmax", trees=9, depth=3, features=features))
    return gate, local, expensive


def draw_rows(seed, n=40, features=5):
    """Rows with two columns of codes and missing values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    X[:, :2] = rng.integers(0, 6, size=(n, 2))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def walk_through(model, row, order):
    """A walk that receives the values of a row one after the other, in some order."""
    walk = model.walk()
    for j in order:
        walk.tell({int(j): float(row[j])})
    return walk
