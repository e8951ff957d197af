"""Grow one regression tree best-first, with feature prices.

The raw gain is stored for every open leaf and feature. The next split has the largest raw gain
minus the price that is still unpaid, and prices are looked up again after each purchase, so that
a feature or a group bought in one leaf is free in all others at once. Nodes are numbered in the
order in which they are created, and siblings are neighbors.

What is here decides: it knows sums, prices and the tree, but no rows. What runs over rows is in
`row_blocks`. Where the rows are elsewhere, a `Growth` without blocks decides (`advance` and
`rate_children`), and others that have the rows follow (`divide`, `count` and, if each row pays,
`pay_split` and `weigh_debts`).

Prices are charged per model (`due`: one price per feature, paid by the first split) or per example
(`own` and `shared`, per unit of weight of the rows that have not paid yet).
"""

from __future__ import annotations

import cython
from cython.cimports.thrifty.kernels.binning import MISSING
from cython.cimports.thrifty.kernels.growth import Candidates, Growth, Prices, Tree
from cython.cimports.thrifty.kernels.histogram import subtract
from cython.cimports.thrifty.kernels.row_blocks import (
    count_rows,
    divide_rows,
    mark_paid,
    order_quanta,
    start_rows,
    weigh_unpaid,
)
from cython.cimports.thrifty.kernels.splits import (
    best_cut,
    best_subset,
    category_order,
    unpack,
)

__all__ = [
    "advance", "count", "divide", "expand", "pay_split", "plant", "rate_children", "weigh_debts",
]  # fmt: skip

# Both histograms of a feature take up to 8 kB, and all of these together should fit in 256 kB.
FEATURES_AT_ONCE = cython.declare(cython.Py_ssize_t, 32)


def plant(growth: Growth):
    """Make the root; its features are still to be expanded."""
    with cython.nogil:
        make_root(growth, growth.tree, growth.prices)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def make_root(growth: Growth, tree: Tree, prices: Prices) -> cython.void:
    """All rows in one open leaf, with its sums and what its rows have not paid."""
    start_rows(growth.blocks, growth.targets, growth.candidates)
    tree.nodes = tree.slots = 1
    tree.left[0], tree.depth[0], tree.slot[0] = -1, 0, 0
    tree.count[0] = growth.blocks.rows.shape[0]
    if prices.by_row:
        for j in range(prices.owed.shape[0]):
            prices.unpaid[0, j] = prices.owed[j]
        for g in range(prices.group_owed.shape[0]):
            prices.group_unpaid[0, g] = prices.group_owed[g]


def expand(
    growth: Growth, parent: cython.Py_ssize_t, first: cython.Py_ssize_t, last: cython.Py_ssize_t
):
    """Raw gains of features[first:last] in the children of `parent` (-1: in the root)."""
    with cython.nogil:
        expand_children(growth, parent, first, last)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def expand_children(
    growth: Growth, parent: cython.Py_ssize_t, first: cython.Py_ssize_t, last: cython.Py_ssize_t
) -> cython.void:
    """Count the smaller child, subtract for its sibling, and rate the splits of both.

    A few features at a time, whose histograms stay in the cache from one step to the next.
    """
    node = 0 if parent < 0 else smaller_child(growth, parent)
    while first < last:
        end = min(first + FEATURES_AT_ONCE, last)
        count_rows(
            growth.table, growth.blocks, growth.targets, growth.candidates, node,
            growth.tree.slot[node], first, end,
        )  # fmt: skip
        if parent < 0:
            rate(growth, growth.candidates, 0, first, end)
        else:
            rate_both(growth, parent, node, first, end)
        first = end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rate_both(
    growth: Growth,
    parent: cython.Py_ssize_t,
    small: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Subtract the child that is counted from its parent, and rate the splits of both children."""
    large = 2 * growth.tree.left[parent] + 1 - small
    subtract(
        growth.candidates.hist, growth.tree.slot[small], growth.tree.slot[large],
        growth.candidates.features, first, last, growth.table.width,
    )  # fmt: skip
    if growth.prices.by_row:
        count_unpaid(growth, growth.prices, parent, small, large, first, last)
    rate(growth, growth.candidates, small, first, last)
    rate(growth, growth.candidates, large, first, last)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def smaller_child(growth: Growth, parent: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The child of `parent` with less weight, or the left one if they tie."""
    left = growth.tree.left[parent]
    total = growth.candidates.total
    return left if total[left, 1] <= total[left + 1, 1] else left + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rate(
    growth: Growth,
    candidates: Candidates,
    node: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Best split of `node` on each of features[first:last]."""
    slot, lightest = growth.tree.slot[node], growth.lightest
    total, weight = candidates.total[node, 0], candidates.total[node, 1]
    if weight - lightest < lightest:
        for k in range(first, last):
            candidates.gain[node, candidates.features[k]] = 0.0
        return
    scale = growth.targets.target_unit * growth.targets.target_unit / growth.targets.weight_unit
    for k in range(first, last):
        feature = candidates.features[k]
        if growth.table.categorical[feature]:
            cut = best_subset(candidates.hist, slot, feature, total, weight, lightest)
        else:
            width = growth.table.width[feature]
            cut = best_cut(candidates.hist, slot, feature, width, total, weight, lightest)
        candidates.gain[node, feature] = cut.gain * scale
        candidates.cut[node, feature] = cut.place
        candidates.missing_left[node, feature] = cut.missing_left


def rate_children(
    growth: Growth, parent: cython.Py_ssize_t, first: cython.Py_ssize_t, last: cython.Py_ssize_t
):
    """Rate features[first:last] as `expand` does, where the histogram was counted elsewhere.

    That is the one of the root if `parent` is -1, else that of the child with less weight.
    """
    with cython.nogil:
        if parent < 0:
            rate(growth, growth.candidates, 0, first, last)
        else:
            rate_both(growth, parent, smaller_child(growth, parent), first, last)


def divide(growth: Growth, node: cython.Py_ssize_t):
    """Divide the rows of `node`, whose split is in the tree, among its children."""
    with cython.nogil:
        divide_rows(growth.table, growth.blocks, growth.tree, node)


def count(growth: Growth, node: cython.Py_ssize_t):
    """Histograms of all candidate features over the rows of `node`, into slot 0."""
    with cython.nogil:
        if node > 0:  # those of the root are in order
            order_quanta(growth.blocks, growth.targets, node)
        count_rows(
            growth.table, growth.blocks, growth.targets, growth.candidates, node, 0,
            0, growth.candidates.features.shape[0],
        )  # fmt: skip


def pay_split(growth: Growth, node: cython.Py_ssize_t):
    """Let each row of `node`, whose split is in the tree, pay for its feature and its group."""
    with cython.nogil:
        pay_rows(growth, growth.prices, node, growth.tree.feature[node])


def weigh_debts(growth: Growth, node: cython.Py_ssize_t):
    """Weight of the rows of `node` that have not paid for each feature and each group."""
    with cython.nogil:
        weigh_each(growth, growth.prices, node)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def weigh_each(growth: Growth, prices: Prices, node: cython.Py_ssize_t) -> cython.void:
    """See `weigh_debts`."""
    for j in range(prices.paid.shape[0]):
        prices.unpaid[node, j] = weigh_unpaid(growth.blocks, growth.targets, node, prices.paid, j)
    for g in range(prices.group_paid.shape[0]):
        prices.group_unpaid[node, g] = weigh_unpaid(
            growth.blocks, growth.targets, node, prices.group_paid, g
        )


def advance(growth: Growth, inline_work: cython.longlong):
    """Split until a node's children need more than `inline_work` bin updates.

    Returns that node, or -1 once the tree is complete. The caller expands its children, feature by
    feature on as many threads as it likes, and calls again.
    """
    node: cython.Py_ssize_t
    with cython.nogil:
        node = advance_tree(growth, growth.tree, inline_work)
    return node


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def advance_tree(growth: Growth, tree: Tree, inline_work: cython.longlong) -> cython.Py_ssize_t:
    """See `advance`."""
    features = growth.candidates.features.shape[0]
    while tree.nodes + 2 <= tree.left.shape[0]:  # else there are as many leaves as there is room
        best = choose(growth, growth.candidates, tree)
        if best.node < 0:
            return -1
        split(growth, tree, best.node, best.feature)
        pay(growth, growth.prices, best.node, best.feature)
        if tree.slot[tree.left[best.node]] >= 0:
            small = smaller_child(growth, best.node)
            if growth.prices.by_row:
                count_group_unpaid(growth, growth.prices, best.node, small)
            if tree.count[small] * features > inline_work:
                return best.node
            expand_children(growth, best.node, 0, features)
    return -1


# The next split; node -1 if none pays.
Choice = cython.struct(node=cython.Py_ssize_t, feature=cython.Py_ssize_t)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def choose(growth: Growth, candidates: Candidates, tree: Tree) -> Choice:
    """Open leaf and feature with the largest raw gain minus unpaid price."""
    best: cython.double = growth.floor
    choice = Choice(-1, -1)
    for node in range(tree.nodes):
        if tree.slot[node] < 0:
            continue
        for k in range(candidates.features.shape[0]):
            feature = candidates.features[k]
            gain: cython.double = candidates.gain[node, feature]
            if gain > best:
                gain -= price_of(growth.prices, node, feature)
                if gain > best:
                    best = gain
                    choice = Choice(node, feature)
    return choice


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def price_of(prices: Prices, node: cython.Py_ssize_t, feature: cython.Py_ssize_t) -> cython.double:
    """What splitting `node` on `feature` would cost now, in units of gain."""
    if not prices.by_row:
        return prices.due[feature]
    price = prices.own[feature] * prices.unpaid[node, feature]
    group = prices.group[feature]
    if group >= 0:
        price += prices.shared[group] * prices.group_unpaid[node, group]
    return price


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pay(
    growth: Growth, prices: Prices, node: cython.Py_ssize_t, feature: cython.Py_ssize_t
) -> cython.void:
    """Buy `feature`, and the entry to its group, for the model or for the rows of `node`."""
    prices.bought[feature] = 1
    group = prices.group[feature]
    if prices.by_row:
        prices.owed[feature] -= prices.unpaid[node, feature]
        if group >= 0:
            prices.group_owed[group] -= prices.group_unpaid[node, group]
        pay_rows(growth, prices, node, feature)
        return
    prices.due[feature] = 0.0
    if group >= 0:
        for other in range(prices.group.shape[0]):
            if prices.group[other] == group and not prices.bought[other]:
                prices.due[other] = prices.own[other]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pay_rows(
    growth: Growth, prices: Prices, node: cython.Py_ssize_t, feature: cython.Py_ssize_t
) -> cython.void:
    """Mark what the rows of `node` have paid for."""
    mark_paid(growth.blocks, node, prices.paid, feature)
    group = prices.group[feature]
    if group >= 0:
        mark_paid(growth.blocks, node, prices.group_paid, group)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def split(
    growth: Growth, tree: Tree, node: cython.Py_ssize_t, feature: cython.Py_ssize_t
) -> cython.void:
    """Make the children of `node`, divide its rows among them, hand its histogram on."""
    fill_table(growth, growth.candidates, node, feature)
    left = tree.nodes
    tree.nodes += 2
    tree.left[node], tree.feature[node] = left, feature
    tree.cut[node] = growth.candidates.cut[node, feature]
    divide_rows(growth.table, growth.blocks, tree, node)
    for child in range(left, left + 2):
        tree.left[child] = tree.slot[child] = -1
        tree.depth[child] = tree.depth[node] + 1
    if tree.depth[left] < growth.max_depth:
        prepare_children(growth, tree, growth.candidates, node)
    tree.slot[node] = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill_table(
    growth: Growth,
    candidates: Candidates,
    node: cython.Py_ssize_t,
    feature: cython.Py_ssize_t,
) -> cython.void:
    """Which of the 256 bins go left: one look-up per row, whatever the kind of split."""
    place, slot = candidates.cut[node, feature], growth.tree.slot[node]
    order = cython.declare(cython.uchar[256])
    for b in range(256):
        growth.tree.goes_left[node, b] = 0
    if growth.table.categorical[feature]:
        category_order(candidates.hist, slot, feature, order)
        weight: cython.longlong = 0
        for k in range(place):
            growth.tree.goes_left[node, order[k]] = 1
            weight += unpack(candidates.hist, slot, feature, order[k]).weight
        if unpack(candidates.hist, slot, feature, MISSING).weight == 0:
            # Where no value is missing in training, a missing one follows the majority.
            growth.tree.goes_left[node, MISSING] = 2 * weight > candidates.total[node, 1]
    else:
        for b in range(place + 1):
            growth.tree.goes_left[node, b] = 1
        growth.tree.goes_left[node, MISSING] = candidates.missing_left[node, feature]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def prepare_children(
    growth: Growth, tree: Tree, candidates: Candidates, node: cython.Py_ssize_t
) -> cython.void:
    """Give the children of `node` sums and slots; order the quanta of the smaller one.

    Children that are both too light to be split get no slots, and stay leaves.
    """
    left = tree.left[node]
    sum_left(growth, candidates, node, left)
    for k in range(2):
        candidates.total[left + 1, k] = candidates.total[node, k] - candidates.total[left, k]
    small = smaller_child(growth, node)
    large = 2 * left + 1 - small
    if candidates.total[large, 1] - growth.lightest < growth.lightest:
        return
    tree.slot[large] = tree.slot[node]
    tree.slot[small] = tree.slots
    tree.slots += 1
    order_quanta(growth.blocks, growth.targets, small)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sum_left(
    growth: Growth, candidates: Candidates, node: cython.Py_ssize_t, left: cython.Py_ssize_t
) -> cython.void:
    """Target and weight of the left child, from the histogram of its parent."""
    feature, slot = growth.tree.feature[node], growth.tree.slot[node]
    width = growth.table.width[feature]
    candidates.total[left, 0] = candidates.total[left, 1] = 0
    for b in range(256):
        if growth.tree.goes_left[node, b] and (b < width or b == MISSING):
            here = unpack(candidates.hist, slot, feature, b)
            candidates.total[left, 0] += here.target
            candidates.total[left, 1] += here.weight


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_unpaid(
    growth: Growth,
    prices: Prices,
    parent: cython.Py_ssize_t,
    small: cython.Py_ssize_t,
    large: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Weight of the rows that have not paid for each feature: the sibling's by subtraction."""
    for k in range(first, last):
        feature = growth.candidates.features[k]
        if growth.tree.feature[parent] == feature or prices.owed[feature] == 0:
            prices.unpaid[small, feature] = prices.unpaid[large, feature] = 0
        elif prices.owed[feature] == growth.candidates.total[0, 1]:
            prices.unpaid[small, feature] = growth.candidates.total[small, 1]
            prices.unpaid[large, feature] = growth.candidates.total[large, 1]
        else:
            here = weigh_unpaid(growth.blocks, growth.targets, small, prices.paid, feature)
            prices.unpaid[small, feature] = here
            prices.unpaid[large, feature] = prices.unpaid[parent, feature] - here


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_group_unpaid(
    growth: Growth, prices: Prices, parent: cython.Py_ssize_t, small: cython.Py_ssize_t
) -> cython.void:
    """Weight of the rows of both children that have not paid each group's shared price."""
    bought = prices.group[growth.tree.feature[parent]]
    large = 2 * growth.tree.left[parent] + 1 - small
    for group in range(prices.group_paid.shape[0]):
        if group == bought:
            prices.group_unpaid[small, group] = prices.group_unpaid[large, group] = 0
            continue
        here = weigh_unpaid(growth.blocks, growth.targets, small, prices.group_paid, group)
        prices.group_unpaid[small, group] = here
        prices.group_unpaid[large, group] = prices.group_unpaid[parent, group] - here
