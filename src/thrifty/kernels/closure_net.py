"""A network of splits and pay nodes, and a flow on it, as arrays.

Splits stand in trees; a split needs its parent and its pay nodes, and a pay node may be needed by
splits of many trees. Nodes 0..p-1 are the splits, p.. the pay nodes.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from thrifty.kernels.jit import jit

__all__ = ["FAR", "ONE", "Flow", "Net", "start_flow", "weave"]

Net = namedtuple(
    "Net",
    # trees of splits: parent, first kid and next twin, or -1
    "parent kid twin "
    # needs of a split: head[first:last], pay nodes, and where each lies among the arcs by pay node
    "first last head place "
    # splits that need a pay node: tail[come[v]:come[v + 1]]
    "come tail",
)
Flow = namedtuple(
    "Flow",
    # by node; flow to the parent by split; flow by arc in the order of `tail`
    "excess label up along "
    # arcs with flow to a pay node: sums of ONE + place and of the splits that they come from, so
    # that one alone is known without a search
    "fillers sources "
    # next arc to try by split; a ring of waiting nodes, and who is in it
    "cursor ring waiting "
    # full pay nodes with flow from split h: full[begin[h]:end[h]]
    "begin end full "
    # splits that are not reached yet while distances are measured
    "rest",
)

FAR = np.int32(1 << 30)
# Counts arcs above the bits that the sum of their places takes.
ONE = np.int64(1 << 44)


def weave(parent, first, head, pays):
    """Network of `len(parent)` splits with needs head[first[h]:first[h + 1]] among `pays` nodes."""
    splits = len(parent)
    come = np.zeros(pays + 1, dtype=np.int64)
    np.cumsum(np.bincount(head, minlength=pays), out=come[1:])
    kid = np.full(splits, -1, dtype=np.int32)
    twin = np.full(splits, -1, dtype=np.int32)
    place = np.empty(len(head), dtype=np.int32)
    tail = np.empty(len(head), dtype=np.int32)
    _link(parent, first, head, come, kid, twin, place, tail)
    return Net(
        parent.astype(np.int32), kid, twin, first[:-1].copy(), first[1:].copy(),
        head + np.int32(splits), place, come, tail,
    )  # fmt: skip


def start_flow(net, excess):
    """No flow yet; `excess` is worth minus cost of each node."""
    nodes, splits = len(excess), len(net.parent)
    return Flow(
        excess, np.zeros(nodes, dtype=np.int32), np.zeros(splits, dtype=excess.dtype),
        np.zeros(len(net.tail), dtype=excess.dtype),
        np.zeros(nodes - splits, dtype=np.int64), np.zeros(nodes - splits, dtype=np.int64),
        net.first.copy(),
        np.empty(nodes, dtype=np.int32), np.zeros(nodes, dtype=np.bool_),
        np.empty(splits, dtype=np.int64), np.empty(splits, dtype=np.int64),
        np.empty(len(net.tail), dtype=np.int32), np.empty(splits, dtype=np.int32),
    )  # fmt: skip


@jit
def _link(parent, first, head, come, kid, twin, place, tail):
    for h in range(len(parent) - 1, -1, -1):
        if parent[h] >= 0:
            twin[h] = kid[parent[h]]
            kid[parent[h]] = h
    following = come[:-1].copy()
    for h in range(len(parent)):
        for i in range(first[h], first[h + 1]):
            place[i] = following[head[i]]
            tail[place[i]] = h
            following[head[i]] += 1
