"""What each unit of features is worth in a forest: the errors and the bill without it.

A *unit* is a feature, or a group of features that are given up together. Without a unit, every path
ends at its first split that reads it. All units are tried at once, in one pass over the rows.
"""

from __future__ import annotations

import cython
import numpy as np

__all__ = ["drop_each_unit"]


@cython.cclass
class Scratch:
    """What is known of the row at hand.

    Parameters
    ----------
    nodes, units, outputs : int

    Attributes
    ----------
    path, top : int32 arrays (nodes,)
        Splits on the way to the leaf, from below; the first split of each unit on the way.
    order : int32 array (units,)
        Units on the way to the leaf, in the order in which they are first read.
    read : int32 array (units,)
        Units that the row reads in any tree.
    stamp : int64 array (units,)
        The last path on which a unit was seen.
    count : int32 array (units,)
        Trees in which the row reads a unit.
    lost : int32 array (units, units)
        Trees in which it no longer reads one unit if another is dropped.
    change : float array (units, outputs)
        By how much its outputs change if a unit is dropped.
    total : float array (outputs,)
        Its outputs.
    """

    path: cython.int[::1]
    top: cython.int[::1]
    order: cython.int[::1]
    read: cython.int[::1]
    stamp: cython.longlong[::1]
    count: cython.int[::1]
    lost: cython.int[:, ::1]
    change: cython.double[:, ::1]
    total: cython.double[::1]

    def __init__(
        self, nodes: cython.Py_ssize_t, units: cython.Py_ssize_t, outputs: cython.Py_ssize_t
    ) -> None:
        self.path = np.empty(nodes, dtype=np.int32)
        self.top = np.empty(nodes, dtype=np.int32)
        self.order = np.empty(units, dtype=np.int32)
        self.read = np.empty(units, dtype=np.int32)
        self.stamp = np.full(units, -1, dtype=np.int64)
        self.count = np.zeros(units, dtype=np.int32)
        self.lost = np.zeros((units, units), dtype=np.int32)
        self.change = np.zeros((units, outputs))
        self.total = np.empty(outputs)


def drop_each_unit(
    leaves: cython.const[cython.int][:, ::1],
    parent: cython.const[cython.int][::1],
    unit: cython.const[cython.int][::1],
    values: cython.const[cython.double][:, ::1],
    base: cython.const[cython.double][::1],
    codes: cython.const[cython.longlong][::1],
    weight: cython.const[cython.double][::1],
    price: cython.const[cython.double][::1],
):
    """Errors and bills that change if one unit is dropped.

    `leaves` (trees, n) are where rows end; `unit` (nodes,) is -1 for what is never dropped. Returns
    two arrays (units,): weight of the rows that become wrong, less those that become right; and
    the sum of the prices of units that rows no longer read.
    """
    errors, savings = np.zeros(len(price)), np.zeros(len(price))
    by_error: cython.double[::1] = errors
    by_saving: cython.double[::1] = savings
    scratch = Scratch(len(parent), len(price), len(base))
    with cython.nogil:
        for row in range(leaves.shape[1]):
            for k in range(len(base)):
                scratch.total[k] = base[k]
            read: cython.Py_ssize_t = 0
            for tree in range(leaves.shape[0]):
                read = follow_path(
                    leaves[tree, row], row * leaves.shape[0] + tree, parent, unit, values,
                    read, scratch,
                )  # fmt: skip
            settle(row, read, codes, weight, price, by_error, by_saving, scratch)
    return errors, savings


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def follow_path(
    leaf: cython.int,
    number: cython.longlong,
    parent: cython.const[cython.int][::1],
    unit: cython.const[cython.int][::1],
    values: cython.const[cython.double][:, ::1],
    read: cython.Py_ssize_t,
    scratch: Scratch,
) -> cython.Py_ssize_t:
    """Add one tree to what is known of a row; return the number of units that it reads now."""
    depth: cython.Py_ssize_t = 0
    found: cython.Py_ssize_t = 0
    node: cython.int = parent[leaf]
    while node >= 0:
        scratch.path[depth] = node
        depth += 1
        node = parent[node]
    while depth > 0:
        depth -= 1
        node = scratch.path[depth]
        own: cython.int = unit[node]
        if own >= 0 and scratch.stamp[own] != number:
            scratch.stamp[own] = number
            scratch.order[found] = own
            scratch.top[found] = node
            found += 1
    for k in range(scratch.total.shape[0]):
        scratch.total[k] += values[leaf, k]
    for place in range(found):
        own = scratch.order[place]
        if scratch.count[own] == 0:
            scratch.read[read] = own
            read += 1
        scratch.count[own] += 1
        for k in range(scratch.total.shape[0]):
            scratch.change[own, k] += values[scratch.top[place], k] - values[leaf, k]
        # Whatever is first read at this split or below it is no longer read in this tree.
        for below in range(place, found):
            scratch.lost[own, scratch.order[below]] += 1
    return read


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def settle(
    row: cython.Py_ssize_t,
    read: cython.Py_ssize_t,
    codes: cython.const[cython.longlong][::1],
    weight: cython.const[cython.double][::1],
    price: cython.const[cython.double][::1],
    by_error: cython.double[::1],
    by_saving: cython.double[::1],
    scratch: Scratch,
) -> cython.void:
    """Add a row to the sums of every unit that it reads, and forget it."""
    outputs: cython.Py_ssize_t = scratch.total.shape[0]
    now: cython.Py_ssize_t = 0
    for k in range(outputs):
        if scratch.total[k] > scratch.total[now]:
            now = k
    for place in range(read):
        own = scratch.read[place]
        best: cython.Py_ssize_t = 0
        for k in range(outputs):
            if (
                scratch.total[k] + scratch.change[own, k]
                > scratch.total[best] + scratch.change[own, best]
            ):
                best = k
        if best == codes[row] and now != codes[row]:
            by_error[own] -= weight[row]
        elif best != codes[row] and now == codes[row]:
            by_error[own] += weight[row]
        for other in range(read):
            unread = scratch.read[other]
            if scratch.lost[own, unread] == scratch.count[unread]:
                by_saving[own] += price[unread]
            scratch.lost[own, unread] = 0
    for place in range(read):
        own = scratch.read[place]
        scratch.count[own] = 0
        for k in range(outputs):
            scratch.change[own, k] = 0.0
