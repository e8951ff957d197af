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

from collections import namedtuple

import numpy as np

from thrifty.kernels.binning import MISSING
from thrifty.kernels.jit import jit, lean, tiny
from thrifty.kernels.minimax import (
    ENDS,
    EXPECTED,
    MINIMAX,
    STUMPS,
    TALLY,
    TOTAL,
    count_ends,
    impurity_of,
    rank_categories,
    search,
    weight_of,
)
from thrifty.kernels.random import draw_below, draw_share

__all__ = ["Ground", "Growing", "Tree", "grow_tree"]

# What all trees share: the table by features and by rows, what the bins mean, the word of each
# row's class; prices; and the rules.
Ground = namedtuple(
    "Ground",
    "bins table edges width categorical slot own shared group reuse floor "
    "splits max_features max_depth",
)

# A tree by nodes: left child (the right one is next to it) or -1, feature, threshold or number
# of the subset, whether a missing value goes left, packed class counts; subsets of categories.
Tree = namedtuple("Tree", "left feature threshold missing_left counts subsets")

# What dies with the growth: rows, quanta and class words, node by node, and room to divide them;
# bins of one feature; where a node begins and ends, its depth, what is on its path, features that
# have one value in it; the next nodes to split; numbers of nodes, waiting nodes, subsets; scratch.
Growing = namedtuple(
    "Growing",
    "rows quanta slot spare_rows spare_quanta spare_slot keys "
    "first last depth path flat stack count tally goes_left order state shares rank",
)

# Up to here a node reads the table by rows: all features of a row lie together.
SMALL = 512
LARGEST = np.finfo(np.float64).max


@jit
def grow_tree(ground, form, rows, quanta, seed):
    """Grow a tree on `rows`, in the order of their class words, with these packed quanta."""
    tree, growing = plant(ground, form, rows, quanta, seed)
    grow(ground, form, tree, growing)
    return trim(tree, growing.count)


@lean
def grow(ground, form, tree, growing):
    """Split nodes, the last one made first, until none is left that must be split."""
    while growing.count[1] > 0:
        growing.count[1] -= 1
        node = growing.stack[growing.count[1]]
        for k in range(growing.tally.shape[1]):
            growing.tally[TOTAL, k] = tree.counts[node, k]
        impurity = impurity_of(form, growing.tally, TOTAL)
        if impurity > 0.0 and growing.depth[node] < ground.max_depth:
            feature, cut, missing_left = choose(ground, form, growing, node, impurity)
            if feature >= 0:
                split(ground, form, tree, growing, node, feature, cut, missing_left)


@jit
def plant(ground, form, rows, quanta, seed):
    """Room for a tree whose leaves have one row each, and its root."""
    n, words, d = len(rows), (form.classes + 1) // 2, len(ground.own)
    size = 2 * n
    slot = ground.slot[rows]
    # Room that is not needed is never touched, so it costs nothing.
    tree = Tree(
        np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32), np.empty(size),
        np.empty(size, dtype=np.bool_), np.empty((size, words), dtype=np.int64),
        np.zeros((n if ground.categorical.any() else 0, 4), dtype=np.uint64),
    )  # fmt: skip
    growing = Growing(
        rows.copy(), quanta.copy(), slot, np.empty_like(rows), np.empty_like(quanta),
        np.empty_like(slot), np.empty(n, dtype=np.uint8), np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64),
        np.empty((size, (d + len(ground.shared) + 63) // 64), dtype=np.uint64),
        np.empty((size, (d + 63) // 64), dtype=np.uint64),
        np.empty(size, dtype=np.int64), np.array([1, 1, 0]),
        np.zeros((TALLY, words), dtype=np.int64), np.zeros(256, dtype=np.bool_), np.arange(d),
        np.array([seed]), np.zeros((3, 256)), np.zeros(256, dtype=np.uint8),
    )  # fmt: skip
    tree.left[0], tree.counts[0], growing.stack[0] = -1, 0, 0
    growing.first[0], growing.last[0], growing.depth[0] = 0, n, 0
    growing.path[0], growing.flat[0] = 0, 0
    for i in range(n):
        tree.counts[0, slot[i]] += quanta[i]
    return tree, growing


@jit
def trim(tree, count):
    """The tree without the room that it did not need; leaves ask for nothing."""
    nodes = count[0]
    for node in range(nodes):
        if tree.left[node] < 0:
            tree.feature[node], tree.threshold[node], tree.missing_left[node] = 0, 0.0, False
    return Tree(
        tree.left[:nodes].copy(), tree.feature[:nodes].copy(), tree.threshold[:nodes].copy(),
        tree.missing_left[:nodes].copy(), tree.counts[:nodes].copy(),
        tree.subsets[: count[2]].copy(),
    )  # fmt: skip


@lean
def choose(ground, form, growing, node, impurity):
    """Feature, cut and side of the missing values with the least risk; -1 where none helps."""
    first, last = growing.first[node], growing.last[node]
    rows, keys = growing.rows[first:last], growing.keys[: last - first]
    slot, quanta = growing.slot[first:last], growing.quanta[first:last]
    tally, order, state = growing.tally, growing.order, growing.state
    shares, rank = growing.shares, growing.rank
    bins, table, edges = ground.bins, ground.table, ground.edges
    path, flat = growing.path[node], growing.flat[node]
    if tally.shape[1] > 1:
        count_ends(slot, tally)
    else:
        tally[ENDS, 0] = len(slot)
    best, feature, cut, missing_left = np.inf, -1, np.intp(-1), False
    looked, d = 0, len(order)
    for k in range(d):
        f = shuffle(order, k, state)
        if has(flat, f):
            continue
        if len(rows) <= SMALL:
            low, high, gaps = read_table(table, rows, f, keys)
        else:
            low, high, gaps = read_column(bins[f], rows, keys)
        if high < 0 or (low == high and not gaps):
            add(flat, f)
            continue
        looked += 1
        price = price_of(ground, path, f)
        # What the worse child may have at most for a risk below the best; the rounding of the
        # quotient must not hide a tie.
        limit = (impurity - price / best) * (1.0 + 1e-12)
        if limit >= 0.0:
            splits = ground.splits
            if ground.categorical[f]:
                high = replace_by_ranks(form, keys, slot, quanta, tally, shares, rank)
                low, gaps = 0, False
                splits = EXPECTED if splits == EXPECTED else MINIMAX
            found, place, side = search(
                form, splits, keys, slot, quanta, tally, low, high, gaps,
                edges[f, : ground.width[f] - 1], limit, state,
            )  # fmt: skip
            if found < impurity and price / (impurity - found) < best:
                best = price / (impurity - found)
                feature, cut, missing_left = f, place, side
        if looked >= ground.max_features and feature >= 0:
            break
    return feature, cut, missing_left


@tiny
def shuffle(order, k, state):
    """The k-th feature in random order."""
    j = k + draw_below(state, len(order) - k)
    feature = order[j]
    order[j] = order[k]
    order[k] = feature
    return feature


@tiny
def price_of(ground, path, feature):
    """What a split on `feature` counts as, after what is on the path."""
    price = ground.own[feature] * (ground.reuse if has(path, feature) else 1.0)
    group = ground.group[feature]
    if group >= 0 and not has(path, len(ground.own) + group):
        price += ground.shared[group]
    return max(price, ground.floor)


@tiny
def has(path, bit):
    """Whether a bit is set."""
    return (path[bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1) != 0


@tiny
def add(path, bit):
    """Set a bit."""
    path[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@lean
def read_table(table, rows, feature, out):
    """Bins of a feature, the first and the last of them, and whether a value is missing."""
    low, high = np.uint8(255), np.uint8(0)
    for i in range(len(rows)):
        b = table[rows[i], feature]
        out[i] = b
        low, high = min(low, b), max(high, b)
    return survey(out, low, high)


@lean
def read_column(column, rows, out):
    """The same, by features."""
    low, high = np.uint8(255), np.uint8(0)
    for i in range(len(rows)):
        b = column[rows[i]]
        out[i] = b
        low, high = min(low, b), max(high, b)
    return survey(out, low, high)


@tiny
def survey(keys, low, high):
    """First and last bin but the missing one, which is the largest byte; high is -1 if none."""
    first, last, gaps = np.intp(low), np.intp(high), high == MISSING
    if gaps:
        last = -1
        for b in keys:
            if b != MISSING:
                last = max(last, np.intp(b))
    return first, last, gaps


@lean
def replace_by_ranks(form, keys, slot, quanta, tally, shares, rank):
    """Give every row the rank of its category; return the last rank."""
    last = rank_categories(form, keys, slot, quanta, tally, shares, rank)
    for i in range(len(keys)):
        keys[i] = rank[keys[i]]
    return last


@lean
def split(ground, form, tree, growing, node, feature, cut, missing_left):
    """Make the children of `node` and divide its rows among them."""
    first, last = growing.first[node], growing.last[node]
    keys = growing.keys[: last - first]
    read_table(ground.table, growing.rows[first:last], feature, keys)
    if ground.categorical[feature]:
        fill_subset(form, growing, keys, node, cut)
        tree.threshold[node] = growing.count[2]
        keep_subset(tree.subsets[growing.count[2]], growing.goes_left)
        growing.count[2] += 1
    else:
        growing.goes_left[: cut + 1] = True
        growing.goes_left[cut + 1 : MISSING] = False
        growing.goes_left[MISSING] = missing_left
        drawn = draw_share(growing.state) if ground.splits == STUMPS else 0.5
        tree.threshold[node] = threshold_of(ground.edges[feature], keys, cut, drawn)
    tree.feature[node] = feature
    middle, left_weight, right_weight, gaps = divide(tree, growing, node)
    # Where no value is missing in training, a missing one follows the majority.
    tree.missing_left[node] = growing.goes_left[MISSING] if gaps else left_weight > right_weight
    enter(ground, tree, growing, node, feature, middle)


@lean
def fill_subset(form, growing, keys, node, cut):
    """Which of the 256 bins go left by their rank."""
    first, last = growing.first[node], growing.last[node]
    slot, quanta, rank = growing.slot[first:last], growing.quanta[first:last], growing.rank
    rank_categories(form, keys, slot, quanta, growing.tally, growing.shares, rank)
    for b in range(256):
        growing.goes_left[b] = rank[b] <= cut


@lean
def keep_subset(subset, goes_left):
    """Categories that go left, as bits."""
    for b in range(MISSING):
        if goes_left[b]:
            add(subset, b)


@lean
def threshold_of(edges, keys, cut, drawn):
    """A value between the node's last bin on the left and its first one on the right.

    Bins between them are empty here: the middle of the gap errs less than the edge of the cut.
    """
    low, high = -1, MISSING
    for b in keys:
        if b <= cut:
            low = max(low, b)
        else:
            high = min(high, b)
    if high == MISSING:
        return LARGEST
    first, last = edges[low], edges[high - 1]
    return min(max((1.0 - drawn) * first + drawn * last, first), last)


@lean
def divide(tree, growing, node):
    """Bring the rows that go left to the front, in order, and count the rows of both children.

    Returns where the left rows end, the weights of both sides, and if a value is missing.
    """
    first, last = growing.first[node], growing.last[node]
    rows, quanta, slot, keys = growing.rows, growing.quanta, growing.slot, growing.keys
    spare_rows, spare_quanta = growing.spare_rows, growing.spare_quanta
    spare_slot, goes_left = growing.spare_slot, growing.goes_left
    counts, child = tree.counts, growing.count[0]
    counts[child : child + 2] = 0
    left, right, gaps = first, 0, False
    for i in range(first, last):
        row, quantum, word = rows[i], quanta[i], slot[i]
        gaps |= keys[i - first] == MISSING
        if goes_left[keys[i - first]]:
            rows[left], quanta[left], slot[left] = row, quantum, word
            counts[child, word] += quantum
            left += 1
        else:
            spare_rows[right], spare_quanta[right], spare_slot[right] = row, quantum, word
            counts[child + 1, word] += quantum
            right += 1
    for i in range(right):
        rows[left + i] = spare_rows[i]
        quanta[left + i] = spare_quanta[i]
        slot[left + i] = spare_slot[i]
    return left, weight_of(counts, child), weight_of(counts, child + 1), gaps


@lean
def enter(ground, tree, growing, node, feature, middle):
    """Number the children of `node`, note their paths, and let them wait for their turn."""
    child, group = growing.count[0], ground.group[feature]
    tree.left[node] = child
    growing.first[child], growing.last[child] = growing.first[node], middle
    growing.first[child + 1], growing.last[child + 1] = middle, growing.last[node]
    for place in range(child, child + 2):
        tree.left[place] = -1
        growing.depth[place] = growing.depth[node] + 1
        for k in range(growing.flat.shape[1]):
            growing.flat[place, k] = growing.flat[node, k]
        for k in range(growing.path.shape[1]):
            growing.path[place, k] = growing.path[node, k]
        add(growing.path[place], feature)
        if group >= 0:
            add(growing.path[place], len(ground.own) + group)
        growing.stack[growing.count[1]] = place
        growing.count[1] += 1
    growing.count[0] += 2
