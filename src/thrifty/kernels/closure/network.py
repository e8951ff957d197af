"""The network of splits and pay nodes, a flow on it, and distances to deficits, as arrays.

Splits form trees; a split needs its parent and its pay nodes, and a pay node may be needed by
splits of many trees. Nodes 0..p-1 are the splits, p.. the pay nodes.

`measure` labels each node with its distance to a deficit, breadth-first and backward from the
deficits; push-relabel sends excess along decreasing labels. Visiting a pay node is slow because it
is scattered in memory, so as few as possible are visited: splits next to a deficit look for it
themselves, and so do the last splits that have not been reached.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from thrifty.kernels.jit import jit, lean, tiny

__all__ = ["FAR", "ONE", "Flow", "Net", "measure", "start_flow", "weave"]

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


# Arcs that a split looks along in the time that a pay node takes to tell all who need it.
LEAP = 10


@jit
def measure(net, flow, nodes, dust):
    """Exact distances to deficits, backwards from them; line up who has excess and a way.

    Who was far from all deficits before stays so until the costs change.
    """
    splits, label, ring, rest = len(net.parent), flow.label, flow.ring, flow.rest
    excess, full_end, cursor, first = flow.excess, flow.end, flow.cursor, net.first
    for v in nodes:
        if v < splits:
            full_end[v] = 0
            cursor[v] = first[v]
        if label[v] < FAR:
            label[v] = 0 if excess[v] < -dust else FAR - 1
    list_full(net, flow, nodes)
    zeros, end, left = line_up(net, flow, nodes)
    end = spread_labels(net, flow, zeros, end, left)
    for v in nodes:
        if label[v] == FAR - 1:
            label[v] = FAR
    # Who is farthest goes first: on its way excess meets that of others.
    waiting = 0
    for k in range(end - 1, -1, -1):
        v = ring[k]
        if v < splits and excess[v] > dust:
            rest[waiting] = v
            waiting += 1
            flow.waiting[v] = True
    ring[:waiting] = rest[:waiting]
    return waiting


@lean
def list_full(net, flow, nodes):
    """List for each split the full pay nodes that have flow from it."""
    splits, come, tail = len(net.parent), net.come, net.tail
    label, along, fillers, sources = flow.label, flow.along, flow.fillers, flow.sources
    begin, end, full = flow.begin, flow.end, flow.full
    for fill in range(2):
        total = np.int64(0)
        for v in nodes:
            if v < splits:
                if fill:
                    begin[v] = total
                    total += end[v]
                    end[v] = begin[v]
            elif label[v] == FAR - 1 and fillers[v - splits] >= 2 * ONE:
                for j in range(come[v - splits], come[v - splits + 1]):
                    if along[j] > 0:
                        if fill:
                            full[end[tail[j]]] = v
                        end[tail[j]] += 1
            elif label[v] == FAR - 1 and fillers[v - splits] > 0:
                if fill:
                    full[end[sources[v - splits]]] = v
                end[sources[v - splits]] += 1


@lean
def line_up(net, flow, nodes):
    """Splits with a deficit, then those that need one; how many, and how many are left."""
    splits, label, ring, left = len(net.parent), flow.label, flow.ring, flow.rest
    end = 0
    for v in nodes:
        if v < splits and label[v] == 0:
            ring[end] = v
            end += 1
    zeros, rest = end, 0
    for v in nodes:
        if v < splits and label[v] == FAR - 1:
            if needs(net.head, label, net.first[v], net.last[v], 0):
                label[v] = 1
                ring[end] = v
                end += 1
            else:
                left[rest] = v
                rest += 1
    return zeros, end, rest


@tiny
def needs(head, label, first, last, distance):
    """Whether a pay node among head[first:last] is at this distance."""
    for i in range(first, last):
        if label[head[i]] == distance:
            return True
    return False


@lean
def spread_labels(net, flow, zeros, end, rest):
    """Breadth first from the splits in line, against the arcs that can carry more; the end."""
    splits, ring, label, full = len(net.parent), flow.ring, flow.label, flow.full
    come, tail, full_begin, full_end = net.come, net.tail, flow.begin, flow.end
    begin, stop, distance = 0, zeros, 0
    while begin < end:
        pays = 0
        for k in range(begin, stop):
            h = ring[k]
            if h >= splits:
                pays += 1
                continue
            end = note_kin(net, flow, h, end)
            for i in range(full_begin[h], full_end[h]):
                if label[full[i]] == FAR - 1:
                    label[full[i]] = distance + 1
                    ring[end] = full[i]
                    end += 1
        if pays > 0 and rest > 0:
            rest, arcs = still_far(net, flow, rest)
            if arcs < LEAP * pays:
                end = look_down(net, flow, rest, distance, end)
            else:
                for k in range(begin, stop):
                    v = ring[k] - splits
                    if v >= 0:
                        for j in range(come[v], come[v + 1]):
                            h = tail[j]
                            if h >= 0 and label[h] == FAR - 1:
                                label[h] = distance + 1
                                ring[end] = h
                                end += 1
        # The splits that need a deficit are at distance 1 already.
        begin, stop, distance = stop, end, distance + 1
    return end


@tiny
def note(label, ring, v, distance, end):
    """Label a node that is met for the first time; tell the end of the line."""
    if label[v] == FAR - 1:
        label[v] = distance
        ring[end] = v
        end += 1
    return end


@lean
def note_kin(net, flow, h, end):
    """The kids of a split can send to it, and so can the parent that it has sent to."""
    label, ring = flow.label, flow.ring
    distance = label[h] + 1
    c = net.kid[h]
    while c >= 0:
        if net.parent[c] == h:
            end = note(label, ring, c, distance, end)
        c = net.twin[c]
    if flow.up[h] > 0:
        end = note(label, ring, net.parent[h], distance, end)
    return end


@lean
def still_far(net, flow, rest):
    """Drop from the rest who has a label by now; how many are left, and their arcs."""
    label, remaining, first, last = flow.label, flow.rest, net.first, net.last
    left, arcs = 0, np.int64(0)
    for k in range(rest):
        h = remaining[k]
        if label[h] == FAR - 1:
            remaining[left] = h
            left += 1
            arcs += last[h] - first[h]
    return left, arcs


@lean
def look_down(net, flow, rest, distance, end):
    """Let the rest look for pay nodes at this distance: cheaper when few are left."""
    label, ring, remaining, head = flow.label, flow.ring, flow.rest, net.head
    first, last = net.first, net.last
    for k in range(rest):
        h = remaining[k]
        if needs(head, label, first[h], last[h], distance):
            end = note(label, ring, h, distance + 1, end)
    return end
