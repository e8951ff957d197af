"""Sending rows down the trees, in plain NumPy: the twin of `thrifty.kernels.descent`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.model.forest.nodes import CATEGORICAL, INDEX, MISSING_LEFT, is_leaf

__all__ = ["descend"]


def descend(
    nodes: NDArray[np.void],
    subsets: NDArray[np.uint64],
    roots: NDArray[np.int64],
    X: NDArray[np.floating],
) -> NDArray[np.int32]:
    """Leaf that each row reaches in each tree, (trees, n)."""
    leaves = np.empty((len(roots), len(X)), dtype=np.int32)
    done = is_leaf(nodes)
    for tree, root in enumerate(roots):
        place = np.full(len(X), root, dtype=np.int32)
        moving = np.flatnonzero(~done[place])
        while len(moving):
            place[moving] = _step(nodes, subsets, X, moving, place[moving])
            moving = moving[~done[place[moving]]]
        leaves[tree] = place
    return leaves


def _step(
    nodes: NDArray[np.void],
    subsets: NDArray[np.uint64],
    X: NDArray[np.floating],
    rows: NDArray[np.intp],
    place: NDArray[np.int32],
) -> NDArray[np.int32]:
    here = nodes[place]
    feature = here["feature"]
    x = X[rows, feature & INDEX].astype(np.float64)
    left = x <= here["threshold"]
    category = np.flatnonzero(feature & CATEGORICAL)
    if len(category):
        subset = here["threshold"][category].astype(np.intp)
        is_code = (x[category] >= 0) & (x[category] < 256) & (x[category] == np.floor(x[category]))
        code = np.where(is_code, x[category], 0).astype(np.uint64)
        bits = subsets[subset, (code >> np.uint64(6)).astype(np.intp)] >> (code & np.uint64(63))
        left[category] = is_code & ((bits & np.uint64(1)) > 0)
    left = np.where(np.isnan(x), (feature & MISSING_LEFT) != 0, left)
    return np.asarray(here["child"] + np.where(left, 0, 1), dtype=np.int32)
