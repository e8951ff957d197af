"""Tables for the tests of classifiers that buy one feature at a time."""

from __future__ import annotations

import numpy as np


def draw(seed, n=300, d=5, classes=2):
    """Rows of which the first three columns decide the class, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    value = 2 * X[:, 0] + X[:, 1] - X[:, 2] + 0.3 * rng.normal(size=n)
    return X, np.digitize(value, np.quantile(value, np.arange(1, classes) / classes))
