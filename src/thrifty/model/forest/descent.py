"""Sending rows down the trees in NumPy: the counterpart of `thrifty.kernels.descent`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.model.forest.nodes import CATEGORICAL, INDEX, MISSING_LEFT, is_leaf

__all__ = ["descend", "next_nodes"]


def descend(
    nodes: NDArray[np.void],
    subsets: NDArray[np.uint64],
    roots: NDArray[np.int64],
    X: NDArray[np.floating],
) -> NDArray[np.int32]:
    """Return the leaf that each row of X reaches in each tree, (trees, n)."""
    leaves = np.empty((len(roots), len(X)), dtype=np.int32)
    leaf = is_leaf(nodes)
    for tree, root in enumerate(roots):
        position = np.full(len(X), root, dtype=np.int32)
        moving = np.flatnonzero(~leaf[position])
        while len(moving):
            position[moving] = next_nodes(nodes, subsets, X, moving, position[moving])
            moving = moving[~leaf[position[moving]]]
        leaves[tree] = position
    return leaves


def next_nodes(
    nodes: NDArray[np.void],
    subsets: NDArray[np.uint64],
    X: NDArray[np.floating],
    rows: NDArray[np.intp],
    splits: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return the children (m,) to which the nodes `splits` (m,) send the rows `rows` (m,) of X."""
    here = nodes[splits]
    feature = here["feature"]
    x = X[rows, feature & INDEX].astype(np.float64)
    left = x <= here["threshold"]
    category = np.flatnonzero(feature & CATEGORICAL)
    if len(category):
        subset = here["threshold"][category].astype(np.intp)
        # What is no code, such as 256 or a fraction, is in no subset.
        is_code = (x[category] >= 0) & (x[category] < 256) & (x[category] == np.floor(x[category]))
        code = np.where(is_code, x[category], 0).astype(np.uint64)
        bits = subsets[subset, (code >> np.uint64(6)).astype(np.intp)] >> (code & np.uint64(63))
        left[category] = is_code & ((bits & np.uint64(1)) > 0)
    left = np.where(np.isnan(x), (feature & MISSING_LEFT) != 0, left)
    return np.asarray(here["child"] + np.where(left, 0, 1), dtype=np.int32)
