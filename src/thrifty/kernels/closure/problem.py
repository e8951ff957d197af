"""Build a closure problem from a forest and the leaves that rows reach.

Node arrays cover all trees together, with children after their parent; `parent` is -1 at a root,
and `leaves` (trees, n) are the leaves that rows reach.

`share_out`, `best_alone` and `clash` are one step of the primal-dual method (Nan 2018, ch. 4): the
best pruning of each tree for given dual variables, and the slope of the dual where the trees
disagree. `beta` is the dual variable of every arc: what a split pays on its own for a pay node that
it shares with others.
"""

from __future__ import annotations

import cython
import numpy as np

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


def find_parents(child: cython.const[cython.int][:]):
    """Parent of each node, -1 for roots; a leaf is its own child."""
    parents = np.empty(len(child), np.int32)
    parent: cython.int[::1] = parents
    node: cython.int
    nodes: cython.int = len(child)
    with cython.nogil:
        for node in range(nodes):
            parent[node] = -1
        for node in range(nodes):
            if child[node] != node:
                parent[child[node]] = node
                parent[child[node] + 1] = node
    return parents


def error_sums(
    leaves: cython.const[cython.int][:, ::1],
    parent: cython.const[cython.int][::1],
    answer: cython.const[cython.longlong][::1],
    codes: cython.const[cython.longlong][::1],
    weight: cython.const[cython.longlong][::1],
):
    """Weight of the rows that each node gets wrong, of those that pass it."""
    sums = np.zeros(len(parent), np.int64)
    errors: cython.longlong[::1] = sums
    passed: cython.longlong[::1] = np.zeros(len(parent), np.int64)
    order: cython.const[cython.Py_ssize_t][::1] = np.argsort(codes)
    begin: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = 0
    with cython.nogil:
        # Class by class: the rows that pass each node, summed from the leaves up.
        while begin < len(order):
            code = codes[order[begin]]
            while end < len(order) and codes[order[end]] == code:
                end += 1
            for tree in range(leaves.shape[0]):
                for k in range(begin, end):
                    passed[leaves[tree, order[k]]] += weight[order[k]]
            for node in range(len(parent) - 1, -1, -1):
                if answer[node] != code:
                    errors[node] += passed[node]
                if parent[node] >= 0:
                    passed[parent[node]] += passed[node]
                passed[node] = 0
            begin = end
    return sums


def worthy(parent: cython.const[cython.int][::1], gain: cython.const[cython.longlong][::1]):
    """Splits in the least best pruning at no cost: worth something with their best offspring."""
    value: cython.longlong[::1] = np.empty(len(parent), np.int64)
    kept = np.empty(len(parent), np.bool_)
    keep: cython.uchar[::1] = kept.view(np.uint8)
    with cython.nogil:
        for node in range(len(parent)):
            value[node] = gain[node]
        for node in range(len(parent) - 1, -1, -1):
            if parent[node] >= 0:
                value[parent[node]] += max(value[node], 0)
        for node in range(len(parent)):
            keep[node] = value[node] > 0
            if parent[node] >= 0:
                keep[node] &= keep[parent[node]]
    return kept


def chains(
    parent: cython.const[cython.int][::1],
    keep: cython.const[cython.uchar][::1],
    gain: cython.const[cython.longlong][::1],
):
    """Number kept splits; one not worth it alone goes with its only kid, if it has only one.

    Gives the number of each node, -1 if it is not kept, and the parent and the gain of each number.
    """
    numbers = np.empty(len(parent), np.int32)
    parents = np.empty(len(parent), np.int32)
    totals = np.empty(len(parent), np.int64)
    kids: cython.int[::1] = np.zeros(len(parent), np.int32)
    number: cython.int[::1] = numbers
    above: cython.int[::1] = parents
    total: cython.longlong[::1] = totals
    count: cython.int = 0
    with cython.nogil:
        for node in range(len(parent)):
            if keep[node] and parent[node] >= 0:
                kids[parent[node]] += 1
        for node in range(len(parent)):
            number[node] = -1
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
    return numbers, parents[:count].copy(), totals[:count].copy()


def first_on_path(parent: cython.const[cython.int][::1], mark: cython.const[cython.longlong][::1]):
    """Whether a node's mark (>= 0) is borne by none of its ancestors."""
    marks = np.zeros(len(parent), np.bool_)
    fresh: cython.uchar[::1] = marks.view(np.uint8)
    with cython.nogil:
        for node in range(len(parent)):
            if mark[node] < 0:
                continue
            up = parent[node]
            while up >= 0 and mark[up] != mark[node]:
                up = parent[up]
            fresh[node] = up < 0
    return marks


def depth_first(parent: cython.const[cython.int][::1], child: cython.const[cython.int][:]):
    """Place of each node in a walk through its tree, offspring right behind their parent."""
    ranks = np.zeros(len(parent), np.int32)
    rank: cython.int[::1] = ranks
    # How many nodes are below each node, with itself.
    size: cython.int[::1] = np.zeros(len(parent), np.int32)
    with cython.nogil:
        for node in range(len(parent) - 1, -1, -1):
            size[node] += 1
            if parent[node] >= 0:
                size[parent[node]] += size[node]
        for node in range(len(parent)):
            up = parent[node]
            if up >= 0:
                rank[node] = rank[up] + 1
                if node > child[up]:
                    rank[node] += size[child[up]]
    return ranks


def ends(
    leaves: cython.const[cython.int][:, ::1],
    parent: cython.const[cython.int][::1],
    number: cython.const[cython.int][::1],
):
    """Last kept split on the way of each row, by tree; -1 where none is kept."""
    found = np.empty((leaves.shape[1], leaves.shape[0]), np.int32)
    out: cython.int[:, ::1] = found
    last: cython.int[::1] = np.empty(len(parent), np.int32)
    node: cython.int
    nodes: cython.int = len(parent)
    with cython.nogil:
        for node in range(nodes):
            if number[node] >= 0:
                last[node] = node
            else:
                last[node] = last[parent[node]] if parent[node] >= 0 else -1
        for tree in range(leaves.shape[0]):
            for i in range(leaves.shape[1]):
                out[i, tree] = last[leaves[tree, i]]
    return found


def count_arcs(
    last: cython.const[cython.int][:, ::1],
    parent: cython.const[cython.int][::1],
    number: cython.const[cython.int][::1],
    columns: cython.const[cython.int][:, ::1],
    times: cython.const[cython.longlong][::1],
    price: cython.const[cython.longlong][::1],
    splits: cython.Py_ssize_t,
):
    """How many splits need each pay node (column, row); slope and passing rows of each split.

    `columns` (nodes, 2) are what a split makes a row pay, -1 for nothing. What only one split
    needs is added to its slope right away.
    """
    degrees = np.zeros((len(price), len(last)), np.int32)
    slopes = np.zeros(splits, np.int64)
    passes = np.zeros(splits, np.int64)
    degree: cython.int[:, ::1] = degrees
    slope: cython.longlong[::1] = slopes
    passed: cython.longlong[::1] = passes
    ended: cython.longlong[::1] = np.zeros(len(parent), np.int64)
    only: cython.int[:, ::1] = np.zeros((len(price), len(last)), np.int32)
    node: cython.int
    column: cython.int
    with cython.nogil:
        for i in range(len(last)):
            for tree in range(last.shape[1]):
                node = last[i, tree]
                if node >= 0:
                    ended[node] += times[i]
                while node >= 0:
                    for k in range(2):
                        column = columns[node, k]
                        if column >= 0:
                            degree[column, i] += 1
                            only[column, i] = number[node]
                    node = parent[node]
        # Rows pass a node that end there or at its offspring.
        for k in range(len(parent) - 1, -1, -1):
            if number[k] >= 0:
                passed[number[k]] += ended[k]
                if parent[k] >= 0:
                    ended[parent[k]] += ended[k]
        for column in range(len(price)):
            for i in range(len(last)):
                if degree[column, i] == 1:
                    slope[only[column, i]] += price[column] * times[i]
    return degrees, slopes, passes


def fill_arcs(
    last: cython.const[cython.int][:, ::1],
    parent: cython.const[cython.int][::1],
    number: cython.const[cython.int][::1],
    columns: cython.const[cython.int][:, ::1],
    times: cython.const[cython.longlong][::1],
    price: cython.const[cython.longlong][::1],
    degree: cython.int[:, ::1],
    splits: cython.Py_ssize_t,
):
    """Cost of the pay nodes that several splits need, and the arcs to them by split.

    Pay nodes are numbered column by column, rows inside: the needs of a split lie close together.
    Their numbers replace the `degree` of each column and row, or -1.
    """
    shared = count_shared(degree)
    costs = np.empty(shared.pays, np.int64)
    starts = np.zeros(splits + 1, np.int64)
    heads = np.empty(shared.arcs, np.int32)
    cost: cython.longlong[::1] = costs
    first: cython.longlong[::1] = starts
    head: cython.int[::1] = heads
    node: cython.int
    with cython.nogil:
        number_pays(times, price, degree, cost)
        # Counted one place ahead, so that filling moves each start to where it belongs.
        for tree in range(last.shape[1]):
            for i in range(len(last)):
                node = last[i, tree]
                while node >= 0:
                    for k in range(2):
                        column = columns[node, k]
                        if column >= 0 and degree[column, i] >= 0:
                            first[number[node] + 1] += 1
                    node = parent[node]
        for h in range(splits):
            first[h + 1] += first[h]
        for tree in range(last.shape[1]):
            for i in range(len(last)):
                node = last[i, tree]
                while node >= 0:
                    for k in range(2):
                        column = columns[node, k]
                        if column >= 0 and degree[column, i] >= 0:
                            head[first[number[node]]] = degree[column, i]
                            first[number[node]] += 1
                    node = parent[node]
        for h in range(splits, 0, -1):
            first[h] = first[h - 1]
        first[0] = 0
    return costs, starts, heads


# How many pay nodes several splits need, and the arcs to them.
Shared = cython.struct(pays=cython.Py_ssize_t, arcs=cython.Py_ssize_t)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_shared(degree: cython.const[cython.int][:, ::1]) -> Shared:
    """Count the pay nodes that several splits need, and the arcs to them."""
    pays: cython.Py_ssize_t = 0
    arcs: cython.Py_ssize_t = 0
    for column in range(degree.shape[0]):
        for i in range(degree.shape[1]):
            if degree[column, i] > 1:
                pays += 1
                arcs += degree[column, i]
    return Shared(pays, arcs)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def number_pays(
    times: cython.const[cython.longlong][::1],
    price: cython.const[cython.longlong][::1],
    degree: cython.int[:, ::1],
    cost: cython.longlong[::1],
) -> cython.void:
    """Number the pay nodes that several splits need, in `degree`; others become -1."""
    pays: cython.int = 0
    for column in range(len(price)):
        for i in range(len(times)):
            if degree[column, i] > 1:
                cost[pays] = price[column] * times[i]
                degree[column, i] = pays
                pays += 1
            else:
                degree[column, i] = -1


def add_up(parent: cython.const[cython.int][::1], amounts: cython.double[:, ::1]):
    """Add to each node (nodes, k) what its offspring have."""
    with cython.nogil:
        for node in range(len(parent) - 1, -1, -1):
            up = parent[node]
            if up >= 0:
                for k in range(amounts.shape[1]):
                    amounts[up, k] += amounts[node, k]


def share_out(
    head: cython.const[cython.int][::1],
    cost: cython.const[cython.double][::1],
    degree: cython.const[cython.longlong][::1],
):
    """Return first duals by arc: the cost of its pay node, divided by its number of arcs."""
    duals = np.empty(len(head))
    beta: cython.double[::1] = duals
    with cython.nogil:
        for i in range(len(head)):
            beta[i] = cost[head[i]] / degree[head[i]]
    return duals


def best_alone(
    parent: cython.const[cython.int][::1],
    first: cython.const[cython.longlong][::1],
    beta: cython.const[cython.double][::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    value: cython.double[::1],
    keep: cython.uchar[::1],
):
    """Best pruning of the trees of splits begin to end when needs cost `beta`, bottom up.

    `value` is what splits are worth and becomes what they are worth with their best offspring.
    """
    with cython.nogil:
        for h in range(end - 1, begin - 1, -1):
            worth = value[h]
            for i in range(first[h], first[h + 1]):
                worth -= beta[i]
            value[h] = worth
            if parent[h] >= 0 and worth > 0:
                value[parent[h]] += worth
        for h in range(begin, end):
            keep[h] = value[h] > 0 and (parent[h] < 0 or keep[parent[h]])


def clash(
    first: cython.const[cython.longlong][::1],
    head: cython.const[cython.int][::1],
    cost: cython.const[cython.double][::1],
    beta: cython.const[cython.double][::1],
    keep: cython.const[cython.uchar][::1],
    rise: cython.double[::1],
):
    """Fill `rise` with the direction, by arc, in which the dual falls.

    Returns what is paid beyond the costs, and the squared length of the direction.

    A pay node is bought when the duals of its arcs come to more than it costs.
    """
    left = 0.0
    size = 0.0
    paid: cython.double[::1] = np.zeros(len(cost))
    with cython.nogil:
        for i in range(len(head)):
            paid[head[i]] += beta[i]
        for v in range(len(cost)):
            left += max(paid[v] - cost[v], 0.0)
            # From here on, whether it is bought.
            paid[v] = 1.0 if paid[v] > cost[v] else 0.0
        for h in range(len(keep)):
            kept = 1.0 if keep[h] else 0.0
            for i in range(first[h], first[h + 1]):
                step = kept - paid[head[i]]
                # A dual that is 0 cannot fall.
                size += step * step if (beta[i] > 0) | (step > 0) else 0.0
                rise[i] = step
    return left, size
