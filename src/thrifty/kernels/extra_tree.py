"""Grow one extra-tree (Geurts et al. 2006) on a bag of rows.

At every node some features are tried, each with one random cut, and the cut of the largest decrease
of impurity (Gini's, or the variance) divides the rows. Nodes are split until they are pure.

This is not an option of `deep_tree`, because the work is another: a cut that is drawn needs no
histogram, so that nearly all time goes into reading bins and adding up one side. Here the rows of a
node are sorted by class, a tried feature is two short loops, features with one value are
remembered down the path, and targets may be values. Weights are whole quanta in int64: sums are
exact in any order, and what is right of a cut is the total minus what is left of it.

A cut sends the keys up to a bound to the left. The key of a value is its bin; that of a missing
one is MISSING, beyond all bins, or 0 where missing values go left and all keys move up by one; that
of a category is 0 if it is among those that go left, else 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cython
import numpy as np
from cython.cimports.thrifty.kernels.binning import MISSING
from cython.cimports.thrifty.kernels.random import Stream, draw, draw_below, draw_share

__all__ = ["Bagging", "ExtraTable", "ExtraTree", "TryRules", "Workspace", "grow_extra_tree"]

# Up to here a node reads the table by rows: all features of a row lie together.
SMALL = cython.declare(cython.Py_ssize_t, 512)
# How missing values are tried, with equal chances: on the left, on the right, or alone there.
MISSING_SIDES = cython.declare(cython.longlong, 3)

# The bins of a node: the first and the last one except the missing one; whether a value is missing.
Span = cython.struct(low=cython.Py_ssize_t, high=cython.Py_ssize_t, gaps=cython.bint)
# A cut: the feature, or -1; the largest key that goes left; 1 if keys move up by one, so that missing
# values go left; whether the node has a missing value; the sum of squares, see `score_classes`.
Cut = cython.struct(
    feature=cython.Py_ssize_t,
    bound=cython.int,
    shift=cython.int,
    gaps=cython.bint,
    score=cython.double,
)


class ExtraTree(NamedTuple):
    """A grown tree, by nodes; the root is node 0.

    Attributes
    ----------
    left : int32 array of shape (m,)
        Left child, or -1 at a leaf; the right child is next to it.
    feature : int32 array of shape (m,)
        Feature that the node splits on.
    place : int32 array of shape (m,)
        Last bin that goes left, or number of the subset of categories that do.
    missing_left : uint8 array of shape (m,)
        Whether a missing value goes left.
    values : float64 array of shape (m, k)
        Class shares of the rows of the node, or the mean of their targets (k = 1).
    subsets : uint64 array of shape (s, 4)
        Subsets of categories, as bits.
    decrease : float64 array of shape (d,)
        By how much the splits on each feature decrease the impurity of the bag, in all.
    """

    left: Any
    feature: Any
    place: Any
    missing_left: Any
    values: Any
    subsets: Any
    decrease: Any


@cython.cclass
class ExtraTable:
    """The binned table and the targets that all trees read.

    Attributes
    ----------
    bins : uint8 array of shape (d, n)
        Bin of each value, by features.
    by_row : uint8 array of shape (n, d)
        The same by rows.
    positions : float64 array of shape (d, 256)
        Where the bins of a feature lie; a cut falls between two bins in proportion to their
        distance.
    categorical : uint8 array of shape (d,)
        Which features are categorical: their bins are codes of categories.
    codes : int32 array of shape (n,)
        Class of each row; empty where targets are values.
    values : float64 array of shape (n,)
        Target of each row; empty where targets are classes.
    n_classes : int
        Number of classes, or 0 where targets are values.
    """

    bins = cython.declare(cython.const[cython.uchar][:, ::1], visibility="readonly")
    by_row = cython.declare(cython.const[cython.uchar][:, ::1], visibility="readonly")
    positions = cython.declare(cython.const[cython.double][:, ::1], visibility="readonly")
    categorical = cython.declare(cython.const[cython.uchar][::1], visibility="readonly")
    codes = cython.declare(cython.const[cython.int][::1], visibility="readonly")
    values = cython.declare(cython.const[cython.double][::1], visibility="readonly")
    n_classes = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(
        self,
        bins: cython.const[cython.uchar][:, ::1],
        by_row: cython.const[cython.uchar][:, ::1],
        positions: cython.const[cython.double][:, ::1],
        categorical: cython.const[cython.uchar][::1],
        codes: cython.const[cython.int][::1],
        values: cython.const[cython.double][::1],
        n_classes: cython.Py_ssize_t,
    ) -> None:
        self.bins = bins
        self.by_row = by_row
        self.positions = positions
        self.categorical = categorical
        self.codes = codes
        self.values = values
        self.n_classes = n_classes


@cython.cclass
class Bagging:
    """What the rows of a tree are drawn from: units, which are rows or groups of rows.

    Attributes
    ----------
    order : uint32 array of shape (n,)
        The rows that have a weight, sorted by class.
    unit : int32 array of shape (n,)
        Unit of each row.
    quanta : int64 array of shape (n,)
        Weight of each row.
    moments : int64 array of shape (n,)
        Weight times target, in fixed point; empty where targets are classes.
    n_units : int
        Units from 0 to here may be drawn.
    n_draws : int
        How many are drawn, with replacement.
    """

    order = cython.declare(cython.const[cython.uint][::1], visibility="readonly")
    unit = cython.declare(cython.const[cython.int][::1], visibility="readonly")
    quanta = cython.declare(cython.const[cython.longlong][::1], visibility="readonly")
    moments = cython.declare(cython.const[cython.longlong][::1], visibility="readonly")
    n_units = cython.declare(cython.Py_ssize_t, visibility="readonly")
    n_draws = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(
        self,
        order: cython.const[cython.uint][::1],
        unit: cython.const[cython.int][::1],
        quanta: cython.const[cython.longlong][::1],
        moments: cython.const[cython.longlong][::1],
        n_units: cython.Py_ssize_t,
        n_draws: cython.Py_ssize_t,
    ) -> None:
        self.order = order
        self.unit = unit
        self.quanta = quanta
        self.moments = moments
        self.n_units = n_units
        self.n_draws = n_draws


@cython.cclass
class TryRules:
    """Which features are tried.

    Attributes
    ----------
    features : int64 array of shape (m,)
        The features that a tree may read.
    max_features : int
        How many features that can split a node are tried.
    min_rows : int
        How many rows of the bag, each counted once, a leaf has at least.
    by_value : bool
    """

    features = cython.declare(cython.const[cython.longlong][::1], visibility="readonly")
    max_features = cython.declare(cython.Py_ssize_t, visibility="readonly")
    min_rows = cython.declare(cython.Py_ssize_t, visibility="readonly")
    by_value = cython.declare(cython.bint, visibility="readonly")

    def __init__(
        self,
        features: cython.const[cython.longlong][::1],
        max_features: cython.Py_ssize_t,
        min_rows: cython.Py_ssize_t,
        by_value: cython.bint,
    ) -> None:
        self.features = features
        self.max_features = max_features
        self.min_rows = min_rows
        self.by_value = by_value


@cython.cclass
class Workspace:
    """Room that trees and nodes use anew, one tree after the other.

    Attributes
    ----------
    drawn : int32 array of shape (u,)
        How often each unit is in the bag.
    index : uint32 array of shape (n,)
        The rows of the bag, node by node, those of a node sorted by class.
    spare : uint32 array of shape (n,)
        Rows that go right, while the others are moved to the front.
    keys : uint8 array of shape (n,)
        Keys of the present node's rows, from 0 on.
    quanta, moments : int64 array of shape (n,)
        Weights of the present node's rows, and weights times targets.
    ends : intp array of shape (k,)
        Where the rows of each class that the node has end.
    totals : int64 array of shape (k,)
        Weight of each class that the node has.
    order : intp array of shape (m,)
        The features: first those with one value in the node, last those that were tried.
    waiting : intp array of shape (n + 1, 4)
        Nodes that may be split, with the first and last place of their rows and how many features
        in `order` have one value.
    bits : uint64 array of shape (2, 4)
        The categories that go left, in the cut that is being tried and in the best one.
    n_flat : int
        How many features in `order` are known to have one value in the present node.
    n_classes : int
        How many classes it has.
    weight, moment : int64
        Its weight, and weight times target.
    """

    drawn = cython.declare(cython.int[::1])
    index = cython.declare(cython.uint[::1])
    spare = cython.declare(cython.uint[::1])
    keys = cython.declare(cython.uchar[::1])
    quanta = cython.declare(cython.longlong[::1])
    moments = cython.declare(cython.longlong[::1])
    ends = cython.declare(cython.Py_ssize_t[::1])
    totals = cython.declare(cython.longlong[::1])
    order = cython.declare(cython.Py_ssize_t[::1])
    waiting = cython.declare(cython.Py_ssize_t[:, ::1])
    bits = cython.declare(cython.ulonglong[:, ::1])
    n_flat = cython.declare(cython.Py_ssize_t)
    n_classes = cython.declare(cython.Py_ssize_t)
    weight = cython.declare(cython.longlong)
    moment = cython.declare(cython.longlong)

    def __init__(self, table: ExtraTable, n_units: int, n_features: int) -> None:
        n = table.by_row.shape[0]
        self.drawn = np.empty(n_units, dtype=np.int32)
        self.index = np.empty(n, dtype=np.uint32)
        self.spare = np.empty(n, dtype=np.uint32)
        self.keys = np.empty(n, dtype=np.uint8)
        self.quanta = np.empty(n, dtype=np.int64)
        self.moments = np.empty(0 if table.n_classes else n, dtype=np.int64)
        self.ends = np.empty(max(table.n_classes, 1), dtype=np.intp)
        self.totals = np.empty(max(table.n_classes, 1), dtype=np.int64)
        self.order = np.empty(n_features, dtype=np.intp)
        self.waiting = np.empty((n + 1, 4), dtype=np.intp)
        self.bits = np.zeros((2, 4), dtype=np.uint64)
        self.n_flat = 0
        self.n_classes = 0
        self.weight = 0
        self.moment = 0


@cython.cclass
class Nodes:
    """The nodes of a growing tree, in the arrays of an `ExtraTree` with room for more.

    Attributes
    ----------
    left, feature, place, missing_left, values, subsets, decrease
        As in `ExtraTree`.
    n_nodes, n_subsets : int
        How many there are so far.
    """

    left = cython.declare(cython.int[::1])
    feature = cython.declare(cython.int[::1])
    place = cython.declare(cython.int[::1])
    missing_left = cython.declare(cython.uchar[::1])
    values = cython.declare(cython.double[:, ::1])
    subsets = cython.declare(cython.ulonglong[:, ::1])
    decrease = cython.declare(cython.double[::1])
    n_nodes = cython.declare(cython.Py_ssize_t, visibility="readonly")
    n_subsets = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(self, room: ExtraTree) -> None:
        self.left = room.left
        self.feature = room.feature
        self.place = room.place
        self.missing_left = room.missing_left
        self.values = room.values
        self.subsets = room.subsets
        self.decrease = room.decrease
        self.n_nodes = 0
        self.n_subsets = 0


def grow_extra_tree(
    table: ExtraTable,
    bagging: Bagging,
    rules: TryRules,
    work: Workspace,
    seed: int,
    leaves: cython.int[::1],
) -> ExtraTree:
    """Grow a tree on a bag; `leaves` gets the leaf of each row out of the bag, and -1 for others."""
    stream = Stream(seed)
    n_rows = draw_bag(bagging, work, stream)
    # What is not needed is never touched, so it costs nothing.
    room = ExtraTree(
        *[np.empty(2 * n_rows, dtype=np.int32) for _ in range(3)],
        np.empty(2 * n_rows, dtype=np.uint8),
        np.empty((2 * n_rows, max(table.n_classes, 1))),
        np.empty((n_rows if np.any(table.categorical) else 0, 4), dtype=np.uint64),
        np.zeros(table.bins.shape[0]),
    )
    nodes = Nodes(room)
    with cython.nogil:
        grow(table, bagging, rules, work, nodes, stream, n_rows)
        follow(table.by_row, table.categorical, bagging.unit, work.drawn, nodes, leaves)
    *by_node, subsets, decrease = room
    made = [part[: nodes.n_nodes] for part in by_node]
    return ExtraTree(*made, subsets[: nodes.n_subsets], decrease)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def draw_bag(bagging: Bagging, work: Workspace, stream: Stream) -> cython.Py_ssize_t:
    """Draw units, and put the rows of those that were drawn into `index`; return how many."""
    drawn, order, unit, index = work.drawn, bagging.order, bagging.unit, work.index
    for u in range(drawn.shape[0]):
        drawn[u] = 0
    for _ in range(bagging.n_draws):
        drawn[draw_below(stream, bagging.n_units)] += 1
    n_rows: cython.Py_ssize_t = 0
    for i in range(order.shape[0]):
        if drawn[unit[order[i]]] > 0:
            index[n_rows] = order[i]
            n_rows += 1
    return n_rows


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def grow(
    table: ExtraTable,
    bagging: Bagging,
    rules: TryRules,
    work: Workspace,
    nodes: Nodes,
    stream: Stream,
    n_rows: cython.Py_ssize_t,
) -> cython.void:
    """Split nodes, the last one made first, until none is left that can be split."""
    waiting = work.waiting
    for k in range(work.order.shape[0]):
        work.order[k] = rules.features[k]
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3] = 0, 0, n_rows, 0
    n_waiting: cython.Py_ssize_t = 1
    nodes.n_nodes = 1
    while n_waiting > 0:
        n_waiting -= 1
        node, first, last = waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2]
        work.n_flat = waiting[n_waiting, 3]
        nodes.left[node], nodes.feature[node] = -1, 0
        nodes.place[node], nodes.missing_left[node] = 0, 0
        if table.n_classes > 0:
            square = read_classes(table, bagging, work, nodes.values, node, first, last)
        else:
            square = read_values(table, bagging, work, nodes.values, node, first, last)
        # Below 0: all targets are the same.
        if square < 0.0 or last - first < 2 * rules.min_rows:
            continue
        cut = choose(table, rules, work, stream, first, last)
        if cut.feature < 0:
            continue
        nodes.decrease[cut.feature] += cut.score - square / work.weight
        read_keys(table, work.index, work.keys, cut.feature, first, last)
        replace_keys(table, work, cut, 1, last - first)
        middle = divide(work.index, work.spare, work.keys, cut.bound, first, last)
        # Where no value is missing, a missing one will follow the majority.
        add_split(table, work, nodes, node, cut, middle - first > last - middle)
        for side in range(2):
            waiting[n_waiting, 0] = nodes.left[node] + side
            waiting[n_waiting, 1] = middle if side else first
            waiting[n_waiting, 2] = last if side else middle
            waiting[n_waiting, 3] = work.n_flat
            n_waiting += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_split(
    table: ExtraTable,
    work: Workspace,
    nodes: Nodes,
    node: cython.Py_ssize_t,
    cut: Cut,
    majority_left: cython.bint,
) -> cython.void:
    """Make a node split: two more nodes, and what sends rows to them."""
    nodes.left[node], nodes.feature[node] = nodes.n_nodes, cut.feature
    nodes.n_nodes += 2
    if table.categorical[cut.feature]:
        nodes.place[node] = nodes.n_subsets
        for k in range(4):
            nodes.subsets[nodes.n_subsets, k] = work.bits[1, k]
        nodes.n_subsets += 1
        nodes.missing_left[node] = has_bit(work.bits, 1, MISSING) if cut.gaps else majority_left
    else:
        nodes.place[node] = cut.bound - cut.shift
        nodes.missing_left[node] = cut.shift if cut.gaps else majority_left


# --- the targets of a node ----------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_classes(
    table: ExtraTable,
    bagging: Bagging,
    work: Workspace,
    values: cython.double[:, ::1],
    node: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.double:
    """Read weights and classes of a node; return the sum of the squared class weights.

    Returns -1 where there is one class only.
    """
    index, codes, unit, drawn = work.index, table.codes, bagging.unit, work.drawn
    weights, quanta, ends, totals = bagging.quanta, work.quanta, work.ends, work.totals
    for k in range(values.shape[1]):
        values[node, k] = 0.0
    total: cython.longlong = 0
    whole: cython.longlong = 0
    count: cython.Py_ssize_t = 0
    code = codes[index[first]]
    for i in range(first, last):
        row = index[i]
        if codes[row] != code:
            ends[count], totals[count] = i - first, total
            values[node, code] = total
            whole += total
            count, total, code = count + 1, 0, codes[row]
        quantum = drawn[unit[row]] * weights[row]
        quanta[i - first] = quantum
        total += quantum
    ends[count], totals[count] = last - first, total
    values[node, code] = total
    work.weight = whole + total
    work.n_classes = count + 1
    square: cython.double = 0.0
    for k in range(values.shape[1]):
        square += values[node, k] * values[node, k]
        values[node, k] /= work.weight
    return square if count > 0 else -1.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_values(
    table: ExtraTable,
    bagging: Bagging,
    work: Workspace,
    values: cython.double[:, ::1],
    node: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.double:
    """Read weights and targets of a node; return the square of the sum of weighted targets.

    Returns -1 where all targets are the same.
    """
    index, targets, unit, drawn = work.index, table.values, bagging.unit, work.drawn
    weights, weighted, quanta, moments = (
        bagging.quanta, bagging.moments, work.quanta, work.moments,
    )  # fmt: skip
    whole: cython.longlong = 0
    moment: cython.longlong = 0
    total: cython.double = 0.0
    least = most = targets[index[first]]
    for i in range(first, last):
        row = index[i]
        count: cython.longlong = drawn[unit[row]]
        quanta[i - first] = count * weights[row]
        moments[i - first] = count * weighted[row]
        whole += quanta[i - first]
        moment += moments[i - first]
        # The fixed point of the moments is fine enough for a comparison, not for an answer.
        total += quanta[i - first] * targets[row]
        least, most = min(least, targets[row]), max(most, targets[row])
    work.weight, work.moment = whole, moment
    # A mean of equal numbers must not be off by a rounding.
    values[node, 0] = min(max(total / whole, least), most)
    return cython.cast(cython.double, moment) * moment if least < most else -1.0


# --- one cut of a node --------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def choose(
    table: ExtraTable,
    rules: TryRules,
    work: Workspace,
    stream: Stream,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> Cut:
    """The best cut of those tried; feature -1 where no feature can split the node."""
    order = work.order
    best = Cut(-1, 0, 0, False, -1.0)
    open_end: cython.Py_ssize_t = order.shape[0]
    tries: cython.Py_ssize_t = 0
    while tries < rules.max_features and work.n_flat < open_end:
        k = work.n_flat + draw_below(stream, open_end - work.n_flat)
        f = order[k]
        span = read_keys(table, work.index, work.keys, f, first, last)
        if span.low > span.high or (span.low == span.high and not span.gaps):
            # One value here and in all nodes below: their features begin behind it.
            order[k], order[work.n_flat] = order[work.n_flat], f
            work.n_flat += 1
            continue
        open_end -= 1
        order[k], order[open_end] = order[open_end], f
        tries += 1
        if table.categorical[f]:
            draw_subset(work, stream, span, last - first)
            cut = Cut(f, 0, 0, span.gaps, 0.0)
        else:
            cut = draw_cut(table, rules, stream, f, span)
        replace_keys(table, work, cut, 0, last - first)
        if rules.min_rows > 1 and not leaves_enough(
            work.keys, cut.bound, last - first, rules.min_rows
        ):
            continue
        if table.n_classes > 0:
            cut.score = score_classes(
                work.keys, work.quanta, work.ends, work.totals, work.n_classes, work.weight,
                cut.bound,
            )  # fmt: skip
        else:
            cut.score = score_values(
                work.keys, work.quanta, work.moments, last - first, work.weight, work.moment,
                cut.bound,
            )  # fmt: skip
        if cut.score > best.score:
            best = cut
            for word in range(4):
                work.bits[1, word] = work.bits[0, word]
            # No cut is better than one that parts two classes.
            if table.n_classes > 0 and cut.score >= work.weight:
                break
    return best


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def read_keys(
    table: ExtraTable,
    index: cython.const[cython.uint][::1],
    keys: cython.uchar[::1],
    feature: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> Span:
    """Read the bins of a node's rows into `keys`; return their span, empty if all are missing."""
    bins, by_row = table.bins, table.by_row
    low: cython.uchar = 255
    high: cython.uchar = 0
    if last - first > SMALL:
        for i in range(first, last):
            key = bins[feature, index[i]]
            keys[i - first] = key
            low, high = min(low, key), max(high, key)
    else:
        for i in range(first, last):
            key = by_row[index[i], feature]
            keys[i - first] = key
            low, high = min(low, key), max(high, key)
    if high < MISSING:
        return Span(low, high, False)
    high = 0
    for i in range(last - first):
        if keys[i] < MISSING:
            high = max(high, keys[i])
    return Span(low, high, True)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def draw_cut(
    table: ExtraTable, rules: TryRules, stream: Stream, feature: cython.Py_ssize_t, span: Span
) -> Cut:
    """Draw a cut between the bins of a node, and the side of missing values if it has any."""
    shift: cython.int = 0
    if span.gaps:
        side = draw_below(stream, MISSING_SIDES)
        if side == 0 or span.low == span.high:
            # The largest bin: only missing values go right.
            return Cut(feature, MISSING - 1, 0, True, 0.0)
        shift = side - 1
    low, high = span.low, span.high
    if rules.by_value:
        positions = table.positions
        start = positions[feature, low]
        at = start + draw_share(stream) * (positions[feature, high] - start)
        # The last bin at or before the place drawn; the last bin of all stays on the right.
        while high - low > 1:
            middle = (low + high) >> 1
            if positions[feature, middle] <= at:
                low = middle
            else:
                high = middle
    else:
        low += draw_below(stream, high - low)
    return Cut(feature, low + shift, shift, span.gaps, 0.0)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def draw_subset(
    work: Workspace, stream: Stream, span: Span, count: cython.Py_ssize_t
) -> cython.void:
    """Draw the categories that go left, until some of the node's rows do, and others do not.

    A missing value is a category; those that the node lacks are drawn too.
    """
    bits, keys = work.bits, work.keys
    lefts: cython.Py_ssize_t = 0
    while lefts == 0 or lefts == count:
        for word in range(4):
            bits[0, word] = draw(stream)
        lefts = 0
        for i in range(count):
            lefts += has_bit(bits, 0, keys[i])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def has_bit(
    bits: cython.ulonglong[:, ::1], row: cython.Py_ssize_t, bit: cython.Py_ssize_t
) -> cython.bint:
    """Whether a bit of one row is set."""
    return (bits[row, bit >> 6] >> cython.cast(cython.ulonglong, bit & 63)) & 1 != 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def replace_keys(
    table: ExtraTable,
    work: Workspace,
    cut: Cut,
    chosen: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.void:
    """Turn bins into keys of a cut; `chosen` is 0 for the subset being tried, 1 for the best."""
    keys = work.keys
    if table.categorical[cut.feature]:
        for i in range(count):
            keys[i] = 1 - has_bit(work.bits, chosen, keys[i])
    elif cut.shift:
        for i in range(count):
            keys[i] = (keys[i] + 1) & 255


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def leaves_enough(
    keys: cython.const[cython.uchar][::1],
    bound: cython.int,
    count: cython.Py_ssize_t,
    min_rows: cython.Py_ssize_t,
) -> cython.bint:
    """Whether both sides of a cut have so many rows."""
    lefts: cython.Py_ssize_t = 0
    for i in range(count):
        lefts += keys[i] <= bound
    return min(lefts, count - lefts) >= min_rows


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def score_classes(
    keys: cython.const[cython.uchar][::1],
    quanta: cython.const[cython.longlong][::1],
    ends: cython.const[cython.Py_ssize_t][::1],
    totals: cython.const[cython.longlong][::1],
    n_classes: cython.Py_ssize_t,
    weight: cython.longlong,
    bound: cython.uchar,
) -> cython.double:
    """Squared class weights of each side, divided by its weight, in all.

    The weight minus this is the weighted Gini impurity of both sides.
    """
    left: cython.double = 0.0
    right: cython.double = 0.0
    first: cython.Py_ssize_t = 0
    left_weight: cython.longlong = 0
    for k in range(n_classes):
        here: cython.longlong = 0
        # A mask of all bits, or of none, instead of a branch: compiled to vector instructions.
        for i in range(first, ends[k]):
            here += -cython.cast(cython.longlong, keys[i] <= bound) & quanta[i]
        first = ends[k]
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
    quanta: cython.const[cython.longlong][::1],
    moments: cython.const[cython.longlong][::1],
    count: cython.Py_ssize_t,
    weight: cython.longlong,
    moment: cython.longlong,
    bound: cython.uchar,
) -> cython.double:
    """Squared sum of each side's targets, divided by its weight, in all.

    The weighted squares of the targets minus this are the weighted variance of both sides.
    """
    left_weight: cython.longlong = 0
    left: cython.longlong = 0
    for i in range(count):
        mask = -cython.cast(cython.longlong, keys[i] <= bound)
        left_weight += mask & quanta[i]
        left += mask & moments[i]
    right = moment - left
    return cython.cast(cython.double, left) * left / left_weight + cython.cast(
        cython.double, right
    ) * right / (weight - left_weight)


# --- moving rows --------------------------------------------------------------


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def divide(
    index: cython.uint[::1],
    spare: cython.uint[::1],
    keys: cython.const[cython.uchar][::1],
    bound: cython.int,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Bring the rows that go left to the front, in order; return where they end."""
    middle, right = first, cython.cast(cython.Py_ssize_t, 0)
    for i in range(first, last):
        # Every row is written to both sides and stays on one: no branch that is hard to predict.
        goes = cython.cast(cython.Py_ssize_t, keys[i - first] <= bound)
        index[middle] = spare[right] = index[i]
        middle += goes
        right += 1 - goes
    for i in range(right):
        index[middle + i] = spare[i]
    return middle


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def follow(
    by_row: cython.const[cython.uchar][:, ::1],
    categorical: cython.const[cython.uchar][::1],
    unit: cython.const[cython.int][::1],
    drawn: cython.const[cython.int][::1],
    nodes: Nodes,
    leaves: cython.int[::1],
) -> cython.void:
    """Find the leaf of each row that is out of the bag."""
    left, feature, place = nodes.left, nodes.feature, nodes.place
    missing_left, subsets = nodes.missing_left, nodes.subsets
    for row in range(by_row.shape[0]):
        leaves[row] = -1
        if drawn[unit[row]] > 0:
            continue
        node: cython.int = 0
        while left[node] >= 0:
            f = feature[node]
            key = by_row[row, f]
            if key == MISSING:
                goes: cython.int = missing_left[node]
            elif categorical[f]:
                goes = has_bit(subsets, place[node], key)
            else:
                goes = key <= place[node]
            node = left[node] + 1 - goes
        leaves[row] = node
