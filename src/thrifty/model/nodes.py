"""The record of one tree node, 16 bytes, and how to read it.

A split sends a value x to `child` if x <= threshold, else to `child + 1`; on a categorical
feature `threshold` is the number of a subset of codes and x goes to `child` if it is in it. A
missing value goes to `child` if MISSING_LEFT is set. A leaf is its own child.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["CATEGORICAL", "INDEX", "MISSING_LEFT", "NODE", "empty_nodes", "is_leaf"]

NODE = np.dtype([("threshold", "<f8"), ("child", "<i4"), ("feature", "<i4")])

MISSING_LEFT = 1 << 30
CATEGORICAL = 1 << 29
INDEX = CATEGORICAL - 1


def empty_nodes(n: int) -> NDArray[np.void]:
    """`n` leaves. A leaf sends every value, missing or not, to itself: scoring needs no test."""
    nodes = np.empty(n, dtype=NODE)
    nodes["threshold"] = np.inf
    nodes["child"] = np.arange(n)
    nodes["feature"] = MISSING_LEFT
    return nodes


def is_leaf(nodes: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which nodes are leaves."""
    return np.asarray(nodes["child"] == np.arange(len(nodes)))
