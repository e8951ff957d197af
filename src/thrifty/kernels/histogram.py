"""Histograms of one node of a tree: sums of targets and weights per bin, in fixed point.

Targets and weights are integers (see `fixed_point`), so that sums are exact in any order, and the
same for any number of blocks. Without sample weights, a histogram of a block, which has fewer than
2^22 rows, adds one int64 per row: the target in fixed point above 22 bits of count. With weights,
and where histograms of several blocks are added up, target and weight take one int64 each (two
planes).

`hist` is an int64 array (slots, planes, features, 256); an open leaf owns one slot. `node_sums` and
`add_values` go from the rows of a grown tree to the sums of its nodes, and from its leaf values
back to the rows.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.thrifty.kernels.binning import MISSING
from cython.cimports.thrifty.kernels.growth import Blocks
from cython.cimports.thrifty.kernels.splits import unpack

__all__ = [
    "add_partial",
    "add_rows",
    "add_values",
    "clear",
    "node_sums",
    "subtract",
]


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def add_rows(
    bins: cython.const[cython.uchar][:, ::1],
    rows: cython.const[cython.uint][::1],
    ordered: cython.const[cython.longlong][:, ::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    features: cython.const[cython.longlong][::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    hist: cython.longlong[:, :, :, ::1],
    slot: cython.Py_ssize_t,
) -> cython.void:
    """Add rows[first:last] to histograms of features[begin:end]; `ordered` has their quanta."""
    for plane in range(ordered.shape[0]):
        k = begin
        # Four features a pass: row number and quantum are loaded once for the four.
        while k + 4 <= end:
            add_four(bins, rows, ordered, plane, first, last, features, k, hist, slot)
            k += 4
        while k < end:
            add_one(bins, rows, ordered, plane, first, last, features[k], hist, slot)
            k += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_four(
    bins: cython.const[cython.uchar][:, ::1],
    rows: cython.const[cython.uint][::1],
    ordered: cython.const[cython.longlong][:, ::1],
    plane: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    features: cython.const[cython.longlong][::1],
    k: cython.Py_ssize_t,
    hist: cython.longlong[:, :, :, ::1],
    slot: cython.Py_ssize_t,
) -> cython.void:
    """Add the rows to the histograms of features[k : k + 4]."""
    f0, f1, f2, f3 = features[k], features[k + 1], features[k + 2], features[k + 3]
    for i in range(first, last):
        row, quantum = rows[i], ordered[plane, i]
        hist[slot, plane, f0, bins[f0, row]] += quantum
        hist[slot, plane, f1, bins[f1, row]] += quantum
        hist[slot, plane, f2, bins[f2, row]] += quantum
        hist[slot, plane, f3, bins[f3, row]] += quantum


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_one(
    bins: cython.const[cython.uchar][:, ::1],
    rows: cython.const[cython.uint][::1],
    ordered: cython.const[cython.longlong][:, ::1],
    plane: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    feature: cython.longlong,
    hist: cython.longlong[:, :, :, ::1],
    slot: cython.Py_ssize_t,
) -> cython.void:
    """Add the rows to the histogram of one feature."""
    for i in range(first, last):
        hist[slot, plane, feature, bins[feature, rows[i]]] += ordered[plane, i]


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def clear(
    hist: cython.longlong[:, :, :, ::1],
    slot: cython.Py_ssize_t,
    features: cython.const[cython.longlong][::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    width: cython.const[cython.longlong][::1],
) -> cython.void:
    """Empty the histograms of features[begin:end].

    Only the first `width` bins of a feature, and that of the missing value, are ever touched.
    """
    for plane in range(hist.shape[1]):
        for k in range(begin, end):
            feature = features[k]
            for b in range(width[feature]):
                hist[slot, plane, feature, b] = 0
            hist[slot, plane, feature, MISSING] = 0


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def add_partial(
    partial: cython.const[cython.longlong][:, :, :, ::1],
    hist: cython.longlong[:, :, :, ::1],
    slot: cython.Py_ssize_t,
    features: cython.const[cython.longlong][::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    width: cython.const[cython.longlong][::1],
) -> cython.void:
    """Add the packed histograms of a block to those of all blocks, which have two planes."""
    for k in range(begin, end):
        feature = features[k]
        for b in range(width[feature]):
            here = unpack(partial, 0, feature, b)
            hist[slot, 0, feature, b] += here.target
            hist[slot, 1, feature, b] += here.weight
        here = unpack(partial, 0, feature, MISSING)
        hist[slot, 0, feature, MISSING] += here.target
        hist[slot, 1, feature, MISSING] += here.weight


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def subtract(
    hist: cython.longlong[:, :, :, ::1],
    small: cython.Py_ssize_t,
    large: cython.Py_ssize_t,
    features: cython.const[cython.longlong][::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    width: cython.const[cython.longlong][::1],
) -> cython.void:
    """Leave in slot `large`, which holds the parent, what is not in its child `small`."""
    for plane in range(hist.shape[1]):
        for k in range(begin, end):
            feature = features[k]
            for b in range(width[feature]):
                hist[large, plane, feature, b] -= hist[small, plane, feature, b]
            hist[large, plane, feature, MISSING] -= hist[small, plane, feature, MISSING]


def node_sums(
    blocks: Blocks,
    left: cython.const[cython.int][::1],
    count: cython.const[cython.longlong][::1],
    gradient: cython.const[cython.double][::1],
    hessian: cython.const[cython.double][::1],
    units: cython.const[cython.double][::1],
):
    """Quanta (nodes, 2) of gradient and hessian of the rows of each node.

    `units` are what a quantum of each is worth. An empty `hessian` counts 1 a row.
    """
    sums = np.empty((left.shape[0], 2), dtype=np.int64)
    out: cython.longlong[:, ::1] = sums
    with cython.nogil:
        for node in range(left.shape[0] - 1, -1, -1):
            child = left[node]
            if child >= 0:
                out[node, 0] = out[child, 0] + out[child + 1, 0]
                out[node, 1] = out[child, 1] + out[child + 1, 1]
                continue
            out[node, 0] = sum_over(blocks, node, gradient, units[0])
            if hessian.shape[0] == 0:
                out[node, 1] = count[node]
            else:
                out[node, 1] = sum_over(blocks, node, hessian, units[1])
    return sums


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sum_over(
    blocks: Blocks,
    node: cython.Py_ssize_t,
    values: cython.const[cython.double][::1],
    unit: cython.double,
) -> cython.longlong:
    """Quanta of the values of the rows of a node."""
    total: cython.longlong = 0
    for b in range(blocks.base.shape[0]):
        first, last = blocks.first[b, node], blocks.last[b, node]
        total += sum_rows(values, blocks.rows, blocks.base[b], first, last, unit)
    return total


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def sum_rows(
    values: cython.const[cython.double][::1],
    rows: cython.const[cython.uint][::1],
    base: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    unit: cython.double,
) -> cython.longlong:
    """Quanta of the values of rows[first:last], each the nearest whole number of them."""
    total: cython.longlong = 0
    scale = 2.0 / unit
    for i in range(first, last):
        # In halves toward 0, then away from 0: no branch on the sign to mispredict.
        halves = cython.cast(cython.longlong, values[base + rows[i]] * scale)
        total += (halves + 1 + (halves >> 63)) >> 1
    return total


def add_values(
    blocks: Blocks,
    left: cython.const[cython.int][::1],
    values: cython.const[cython.double][::1],
    out: cython.double[::1],
):
    """Add the value of its leaf to every row."""
    rows: cython.const[cython.uint][::1] = blocks.rows
    with cython.nogil:
        for b in range(blocks.base.shape[0]):
            base = blocks.base[b]
            for node in range(left.shape[0]):
                if left[node] < 0:
                    value = values[node]
                    for i in range(blocks.first[b, node], blocks.last[b, node]):
                        out[base + rows[i]] += value
