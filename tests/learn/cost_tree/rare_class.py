"""A table with few positives, for the tests of cascades."""

from __future__ import annotations

import numpy as np


def rare_positives(n=1500, seed=0):
    """Positives lie in a corner; the first column alone rules out most rows."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, (X[:, 0] > 1) & (X[:, 1] > 0.8)
