"""Grow one regression tree best-first, with feature prices.

The raw gain is stored for every open leaf and feature. The next split has the largest raw gain
minus the price that is still unpaid, and prices are looked up again after each purchase, so that
a feature or a group bought in one leaf is free in all others at once. `Growth` holds the growing
tree as arrays; nodes are numbered in the order in which they are created, and siblings are
neighbors.

Prices are charged per model (`due`: one price per feature, paid by the first split) or per example
(`own` and `shared`, per unit of weight of the rows that have not paid yet).
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from thrifty.kernels.binning import MISSING
from thrifty.kernels.histogram import COUNT_BITS, COUNT_MASK, add_rows, subtract, unpack
from thrifty.kernels.jit import jit
from thrifty.kernels.splits import best_cut, best_subset, category_order

__all__ = ["Growth", "advance", "expand", "plant"]

Growth = namedtuple(
    "Growth",
    # the table, the features worth a look, the targets
    "bins categorical width active quanta units "
    # rows of each node: rows[first:last]; quanta in that order; room to partition
    "rows ordered spare first last "
    # the tree: left child or -1, feature, what goes left by bin; open leaves have a slot >= 0
    "depth left feature goes_left cut slot count "
    # per open leaf and feature
    "hist total gain bin missing_left unpaid group_unpaid "
    # prices in units of gain, and what is paid: by the model, or by each row (owed: by how many)
    "own shared group due bought paid group_paid owed group_owed "
    # limits: depth, weight of a leaf in quanta, gain below which nothing is split
    "max_depth lightest floor",
)


@jit
def plant(growth):
    """Make the root; its features are still to be expanded."""
    n = len(growth.rows)
    for i in range(n):
        growth.rows[i] = i
    growth.ordered[:] = growth.quanta
    growth.left[:] = -1
    growth.slot[:] = -1
    growth.count[0], growth.count[1] = 1, 1
    growth.first[0], growth.last[0], growth.depth[0], growth.slot[0] = 0, n, 0, 0
    growth.total[0, 0], growth.total[0, 1] = totals(growth.quanta)
    if len(growth.paid):
        growth.unpaid[0] = growth.owed
        growth.group_unpaid[0] = growth.group_owed


@jit
def totals(quanta):
    """Target and weight of all rows, in quanta."""
    if len(quanta) == 2:
        return quanta[0].sum(), quanta[1].sum()
    packed = quanta[0].sum()
    return packed >> COUNT_BITS, packed & COUNT_MASK


@jit
def expand(growth, parent, first, last):
    """Raw gains of active[first:last] in the children of `parent` (-1: in the root)."""
    features = growth.active[first:last]
    if parent < 0:
        count_node(growth, 0, features)
        rate(growth, 0, features)
        return
    small, large = by_size(growth, parent)
    count_node(growth, small, features)
    subtract(growth.hist, growth.slot[small], growth.slot[large], features, growth.width)
    if len(growth.paid):
        count_unpaid(growth, parent, small, large, features)
    rate(growth, small, features)
    rate(growth, large, features)


@jit
def count_node(growth, node, features):
    """Histogram of the rows of `node`."""
    rows = slice(growth.first[node], growth.last[node])
    out = growth.hist[growth.slot[node]]
    ordered = growth.ordered[:, rows]
    add_rows(growth.bins, growth.rows[rows], ordered, features, growth.width, out)


@jit
def by_size(growth, parent):
    """Children of `parent`, the one with fewer rows first."""
    left = growth.left[parent]
    if growth.last[left] - growth.first[left] <= growth.last[left + 1] - growth.first[left + 1]:
        return left, left + 1
    return left + 1, left


@jit
def rate(growth, node, features):
    """Best split of `node` on each of the features."""
    slot = growth.slot[node]
    total, weight = growth.total[node, 0], growth.total[node, 1]
    scale = growth.units[0] * growth.units[0] / growth.units[1]
    for feature in features:
        if growth.categorical[feature]:
            gain, place = best_subset(growth.hist, slot, feature, total, weight, growth.lightest)
            missing_left = False
        else:
            gain, place, missing_left = best_cut(
                growth.hist, slot, feature, growth.width[feature], total, weight, growth.lightest
            )
        growth.gain[node, feature] = gain * scale
        growth.bin[node, feature] = place
        growth.missing_left[node, feature] = missing_left


@jit
def advance(growth, inline_work):
    """Split until a node's children need more than `inline_work` bin updates; -1 when grown.

    The caller expands the children of the node returned, feature by feature on as many threads
    as it likes, and calls again.
    """
    while True:
        full = growth.count[0] + 2 > len(growth.left)  # as many leaves as there is room for
        node, feature = (-1, -1) if full else choose(growth)
        if node < 0:
            return -1
        split(growth, node, feature)
        pay(growth, node, feature)
        if growth.depth[node] + 1 < growth.max_depth:
            small, large = by_size(growth, node)
            count_group_unpaid(growth, node, small, large)
            work = (growth.last[small] - growth.first[small]) * len(growth.active)
            if work > inline_work:
                return node
            expand(growth, node, 0, len(growth.active))


@jit
def choose(growth):
    """Open leaf and feature with the largest raw gain minus unpaid price; -1 where none pays."""
    best, best_node, best_feature = growth.floor, -1, -1
    for node in range(growth.count[0]):
        if growth.slot[node] < 0:
            continue
        for feature in growth.active:
            gain = growth.gain[node, feature]
            if gain > best:
                gain -= price_of(growth, node, feature)
                if gain > best:
                    best, best_node, best_feature = gain, node, feature
    return best_node, best_feature


@jit
def price_of(growth, node, feature):
    """What splitting `node` on `feature` would cost now, in units of gain."""
    if len(growth.paid) == 0:
        return growth.due[feature]
    price = growth.own[feature] * growth.unpaid[node, feature]
    group = growth.group[feature]
    return price + growth.shared[group] * growth.group_unpaid[node, group] if group >= 0 else price


@jit
def pay(growth, node, feature):
    """Buy `feature`, and the entry to its group, for the model or for the rows of `node`."""
    growth.bought[feature] = 1
    group = growth.group[feature]
    if len(growth.paid) == 0:
        growth.due[feature] = 0.0
        for other in range(len(growth.bins)):
            if group >= 0 and growth.group[other] == group and not growth.bought[other]:
                growth.due[other] = growth.own[other]
        return
    growth.owed[feature] -= collect(growth, node, growth.paid[feature])
    if group >= 0:
        growth.group_owed[group] -= collect(growth, node, growth.group_paid[group])


@jit
def collect(growth, node, paid):
    """Mark the rows of `node` as paid; return the weight of those that were not."""
    weight = weigh_unpaid(growth, node, paid)
    for i in range(growth.first[node], growth.last[node]):
        paid[growth.rows[i]] = 1
    return weight


@jit
def split(growth, node, feature):
    """Make the children of `node`, divide its rows among them, hand its histogram on."""
    fill_table(growth, node, feature)
    middle = divide(growth, node, feature)
    left = growth.count[0]
    growth.count[0] += 2
    growth.left[node], growth.feature[node] = left, feature
    growth.cut[node] = growth.bin[node, feature]
    growth.first[left], growth.last[left] = growth.first[node], middle
    growth.first[left + 1], growth.last[left + 1] = middle, growth.last[node]
    growth.depth[left] = growth.depth[left + 1] = growth.depth[node] + 1
    if growth.depth[node] + 1 < growth.max_depth:
        hand_on(growth, node)
    growth.slot[node] = -1


@jit
def fill_table(growth, node, feature):
    """Which of the 256 bins go left: one look-up per row, whatever the kind of split."""
    table = growth.goes_left[node]
    place = growth.bin[node, feature]
    table[:] = 0
    if growth.categorical[feature]:
        order = category_order(growth.hist, growth.slot[node], feature)
        weight, total = np.int64(0), growth.total[node, 1]
        for k in range(place):
            table[order[k]] = 1
            weight += unpack(growth.hist, growth.slot[node], feature, order[k])[1]
        if unpack(growth.hist, growth.slot[node], feature, MISSING)[1] == 0:
            table[MISSING] = 2 * weight > total
    else:
        table[: place + 1] = 1
        table[MISSING] = growth.missing_left[node, feature]


@jit
def divide(growth, node, feature):
    """Bring the rows of `node` that go left to the front, in order; return where they end."""
    bins, table = growth.bins[feature], growth.goes_left[node]
    rows, spare = growth.rows, growth.spare
    first, last = growth.first[node], growth.last[node]
    left, right = first, 0
    for i in range(first, last):
        row = rows[i]
        goes = table[bins[row]]
        # Write both ways, advance one: no branch to mispredict.
        rows[left] = row
        spare[right] = row
        left += goes
        right += 1 - goes
    rows[left:last] = spare[:right]
    return left


@jit
def hand_on(growth, node):
    """Slots, sums and ordered quanta of the children of `node`."""
    small, large = by_size(growth, node)
    growth.slot[large] = growth.slot[node]
    growth.slot[small] = growth.count[1]
    growth.count[1] += 1
    first, last = growth.first[small], growth.last[small]
    for plane in range(len(growth.quanta)):
        source, ordered = growth.quanta[plane], growth.ordered[plane]
        for i in range(first, last):
            ordered[i] = source[growth.rows[i]]
    left = growth.left[node]
    sum_left(growth, node)
    growth.total[left + 1, 0] = growth.total[node, 0] - growth.total[left, 0]
    growth.total[left + 1, 1] = growth.total[node, 1] - growth.total[left, 1]


@jit
def sum_left(growth, node):
    """Target and weight of the left child, from the histogram of its parent."""
    left, feature, slot = growth.left[node], growth.feature[node], growth.slot[node]
    growth.total[left] = 0
    for b in range(256):
        if growth.goes_left[node, b] and (b < growth.width[feature] or b == MISSING):
            target, weight = unpack(growth.hist, slot, feature, b)
            growth.total[left, 0] += target
            growth.total[left, 1] += weight


@jit
def count_unpaid(growth, parent, small, large, features):
    """Weight of the rows that have not paid for each feature: the sibling's by subtraction."""
    for feature in features:
        if growth.feature[parent] == feature or growth.owed[feature] == 0:
            here, rest = 0, 0
        elif growth.owed[feature] == growth.total[0, 1]:
            here, rest = growth.total[small, 1], growth.total[large, 1]
        else:
            here = weigh_unpaid(growth, small, growth.paid[feature])
            rest = growth.unpaid[parent, feature] - here
        growth.unpaid[small, feature], growth.unpaid[large, feature] = here, rest


@jit
def count_group_unpaid(growth, parent, small, large):
    """The same for groups."""
    bought = growth.group[growth.feature[parent]]
    for group in range(len(growth.group_paid)):
        here, rest = 0, 0
        if group != bought:
            here = weigh_unpaid(growth, small, growth.group_paid[group])
            rest = growth.group_unpaid[parent, group] - here
        growth.group_unpaid[small, group], growth.group_unpaid[large, group] = here, rest


@jit
def weigh_unpaid(growth, node, paid):
    """Weight, in quanta, of the rows of `node` where `paid` is not set."""
    weight = 0
    first, last = growth.first[node], growth.last[node]
    if len(growth.quanta) == 1:
        for i in range(first, last):
            weight += 1 - paid[growth.rows[i]]
        return weight
    for i in range(first, last):
        row = growth.rows[i]
        weight += growth.quanta[1, row] * (1 - paid[row])
    return weight
