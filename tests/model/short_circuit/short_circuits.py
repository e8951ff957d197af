"""Forests to short-circuit: random ones, and stumps whose sums are easy to follow."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from forests import Shape, draw_forest, draw_table
from hypothesis import strategies as st

from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes

CLASSES = ("sigmoid", "binary hinge", "hinge", "softmax", "mean", "vote")
SEEDS = st.integers(0, 2**32 - 1)
# Coarse values tie often; tenths tie but for the rounding of their sums.
GRAINS = st.sampled_from([None, 1.0, 10.0])


def draw(seed, link, grain=None, rows=24, **changes):
    """Draw a generator, a forest and a table; `grain` rounds the values of the forest."""
    rng = np.random.default_rng(seed)
    small = {"trees": int(rng.integers(0, 14)), "depth": int(rng.integers(1, 5)), **changes}
    shape = (
        Shape.of("hinge", outputs=1, **small) if link == "binary hinge" else Shape.of(link, **small)
    )
    forest = draw_forest(rng, shape)
    if grain is not None:
        coarse = {
            name: np.round(getattr(forest, name) * grain) / grain for name in ("values", "base")
        }
        forest = replace(forest, **coarse)
    return rng, forest, draw_table(rng, shape, rows=rows, missing=0.2)


def stumps(values, link, outputs=None, base=None, features=None):
    """Return a forest of one split per tree, each on its own feature: x <= 0 goes left."""
    trees = len(values)
    nodes = empty_nodes(3 * trees)
    for tree in range(trees):
        nodes[3 * tree] = (0.0, 3 * tree + 1, tree)
    values = np.array([[np.mean(pair, axis=0), *pair] for pair in values], dtype=float)
    width = 1 if values.ndim == 2 else values.shape[2]
    k = max(outputs) + 1 if outputs else width
    return Forest(
        nodes, values.reshape(3 * trees, width), 3 * np.arange(trees),
        np.array(outputs or np.zeros(trees), dtype=np.int64),
        np.zeros(k) if base is None else np.array(base), link, features or trees,
    )  # fmt: skip


def every_row(d):
    """Return all rows of d signs, (2 ** d, d)."""
    return np.array(list(product([-1.0, 1.0], repeat=d)))
