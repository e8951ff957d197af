"""Sending rows down a forest until they are settled, in NumPy.

The counterpart of `thrifty.kernels.short_circuit`: in each round, every open row buys one feature,
each its own, and all trees of all rows move on together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.model.forest.descent import next_nodes
from thrifty.model.forest.forest import Forest
from thrifty.model.forest.nodes import INDEX, is_leaf
from thrifty.model.short_circuit.bounds import Bounds, are_settled

__all__ = ["descend_until_settled"]

Ints = NDArray[np.int64]


def descend_until_settled(
    forest: Forest,
    bounds: Bounds,
    order: Ints,
    X: NDArray[np.floating],
    used: NDArray[np.bool_],
) -> tuple[Ints, Ints]:
    """Return the nodes (n, trees) where the trees of each row end, and how many are leaves, (n,).

    The features that each row buys are written to `used` (n, n_features).
    """
    position = np.tile(forest.roots, (len(X), 1))
    leaf, feature = is_leaf(forest.nodes), forest.nodes["feature"] & INDEX
    rows = np.arange(len(X))
    while True:
        settled = are_settled(*bounds.output_range(forest, position[rows]), bounds.rule)
        waiting = ~leaf[position[rows]]
        is_open = ~settled & waiting.any(axis=1)
        rows, waiting = rows[is_open], waiting[is_open]
        if not len(rows):
            return position, leaf[position].sum(axis=1)
        # Buy the feature that the first unfinished tree in the order waits for.
        first = order[waiting[:, order].argmax(axis=1)]
        used[rows, feature[position[rows, first]]] = True
        # Move every tree of the open rows as far as the features bought lead it.
        while True:
            here = position[rows]
            ready = ~leaf[here] & used[rows[:, np.newaxis], feature[here]]
            which, trees = np.nonzero(ready)
            if not len(which):
                break
            splits = here[which, trees].astype(np.int32)
            position[rows[which], trees] = next_nodes(
                forest.nodes, forest.subsets, X, rows[which], splits
            )
