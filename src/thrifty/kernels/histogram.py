"""Histograms: sums of targets and weights per bin, for one node of a tree.

`hist` is (slots, planes, d, 256) int64, see `quanta`: one plane holds target and count packed,
two planes hold target and weight.
"""

from __future__ import annotations

from thrifty.kernels.binning import MISSING
from thrifty.kernels.jit import jit
from thrifty.kernels.quanta import COUNT_BITS

__all__ = ["add_rows", "subtract", "unpack"]

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
