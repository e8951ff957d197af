"""Dealing rows to parts, so that each part has its share of every class or of every size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["deal"]


def deal(target: NDArray[Any], parts: int, random: np.random.RandomState) -> NDArray[np.int64]:
    """Part 0..parts-1 of each row: rows are shuffled, sorted by target, dealt out in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.dealing import deal
    >>> target = np.array([0, 0, 0, 0, 1, 1])
    >>> part = deal(target, 2, np.random.RandomState(0))
    >>> np.bincount(part[target == 0]), np.bincount(part[target == 1])
    (array([2, 2]), array([1, 1]))
    """
    shuffled = random.permutation(len(target))
    order = shuffled[np.argsort(target[shuffled], kind="stable")]
    part = np.empty(len(target), dtype=np.int64)
    part[order] = np.arange(len(target)) % parts
    return part
