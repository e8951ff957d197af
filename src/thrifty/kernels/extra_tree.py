"""Grow one extra-tree (Geurts et al. 2006) on a bag of rows, and follow it with the other rows.

Extra-trees are not an option of `deep_tree`, because the work is another: a cut that is drawn needs
no histogram, so that nearly all time goes into reading bins and adding up one side, and targets may
be values. `bagged_rows` holds the rows, `random_cuts` draws the cuts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cython
import numpy as np
from cython.cimports.thrifty.kernels.bagged_rows import (
    Bag,
    Bagging,
    BagTable,
    NodeRows,
    divide,
    draw_bag,
    read_classes,
    read_values,
)
from cython.cimports.thrifty.kernels.binning import MISSING
from cython.cimports.thrifty.kernels.random import Stream
from cython.cimports.thrifty.kernels.random_cuts import Cut, CutRules, CutTrials, choose, has_bit

__all__ = ["ExtraTree", "add_leaves", "fill_values", "grow_extra_tree"]

# Rows that go down the tree together.
LANES = cython.declare(cython.Py_ssize_t, 8)


class ExtraTree(NamedTuple):
    """A grown tree, by nodes; the root is node 0.

    Leaves have entries: one for each class that they have, with its share, or one with the mean
    target. Nearly all leaves have a single class, so that this takes little room.

    Attributes
    ----------
    left : int32 array of shape (m,)
        Left child, or -1 at a leaf; the right child is next to it.
    feature : int32 array of shape (m,)
        Feature that the node splits on; at a leaf, the number of its entries.
    place : int32 array of shape (m,)
        Last bin that goes left, or number of the subset of categories that do; at a leaf, its
        first entry.
    missing_left : uint8 array of shape (m,)
        Whether a missing value goes left.
    weight : float64 array of shape (m,)
        Weight of the node's rows.
    subsets : uint64 array of shape (s, 4)
        Subsets of categories, as bits.
    classes : int32 array of shape (e,)
        Class of each entry; 0 where targets are values.
    shares : float64 array of shape (e,)
        Share of the class, or the mean target.
    decrease : float64 array of shape (d,)
        By how much the splits on each feature decrease the impurity of the bag, in all.
    """

    left: Any
    feature: Any
    place: Any
    missing_left: Any
    weight: Any
    subsets: Any
    classes: Any
    shares: Any
    decrease: Any

    @classmethod
    def room(cls, n_rows: int, n_subsets: int, n_features: int) -> ExtraTree:
        """Return room for a tree on some rows, whose leaves have one row each at least."""
        # What is not needed is never touched, so it costs nothing.
        return cls(
            np.empty(2 * n_rows, dtype=np.int32),
            np.empty(2 * n_rows, dtype=np.int32),
            np.empty(2 * n_rows, dtype=np.int32),
            np.empty(2 * n_rows, dtype=np.uint8),
            np.empty(2 * n_rows),
            np.empty((n_subsets, 4), dtype=np.uint64),
            np.empty(n_rows, dtype=np.int32),
            np.empty(n_rows),
            np.zeros(n_features),
        )

    def trim(self, n_nodes: int, n_subsets: int, n_entries: int) -> ExtraTree:
        """Return the tree without the room that it did not need."""
        return ExtraTree(
            *[part[:n_nodes].copy() for part in self[:5]],
            self.subsets[:n_subsets].copy(),
            self.classes[:n_entries].copy(),
            self.shares[:n_entries].copy(),
            self.decrease,
        )


@cython.cclass
class Nodes:
    """The nodes of a growing tree, in the arrays of an `ExtraTree` with room for more.

    Attributes
    ----------
    left, feature, place, missing_left, weight, subsets, classes, shares, decrease
        As in `ExtraTree`.
    waiting : intp array of shape (m, 4)
        Nodes that may be split, the last one next: the node, where its rows begin and end, and how
        many features are known to have one value.
    n_nodes, n_subsets, n_entries, n_waiting : int
        How many there are so far.
    """

    left = cython.declare(cython.int[::1])
    feature = cython.declare(cython.int[::1])
    place = cython.declare(cython.int[::1])
    missing_left = cython.declare(cython.uchar[::1])
    weight = cython.declare(cython.double[::1])
    subsets = cython.declare(cython.ulonglong[:, ::1])
    classes = cython.declare(cython.int[::1])
    shares = cython.declare(cython.double[::1])
    decrease = cython.declare(cython.double[::1])
    waiting = cython.declare(cython.Py_ssize_t[:, ::1])
    n_nodes = cython.declare(cython.Py_ssize_t, visibility="readonly")
    n_subsets = cython.declare(cython.Py_ssize_t, visibility="readonly")
    n_entries = cython.declare(cython.Py_ssize_t, visibility="readonly")
    n_waiting = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(self, room: ExtraTree) -> None:
        self.left = room.left
        self.feature = room.feature
        self.place = room.place
        self.missing_left = room.missing_left
        self.weight = room.weight
        self.subsets = room.subsets
        self.classes = room.classes
        self.shares = room.shares
        self.decrease = room.decrease
        self.waiting = np.empty((len(room.shares) + 1, 4), dtype=np.intp)
        self.n_nodes = 0
        self.n_subsets = 0
        self.n_entries = 0
        self.n_waiting = 0


def grow_extra_tree(
    table: BagTable,
    bagging: Bagging,
    rules: CutRules,
    bag: Bag,
    rows: NodeRows,
    seed: int,
    leaves: cython.int[::1],
) -> ExtraTree:
    """Grow a tree on a bag; `leaves` gets the leaf of each row out of the bag, -1 for the others.

    `bag` and `rows` are room that trees use one after the other.
    """
    stream = Stream(seed)
    draw_bag(table, bagging, bag, stream)
    n_subsets = bag.n_rows if table.has_categories else 0
    room = ExtraTree.room(bag.n_rows, n_subsets, table.bins.shape[0])
    nodes, trials = Nodes(room), CutTrials(rules)
    with cython.nogil:
        grow(table, rules, bag, rows, trials, nodes, stream)
        follow_others(table, bagging, bag, nodes, leaves)
    return room.trim(nodes.n_nodes, nodes.n_subsets, nodes.n_entries)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def grow(
    table: BagTable,
    rules: CutRules,
    bag: Bag,
    rows: NodeRows,
    trials: CutTrials,
    nodes: Nodes,
    stream: Stream,
) -> cython.void:
    """Split nodes, the last one made first, until none is left that can be split."""
    add_node(nodes, 0, bag.n_rows, 0)
    while nodes.n_waiting > 0:
        nodes.n_waiting -= 1
        node: cython.Py_ssize_t = nodes.waiting[nodes.n_waiting, 0]
        rows.first, rows.last = nodes.waiting[nodes.n_waiting, 1], nodes.waiting[nodes.n_waiting, 2]
        trials.n_flat = nodes.waiting[nodes.n_waiting, 3]
        # Below 0: all targets are the same.
        square = (
            read_classes(table, bag, rows) if table.n_classes else read_values(table, bag, rows)
        )
        nodes.weight[node] = rows.weight
        if square < 0.0 or rows.last - rows.first < 2 * rules.min_rows:
            finish_leaf(table, rows, nodes, node)
            continue
        cut = choose(table, rules, bag, rows, trials, stream)
        if cut.feature < 0:
            finish_leaf(table, rows, nodes, node)
            continue
        nodes.decrease[cut.feature] += cut.score - square / rows.weight
        middle = divide(bag, rows, cut.bound)
        # Where no value is missing, a missing one will follow the majority.
        add_split(table, trials, nodes, node, cut, middle - rows.first > rows.last - middle)
        add_node(nodes, rows.first, middle, trials.n_flat)
        add_node(nodes, middle, rows.last, trials.n_flat)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_node(
    nodes: Nodes, first: cython.Py_ssize_t, last: cython.Py_ssize_t, n_flat: cython.Py_ssize_t
) -> cython.void:
    """Add a node with these rows, which waits for its turn."""
    k = nodes.n_waiting
    nodes.waiting[k, 0], nodes.waiting[k, 1] = nodes.n_nodes, first
    nodes.waiting[k, 2], nodes.waiting[k, 3] = last, n_flat
    nodes.n_nodes += 1
    nodes.n_waiting += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def finish_leaf(
    table: BagTable, rows: NodeRows, nodes: Nodes, node: cython.Py_ssize_t
) -> cython.void:
    """Make a node a leaf, with the answer of its rows."""
    nodes.left[node], nodes.missing_left[node] = -1, 0
    nodes.place[node], nodes.feature[node] = nodes.n_entries, rows.n_classes
    for k in range(rows.n_classes):
        nodes.classes[nodes.n_entries] = rows.classes[k]
        nodes.shares[nodes.n_entries] = (
            cython.cast(cython.double, rows.totals[k]) / rows.weight
            if table.n_classes > 0
            else rows.mean
        )
        nodes.n_entries += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_split(
    table: BagTable,
    trials: CutTrials,
    nodes: Nodes,
    node: cython.Py_ssize_t,
    cut: Cut,
    majority_left: cython.bint,
) -> cython.void:
    """Make a node split; its children are the next two nodes."""
    nodes.left[node], nodes.feature[node] = nodes.n_nodes, cut.feature
    if table.categorical[cut.feature]:
        nodes.place[node] = nodes.n_subsets
        for word in range(4):
            nodes.subsets[nodes.n_subsets, word] = trials.bits[1, word]
        nodes.n_subsets += 1
        nodes.missing_left[node] = has_bit(trials.bits, 1, MISSING) if cut.gaps else majority_left
    else:
        nodes.place[node] = cut.bound - cut.shift
        nodes.missing_left[node] = cut.shift if cut.gaps else majority_left


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def follow_others(
    table: BagTable, bagging: Bagging, bag: Bag, nodes: Nodes, leaves: cython.int[::1]
) -> cython.void:
    """Find the leaf of each row that is out of the bag, a few rows at a time."""
    count: cython.Py_ssize_t = 0
    for row in range(leaves.shape[0]):
        leaves[row] = -1
        # Every row is written and stays if it is out of the bag.
        bag.spare[count] = row
        count += bag.drawn[bagging.unit[row]] == 0
    first: cython.Py_ssize_t = 0
    while first < count:
        last = min(first + LANES, count)
        follow_lanes(
            table.by_row, table.categorical, table.has_categories,
            nodes.left, nodes.feature, nodes.place, nodes.missing_left, nodes.subsets,
            bag.spare, first, last, leaves,
        )  # fmt: skip
        first = last


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def follow_lanes(
    by_row: cython.const[cython.uchar][:, ::1],
    categorical: cython.const[cython.uchar][::1],
    has_categories: cython.bint,
    left: cython.int[::1],
    feature: cython.int[::1],
    place: cython.int[::1],
    missing_left: cython.uchar[::1],
    subsets: cython.ulonglong[:, ::1],
    rows: cython.uint[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    leaves: cython.int[::1],
) -> cython.void:
    """Send rows down the tree step by step: while one waits for memory the others move."""
    at = cython.declare(cython.int[8])
    for k in range(last - first):
        at[k] = 0
    moving: cython.bint = True
    while moving:
        moving = False
        for k in range(last - first):
            node = at[k]
            if left[node] < 0:
                continue
            f = feature[node]
            key: cython.int = by_row[rows[first + k], f]
            shift: cython.int = missing_left[node]
            if has_categories and categorical[f]:
                goes: cython.int = shift if key == MISSING else has_bit(subsets, place[node], key)
            else:
                # A missing value becomes 0 where it goes left; see `random_cuts`.
                goes = ((key + shift) & 255) <= place[node] + shift
            at[k] = left[node] + 1 - goes
            moving = True
    for k in range(last - first):
        leaves[rows[first + k]] = at[k]


def add_leaves(
    tree: ExtraTree,
    leaves: cython.const[cython.int][::1],
    sums: cython.double[:, ::1],
    counts: cython.double[::1],
) -> None:
    """Add the answer of the leaf of each row to its sums, and 1 to its count; -1 is no leaf."""
    feature: cython.const[cython.int][::1] = tree.feature
    place: cython.const[cython.int][::1] = tree.place
    classes: cython.const[cython.int][::1] = tree.classes
    shares: cython.const[cython.double][::1] = tree.shares
    with cython.nogil:
        for row in range(leaves.shape[0]):
            leaf = leaves[row]
            if leaf >= 0:
                counts[row] += 1.0
                for k in range(place[leaf], place[leaf] + feature[leaf]):
                    sums[row, classes[k]] += shares[k]


def fill_values(tree: ExtraTree, values: cython.double[:, ::1]) -> None:
    """Fill the answer of each node, (m, k): that of a split is the average of its children's."""
    left: cython.const[cython.int][::1] = tree.left
    feature: cython.const[cython.int][::1] = tree.feature
    place: cython.const[cython.int][::1] = tree.place
    weight: cython.const[cython.double][::1] = tree.weight
    classes: cython.const[cython.int][::1] = tree.classes
    shares: cython.const[cython.double][::1] = tree.shares
    with cython.nogil:
        # Children come after their parents.
        for node in range(left.shape[0] - 1, -1, -1):
            child = left[node]
            for k in range(values.shape[1]):
                values[node, k] = (
                    0.0
                    if child < 0
                    else (
                        weight[child] * values[child, k] + weight[child + 1] * values[child + 1, k]
                    )
                    / weight[node]
                )
            if child < 0:
                for e in range(place[node], place[node] + feature[node]):
                    values[node, classes[e]] = shares[e]
