"""Build a closure problem from a forest and the leaves that rows reach.

Node arrays cover all trees together, with children after their parent; `parent` is -1 at a root,
and `leaves` (trees, n) are the leaves that rows reach.

`share_out`, `best_alone` and `clash` are one step of the primal-dual method (Nan 2018, ch. 4): the
best pruning of each tree for given dual variables, and the slope of the dual where the trees
disagree. `beta` is the dual variable of every arc: what a split pays on its own for a pay node that
it shares with others.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.jit import jit

__all__ = [
    "add_up",
    "best_alone",
    "chains",
    "clash",
    "count_arcs",
    "depth_first",
    "ends",
    "error_sums",
    "fill_arcs",
    "find_parents",
    "first_on_path",
    "share_out",
    "worthy",
]


@jit
def find_parents(child):
    """Parent of each node, -1 for roots; a leaf is its own child."""
    parent = np.full(len(child), -1, dtype=np.int32)
    for node in range(len(child)):
        if child[node] != node:
            parent[child[node]] = node
            parent[child[node] + 1] = node
    return parent


@jit
def error_sums(leaves, parent, answer, codes, weight):
    """Weight of the rows that each node gets wrong, of those that pass it."""
    errors = np.zeros(len(parent), dtype=np.int64)
    for tree in range(leaves.shape[0]):
        for i in range(leaves.shape[1]):
            node = leaves[tree, i]
            while node >= 0:
                if answer[node] != codes[i]:
                    errors[node] += weight[i]
                node = parent[node]
    return errors


@jit
def worthy(parent, gain):
    """Splits in the least best pruning at no cost: worth something with their best offspring."""
    value = gain.copy()
    for node in range(len(parent) - 1, -1, -1):
        if parent[node] >= 0 and value[node] > 0:
            value[parent[node]] += value[node]
    keep = value > 0
    for node in range(len(parent)):
        if parent[node] >= 0 and not keep[parent[node]]:
            keep[node] = False
    return keep


@jit
def chains(parent, keep, gain):
    """Number kept splits; one not worth it alone goes with its only kid, if it has only one.

    Gives the number of each node, -1 if it is not kept, and the parent of each number.
    """
    kids = np.zeros(len(parent), dtype=np.int32)
    for node in range(len(parent)):
        if keep[node] and parent[node] >= 0:
            kids[parent[node]] += 1
    number = np.full(len(parent), -1, dtype=np.int32)
    above = np.empty(len(parent), dtype=np.int32)
    total = np.empty(len(parent), dtype=np.int64)
    count = 0
    for node in range(len(parent)):
        if not keep[node]:
            continue
        up = parent[node]
        if up >= 0 and kids[up] == 1 and total[number[up]] <= 0:
            number[node] = number[up]
            total[number[node]] += gain[node]
            continue
        number[node] = count
        above[count] = number[up] if up >= 0 else -1
        total[count] = gain[node]
        count += 1
    return number, above[:count].copy(), total[:count].copy()


@jit
def first_on_path(parent, mark):
    """Whether a node's mark (>= 0) is borne by none of its ancestors."""
    fresh = np.zeros(len(parent), dtype=np.bool_)
    for node in range(len(parent)):
        if mark[node] < 0:
            continue
        up = parent[node]
        while up >= 0 and mark[up] != mark[node]:
            up = parent[up]
        fresh[node] = up < 0
    return fresh


@jit
def depth_first(parent, child):
    """Place of each node in a walk through its tree, offspring right behind their parent."""
    size = np.ones(len(parent), dtype=np.int32)
    for node in range(len(parent) - 1, -1, -1):
        if parent[node] >= 0:
            size[parent[node]] += size[node]
    rank = np.zeros(len(parent), dtype=np.int32)
    for node in range(len(parent)):
        up = parent[node]
        if up >= 0:
            rank[node] = rank[up] + 1 + (size[child[up]] if node > child[up] else 0)
    return rank


@jit
def ends(leaves, parent, number):
    """Last kept split on the way of each row, by tree; -1 where none is kept."""
    last = np.full(len(parent), -1, dtype=np.int32)
    for node in range(len(parent)):
        if number[node] >= 0:
            last[node] = node
        elif parent[node] >= 0:
            last[node] = last[parent[node]]
    out = np.empty((leaves.shape[1], leaves.shape[0]), dtype=np.int32)
    for tree in range(leaves.shape[0]):
        for i in range(leaves.shape[1]):
            out[i, tree] = last[leaves[tree, i]]
    return out


@jit
def count_arcs(last, parent, number, columns, times, price, splits):
    """How many splits need each pay node (column, row); slope and passing rows of each split.

    `columns` (nodes, 2) are what a split makes a row pay, -1 for nothing. What only one split
    needs is added to its slope right away.
    """
    degree = np.zeros((len(price), len(last)), dtype=np.int32)
    only = np.zeros((len(price), len(last)), dtype=np.int32)
    passed = np.zeros(splits, dtype=np.int64)
    for i in range(len(last)):
        for tree in range(last.shape[1]):
            node = last[i, tree]
            while node >= 0:
                passed[number[node]] += times[i]
                for k in range(2):
                    column = columns[node, k]
                    if column >= 0:
                        degree[column, i] += 1
                        only[column, i] = number[node]
                node = parent[node]
    slope = np.zeros(splits, dtype=np.int64)
    for column in range(len(price)):
        for i in range(len(last)):
            if degree[column, i] == 1:
                slope[only[column, i]] += price[column] * times[i]
    return degree, slope, passed


@jit
def fill_arcs(last, parent, number, columns, times, price, degree, splits):
    """Cost of the pay nodes that several splits need, and the arcs to them by split.

    Pay nodes are numbered column by column, rows inside: the needs of a split lie close together.
    """
    pays = np.int64(0)
    cost = np.empty(np.sum(degree > 1), dtype=np.int64)
    arcs = np.int64(0)
    for column in range(len(price)):
        for i in range(len(last)):
            if degree[column, i] > 1:
                cost[pays] = price[column] * times[i]
                arcs += degree[column, i]
                degree[column, i] = pays
                pays += 1
            else:
                degree[column, i] = -1
    first = np.zeros(splits + 1, dtype=np.int64)
    head = np.empty(arcs, dtype=np.int32)
    for fill in range(2):
        if fill:
            for h in range(splits):
                first[h + 1] += first[h]
        # Counted one place ahead, so that filling moves each start to where it belongs.
        for tree in range(last.shape[1]):
            for i in range(len(last)):
                node = last[i, tree]
                while node >= 0:
                    for k in range(2):
                        column = columns[node, k]
                        if column >= 0 and degree[column, i] >= 0:
                            h = number[node]
                            if fill:
                                head[first[h]] = degree[column, i]
                                first[h] += 1
                            else:
                                first[h + 1] += 1
                    node = parent[node]
    for h in range(splits, 0, -1):
        first[h] = first[h - 1]
    first[0] = 0
    return cost, first, head


@jit
def add_up(parent, amounts):
    """Add to each node (nodes, k) what its offspring have."""
    for node in range(len(parent) - 1, -1, -1):
        if parent[node] >= 0:
            amounts[parent[node]] += amounts[node]


@jit
def share_out(first, head, cost, degree):
    """Return first duals by arc: the cost of its pay node, divided by its number of arcs."""
    beta = np.empty(len(head))
    for i in range(len(head)):
        beta[i] = cost[head[i]] / degree[head[i]]
    return beta


@jit
def best_alone(parent, first, head, beta, begin, end, value, keep):
    """Best pruning of the trees of splits begin to end when needs cost `beta`, bottom up.

    `value` is what splits are worth and becomes what they are worth with their best offspring.
    """
    for h in range(end - 1, begin - 1, -1):
        for i in range(first[h], first[h + 1]):
            value[h] -= beta[i]
        if parent[h] >= 0 and value[h] > 0:
            value[parent[h]] += value[h]
    for h in range(begin, end):
        keep[h] = value[h] > 0 and (parent[h] < 0 or keep[parent[h]])


@jit
def clash(first, head, cost, beta, keep, rise):
    """Fill `rise` with the direction, by arc, in which the dual falls.

    Returns what is paid beyond the costs, and the squared length of the direction.

    A pay node is bought when the duals of its arcs come to more than it costs.
    """
    paid = np.zeros(len(cost))
    for i in range(len(head)):
        paid[head[i]] += beta[i]
    left = 0.0
    for v in range(len(cost)):
        left += max(paid[v] - cost[v], 0.0)
    size = 0.0
    for h in range(len(keep)):
        for i in range(first[h], first[h + 1]):
            rise[i] = (1.0 if keep[h] else 0.0) - (1.0 if paid[head[i]] > cost[head[i]] else 0.0)
            # A dual that is 0 cannot fall.
            if beta[i] > 0 or rise[i] > 0:
                size += rise[i] * rise[i]
    return left, size
