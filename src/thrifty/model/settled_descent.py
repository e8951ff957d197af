"""Sending rows down a forest until they are settled, in plain NumPy.

The twin of `thrifty.kernels.short_circuit`: all rows of a block buy one feature at a time, each
its own, and all trees of all rows move on together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.model.descent import _step as step
from thrifty.model.forest import Forest
from thrifty.model.nodes import INDEX, is_leaf
from thrifty.model.settling import LARGEST, SIGN, VALUE, Settling

__all__ = ["settle"]

Ints = NDArray[np.int64]


def settle(
    forest: Forest,
    settling: Settling,
    order: Ints,
    X: NDArray[np.floating],
    used: NDArray[np.bool_],
) -> tuple[Ints, Ints]:
    """Nodes (n, trees) where the trees of each row end up, and how many of them are leaves.

    What each row buys is written to `used`.
    """
    place = np.tile(forest.roots, (len(X), 1))
    leaf = is_leaf(forest.nodes)
    feature = forest.nodes["feature"] & INDEX
    open_rows = np.arange(len(X))
    while True:
        settled = _are_settled(*settling.ends(forest, place[open_rows]), settling.rule)
        waiting = ~leaf[place[open_rows]]
        going = ~settled & waiting.any(axis=1)
        open_rows, waiting = open_rows[going], waiting[going]
        if not len(open_rows):
            return place, leaf[place].sum(axis=1)
        current = order[waiting[:, order].argmax(axis=1)]
        used[open_rows, feature[place[open_rows, current]]] = True
        _move(forest, X, used, place, open_rows)


def _move(
    forest: Forest,
    X: NDArray[np.floating],
    used: NDArray[np.bool_],
    place: Ints,
    rows: Ints,
) -> None:
    """Move every tree of some rows as far as the features bought lead it."""
    leaf, feature = is_leaf(forest.nodes), forest.nodes["feature"] & INDEX
    while True:
        here = place[rows]
        ready = ~leaf[here] & used[rows[:, np.newaxis], feature[here]]
        which, trees = np.nonzero(ready)
        if not len(which):
            return
        place[rows[which], trees] = step(
            forest.nodes, forest.subsets, X, rows[which], here[which, trees].astype(np.int32)
        )


def _are_settled(least: Ints, most: Ints, rule: Ints) -> NDArray[np.bool_]:
    """`thrifty.model.settling.is_settled` for each row."""
    kind, before, after, flat = rule
    if kind == VALUE:
        return np.asarray(most[:, 0] - least[:, 0] <= before)
    if kind == SIGN:
        return np.asarray((least[:, 0] > before) | (most[:, 0] < -before))
    assert kind == LARGEST
    lows, highs = least.clip(-flat, flat), most.clip(-flat, flat)
    best = lows.argmax(axis=1)[:, np.newaxis]
    k = np.arange(least.shape[1])
    margin = np.where(k < best, before, after)
    ahead = np.take_along_axis(lows, best, axis=1) - highs > margin
    level = (np.take_along_axis(least, best, axis=1) - flat >= margin) | (-most - flat >= margin)
    return np.asarray((ahead | (k == best) | ((k > best) & level)).all(axis=1))
