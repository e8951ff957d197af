"""The records of a tree that `hist_tree` grows: table, targets, tree, candidates, prices.

The rows lie in blocks. A block is counted and divided on its own; what is decided from the sums of
all blocks, tree, candidates and prices, has no rows. The types of the fields are in growth.pxd.
"""

from __future__ import annotations

import cython

__all__ = ["Blocks", "Candidates", "Growth", "Prices", "Table", "Targets", "Tree"]


@cython.cclass
class Table:
    """The binned table.

    Attributes
    ----------
    bins : uint8 array (parts, d, size)
        Bin of each value, by feature; each part holds `size` rows, the last one perhaps fewer.
    categorical : uint8 array (d,)
        1 where a bin is a category.
    width : int64 array (d,)
        Number of bins of each feature, not counting that of the missing value.
    """

    def __init__(self, bins, categorical, width):
        self.bins, self.categorical, self.width = bins, categorical, width


@cython.cclass
class Blocks:
    """The rows of a growing tree, in blocks; the rows of a block lie in one part of the table.

    Attributes
    ----------
    begin : int64 array (blocks + 1,)
        Block b holds the rows from begin[b] up to begin[b + 1].
    part : int64 array (blocks,)
        Part of the table in which the rows of each block lie.
    base : int64 array (blocks,)
        Number of rows in the parts before that one.
    first, last : int64 arrays (blocks, room)
        The rows of a node in a block are rows[first:last].
    rows : uint32 array (n,)
        Places in their part of all rows, those of a block and node side by side, in order.
    spare : uint32 array (longest block + 1,)
        Room to divide the rows of a node in a block.
    partial : int64 array (1, 1, d, 256)
        Histogram of one block, if it is not that of all rows; else empty.
    """

    def __init__(self, begin, part, base, first, last, rows, spare, partial):
        self.begin, self.part, self.base = begin, part, base
        self.first, self.last, self.rows = first, last, rows
        self.spare, self.partial = spare, partial


@cython.cclass
class Targets:
    """What the tree is fitted to, in fixed point (see `histogram`).

    Attributes
    ----------
    quanta : int64 array (planes, n)
        Targets, and weights in a second plane if there are any, by row.
    target_unit, weight_unit : float
        What one quantum of target, and of weight, is worth.
    ordered : int64 array (planes, n)
        The quanta in the order of `Blocks.rows`; valid only for nodes that are about to be counted.
    """

    def __init__(self, quanta, units, ordered):
        self.quanta, self.ordered = quanta, ordered
        self.target_unit, self.weight_unit = units


@cython.cclass
class Tree:
    """The growing tree; node i is at place i of all arrays by node.

    Attributes
    ----------
    left : int32 array (room,)
        Left child, whose sibling is next to it; -1 for a leaf.
    feature : int32 array (room,)
        Feature of a split.
    cut : int32 array (room,)
        Last bin that goes left, or the number of categories that do.
    goes_left : uint8 array (room, 256)
        1 for the bins that go left.
    depth : int32 array (room,)
        Number of splits above the node.
    count : int64 array (room,)
        Number of rows of each node.
    slot : int32 array (room,)
        Histogram that an open leaf owns; -1 for a node that can no longer be split.
    nodes : int
        Number of nodes so far.
    slots : int
        Number of histograms in use.
    """

    def __init__(self, left, feature, cut, goes_left, depth, count, slot):
        self.left, self.feature, self.cut, self.goes_left = left, feature, cut, goes_left
        self.depth, self.count, self.slot = depth, count, slot
        self.nodes = self.slots = 0


@cython.cclass
class Candidates:
    """The best split of each open leaf on each feature, and what it was found in.

    Attributes
    ----------
    hist : int64 array (slots, planes, d, 256)
        Histograms of the open leaves.
    total : int64 array (room, 2)
        Target and weight of each node, in quanta.
    gain : float64 array (room, d)
        Raw gain of the best split, before prices.
    cut : int32 array (room, d)
        Last bin that goes left, or the number of categories that do.
    missing_left : uint8 array (room, d)
        1 where missing values go left.
    features : int64 array
        Features that are worth considering.
    """

    def __init__(self, hist, total, gain, cut, missing_left, features):
        self.hist, self.total, self.gain = hist, total, gain
        self.cut, self.missing_left, self.features = cut, missing_left, features


@cython.cclass
class Prices:
    """What features cost, in units of gain, and who has paid.

    Attributes
    ----------
    own : float64 array (d,)
        Price of each feature: for the whole model, or per quantum of weight if `by_row`.
    shared : float64 array (groups,)
        Price of the first feature of a group, on top of its own.
    group : int64 array (d,)
        Group of each feature, or -1.
    due : float64 array (d,)
        What each feature would cost the model now.
    bought : uint8 array (d,)
        1 for each feature that some tree has bought.
    by_row : bool
        Whether each row pays for itself; only then are the fields below used.
    paid : uint8 array (d, n)
        1 where a row has paid for a feature.
    group_paid : uint8 array (groups, n)
        1 where a row has paid the shared price of a group.
    owed : int64 array (d,)
        Weight of all rows that have not paid for each feature.
    group_owed : int64 array (groups,)
        Weight of all rows that have not paid the shared price of each group.
    unpaid : int64 array (room, d)
        Weight of the rows of each node that have not paid for each feature.
    group_unpaid : int64 array (room, groups)
        Weight of the rows of each node that have not paid the shared price of each group.
    """

    def __init__(self, own, shared, group, due, bought, paid, group_paid, owed, group_owed,
                 unpaid, group_unpaid):  # fmt: skip
        self.own, self.shared, self.group = own, shared, group
        self.due, self.bought, self.by_row = due, bought, len(paid) > 0
        self.paid, self.group_paid = paid, group_paid
        self.owed, self.group_owed = owed, group_owed
        self.unpaid, self.group_unpaid = unpaid, group_unpaid


@cython.cclass
class Growth:
    """A tree that grows: all of the above, and its limits.

    Attributes
    ----------
    table : Table
    blocks : Blocks
    targets : Targets
    tree : Tree
    candidates : Candidates
    prices : Prices
    max_depth : int
        Largest number of splits above a leaf.
    lightest : int
        Least weight of a leaf, in quanta.
    floor : float
        A split must gain more than this after its price.
    """

    def __init__(
        self, table, blocks, targets, tree, candidates, prices, max_depth, lightest, floor
    ):
        self.table, self.blocks, self.targets, self.tree = table, blocks, targets, tree
        self.candidates, self.prices = candidates, prices
        self.max_depth, self.lightest, self.floor = max_depth, lightest, floor
