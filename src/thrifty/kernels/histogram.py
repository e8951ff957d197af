"""Histograms of one node of a tree: sums of targets and weights per bin, in fixed point.

Targets and weights are integers, so that sums are exact in any order. Without sample weights and
below 2^22 rows, a histogram adds one int64 per row: the target in fixed point above 22 bits of
count. Otherwise target and weight take one int64 each (two planes). Scales are powers of two, so
targets that are dyadic fractions lose nothing.

`hist` is an int64 array (slots, planes, features, 256); an open leaf owns one slot. `node_sums` and
`add_values` go from the rows of a grown tree to the sums of its nodes, and from its leaf values
back to the rows.
"""

from __future__ import annotations

import math

import numpy as np

from thrifty.kernels.binning import MISSING
from thrifty.kernels.jit import jit

__all__ = ["COUNT_BITS", "add_rows", "add_values", "node_sums", "quantize", "subtract", "unpack"]

COUNT_BITS = 22
SUM_BITS = 40  # of the packed sum's 42 bits: one for the sign, one for the rounding of each row
WIDE_BITS = 61


def quantize(target, weight=None):
    """Quanta (planes, n) int64 of weight * target [and weight], and what one quantum is worth.

    No subset of rows can sum to more than the total of the absolute values, so that total, not
    the largest value, sets the scale: an outlier costs the other rows no precision.
    """
    if weight is None and len(target) < 1 << COUNT_BITS:
        unit = _unit(np.abs(target).sum(), SUM_BITS)
        packed = np.empty((1, len(target)), dtype=np.int64)
        pack(target, unit, packed[0])
        return packed, np.array([unit, 1.0])
    weight = np.ones(len(target)) if weight is None else weight
    planes, units = [], []
    for values in (weight * target, weight):
        units.append(_unit(np.abs(values).sum(), WIDE_BITS))
        planes.append(np.rint(values / units[-1]).astype(np.int64))
    return np.stack(planes), np.array(units)


@jit
def pack(target, unit, out):
    """Each target in fixed point above a count of one."""
    for i in range(len(target)):
        out[i] = (np.int64(np.rint(target[i] / unit)) << COUNT_BITS) + 1


def _unit(total, bits):
    """Smallest power of two of which `total` holds fewer than 2^bits."""
    if total == 0:
        return 1.0
    # A total so small that its quantum is none makes every quantum zero.
    return math.ldexp(1.0, math.frexp(total)[1] - bits) or 1.0


COUNT_MASK = (1 << COUNT_BITS) - 1


@jit
def add_rows(bins, rows, ordered, features, width, out):
    """Histograms of `features` over `rows` into `out` (planes, d, 256); `ordered`: by row.

    Only the first `width` bins of a feature, and that of the missing value, are ever touched.
    """
    for plane in range(len(ordered)):
        for feature in features:
            out[plane, feature, : width[feature]] = 0
            out[plane, feature, MISSING] = 0
        k = 0
        # Four features a pass: row number and quantum are loaded once for the four.
        while k + 4 <= len(features):
            add_four(bins, rows, ordered[plane], features[k : k + 4], out[plane])
            k += 4
        for feature in features[k:]:
            add_one(bins[feature], rows, ordered[plane], out[plane, feature])


@jit
def add_four(bins, rows, quanta, features, out):
    f0, f1, f2, f3 = features[0], features[1], features[2], features[3]
    b0, b1, b2, b3 = bins[f0], bins[f1], bins[f2], bins[f3]
    h0, h1, h2, h3 = out[f0], out[f1], out[f2], out[f3]
    for i in range(len(rows)):
        row, quantum = rows[i], quanta[i]
        h0[b0[row]] += quantum
        h1[b1[row]] += quantum
        h2[b2[row]] += quantum
        h3[b3[row]] += quantum


@jit
def add_one(bins, rows, quanta, out):
    for i in range(len(rows)):
        out[bins[rows[i]]] += quanta[i]


@jit
def subtract(hist, small, large, features, width):
    """Leave in slot `large`, which holds the parent, what is not in its child `small`."""
    for plane in range(hist.shape[1]):
        for feature in features:
            parent, child = hist[large, plane, feature], hist[small, plane, feature]
            for b in range(width[feature]):
                parent[b] -= child[b]
            parent[MISSING] -= child[MISSING]


@jit
def unpack(hist, slot, feature, b):
    """Target and weight of one bin, in quanta."""
    if hist.shape[1] == 2:
        return hist[slot, 0, feature, b], hist[slot, 1, feature, b]
    packed = hist[slot, 0, feature, b]
    return packed >> COUNT_BITS, packed & COUNT_MASK


@jit
def node_sums(rows, first, last, left, count, gradient, hessian):
    """Sum of gradient and hessian over the rows of each node, inner nodes from their children.

    An empty `hessian` counts 1 a row.
    """
    sums = np.zeros((count, 2))
    for node in range(count - 1, -1, -1):
        if left[node] >= 0:
            sums[node] = sums[left[node]] + sums[left[node] + 1]
            continue
        for i in range(first[node], last[node]):
            sums[node, 0] += gradient[rows[i]]
        if len(hessian) == 0:
            sums[node, 1] = last[node] - first[node]
            continue
        for i in range(first[node], last[node]):
            sums[node, 1] += hessian[rows[i]]
    return sums


@jit
def add_values(rows, first, last, left, count, values, out):
    """Add the value of its leaf to every row."""
    for node in range(count):
        if left[node] < 0:
            for i in range(first[node], last[node]):
                out[rows[i]] += values[node]
