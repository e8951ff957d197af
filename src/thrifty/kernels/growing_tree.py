"""A tree while it grows: its nodes, which of them wait, and how one of them is split.

`deep_tree` decides what to split on; `growing_tree.pxd` declares what it calls, and the fields of
the classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cython
import numpy as np
from cython.cimports.thrifty.kernels.binning import MISSING
from cython.cimports.thrifty.kernels.node_rows import (
    Rows,
    Span,
    Table,
    Tally,
    count_of,
    rank_categories,
    read_keys,
)

__all__ = ["NodeStates", "Scratch", "Tree", "TreeNodes"]

LARGEST = cython.declare(cython.double, np.finfo(np.float64).max)

# The feature, or -1; the last bin or rank that goes left; whether missing values go left.
Split = cython.struct(feature=cython.Py_ssize_t, place=cython.Py_ssize_t, missing_left=cython.bint)


class Tree(NamedTuple):
    """A grown tree, by nodes; the root is node 0.

    Attributes
    ----------
    left : int32 array of shape (m,)
        Left child, or -1 at a leaf; the right child is next to it.
    feature : int32 array of shape (m,)
        Feature that the node splits on.
    threshold : float64 array of shape (m,)
        Largest value that goes left, or number of the subset of categories that do.
    missing_left : bool array of shape (m,)
        Whether a missing value goes left.
    counts : int64 array of shape (m, W)
        Packed class counts, see `node_rows`.
    subsets : uint64 array of shape (s, 4)
        Subsets of categories, as bits.
    """

    left: Any
    feature: Any
    threshold: Any
    missing_left: Any
    counts: Any
    subsets: Any

    @classmethod
    def room(cls, n: int, words: int, n_subsets: int) -> Tree:
        """Return room for a tree on n rows, whose leaves have one row each at least."""
        # What is not needed is never touched, so it costs nothing.
        return cls(
            np.empty(2 * n, dtype=np.int32),
            np.empty(2 * n, dtype=np.int32),
            np.empty(2 * n),
            np.empty(2 * n, dtype=np.bool_),
            np.empty((2 * n, words), dtype=np.int64),
            np.zeros((n_subsets, 4), dtype=np.uint64),
        )

    def trim(self, n_nodes: int, n_subsets: int) -> Tree:
        """Return the tree without the room that it did not need."""
        *by_node, subsets = self
        return Tree(*[part[:n_nodes].copy() for part in by_node], subsets[:n_subsets].copy())


@cython.cclass
class TreeNodes:
    """The nodes of a growing tree, in the arrays of a `Tree` with room for more.

    Attributes
    ----------
    left, feature, threshold, missing_left, counts, subsets
        As in `Tree`.
    n_nodes, n_subsets : int
        How many there are so far.
    """

    def __init__(self, room: Tree) -> None:
        self.left = room.left
        self.feature = room.feature
        self.threshold = room.threshold
        self.missing_left = room.missing_left.view(np.uint8)
        self.counts = room.counts
        self.subsets = room.subsets
        self.n_nodes = 0
        self.n_subsets = 0


@cython.cclass
class NodeStates:
    """What growing must know of every node, and which nodes wait for their turn.

    Attributes
    ----------
    first, last : intp array of shape (m,)
        Where the rows of the node begin and end.
    depth : intp array of shape (m,)
        Number of splits above the node.
    path : uint64 array of shape (m, ceil((d + G) / 64))
        Features, then groups, on the path to the node, as bits.
    flat : uint64 array of shape (m, ceil(d / 64))
        Features that have one value in the node, as far as known, as bits.
    waiting : intp array of shape (m,)
        Nodes that may be split; the last one is next.
    n_waiting : int
        How many there are.
    """

    def __init__(
        self, n: cython.Py_ssize_t, n_features: cython.Py_ssize_t, n_groups: cython.Py_ssize_t
    ) -> None:
        numbers: cython.Py_ssize_t[:, ::1] = np.empty((4, 2 * n), dtype=np.intp)
        self.first = numbers[0]
        self.last = numbers[1]
        self.depth = numbers[2]
        self.waiting = numbers[3]
        self.path = np.empty((2 * n, (n_features + n_groups + 63) // 64), dtype=np.uint64)
        self.flat = np.empty((2 * n, (n_features + 63) // 64), dtype=np.uint64)
        self.n_waiting = 0


@cython.cclass
class Scratch:
    """Room that every node uses anew.

    Attributes
    ----------
    tally : Tally
        Counts of the node.
    spare : Rows
        Rows that go right, while the others are moved to the front.
    order : intp array of shape (d,)
        The features, partly shuffled.
    goes_left : uint8 array of shape (256,)
        Which bins go left.
    """

    def __init__(
        self, n: cython.Py_ssize_t, n_features: cython.Py_ssize_t, words: cython.Py_ssize_t
    ) -> None:
        self.tally = Tally(words)
        self.spare = Rows(
            np.empty(n, dtype=np.uint32),
            np.empty(n, dtype=np.int64),
            np.empty(n, dtype=np.uint8),
            np.empty(0, dtype=np.uint8),
            np.empty((0, 0), dtype=np.uint8),
        )
        self.order = np.arange(n_features, dtype=np.intp)
        self.goes_left = np.zeros(256, dtype=np.uint8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def plant(table: Table, tree: TreeNodes, states: NodeStates, rows: Rows) -> cython.void:
    """Make the root, with all rows."""
    add_leaf(tree, states, 0, rows.last, 0)
    for k in range(states.path.shape[1]):
        states.path[0, k] = 0
    for k in range(states.flat.shape[1]):
        states.flat[0, k] = 0
    for k in range(tree.counts.shape[1]):
        tree.counts[0, k] = 0
    for i in range(rows.last):
        rows.word[i] = table.word[rows.index[i]]
        tree.counts[0, rows.word[i]] += rows.quanta[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_leaf(
    tree: TreeNodes,
    states: NodeStates,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
) -> cython.void:
    """Add a leaf with these rows, which waits for its turn to be split."""
    node = tree.n_nodes
    tree.left[node], tree.feature[node] = -1, 0
    tree.threshold[node], tree.missing_left[node] = 0.0, False
    states.first[node], states.last[node], states.depth[node] = first, last, depth
    states.waiting[states.n_waiting] = node
    states.n_waiting += 1
    tree.n_nodes += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def split_node(
    table: Table,
    tree: TreeNodes,
    states: NodeStates,
    rows: Rows,
    scratch: Scratch,
    node: cython.Py_ssize_t,
    split: Split,
    group: cython.Py_ssize_t,
    share: cython.double,
) -> cython.void:
    """Make the children of the present node and divide its rows among them.

    `group` is that of the feature, or -1; `share` is where in a gap between two bins the threshold
    lies.
    """
    feature = split.feature
    span = read_keys(table, rows, feature)
    tree.feature[node] = feature
    if table.categorical[feature]:
        tree.threshold[node] = tree.n_subsets
        fill_subset(rows, scratch, span, split.place)
        keep_subset(tree, scratch)
    else:
        for b in range(MISSING):
            scratch.goes_left[b] = b <= split.place
        scratch.goes_left[MISSING] = split.missing_left
        tree.threshold[node] = threshold_of(table, rows, feature, split.place, share)
    child = tree.n_nodes
    middle = divide(tree, rows, scratch, node)
    # Where no value is missing in training, a missing one follows the majority.
    tree.missing_left[node] = (
        scratch.goes_left[MISSING]
        if span.gaps
        else weight_of(tree.counts, child) > weight_of(tree.counts, child + 1)
    )
    tree.left[node] = child
    add_leaf(tree, states, rows.first, middle, states.depth[node] + 1)
    add_leaf(tree, states, middle, rows.last, states.depth[node] + 1)
    for place in range(child, child + 2):
        for k in range(states.flat.shape[1]):
            states.flat[place, k] = states.flat[node, k]
        for k in range(states.path.shape[1]):
            states.path[place, k] = states.path[node, k]
        add_bit(states.path, place, feature)
        if group >= 0:
            add_bit(states.path, place, table.bins.shape[1] + group)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill_subset(rows: Rows, scratch: Scratch, span: Span, place: cython.Py_ssize_t) -> cython.void:
    """Find which of the 256 bins go left by their rank."""
    rank_categories(rows, scratch.tally, span)
    for b in range(256):
        scratch.goes_left[b] = scratch.tally.rank[b] <= place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_subset(tree: TreeNodes, scratch: Scratch) -> cython.void:
    """Keep the categories that go left, as bits."""
    for b in range(MISSING):
        if scratch.goes_left[b]:
            add_bit(tree.subsets, tree.n_subsets, b)
    tree.n_subsets += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_bit(
    bits: cython.ulonglong[:, ::1], row: cython.Py_ssize_t, bit: cython.Py_ssize_t
) -> cython.void:
    """Set a bit of one row."""
    one = cython.cast(cython.ulonglong, 1)
    bits[row, bit >> 6] |= one << cython.cast(cython.ulonglong, bit & 63)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def threshold_of(
    table: Table,
    rows: Rows,
    feature: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
    share: cython.double,
) -> cython.double:
    """A value between the node's last bin on the left and its first one on the right.

    Bins between them are empty here: the middle of the gap errs less than the edge of the cut.
    """
    low: cython.Py_ssize_t = -1
    high: cython.Py_ssize_t = MISSING
    for i in range(rows.first, rows.last):
        key = cython.cast(cython.Py_ssize_t, rows.keys[i])
        if key <= place:
            low = max(low, key)
        else:
            high = min(high, key)
    if high == MISSING:
        return LARGEST
    least, most = table.edges[feature, low], table.edges[feature, high - 1]
    return min(max((1.0 - share) * least + share * most, least), most)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def weight_of(counts: cython.longlong[:, ::1], row: cython.Py_ssize_t) -> cython.longlong:
    """Quanta of all classes together."""
    total: cython.longlong = 0
    for k in range(counts.shape[1]):
        # Both halves at once: the quanta of all rows fit into a half.
        total += counts[row, k]
    return count_of(total, 0) + count_of(total, 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def divide(
    tree: TreeNodes, rows: Rows, scratch: Scratch, node: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Bring the rows that go left to the front, in order; return where they end.

    The class counts of both children, which are the next two nodes, are set too.
    """
    child = tree.n_nodes
    for k in range(tree.counts.shape[1]):
        tree.counts[child, k] = 0
    middle = move_rows(
        rows.index, rows.quanta, rows.word, rows.keys, rows.first, rows.last, scratch.goes_left,
        scratch.spare.index, scratch.spare.quanta, scratch.spare.word, tree.counts, child,
    )  # fmt: skip
    for k in range(tree.counts.shape[1]):
        tree.counts[child + 1, k] = tree.counts[node, k] - tree.counts[child, k]
    return middle


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def move_rows(
    index: cython.uint[::1],
    quanta: cython.longlong[::1],
    word: cython.uchar[::1],
    keys: cython.const[cython.uchar][::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    goes_left: cython.const[cython.uchar][::1],
    spare_index: cython.uint[::1],
    spare_quanta: cython.longlong[::1],
    spare_word: cython.uchar[::1],
    counts: cython.longlong[:, ::1],
    child: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Move rows for `divide`, and count those that go left."""
    middle, right = first, cython.cast(cython.Py_ssize_t, 0)
    for i in range(first, last):
        # Every row is written to both sides and stays on one: no branch that is hard to predict.
        goes = cython.cast(cython.Py_ssize_t, goes_left[keys[i]])
        row, quantum, place = index[i], quanta[i], word[i]
        counts[child, place] += -goes & quantum
        index[middle], quanta[middle], word[middle] = row, quantum, place
        spare_index[right], spare_quanta[right], spare_word[right] = row, quantum, place
        middle += goes
        right += 1 - goes
    for i in range(right):
        index[middle + i] = spare_index[i]
        quanta[middle + i] = spare_quanta[i]
        word[middle + i] = spare_word[i]
    return middle
