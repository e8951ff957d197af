"""Send binned rows down a tree that has just been grown: leaves, used features, sums of leaves."""

from __future__ import annotations

import cython

__all__ = ["add_leaves", "follow"]


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


def add_leaves(
    values: cython.const[cython.double][:, ::1],
    leaves: cython.const[cython.int][::1],
    sums: cython.double[:, ::1],
    counts: cython.double[::1],
) -> None:
    """Add the values of the leaf of each row to its sums, and 1 to its count, unless it is -1."""
    with cython.nogil:
        for row in range(leaves.shape[0]):
            leaf = leaves[row]
            if leaf >= 0:
                counts[row] += 1.0
                for k in range(values.shape[1]):
                    sums[row, k] += values[leaf, k]
