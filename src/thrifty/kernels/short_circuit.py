"""Send rows down a forest only until their prediction is settled.

For every row, each tree stands at a node. The first unfinished tree in the given order names the
next feature to buy, and the value moves every tree that waits for it. Bounds on the outputs are
integers, so they do not depend on the order in which the trees moved.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.descent import INDEX, step
from thrifty.kernels.jit import jit

__all__ = ["LARGEST", "SIGN", "VALUE", "run_short_circuit"]

# How a rule is told: kind, margin over a class before and after, where a hinge is flat.
VALUE, SIGN, LARGEST = 0, 1, 2


@jit
def run_short_circuit(
    nodes, subsets, roots, outputs, order, low, high, fills, start, rule, X, raw, used, done, ends
):
    """Fill `raw` with outputs, `used`, `done` (finished trees) and `ends` (bounds of output 0).

    `start` holds the least and the largest outputs at the roots, (2, k).
    """
    trees, k = len(roots), raw.shape[1]
    place = np.empty(trees, dtype=np.uint32)
    heads, links, leaves = line_up(nodes, roots, X.shape[1])
    head, link = np.empty_like(heads), np.empty_like(links)
    least, most = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    for i in range(len(X)):
        head[:], link[:], place[:] = heads, links, roots
        least[:], most[:] = start[0], start[1]
        done[i], current = leaves, 0
        while not is_settled(least, most, rule):
            while current < trees and nodes[place[order[current]]].child == place[order[current]]:
                current += 1
            if current == trees:
                break
            feature = nodes[place[order[current]]].feature & INDEX
            used[i, feature] = True
            tree, head[feature] = head[feature], -1
            while tree >= 0:
                after = link[tree]
                before = place[tree]
                here = move(nodes, subsets, X, i, before, used)
                place[tree] = here
                tighten(low, high, before, here, outputs[tree], least, most)
                if nodes[here].child == here:
                    done[i] += 1
                else:
                    wanted = nodes[here].feature & INDEX
                    link[tree], head[wanted] = head[wanted], tree
                tree = after
        ends[i, 0], ends[i, 1] = least[0], most[0]
        add_up(fills, place, outputs, raw[i])


@jit
def line_up(nodes, roots, n_features):
    """Trees that wait for each feature at their roots, as linked lists; and how many are leaves."""
    head = np.full(n_features, -1, dtype=np.int64)
    link = np.full(len(roots), -1, dtype=np.int64)
    leaves = 0
    for tree in range(len(roots)):
        root = roots[tree]
        if nodes[root].child == root:
            leaves += 1
        else:
            wanted = nodes[root].feature & INDEX
            link[tree], head[wanted] = head[wanted], tree
    return head, link, leaves


@jit
def move(nodes, subsets, X, row, place, used):
    """Where a tree comes to on the features that the row has bought."""
    while nodes[place].child != place and used[row, nodes[place].feature & INDEX]:
        place = step(nodes, subsets, X, row, place)
    return place


@jit
def tighten(low, high, before, here, output, least, most):
    """Replace the bounds of the node a tree has left by those of the node where it stands."""
    width = low.shape[1]
    for k in range(width):
        to = output if width == 1 else k
        least[to] += low[here, k] - low[before, k]
        most[to] += high[here, k] - high[before, k]


@jit
def is_settled(least, most, rule):
    """Whether nothing within the bounds can change the answer."""
    if rule[0] == VALUE:
        return most[0] - least[0] <= rule[1]
    if rule[0] == SIGN:
        return (least[0] > rule[1]) | (most[0] < -rule[1])
    flat = rule[3]
    best, top = 0, min(least[0], flat)
    for k in range(1, len(least)):
        if min(least[k], flat) > max(top, -flat):
            best, top = k, min(least[k], flat)
    top = max(top, -flat)
    for k in range(len(least)):
        margin = rule[1] if k < best else rule[2]
        if k == best or top - min(max(most[k], -flat), flat) > margin:
            continue
        if k < best or (least[best] - flat < margin and -most[k] - flat < margin):
            return False
    return True


@jit
def add_up(fills, place, outputs, raw):
    """Add what each tree gives where it stands, tree by tree as the whole forest does."""
    width = fills.shape[1]
    for tree in range(len(place)):
        if width == 1:
            raw[outputs[tree]] += fills[place[tree], 0]
        else:
            for k in range(width):
                raw[k] += fills[place[tree], k]
