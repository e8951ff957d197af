"""Send binned rows down a tree that has just been grown: leaves and used features."""

from __future__ import annotations

import cython

__all__ = ["follow"]


def follow(
    bins: cython.const[cython.uchar][:, ::1],
    left: cython.const[cython.int][::1],
    feature: cython.const[cython.int][::1],
    goes_left: cython.const[cython.uchar][:, ::1],
    leaves: cython.longlong[::1],
    used: cython.uchar[:, ::1],
    news: cython.longlong[::1],
) -> int:
    """Leaf of each row, and its features into `used` (n, d).

    The rows that read something for the first time are put into `news`; returns how many.
    """
    count: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(bins.shape[1]):
            node: cython.int = 0
            new: cython.int = 0
            while left[node] >= 0:
                split = feature[node]
                new |= 1 - used[row, split]
                used[row, split] = 1
                node = left[node] + 1 - goes_left[node, bins[split, row]]
            leaves[row] = node
            news[count] = row
            count += new
    return count
