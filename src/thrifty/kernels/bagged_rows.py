"""The rows of an extra-tree: a bag of them is drawn, read node by node, and divided by cuts.

Weights are whole quanta in int64, so that sums are exact in any order, and what lies right of a cut
is the total minus what lies left of it. The rows of the table are sorted by target, so that one
class after the other can be added up with vector instructions; and as the rows of a node have
similar targets, they lie near each other.

`extra_tree` and `random_cuts` call the functions that take objects; `bagged_rows.pxd` declares
those, and the fields of the classes.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.thrifty.kernels.random import Stream, draw_below

__all__ = ["Bag", "BagTable", "Bagging", "NodeRows"]

# Over the rows of a node: quanta, moments, quanta times targets, the smallest and largest target.
Sums = cython.struct(
    weight=cython.longlong,
    moment=cython.longlong,
    total=cython.double,
    least=cython.double,
    most=cython.double,
)


@cython.cclass
class BagTable:
    """The binned table and the targets that all trees read; rows are sorted by target.

    Attributes
    ----------
    bins : uint8 array of shape (d, n)
        Bin of each value, by features.
    by_row : uint8 array of shape (n, d)
        The same by rows.
    positions : float64 array of shape (d, 256)
        Where the bins of each feature lie, increasing.
    categorical : uint8 array of shape (d,)
        Which features are categorical: their bins are codes of categories.
    codes : int32 array of shape (n,)
        Class of each row; empty where targets are values.
    targets : float64 array of shape (n,)
        Target of each row; empty where targets are classes.
    n_classes : int
        Number of classes, or 0 where targets are values.
    has_categories : bool
        Whether a feature is categorical.
    """

    def __init__(
        self,
        bins: cython.const[cython.uchar][:, ::1],
        by_row: cython.const[cython.uchar][:, ::1],
        positions: cython.const[cython.double][:, ::1],
        categorical: cython.const[cython.uchar][::1],
        codes: cython.const[cython.int][::1],
        targets: cython.const[cython.double][::1],
        n_classes: cython.Py_ssize_t,
    ) -> None:
        self.bins = bins
        self.by_row = by_row
        self.positions = positions
        self.categorical = categorical
        self.codes = codes
        self.targets = targets
        self.n_classes = n_classes
        self.has_categories = bool(np.any(categorical))


@cython.cclass
class Bagging:
    """What bags are drawn from: units, which are rows or groups of rows.

    Attributes
    ----------
    unit : int32 array of shape (n,)
        Unit of each row.
    quanta : int64 array of shape (n,)
        Weight of each row.
    moments : int64 array of shape (n,)
        Weight times target, in fixed point; empty where targets are classes.
    n_units : int
        How many units may be drawn; units beyond them have no weight.
    n_draws : int
        How many are drawn, with replacement.
    """

    def __init__(
        self,
        unit: cython.const[cython.int][::1],
        quanta: cython.const[cython.longlong][::1],
        moments: cython.const[cython.longlong][::1],
        n_units: cython.Py_ssize_t,
        n_draws: cython.Py_ssize_t,
    ) -> None:
        self.unit = unit
        self.quanta = quanta
        self.moments = moments
        self.n_units = n_units
        self.n_draws = n_draws


@cython.cclass
class Bag:
    """The rows of one tree; the next tree uses the same room.

    Attributes
    ----------
    drawn : int32 array of shape (u,)
        How often each unit is in the bag.
    quanta, moments : int64 array of shape (n,)
        Weight of each row in the bag, and weight times target.
    index : uint32 array of shape (n,)
        The rows of the bag, node by node, those of a node sorted by class.
    spare : uint32 array of shape (n,)
        Rows that go right, while the others are moved to the front.
    n_rows : int
        How many rows the bag has, each counted once.
    """

    def __init__(self, table: BagTable, n_units: int) -> None:
        n = table.by_row.shape[0]
        self.drawn = np.empty(n_units, dtype=np.int32)
        self.quanta = np.empty(n, dtype=np.int64)
        self.moments = np.empty(0 if table.n_classes else n, dtype=np.int64)
        self.index = np.empty(n, dtype=np.uint32)
        self.spare = np.empty(n, dtype=np.uint32)
        self.n_rows = 0


@cython.cclass
class NodeRows:
    """The rows of the present node, from 0 on.

    Attributes
    ----------
    keys : uint8 array of shape (n,)
        Key of each row for the cut that is being tried, see `random_cuts`.
    quanta, moments : int64 array of shape (n,)
        Weight of each row, and weight times target.
    ends : intp array of shape (k,)
        Where the rows of each class that the node has end.
    totals : int64 array of shape (k,)
        Weight of each of these classes.
    classes : int32 array of shape (k,)
        Which classes they are.
    first, last : int
        Where the rows lie in the index of the bag.
    n_classes : int
        How many classes the node has.
    weight, moment : int64
        Sums of the quanta and of the moments.
    mean : float
        Mean target, where targets are values.
    """

    def __init__(self, table: BagTable) -> None:
        n, n_classes = table.by_row.shape[0], max(table.n_classes, 1)
        self.keys = np.empty(n, dtype=np.uint8)
        self.quanta = np.empty(n, dtype=np.int64)
        self.moments = np.empty(0 if table.n_classes else n, dtype=np.int64)
        self.ends = np.empty(n_classes, dtype=np.intp)
        self.totals = np.empty(n_classes, dtype=np.int64)
        self.classes = np.zeros(n_classes, dtype=np.int32)
        self.first = 0
        self.last = 0
        self.n_classes = 1
        self.weight = 0
        self.moment = 0
        self.mean = 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def draw_bag(table: BagTable, bagging: Bagging, bag: Bag, stream: Stream) -> cython.void:
    """Draw units; the rows of those that were drawn are the bag."""
    drawn, index = bag.drawn, bag.index
    for u in range(drawn.shape[0]):
        drawn[u] = 0
    for _ in range(bagging.n_draws):
        drawn[draw_below(stream, bagging.n_units)] += 1
    n_rows: cython.Py_ssize_t = 0
    for row in range(bagging.unit.shape[0]):
        count = cython.cast(cython.longlong, drawn[bagging.unit[row]])
        bag.quanta[row] = count * bagging.quanta[row]
        if table.n_classes == 0:
            bag.moments[row] = count * bagging.moments[row]
        # Every row is written and stays if it counts: no branch that is hard to predict.
        index[n_rows] = row
        n_rows += bag.quanta[row] > 0
    bag.n_rows = n_rows


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_classes(table: BagTable, bag: Bag, rows: NodeRows) -> cython.double:
    """Read the weights and classes of a node; return the sum of the squared class weights.

    Returns -1 where there is one class only.
    """
    rows.n_classes = add_classes(
        bag.index, table.codes, bag.quanta, rows.first, rows.last,
        rows.quanta, rows.ends, rows.totals, rows.classes,
    )  # fmt: skip
    square: cython.double = 0.0
    rows.weight = 0
    for k in range(rows.n_classes):
        rows.weight += rows.totals[k]
        square += cython.cast(cython.double, rows.totals[k]) * rows.totals[k]
    return square if rows.n_classes > 1 else -1.0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_classes(
    index: cython.uint[::1],
    codes: cython.const[cython.int][::1],
    weights: cython.longlong[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    quanta: cython.longlong[::1],
    ends: cython.Py_ssize_t[::1],
    totals: cython.longlong[::1],
    classes: cython.int[::1],
) -> cython.Py_ssize_t:
    """Add up one class after the other for `read_classes`; return how many there are."""
    total: cython.longlong = 0
    count: cython.Py_ssize_t = 0
    code = codes[index[first]]
    for i in range(first, last):
        row = index[i]
        if codes[row] != code:
            ends[count], totals[count], classes[count] = i - first, total, code
            count, total, code = count + 1, 0, codes[row]
        quanta[i - first] = weights[row]
        total += weights[row]
    ends[count], totals[count], classes[count] = last - first, total, code
    return count + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_values(table: BagTable, bag: Bag, rows: NodeRows) -> cython.double:
    """Read the weights and targets of a node; return the square of the sum of weighted targets.

    Returns -1 where all targets are the same.
    """
    sums = add_values(
        bag.index, table.targets, bag.quanta, bag.moments, rows.first, rows.last,
        rows.quanta, rows.moments,
    )  # fmt: skip
    rows.weight, rows.moment = sums.weight, sums.moment
    # A mean of equal numbers must not be off by a rounding.
    rows.mean = min(max(sums.total / sums.weight, sums.least), sums.most)
    return cython.cast(cython.double, sums.moment) * sums.moment if sums.least < sums.most else -1.0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_values(
    index: cython.uint[::1],
    targets: cython.const[cython.double][::1],
    weights: cython.longlong[::1],
    weighted: cython.longlong[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    quanta: cython.longlong[::1],
    moments: cython.longlong[::1],
) -> Sums:
    """Add up the targets for `read_values`."""
    weight: cython.longlong = 0
    moment: cython.longlong = 0
    total: cython.double = 0.0
    least: cython.double = targets[index[first]]
    most: cython.double = least
    for i in range(first, last):
        row = index[i]
        target = targets[row]
        quanta[i - first] = weights[row]
        moments[i - first] = weighted[row]
        weight += weights[row]
        moment += weighted[row]
        # The fixed point of the moments is fine enough for a comparison, not for an answer.
        total += weights[row] * target
        least = target if target < least else least
        most = target if target > most else most
    return Sums(weight, moment, total, least, most)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def divide(bag: Bag, rows: NodeRows, bound: cython.int) -> cython.Py_ssize_t:
    """Bring the rows with keys up to `bound` to the front, in order; return where they end."""
    return move_rows(bag.index, bag.spare, rows.keys, bound, rows.first, rows.last)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def move_rows(
    index: cython.uint[::1],
    spare: cython.uint[::1],
    keys: cython.const[cython.uchar][::1],
    bound: cython.int,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Move rows for `divide`."""
    middle, right = first, cython.cast(cython.Py_ssize_t, 0)
    for i in range(first, last):
        # Every row is written to both sides and stays on one: no branch that is hard to predict.
        goes = cython.cast(cython.Py_ssize_t, keys[i - first] <= bound)
        row = index[i]
        index[middle], spare[right] = row, row
        middle += goes
        right += 1 - goes
    for i in range(right):
        index[middle + i] = spare[i]
    return middle
