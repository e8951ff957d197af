"""Sending binned rows down a tree that has just been grown, and noting what they read."""

from __future__ import annotations

from thrifty.kernels.jit import jit

__all__ = ["follow"]


@jit
def follow(bins, left, feature, goes_left, leaves, used, news):
    """Leaf of each row, and its features into `used` (n, d).

    The rows that read something for the first time are put into `news`; returns how many.
    """
    count = 0
    for row in range(bins.shape[1]):
        node, new = 0, False
        while left[node] >= 0:
            split = feature[node]
            new |= not used[row, split]
            used[row, split] = True
            node = left[node] + 1 - goes_left[node, bins[split, row]]
        leaves[row] = node
        news[count] = row
        count += new
    return count
