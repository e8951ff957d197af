"""The example of Nan 2018, fig. 2.1, and random sequential models."""

from __future__ import annotations

import numpy as np

from thrifty.model import LocalGaussians, Neighbors
from thrifty.model.sequential import AdditiveTerms

# Nan 2018, fig. 2.1: eight points, three features, and the separating plane that is printed there.
POINTS = np.array(
    [[1, -1, -1]] * 2 + [[-1, 1, 1]] * 2 + [[-1, 1, -1]] + [[1, 1, 1]] * 3, dtype=np.float64
)
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
PLANE = AdditiveTerms.linear(
    np.array([[0.9995], [1.4998], [-0.5002]]), np.array([-0.9997]), np.zeros(3)
)


def eight_points(threshold=0.9, order=(1, 0, 2)):
    """Neighbors among the eight points, with free features."""
    return Neighbors(
        PLANE, POINTS, LABELS, np.ones(3), np.zeros(3, dtype=bool), np.zeros(3), np.full(3, -1),
        np.zeros(0), np.array(order), k=1, threshold=threshold,
    )  # fmt: skip


def draw_neighbors(seed, classes=2, n=25, d=5, decimals=8, missing=0.15):
    """A model on random rows with a category, steps, prices and a group; and rows to classify."""
    rng = np.random.default_rng(seed)
    c = 1 if classes == 2 else classes
    X = rng.normal(size=(n + 6, d)).round(decimals)
    X[:, -1] = rng.integers(0, 3, size=len(X))
    X[rng.random(X.shape) < missing] = np.nan
    slope = rng.normal(size=(d, c))
    slope[-1] = 0.0
    edges = np.array([-0.5, 0.4, 0.5, 1.5])
    starts = np.array([0, 2, *[2] * (d - 2), 4])
    terms = AdditiveTerms(
        0.3 * rng.normal(size=c), rng.normal(size=d), slope, starts, edges,
        rng.normal(size=(len(edges) + d, c)), rng.normal(size=(d, c)),
    )  # fmt: skip
    model = Neighbors(
        terms, X[:n], rng.integers(0, classes, size=n), rng.uniform(0.5, 2.0, size=d),
        np.arange(d) == d - 1, rng.uniform(0, 0.1, size=d), np.array([0, 0, *[-1] * (d - 2)]),
        np.array([0.2]), rng.permutation(d), k=int(rng.integers(1, 12)), threshold=0.8,
    )  # fmt: skip
    return model, X[n:]


def draw_gaussians(seed, classes=2, n=40, d=4, threshold=0.8):
    """A model on random rows with prices and a group; and rows to classify."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    rows = rng.normal(size=(n, d)) + 0.8 * labels[:, np.newaxis]
    model = LocalGaussians(
        rows, labels, np.full(d, 0.5), np.full(d, 2.0), rng.uniform(0, 0.05, size=d),
        np.array([0, 0, *[-1] * (d - 2)]), np.array([0.05]), rng.permutation(d), 0.5, threshold,
    )  # fmt: skip
    X = rng.normal(size=(8, d))
    X[rng.random(X.shape) < 0.15] = np.nan
    return model, X


def damaged(model, part, change):
    """The state of a model with one entry replaced, or one array changed by a function."""
    plain, arrays = model.state()
    if part in plain:
        plain[part] = change
    else:
        arrays[part] = change(arrays[part])
    return plain, arrays
