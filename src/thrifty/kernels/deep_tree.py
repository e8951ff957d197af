"""Grow one deep tree by cost-weighted impurity (Nan et al. 2015, algorithm 1, GreedyTree).

Each node takes the feature and threshold of least risk: the price divided by the node's impurity
minus that of the worse child. Nodes are split until their impurity is 0. Features are tried in
random order and the first of equals wins, so that ties are broken by the seed; where only some
features may be tried, those that cannot split the node do not count.

Features on the path to a node cost an example nothing more. But a split that counted as free would
win at any impurity, and the tree would read one feature to the end. So a feature on the path counts
`reuse` times its price, just enough to win ties; the shared price of a group on the path counts
nothing; and no split counts less than `floor`.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.thrifty.kernels.growing_tree import (
    NodeStates,
    Scratch,
    Split,
    TreeNodes,
    add_bit,
    plant,
    split_node,
)
from cython.cimports.thrifty.kernels.minimax import (
    EXPECTED,
    MINIMAX,
    STUMPS,
    ImpurityForm,
    impurity_of,
    search,
)
from cython.cimports.thrifty.kernels.node_rows import (
    Rows,
    Span,
    Table,
    Tally,
    bring_near,
    find_ends,
    rank_categories,
    read_keys,
)
from cython.cimports.thrifty.kernels.random import Stream, draw_below, draw_share
from numpy.typing import NDArray

from thrifty.kernels.growing_tree import Tree
from thrifty.kernels.node_rows import NEAR

__all__ = ["SplitPrices", "SplitRules", "grow_tree"]

INFINITY = cython.declare(cython.double, float("inf"))


@cython.cclass
class SplitPrices:
    """What a split on a feature counts as.

    Attributes
    ----------
    own : float64 array of shape (d,)
        Price of each feature.
    shared : float64 array of shape (G,)
        Price of each group.
    group : int64 array of shape (d,)
        Group of each feature, or -1.
    reuse : float
        Share of its price that a feature counts once it is on the path.
    floor : float
        What any split counts at least.
    """

    own = cython.declare(cython.const[cython.double][::1], visibility="readonly")
    shared = cython.declare(cython.const[cython.double][::1], visibility="readonly")
    group = cython.declare(cython.const[cython.longlong][::1], visibility="readonly")
    reuse = cython.declare(cython.double, visibility="readonly")
    floor = cython.declare(cython.double, visibility="readonly")

    def __init__(
        self,
        own: cython.const[cython.double][::1],
        shared: cython.const[cython.double][::1],
        group: cython.const[cython.longlong][::1],
        reuse: cython.double,
        floor: cython.double,
    ) -> None:
        self.own = own
        self.shared = shared
        self.group = group
        self.reuse = reuse
        self.floor = floor


@cython.cclass
class SplitRules:
    """How splits are searched.

    Attributes
    ----------
    splits : int
        The criterion: MINIMAX, EXPECTED or STUMPS.
    max_features : int
        How many features that can split a node are tried, if one of them helps.
    max_depth : int
        Depth from which on nodes are leaves.
    """

    splits = cython.declare(cython.int, visibility="readonly")
    max_features = cython.declare(cython.Py_ssize_t, visibility="readonly")
    max_depth = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self, splits: cython.int, max_features: cython.Py_ssize_t, max_depth: cython.longlong
    ) -> None:
        self.splits = splits
        self.max_features = max_features
        self.max_depth = max_depth


def grow_tree(
    table: Table,
    prices: SplitPrices,
    rules: SplitRules,
    form: ImpurityForm,
    index: NDArray[np.uint32],
    quanta: NDArray[np.int64],
    seed: int,
) -> Tree:
    """Grow a tree on the rows `index`, in the order of their words, with these packed quanta.

    Both arrays are brought into the order of the leaves.
    """
    n, words = len(index), (form.classes + 1) // 2
    n_features, n_groups = prices.own.shape[0], prices.shared.shape[0]
    room = Tree.room(n, words, n if table.has_categories else 0)
    tree, states = TreeNodes(room), NodeStates(n, n_features, n_groups)
    is_in_parts = table.bins.shape[0] > 1
    near = np.empty((min(n, NEAR) if is_in_parts else 0, n_features), dtype=np.uint8)
    rows = Rows(index, quanta, np.empty(n, dtype=np.uint8), np.empty(n, dtype=np.uint8), near)
    scratch, stream = Scratch(n, n_features, words), Stream(seed)
    with cython.nogil:
        plant(table, tree, states, rows)
        grow(table, prices, rules, form, tree, states, rows, scratch, stream)
    return room.trim(tree.n_nodes, tree.n_subsets)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def grow(
    table: Table,
    prices: SplitPrices,
    rules: SplitRules,
    form: ImpurityForm,
    tree: TreeNodes,
    states: NodeStates,
    rows: Rows,
    scratch: Scratch,
    stream: Stream,
) -> cython.void:
    """Split nodes, the last one made first, until none is left that must be split."""
    while states.n_waiting > 0:
        states.n_waiting -= 1
        node = states.waiting[states.n_waiting]
        rows.first, rows.last = states.first[node], states.last[node]
        for k in range(tree.counts.shape[1]):
            scratch.tally.total[k] = tree.counts[node, k]
        impurity = impurity_of(form, scratch.tally.total)
        if impurity > 0.0 and states.depth[node] < rules.max_depth:
            if table.bins.shape[0] > 1:
                bring_near(table, rows)
            split = choose(
                table, prices, rules, form, states, rows, scratch, stream, node, impurity
            )
            if split.feature >= 0:
                share = 0.5
                if rules.splits == STUMPS and not table.categorical[split.feature]:
                    share = draw_share(stream)
                group = prices.group[split.feature]
                split_node(table, tree, states, rows, scratch, node, split, group, share)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def choose(
    table: Table,
    prices: SplitPrices,
    rules: SplitRules,
    form: ImpurityForm,
    states: NodeStates,
    rows: Rows,
    scratch: Scratch,
    stream: Stream,
    node: cython.Py_ssize_t,
    impurity: cython.double,
) -> Split:
    """The split of least risk; feature -1 where none helps."""
    find_ends(rows, scratch.tally)
    best, chosen = INFINITY, Split(-1, -1, False)
    looked: cython.Py_ssize_t = 0
    for k in range(scratch.order.shape[0]):
        f = shuffle(scratch.order, k, stream)
        if has_bit(states.flat, node, f):
            continue
        span = read_keys(table, rows, f)
        if span.high < 0 or (span.low == span.high and not span.gaps):
            add_bit(states.flat, node, f)
            continue
        looked += 1
        price = price_of(prices, states.path, node, f)
        # What the worse child may have at most for a risk below the best; the rounding of the
        # quotient must not hide a tie.
        limit = (impurity - price / best) * (1.0 + 1e-12)
        if limit >= 0.0:
            splits = rules.splits
            if table.categorical[f]:
                span = replace_by_ranks(rows, scratch.tally, span)
                splits = EXPECTED if splits == EXPECTED else MINIMAX
            cut = search(form, splits, table, rows, scratch.tally, f, span, limit, stream)
            if cut.impurity < impurity and price / (impurity - cut.impurity) < best:
                best = price / (impurity - cut.impurity)
                chosen = Split(f, cut.place, cut.missing_left)
        if looked >= rules.max_features and chosen.feature >= 0:
            break
    return chosen


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def shuffle(
    order: cython.Py_ssize_t[::1], k: cython.Py_ssize_t, stream: Stream
) -> cython.Py_ssize_t:
    """The k-th feature in random order."""
    j = k + draw_below(stream, order.shape[0] - k)
    feature = order[j]
    order[j] = order[k]
    order[k] = feature
    return feature


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def price_of(
    prices: SplitPrices,
    path: cython.ulonglong[:, ::1],
    node: cython.Py_ssize_t,
    feature: cython.Py_ssize_t,
) -> cython.double:
    """What a split on `feature` counts as, after what is on the path."""
    price = prices.own[feature] * (prices.reuse if has_bit(path, node, feature) else 1.0)
    group = prices.group[feature]
    if group >= 0 and not has_bit(path, node, prices.own.shape[0] + group):
        price += prices.shared[group]
    return max(price, prices.floor)


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
@cython.nogil
@cython.exceptval(check=False)
def replace_by_ranks(rows: Rows, tally: Tally, span: Span) -> Span:
    """Give every row the rank of its category; return the span of the ranks."""
    last = rank_categories(rows, tally, span)
    for i in range(rows.first, rows.last):
        rows.keys[i] = tally.rank[rows.keys[i]]
    return Span(0, last, False)
