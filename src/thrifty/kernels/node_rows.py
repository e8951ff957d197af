"""The rows of one node: their bins of a feature, and their class counts.

The counts of two classes share an int64 word, the even class in the upper half, so that a row adds
one word to a histogram. They are integer quanta of weight. The rows of a node are sorted by word,
so that they can be added up word by word with vector instructions.

A function that runs over rows takes arrays, not the objects that hold them: C would read an array
from its object again in every round of the loop. Other kernels call the functions that take
objects; `node_rows.pxd` declares those, and the fields of the classes.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.thrifty.kernels.binning import MISSING

__all__ = ["HALF", "MASK", "Rows", "Table", "Tally"]

# How two counts are packed.
HALF = 32
MASK = (1 << HALF) - 1

# Up to here a node reads the table by rows: all features of a row lie together.
SMALL = cython.declare(cython.Py_ssize_t, 512)
# Up to here the rows of a node are copied out of a table in parts, before it and all nodes below it
# are split: the parts may lie in a file.
NEAR = 4096

# The first and the last bin of a node except the missing one, and whether a value is missing.
Span = cython.struct(low=cython.Py_ssize_t, high=cython.Py_ssize_t, gaps=cython.bint)


@cython.cclass
class Table:
    """The binned table that all trees read.

    Attributes
    ----------
    bins : uint8 array of shape (parts, d, size)
        Bin of each value, by features; each part holds `size` rows, the last one perhaps fewer.
    by_row : uint8 array of shape (n, d)
        The same by rows; empty if the table has several parts.
    edges : float64 array of shape (d, 256)
        Upper edge of each bin.
    width : int64 array of shape (d,)
        Number of bins of each feature, without that of missing values.
    categorical : uint8 array of shape (d,)
        Which features are categorical: their bins are codes of categories.
    word : uint8 array of shape (n,)
        Which word of the counts holds the class of each row.
    has_categories : bool
        Whether a feature is categorical.
    """

    def __init__(
        self,
        bins: cython.const[cython.uchar][:, :, ::1],
        by_row: cython.const[cython.uchar][:, ::1],
        edges: cython.const[cython.double][:, ::1],
        width: cython.const[cython.longlong][::1],
        categorical: cython.const[cython.uchar][::1],
        word: cython.const[cython.uchar][::1],
    ) -> None:
        self.bins = bins
        self.by_row = by_row
        self.edges = edges
        self.width = width
        self.categorical = categorical
        self.word = word
        self.has_categories = bool(np.any(categorical))


@cython.cclass
class Rows:
    """The rows of a tree, node by node; those of a node are sorted by word.

    Attributes
    ----------
    index : uint32 array of shape (n,)
        Row of the table.
    quanta : int64 array of shape (n,)
        Quanta of weight, in the half word of the row's class.
    word : uint8 array of shape (n,)
        Which word of the counts holds the row's class.
    keys : uint8 array of shape (n,)
        Bins of the feature that is being searched, or ranks of its categories.
    near : uint8 array of shape (m, d)
        Bins of rows[near_first:near_last], by rows: their `index` is the place in this array.
    first, last : int
        Where the rows of the present node begin and end.
    near_first, near_last : int
        Where the rows that were copied begin and end.
    """

    def __init__(
        self,
        index: cython.uint[::1],
        quanta: cython.longlong[::1],
        word: cython.uchar[::1],
        keys: cython.uchar[::1],
        near: cython.uchar[:, ::1],
    ) -> None:
        self.index = index
        self.quanta = quanta
        self.word = word
        self.keys = keys
        self.near = near
        self.near_first = self.near_last = 0
        self.first = 0
        self.last = index.shape[0]


@cython.cclass
class Tally:
    """Class counts of the present node, and room to count one feature at a time.

    Attributes
    ----------
    total : int64 array of shape (W,)
        Packed counts of the node.
    left, right : int64 array of shape (W,)
        Those of the children at the cut that is being tried.
    gaps : int64 array of shape (W,)
        Those of the rows whose value is missing.
    ends : intp array of shape (W,)
        Where the rows of each word end.
    below : int64 array of shape (256, W)
        Counts up to and including each bin.
    shares : float64 array of shape (3, 256)
        Weight of each category, its share of the largest class, and the categories in order.
    rank : uint8 array of shape (256,)
        Place of each category in that order.
    """

    def __init__(self, words: cython.Py_ssize_t) -> None:
        # One array for four: small trees spend most of their time on making arrays.
        counts: cython.longlong[:, ::1] = np.zeros((4, words), dtype=np.int64)
        self.total = counts[0]
        self.left = counts[1]
        self.right = counts[2]
        self.gaps = counts[3]
        self.ends = np.zeros(words, dtype=np.intp)
        self.below = np.zeros((256, words), dtype=np.int64)
        self.shares = np.zeros((3, 256))
        self.rank = np.zeros(256, dtype=np.uint8)


# --- the bins of a feature ----------------------------------------------------


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def is_near(rows: Rows) -> cython.bint:
    """Whether the rows of the present node were copied."""
    return rows.near_first <= rows.first and rows.last <= rows.near_last


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def bring_near(table: Table, rows: Rows) -> cython.void:
    """Copy the rows of the present node, if it is small, out of a table in parts.

    All nodes below it are split before any other, so that one copy at a time is enough.
    """
    if is_near(rows) or rows.last - rows.first > rows.near.shape[0]:
        return
    for feature in range(table.bins.shape[1]):
        read_parts(table.bins, rows.index, feature, rows.keys, rows.first, rows.last)
        for i in range(rows.first, rows.last):
            rows.near[i - rows.first, feature] = rows.keys[i]
    for i in range(rows.first, rows.last):
        rows.index[i] = cython.cast(cython.uint, i - rows.first)
    rows.near_first, rows.near_last = rows.first, rows.last


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_keys(table: Table, rows: Rows, feature: cython.Py_ssize_t) -> Span:
    """Fill the keys of the present node with the bins of a feature; high is -1 if none has one."""
    if table.bins.shape[0] > 1:
        read_far(table, rows, feature)
    elif rows.last - rows.first <= SMALL:
        read_table(table.by_row, rows.index, feature, rows.keys, rows.first, rows.last)
    else:
        read_column(table.bins, rows.index, feature, rows.keys, rows.first, rows.last)
    return span_of(rows.keys, rows.first, rows.last)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_far(table: Table, rows: Rows, feature: cython.Py_ssize_t) -> cython.void:
    """Fill the keys from a table in parts."""
    if is_near(rows):
        read_table(rows.near, rows.index, feature, rows.keys, rows.first, rows.last)
    else:
        read_parts(table.bins, rows.index, feature, rows.keys, rows.first, rows.last)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def read_parts(
    bins: cython.const[cython.uchar][:, :, ::1],
    index: cython.const[cython.uint][::1],
    feature: cython.Py_ssize_t,
    keys: cython.uchar[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Read the bins of a feature from the parts of a table."""
    size = bins.shape[2]
    part: cython.Py_ssize_t = 0
    begin: cython.Py_ssize_t = 0
    for i in range(first, last):
        row = cython.cast(cython.Py_ssize_t, index[i])
        # The rows of a word are in order, so the part seldom changes.
        if row < begin or row >= begin + size:
            part = row // size
            begin = part * size
        keys[i] = bins[part, feature, row - begin]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def read_table(
    by_row: cython.const[cython.uchar][:, ::1],
    index: cython.const[cython.uint][::1],
    feature: cython.Py_ssize_t,
    keys: cython.uchar[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Read the bins of a feature from the table by rows."""
    for i in range(first, last):
        keys[i] = by_row[index[i], feature]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def read_column(
    bins: cython.const[cython.uchar][:, :, ::1],
    index: cython.const[cython.uint][::1],
    feature: cython.Py_ssize_t,
    keys: cython.uchar[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Read the bins of a feature from the table by features."""
    for i in range(first, last):
        keys[i] = bins[0, feature, index[i]]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def span_of(
    keys: cython.const[cython.uchar][::1], first: cython.Py_ssize_t, last: cython.Py_ssize_t
) -> Span:
    """Least and largest key but that of a missing value, which is the largest byte."""
    low: cython.uchar = MISSING
    high: cython.uchar = 0
    for i in range(first, last):
        low = min(low, keys[i])
        high = max(high, keys[i])
    gaps: cython.bint = high == MISSING
    if gaps:
        high = 0
        for i in range(first, last):
            high = max(high, 0 if keys[i] == MISSING else keys[i])
    least, most = cython.cast(cython.Py_ssize_t, low), cython.cast(cython.Py_ssize_t, high)
    return Span(least, -1 if least == MISSING else most, gaps)


# --- class counts -------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_ends(rows: Rows, tally: Tally) -> cython.void:
    """Find where the rows of each word end in the present node."""
    words = tally.ends.shape[0]
    for k in range(words):
        tally.ends[k] = 0
    if words > 1:
        for i in range(rows.first, rows.last):
            tally.ends[rows.word[i]] += 1
    else:
        tally.ends[0] = rows.last - rows.first
    end = rows.first
    for k in range(words):
        end += tally.ends[k]
        tally.ends[k] = end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_bins(rows: Rows, tally: Tally, span: Span) -> cython.void:
    """Counts up to and including each bin of the span."""
    words = tally.below.shape[1]
    for k in range(words):
        tally.below[MISSING, k] = 0
    for b in range(span.low, span.high + 1):
        for k in range(words):
            tally.below[b, k] = 0
    if words == 1:
        add_counts(rows.keys, rows.quanta, rows.first, rows.last, tally.below)
    else:
        add_words(rows.keys, rows.word, rows.quanta, rows.first, rows.last, tally.below)
    for b in range(span.low + 1, span.high + 1):
        for k in range(words):
            tally.below[b, k] += tally.below[b - 1, k]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_counts(
    keys: cython.const[cython.uchar][::1],
    quanta: cython.longlong[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    below: cython.longlong[:, ::1],
) -> cython.void:
    """Add every row to its bin; there is one word."""
    for i in range(first, last):
        below[keys[i], 0] += quanta[i]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_words(
    keys: cython.const[cython.uchar][::1],
    word: cython.const[cython.uchar][::1],
    quanta: cython.longlong[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    below: cython.longlong[:, ::1],
) -> cython.void:
    """Add every row to the word of its class, in its bin."""
    for i in range(first, last):
        below[keys[i], word[i]] += quanta[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_gaps(rows: Rows, tally: Tally) -> cython.void:
    """Counts of the missing values."""
    first = rows.first
    for k in range(tally.gaps.shape[0]):
        tally.gaps[k] = sum_missing(rows.keys, rows.quanta, first, tally.ends[k])
        first = tally.ends[k]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def sum_missing(
    keys: cython.const[cython.uchar][::1],
    quanta: cython.longlong[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.longlong:
    """Quanta of the rows whose value is missing; see `sum_below`."""
    total: cython.longlong = 0
    for i in range(first, last):
        total += -cython.cast(cython.longlong, keys[i] == MISSING) & quanta[i]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def part_rows(
    rows: Rows, tally: Tally, cut: cython.uchar, missing_left: cython.bint
) -> cython.void:
    """Count the rows on both sides of a cut: those up to and including bin `cut` go left."""
    first = rows.first
    for k in range(tally.left.shape[0]):
        here = sum_below(rows.keys, rows.quanta, first, tally.ends[k], cut)
        if missing_left:
            here += tally.gaps[k]
        tally.left[k] = here
        tally.right[k] = tally.total[k] - here
        first = tally.ends[k]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def sum_below(
    keys: cython.const[cython.uchar][::1],
    quanta: cython.longlong[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    cut: cython.uchar,
) -> cython.longlong:
    """Quanta of the rows up to bin `cut`.

    A mask of all bits, or of none, instead of a branch: the loop is compiled to vector
    instructions.
    """
    total: cython.longlong = 0
    for i in range(first, last):
        total += -cython.cast(cython.longlong, keys[i] <= cut) & quanta[i]
    return total


# --- categories ---------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rank_categories(rows: Rows, tally: Tally, span: Span) -> cython.Py_ssize_t:
    """Rank the categories by their share of the node's largest class; return the last rank.

    Categories that are absent rank last. A missing value is a category.
    """
    largest: cython.Py_ssize_t = 0
    for k in range(1, 2 * tally.total.shape[0]):
        if count_of(tally.total[k >> 1], k & 1) > count_of(tally.total[largest >> 1], largest & 1):
            largest = k
    last = MISSING if span.gaps else span.high
    for b in range(span.low, last + 1):
        tally.shares[0, b] = tally.shares[1, b] = 0.0
    word, odd = largest >> 1, largest & 1
    for i in range(rows.first, rows.last):
        key = rows.keys[i]
        tally.shares[0, key] += count_of(rows.quanta[i], 0) + count_of(rows.quanta[i], 1)
        if rows.word[i] == word:
            tally.shares[1, key] += count_of(rows.quanta[i], odd)
    present = sort_present(tally.shares, span.low, last)
    for b in range(256):
        tally.rank[b] = 255
    for k in range(present):
        tally.rank[cython.cast(cython.Py_ssize_t, tally.shares[2, k])] = k
    return present - 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def count_of(word: cython.longlong, odd: cython.Py_ssize_t) -> cython.longlong:
    """Quanta of the odd or of the even class of a word."""
    even = word >> 32
    return word - (even << 32) if odd else even


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def sort_present(
    shares: cython.double[:, ::1], first: cython.Py_ssize_t, last: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Bins of weight shares[0] > 0 into shares[2], by shares[1] / shares[0]; return how many.

    The shares of the bins come to lie in shares[1, :count], in the same order.
    """
    count: cython.Py_ssize_t = 0
    for b in range(first, last + 1):
        if shares[0, b] > 0.0:
            share = shares[1, b] / shares[0, b]
            k = count
            while k > 0 and shares[1, k - 1] > share:
                shares[1, k], shares[2, k] = shares[1, k - 1], shares[2, k - 1]
                k -= 1
            shares[1, k], shares[2, k] = share, b
            count += 1
    return count
