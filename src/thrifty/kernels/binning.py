"""Binning: turn each column of floats into a column of bytes.

Bin b holds the values with edges[b - 1] < x <= edges[b], so that "bin <= b" in training and
"x <= edges[b]" in prediction are the same test. Category codes are their own bins. Byte 255 marks a
missing value. The bytes are stored feature by feature, the order in which histograms read them.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.jit import jit
from thrifty.kernels.threads import blocks, run

__all__ = ["MAX_BINS", "MISSING", "bin_table", "find_edges"]

MAX_BINS = 255
MISSING = 255
# Edges of a long column come from a sample: more rows would move an edge by less than a bin.
SAMPLE = 100_000
COLUMNS_PER_BLOCK = 8
CELLS = 2048


def find_edges(column):
    """Upper edges of the bins of one column: between the distinct values, or at quantiles."""
    values = np.sort(column[~np.isnan(column)])
    if not len(values):
        return values
    distinct = values[np.append(True, values[1:] > values[:-1])]
    if len(distinct) <= MAX_BINS:
        return _between(distinct[:-1], distinct[1:])
    ranks = np.arange(1, MAX_BINS) * (len(values) - 1) / MAX_BINS
    low = values[np.floor(ranks).astype(np.intp)]
    above = np.searchsorted(distinct, low, side="right")
    above = above[above < len(distinct)]
    return np.unique(_between(distinct[above - 1], distinct[above]))


def _between(low, high):
    middle = low / 2 + high / 2
    # Neighbouring floats have no middle: the lower one then is the edge.
    return np.where((middle >= low) & (middle < high), middle, low)


def bin_table(X, categorical, edges=None, sample=None):
    """Bin every column of X (n, d); returns the bins (d, n) and the edges of each column.

    `categorical` marks the columns of codes. Without `edges` they are found on the rows
    `sample` (all rows where it is None).
    """
    n, d = X.shape
    bins = np.empty((d, n), dtype=np.uint8)
    found = [None] * d if edges is None else edges

    def task(first, last):
        block = np.ascontiguousarray(X[:, first:last].T, dtype=np.float64)
        for j, column in enumerate(block, start=first):
            if categorical[j]:
                fill_codes(column, bins[j])
                found[j] = np.empty(0)
                continue
            if edges is None:
                found[j] = find_edges(column if sample is None else column[sample])
            fill_bins(column, found[j], bins[j])

    run(task, blocks(d, COLUMNS_PER_BLOCK))
    return bins, found


@jit
def fill_bins(column, edges, out):
    """Byte of each value: a grid of equal cells leads to the few edges that are near it.

    The cell grows with the value, for edges and values alike, so an edge in an earlier cell is
    below the value and an edge in a later cell above it: the search is exact for any grid.
    """
    low, scale = grid(edges)
    start = np.zeros(CELLS + 1, dtype=np.int32)
    for edge in edges:
        start[cell(edge, low, scale) + 1] += 1
    start = np.cumsum(start)
    for i in range(len(column)):
        x = column[i]
        if x != x:
            out[i] = MISSING
            continue
        c = cell(x, low, scale)
        first, last = start[c], start[c + 1]
        while first < last:
            middle = (first + last) >> 1
            if x > edges[middle]:
                first = middle + 1
            else:
                last = middle
        out[i] = first


@jit
def grid(edges):
    """Origin and scale of the cells; a scale of 0 puts everything into the first cell."""
    if len(edges) < 2:
        return 0.0, 0.0
    span = edges[-1] - edges[0]
    return edges[0], (CELLS - 1) / span if 0.0 < span < np.inf else 0.0


@jit
def cell(x, low, scale):
    """Cell of a value, never decreasing in x."""
    place = (x - low) * scale
    if not place > 0.0:
        return np.intp(0)
    return np.intp(min(place, CELLS - 1.0))


@jit
def fill_codes(column, out):
    """Byte of each category code."""
    for i in range(len(column)):
        x = column[i]
        out[i] = np.uint8(x) if x == x else MISSING
