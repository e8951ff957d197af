"""The cuts of extra-trees (Geurts et al. 2006): one is drawn for each feature tried; the best wins.

The place of a cut is drawn evenly between the least and the largest value of the node. (Drawn
evenly among bins instead, which follow the quantiles, forests are a point less accurate on
ionosphere and as good on other tables.) A missing value goes left, goes right, or is alone on the
right, with equal chances; a category goes to either side with equal chances.

A cut sends the keys up to its bound to the left. The key of a value is its bin; that of a missing
one is MISSING, beyond all bins, or 0 where missing values go left and all keys move up by one. The
key of a category is 0 if it goes left, else 1.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.thrifty.kernels.bagged_rows import Bag, BagTable, NodeRows
from cython.cimports.thrifty.kernels.binning import MISSING
from cython.cimports.thrifty.kernels.random import Stream, draw, draw_below, draw_share

__all__ = ["CutRules", "CutTrials"]

# Up to here a node reads the table by rows: all features of a row lie together.
SMALL = cython.declare(cython.Py_ssize_t, 256)

# The bins of a node: the first and the last one except the missing one; whether a value is missing.
Span = cython.struct(low=cython.Py_ssize_t, high=cython.Py_ssize_t, gaps=cython.bint)
# A cut: the feature, or -1; the largest key that goes left; 1 if keys move up by one; whether the
# node has a missing value; the sum of squares, see `score_classes`.
Cut = cython.struct(
    feature=cython.Py_ssize_t,
    bound=cython.int,
    shift=cython.int,
    gaps=cython.bint,
    score=cython.double,
)


@cython.cclass
class CutRules:
    """How many cuts are tried, and which are allowed.

    Attributes
    ----------
    features : int64 array of shape (m,)
        The features that a tree may read.
    max_features : int
        How many features that can split a node are tried.
    min_rows : int
        How many rows of the bag, each counted once, a leaf has at least.
    """

    def __init__(
        self,
        features: cython.const[cython.longlong][::1],
        max_features: cython.Py_ssize_t,
        min_rows: cython.Py_ssize_t,
    ) -> None:
        self.features = features
        self.max_features = max_features
        self.min_rows = min_rows


@cython.cclass
class CutTrials:
    """Which features the present node has tried.

    Attributes
    ----------
    order : intp array of shape (m,)
        The features: first those that have one value in the node, last those that were tried.
    n_flat : int
        How many are known to have one value.
    n_open : int
        Where those that were tried begin.
    bits : uint64 array of shape (2, 4)
        The categories that go left, as bits, in the last cut that was tried and in the best one.
    """

    def __init__(self, rules: CutRules) -> None:
        self.order = np.array(rules.features, dtype=np.intp)
        self.n_flat = 0
        self.n_open = 0
        self.bits = np.zeros((2, 4), dtype=np.uint64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def choose(
    table: BagTable, rules: CutRules, bag: Bag, rows: NodeRows, trials: CutTrials, stream: Stream
) -> Cut:
    """Return the best cut of those tried, with its keys; feature -1 where no feature splits."""
    best = Cut(-1, 0, 0, False, -1.0)
    count = rows.last - rows.first
    last_read: cython.Py_ssize_t = -1
    tries: cython.Py_ssize_t = 0
    trials.n_open = trials.order.shape[0]
    while tries < rules.max_features and trials.n_flat < trials.n_open:
        k = trials.n_flat + draw_below(stream, trials.n_open - trials.n_flat)
        f = trials.order[k]
        span = read_bins(table, bag, rows, f)
        last_read = f
        if span.low > span.high or (span.low == span.high and not span.gaps):
            # One value here and in all nodes below: they draw from the features behind it.
            trials.order[k], trials.order[trials.n_flat] = trials.order[trials.n_flat], f
            trials.n_flat += 1
            continue
        trials.n_open -= 1
        trials.order[k], trials.order[trials.n_open] = trials.order[trials.n_open], f
        tries += 1
        if table.categorical[f]:
            draw_subset(rows.keys, trials.bits, count, stream)
            cut = Cut(f, 0, 0, span.gaps, 0.0)
        else:
            cut = draw_cut(table.positions, f, span, stream)
        replace_bins(table, rows, trials, cut, 0)
        if rules.min_rows > 1 and lesser_side(rows.keys, count, cut.bound) < rules.min_rows:
            continue
        cut.score = score(table, rows, cut.bound)
        if cut.score > best.score:
            best = cut
            for word in range(4):
                trials.bits[1, word] = trials.bits[0, word]
            # No cut is better than one that parts two classes, or two rows.
            if count == 2 or (table.n_classes > 0 and cut.score >= rows.weight):
                break
    if best.feature >= 0 and best.feature != last_read:
        read_bins(table, bag, rows, best.feature)
        replace_bins(table, rows, trials, best, 1)
    return best


# --- the keys of a node -------------------------------------------------------


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def read_bins(table: BagTable, bag: Bag, rows: NodeRows, feature: cython.Py_ssize_t) -> Span:
    """Read the bins of a node's rows as keys; return their span, empty if all are missing."""
    if rows.last - rows.first > SMALL:
        return read_column(table.bins, bag.index, rows.keys, feature, rows.first, rows.last)
    return read_rows(table.by_row, bag.index, rows.keys, feature, rows.first, rows.last)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def read_column(
    bins: cython.const[cython.uchar][:, ::1],
    index: cython.uint[::1],
    keys: cython.uchar[::1],
    feature: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> Span:
    """Read the bins of many rows: two loops, as the second is compiled to vector instructions."""
    low: cython.uchar = MISSING
    high: cython.uchar = 0
    for i in range(first, last):
        keys[i - first] = bins[feature, index[i]]
    for i in range(last - first):
        key = keys[i]
        low = key if key < low else low
        high = key if key > high else high
    return Span(low, high, False) if high < MISSING else span_of(keys, last - first)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def read_rows(
    by_row: cython.const[cython.uchar][:, ::1],
    index: cython.uint[::1],
    keys: cython.uchar[::1],
    feature: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> Span:
    """Read the bins of few rows."""
    low: cython.uchar = MISSING
    high: cython.uchar = 0
    for i in range(first, last):
        key = by_row[index[i], feature]
        keys[i - first] = key
        low = key if key < low else low
        high = key if key > high else high
    return Span(low, high, False) if high < MISSING else span_of(keys, last - first)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def span_of(keys: cython.uchar[::1], count: cython.Py_ssize_t) -> Span:
    """Return the span of bins some of which are missing."""
    low: cython.uchar = MISSING
    high: cython.uchar = 0
    for i in range(count):
        key = keys[i]
        low = key if key < low else low
        high = key if high < key < MISSING else high
    return Span(low, high, True)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def replace_bins(
    table: BagTable, rows: NodeRows, trials: CutTrials, cut: Cut, chosen: cython.Py_ssize_t
) -> cython.void:
    """Turn bins into the keys of a cut; `chosen` is 1 for the best subset, 0 for the last one."""
    count = rows.last - rows.first
    if table.categorical[cut.feature]:
        for i in range(count):
            rows.keys[i] = 1 - has_bit(trials.bits, chosen, rows.keys[i])
    elif cut.shift:
        for i in range(count):
            rows.keys[i] = (cython.cast(cython.int, rows.keys[i]) + 1) & 255


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_bit(
    bits: cython.ulonglong[:, ::1], row: cython.Py_ssize_t, bit: cython.Py_ssize_t
) -> cython.bint:
    """Whether a bit of one row is set."""
    return (bits[row, bit >> 6] >> cython.cast(cython.ulonglong, bit & 63)) & 1 != 0


# --- drawing ------------------------------------------------------------------


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def draw_cut(
    positions: cython.const[cython.double][:, ::1],
    feature: cython.Py_ssize_t,
    span: Span,
    stream: Stream,
) -> Cut:
    """Draw a cut between the bins of a node, and the side of missing values if it has any."""
    low, high = span.low, span.high
    shift: cython.int = 0
    if span.gaps:
        side: cython.int = draw_below(stream, 3)
        if side == 2 or low == high:
            # The largest bin: only missing values go right.
            return Cut(feature, MISSING - 1, 0, True, 0.0)
        shift = side
    start = positions[feature, low]
    place = start + draw_share(stream) * (positions[feature, high] - start)
    # The last bin at or before the place; the last one of the node stays on the right.
    while high - low > 1:
        middle = (low + high) >> 1
        if positions[feature, middle] <= place:
            low = middle
        else:
            high = middle
    return Cut(feature, low + shift, shift, span.gaps, 0.0)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def draw_subset(
    keys: cython.uchar[::1],
    bits: cython.ulonglong[:, ::1],
    count: cython.Py_ssize_t,
    stream: Stream,
) -> cython.void:
    """Draw the categories that go left, until some rows of the node do and others do not.

    A missing value is a category; those that the node lacks are drawn too.
    """
    lefts: cython.Py_ssize_t = 0
    while lefts == 0 or lefts == count:
        for word in range(4):
            bits[0, word] = draw(stream)
        lefts = 0
        for i in range(count):
            lefts += has_bit(bits, 0, keys[i])


# --- scores -------------------------------------------------------------------


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def lesser_side(
    keys: cython.const[cython.uchar][::1], count: cython.Py_ssize_t, bound: cython.int
) -> cython.Py_ssize_t:
    """Return how many rows the smaller side of a cut has."""
    lefts: cython.Py_ssize_t = 0
    for i in range(count):
        lefts += keys[i] <= bound
    return min(lefts, count - lefts)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def score(table: BagTable, rows: NodeRows, bound: cython.int) -> cython.double:
    """Score a cut by what it leaves of the impurity: the larger the better."""
    if table.n_classes > 0:
        return score_classes(
            rows.keys, rows.quanta, rows.ends, rows.totals, rows.n_classes, rows.weight, bound
        )
    count = rows.last - rows.first
    return score_values(
        rows.keys, rows.quanta, rows.moments, count, rows.weight, rows.moment, bound
    )


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def score_classes(
    keys: cython.const[cython.uchar][::1],
    quanta: cython.longlong[::1],
    ends: cython.Py_ssize_t[::1],
    totals: cython.longlong[::1],
    n_classes: cython.Py_ssize_t,
    weight: cython.longlong,
    bound: cython.uchar,
) -> cython.double:
    """Sum, over both sides, the squared class weights divided by the weight.

    The weight of the node minus this is the weighted Gini impurity of both sides.
    """
    left: cython.double = 0.0
    right: cython.double = 0.0
    left_weight: cython.longlong = 0
    i: cython.Py_ssize_t = 0
    for k in range(n_classes):
        here: cython.longlong = 0
        end = ends[k]
        # A mask of all bits, or of none, instead of a branch: compiled to vector instructions.
        while i < end:
            here += -cython.cast(cython.longlong, keys[i] <= bound) & quanta[i]
            i += 1
        rest = totals[k] - here
        left += cython.cast(cython.double, here) * here
        right += cython.cast(cython.double, rest) * rest
        left_weight += here
    return left / left_weight + right / (weight - left_weight)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def score_values(
    keys: cython.const[cython.uchar][::1],
    quanta: cython.longlong[::1],
    moments: cython.longlong[::1],
    count: cython.Py_ssize_t,
    weight: cython.longlong,
    moment: cython.longlong,
    bound: cython.uchar,
) -> cython.double:
    """Sum, over both sides, the squared sum of the targets divided by the weight.

    The sum of the squared targets of the node minus this is the weighted variance of both sides.
    """
    left_weight: cython.longlong = 0
    left: cython.longlong = 0
    for i in range(count):
        mask = -cython.cast(cython.longlong, keys[i] <= bound)
        left_weight += mask & quanta[i]
        left += mask & moments[i]
    right = moment - left
    left_square = cython.cast(cython.double, left) * left
    right_square = cython.cast(cython.double, right) * right
    return left_square / left_weight + right_square / (weight - left_weight)
