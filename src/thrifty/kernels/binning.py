"""Binning: turn each column of floats into a column of bytes.

Bin b holds the values with edges[b - 1] < x <= edges[b], so that "bin <= b" in training and
"x <= edges[b]" in prediction are the same test. Category codes are their own bins. Byte 255 marks a
missing value. The bytes are stored feature by feature, the order in which histograms read them.
"""

from __future__ import annotations

import cython
import numpy as np

from thrifty.kernels.threads import blocks, run

__all__ = ["MAX_BINS", "MISSING", "bin_table", "find_edges", "most_bins"]

MAX_BINS = 255
# Trees look at every bin of every column. Of so few rows in so many columns, a bin would hold one
# or two: fewer bins are enough, and trees take less than half of the time.
MANY_COLUMNS, FEW_ROWS, FEW_BINS = 2000, 4000, 64
# Compiled, this is an enum in the .pxd: C code reads no Python objects.
if not cython.compiled:  # pragma: no branch
    MISSING = 255
# Edges of a long column come from a sample: more rows would move an edge by less than a bin.
SAMPLE = 100_000
COLUMNS_PER_BLOCK = 8

_CELLS = cython.declare(cython.int, 2048)
INFINITY = cython.declare(cython.double, float("inf"))

# Cells of equal width: where the first one starts, cells per unit, and the number of the last.
Grid = cython.struct(low=cython.double, scale=cython.double, last=cython.double)


def most_bins(n, d):
    """Most bins for each column of n rows and d columns, not counting that of missing values."""
    return FEW_BINS if n < FEW_ROWS and d > MANY_COLUMNS else MAX_BINS


def find_edges(column, most=MAX_BINS):
    """Upper edges of the at most `most` bins of one column: between values, or at quantiles.

    A value that fills several quantiles by itself gets one bin, and the rarer values share the bins
    that this leaves: else a column of mostly zeros would have few bins for its other values.
    """
    values = np.sort(column[~np.isnan(column)])
    if not len(values):
        return values
    is_new = np.ones(len(values), dtype=bool)
    np.greater(values[1:], values[: len(values) - 1], out=is_new[1:])
    distinct = values[is_new]
    if len(distinct) <= most:
        return _between(distinct[: len(distinct) - 1], distinct[1:])
    edges = _edges_at_quantiles(values, distinct, most)
    if len(edges) == most - 1:
        return edges
    counts = np.diff(np.append(is_new.nonzero()[0], len(values)))
    frequent = counts > len(values) / most
    beside = (frequent[: len(distinct) - 1] | frequent[1:]).nonzero()[0]
    rare = values[~np.repeat(frequent, counts)]
    around = _between(distinct[beside], distinct[beside + 1])
    shared = _edges_at_quantiles(rare, distinct, most - len(around))
    return np.union1d(around, shared) if len(around) < most - 1 else edges


def _edges_at_quantiles(values, distinct, n_bins):
    """Edges that divide sorted values into bins of about as many values each."""
    ranks = np.arange(1, n_bins) * (len(values) - 1) / n_bins
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
    most = most_bins(n, d)

    def task(first, last):
        block = np.ascontiguousarray(X[:, first:last].T, dtype=np.float64)
        for j, column in enumerate(block, start=first):
            if categorical[j]:
                fill_codes(column, bins[j])
                found[j] = np.empty(0)
                continue
            if edges is None:
                found[j] = find_edges(column if sample is None else column[sample], most)
            fill_bins(column, found[j], bins[j])

    run(task, blocks(d, COLUMNS_PER_BLOCK))
    return bins, found


def fill_bins(
    column: cython.const[cython.double][::1],
    edges: cython.const[cython.double][::1],
    out: cython.uchar[::1],
) -> None:
    """Fill the byte of each value: a grid of equal cells leads to the few edges that are near it.

    The cell grows with the value, for edges and values alike, so an edge in an earlier cell is
    below the value and an edge in a later cell above it: the search is exact for any grid. There
    are at most 255 edges.
    """
    with cython.nogil:
        search_column(column, edges, out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search_column(
    column: cython.const[cython.double][::1],
    edges: cython.const[cython.double][::1],
    out: cython.uchar[::1],
) -> cython.void:
    """Fill the number of edges below each value."""
    starts = cython.declare(cython.int[2049])
    # One more than the edges, which no value is above.
    uppers = cython.declare(cython.double[256])
    grid = place_grid(edges)
    count_edges(edges, grid, starts)
    for edge in range(edges.shape[0]):
        uppers[edge] = edges[edge]
    uppers[edges.shape[0]] = INFINITY
    for i in range(column.shape[0]):
        x = column[i]
        if x != x:
            out[i] = MISSING
            continue
        c = cell(x, grid)
        first: cython.int = starts[c]
        last: cython.int = starts[c + 1]
        if last - first > 1:
            out[i] = search(uppers, x, first, last)
        else:
            # Without a branch, as none or one edge in a cell is about equally frequent.
            out[i] = first + (x > uppers[first])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def place_grid(edges: cython.const[cython.double][::1]) -> Grid:
    """Return the grid of the edges; a scale of 0 puts everything into the first cell."""
    if edges.shape[0] < 2:
        return Grid(0.0, 0.0, 0.0)
    low = edges[0]
    span = edges[edges.shape[0] - 1] - low
    # The difference of two finite edges may be infinite: divided by it, the scale is 0 as well.
    last = _CELLS - 1.0
    return Grid(low, last / span if span > 0.0 else 0.0, last)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_edges(
    edges: cython.const[cython.double][::1], grid: Grid, starts: cython.p_int
) -> cython.void:
    """Fill the number of edges in earlier cells, for each cell and for the end."""
    for c in range(_CELLS + 1):
        starts[c] = 0
    for edge in range(edges.shape[0]):
        starts[cell(edges[edge], grid) + 1] += 1
    for c in range(_CELLS):
        starts[c + 1] += starts[c]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def cell(x: cython.double, grid: Grid) -> cython.Py_ssize_t:
    """Cell of a value, never decreasing in x."""
    place = (x - grid.low) * grid.scale
    # Written so that it needs no branch, and so that NaN (infinity times 0) is in the first cell.
    place = place if place > 0.0 else 0.0
    place = place if place < grid.last else grid.last
    return cython.cast(cython.Py_ssize_t, place)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def search(
    edges: cython.p_double, x: cython.double, first: cython.int, last: cython.int
) -> cython.uchar:
    """Number of edges below a value, which is from `first` to `last`."""
    while first < last:
        middle = (first + last) >> 1
        if x > edges[middle]:
            first = middle + 1
        else:
            last = middle
    return cython.cast(cython.uchar, first)


def fill_codes(column: cython.const[cython.double][::1], out: cython.uchar[::1]) -> None:
    """Fill the byte of each category code."""
    missing = cython.cast(cython.double, MISSING)
    with cython.nogil:
        for i in range(column.shape[0]):
            code = column[i] if column[i] == column[i] else missing
            # By way of an int: processors convert several at once.
            out[i] = cython.cast(cython.uchar, cython.cast(cython.int, code))
