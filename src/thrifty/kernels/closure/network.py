"""The network of splits and pay nodes, a flow on it, and distances to deficits.

Splits form trees; a split needs its parent and its pay nodes, and a pay node may be needed by
splits of many trees. Nodes 0..p-1 are the splits, p.. the pay nodes.

`measure` labels each node with its distance to a deficit, breadth-first and backward from the
deficits; push-relabel sends excess along decreasing labels. Visiting a pay node is slow because it
is scattered in memory, so as few as possible are visited: splits next to a deficit look for it
themselves, and so do the last splits that have not been reached.
"""

from __future__ import annotations

from collections import namedtuple

import cython
import numpy as np

__all__ = ["Flow", "Net", "Search", "measure", "start_flow"]

# In C these three are in network.pxd, as constants and types must be that several modules use.
if not cython.compiled:
    # Amounts of worth, cost and flow.
    amount = cython.fused_type(cython.longlong, cython.double)
    # The label of a node from which no deficit can be reached.
    FAR = 1 << 30
    # The arcs with flow to a pay node: their number, and the places (see `Net.tail`) and the
    # splits of all of them combined by exclusive or. So one alone is known without a search.
    Filler = cython.struct(count=cython.int, place=cython.int, split=cython.int)

FILLER = np.dtype([("count", "i4"), ("place", "i4"), ("split", "i4")])

# The amounts of a flow, all int64 or all float64: excess of each node, flow from each split to its
# parent, and flow along each arc in the order of pay nodes.
Flow = namedtuple("Flow", "excess up along")

# Arcs that a split looks along in the time that a pay node takes to tell all who need it.
LEAP = cython.declare(cython.int, 10)


@cython.cclass
class Net:
    """Trees of splits, and the arcs from splits to the pay nodes that they need.

    Arcs have two orders, by split and by pay node. Those of split h are numbered from first[h] to
    last[h] in the first, those of pay node p + v from come[v] to come[v + 1] in the second. Cut
    arcs are moved behind last[h].

    Parameters
    ----------
    parent : array (splits,)
        Parent of each split, or -1.
    first, head : arrays
        Split h needs the pay nodes head[first[h]:first[h + 1]], numbered from 0.
    pays : int
        Number of pay nodes.

    Attributes
    ----------
    parent : array (splits,)
        Parent of each split, or -1 if there is none or the arc to it is cut.
    kid : array (splits,)
        First kid of each split, or -1.
    twin : array (splits,)
        Next kid of the same parent, or -1.
    first : array (splits,)
        First arc of each split.
    last : array (splits,)
        End of the arcs of each split that are not cut.
    head : array (arcs,)
        Pay node of each arc, by split.
    place : array (arcs,)
        Where each arc, by split, lies among the arcs by pay node.
    come : array (pays + 1,)
        First arc of each pay node.
    tail : array (arcs,)
        Split of each arc, by pay node; -1 for a cut one.
    """

    def __init__(self, parent, first, head, pays):
        splits = len(parent)
        if len(head) >= 1 << 31 or splits + pays >= 1 << 30:
            raise OverflowError(
                "closure: too many nodes or arcs for 32-bit numbers; use fewer rows"
            )
        self.parent = parent.astype(np.int32)
        self.kid = np.empty(splits, dtype=np.int32)
        self.twin = np.empty(splits, dtype=np.int32)
        self.first = first[:splits].astype(np.int32)
        self.last = first[1:].astype(np.int32)
        self.head = head + np.int32(splits)
        self.place = np.empty(len(head), dtype=np.int32)
        come = np.zeros(pays + 1, dtype=np.int32)
        np.cumsum(np.bincount(head, minlength=pays), out=come[1:])
        self.come = come
        self.tail = np.empty(len(head), dtype=np.int32)
        following: cython.int[::1] = come[:pays].copy()
        with cython.nogil:
            link(self, following)


@cython.cclass
class Search:
    """Where excess can go: distances, splits that wait for their turn, and lists by node.

    Attributes
    ----------
    label : array (nodes,)
        A lower bound on the distance of each node to a deficit; FAR without any way to one.
    cursor : array (splits,)
        Next arc of each split to try.
    ring : array (nodes,)
        Splits that wait for their turn, in a circle; also the queue of a breadth-first search.
    waiting : array (splits,)
        Whether each split waits in the ring.
    fillers : array (pays,)
        The arcs with flow to each pay node, see `Filler`.
    sends : array (splits,)
        Number of arcs with flow from each split to a pay node.
    begin, end : arrays (splits,)
        Range of each split in `full`.
    full : array (arcs,)
        Full pay nodes with flow from a split, by split; only valid while distances are measured.
    rest : array (splits,)
        Splits that are not reached yet while distances are measured.
    """

    def __init__(self, net: Net):
        splits, pays, arcs = len(net.parent), len(net.come) - 1, len(net.tail)
        nodes = splits + pays
        self.label = np.zeros(nodes, dtype=np.int32)
        self.cursor = np.empty(splits, dtype=np.int32)
        self.ring = np.empty(nodes, dtype=np.int32)
        self.waiting = np.zeros(splits, dtype=np.uint8)
        fillers = np.zeros(pays, dtype=FILLER)
        # Ordinary Python reads the fields of a record by name only from such an array.
        self.fillers = fillers if cython.compiled else fillers.view(np.recarray)
        self.sends = np.zeros(splits, dtype=np.int32)
        self.begin = np.empty(splits, dtype=np.int32)
        self.end = np.empty(splits, dtype=np.int32)
        self.full = np.empty(arcs, dtype=np.int32)
        self.rest = np.empty(splits, dtype=np.int32)


def start_flow(net: Net, excess):
    """Return the flow that is 0 everywhere; `excess` is worth minus cost of each node."""
    return Flow(
        excess,
        np.zeros(len(net.parent), dtype=excess.dtype),
        np.zeros(len(net.tail), dtype=excess.dtype),
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def link(net: Net, following: cython.int[::1]) -> cython.void:
    """List the kids of each split and the arcs of each pay node; `following` is where they go."""
    splits: cython.int = len(net.parent)
    h: cython.int
    for h in range(splits - 1, -1, -1):
        net.kid[h] = net.twin[h] = -1
    for h in range(splits - 1, -1, -1):
        up = net.parent[h]
        if up >= 0:
            net.twin[h] = net.kid[up]
            net.kid[up] = h
    for h in range(splits):
        for i in range(net.first[h], net.last[h]):
            pay = net.head[i] - splits
            place = following[pay]
            net.place[i] = place
            net.tail[place] = h
            following[pay] = place + 1


def measure(
    net: Net,
    search: Search,
    excess: amount[::1],
    up: amount[::1],
    along: amount[::1],
    nodes: cython.const[cython.int][::1],
    dust: amount,
):
    """Measure distances to deficits; queue the splits with excess and a path to one.

    Who was far from all deficits before stays so until the costs change. Returns how many wait.
    """
    waiting: cython.int = 0
    splits: cython.int = len(net.parent)
    with cython.nogil:
        for k in range(len(nodes)):
            v = nodes[k]
            if v < splits:
                search.cursor[v] = net.first[v]
            if search.label[v] < FAR:
                search.label[v] = 0 if excess[v] < -dust else FAR - 1
        list_full(net, search, along, nodes)
        line = line_up(net, search, nodes)
        end = spread_labels(net, search, up, line)
        for k in range(len(nodes)):
            if search.label[nodes[k]] == FAR - 1:
                search.label[nodes[k]] = FAR
        # Who is farthest goes first: on its way excess meets that of others.
        for k in range(end - 1, -1, -1):
            v = search.ring[k]
            if v < splits and excess[v] > dust:
                search.rest[waiting] = v
                waiting += 1
                search.waiting[v] = True
        for k in range(waiting):
            search.ring[k] = search.rest[k]
    return waiting


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_full(
    net: Net, search: Search, along: amount[::1], nodes: cython.const[cython.int][::1]
) -> cython.void:
    """List for each split the full pay nodes that have flow from it."""
    splits: cython.int = len(net.parent)
    total: cython.int = 0
    for k in range(len(nodes)):
        v = nodes[k]
        if v < splits:
            # Room for all; those that are not full take none of it.
            search.begin[v] = total
            search.end[v] = total
            total += search.sends[v]
    for k in range(len(nodes)):
        v = nodes[k]
        if v < splits or search.label[v] != FAR - 1:
            continue
        if search.fillers[v - splits].count == 1:
            h = search.fillers[v - splits].split
            search.full[search.end[h]] = v
            search.end[h] += 1
        elif search.fillers[v - splits].count > 1:
            for j in range(net.come[v - splits], net.come[v - splits + 1]):
                if along[j] > 0:
                    h = net.tail[j]
                    search.full[search.end[h]] = v
                    search.end[h] += 1


# The queue of `spread_labels`: where it ends, and where the splits with a deficit end that come
# first; and how many splits are not in it yet.
Line = cython.struct(zeros=cython.int, end=cython.int, rest=cython.int)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def line_up(net: Net, search: Search, nodes: cython.const[cython.int][::1]) -> Line:
    """Splits with a deficit, then those that need one, into `ring`; the others into `rest`."""
    splits: cython.int = len(net.parent)
    end: cython.int = 0
    rest: cython.int = 0
    for k in range(len(nodes)):
        v = nodes[k]
        if v < splits and search.label[v] == 0:
            search.ring[end] = v
            end += 1
    zeros = end
    for k in range(len(nodes)):
        v = nodes[k]
        if v < splits and search.label[v] == FAR - 1:
            if needs(net, search, v, 0):
                search.label[v] = 1
                search.ring[end] = v
                end += 1
            else:
                search.rest[rest] = v
                rest += 1
    return Line(zeros, end, rest)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def needs(net: Net, search: Search, h: cython.int, distance: cython.int) -> cython.bint:
    """Whether a pay node that split h needs is at this distance."""
    for i in range(net.first[h], net.last[h]):
        if search.label[net.head[i]] == distance:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def spread_labels(net: Net, search: Search, up: amount[::1], line: Line) -> cython.int:
    """Breadth first from the splits in line, against the arcs that can carry more; the end."""
    splits: cython.int = len(net.parent)
    begin: cython.int = 0
    distance: cython.int = 0
    stop, end, rest = line.zeros, line.end, line.rest
    while begin < end:
        pays: cython.int = 0
        for k in range(begin, stop):
            h = search.ring[k]
            if h >= splits:
                pays += 1
                continue
            end = note_kin(net, search, up, h, end)
            for i in range(search.begin[h], search.end[h]):
                end = note(search, search.full[i], distance + 1, end)
        if pays > 0 and rest > 0:
            rest = still_far(search, rest)
            if count_arcs(net, search, rest) < cython.cast(cython.longlong, LEAP) * pays:
                end = look_down(net, search, rest, distance, end)
            else:
                end = tell_all(net, search, begin, stop, end)
        # The splits that need a deficit are at distance 1 already.
        begin, stop, distance = stop, end, distance + 1
    return end


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def note(search: Search, v: cython.int, distance: cython.int, end: cython.int) -> cython.int:
    """Label a node that is met for the first time; the end of the line after that."""
    if search.label[v] == FAR - 1:
        search.label[v] = distance
        search.ring[end] = v
        end += 1
    return end


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def note_kin(
    net: Net, search: Search, up: amount[::1], h: cython.int, end: cython.int
) -> cython.int:
    """Label the kids of a split, which can send to it, and the parent that it has sent to."""
    distance = search.label[h] + 1
    c = net.kid[h]
    while c >= 0:
        if net.parent[c] == h:
            end = note(search, c, distance, end)
        c = net.twin[c]
    if up[h] > 0:
        end = note(search, net.parent[h], distance, end)
    return end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def still_far(search: Search, rest: cython.int) -> cython.int:
    """Drop from the rest the splits that have a label by now; return how many are left."""
    left: cython.int = 0
    for k in range(rest):
        h = search.rest[k]
        if search.label[h] == FAR - 1:
            search.rest[left] = h
            left += 1
    return left


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_arcs(net: Net, search: Search, rest: cython.int) -> cython.longlong:
    """How many arcs the rest have."""
    arcs: cython.longlong = 0
    for k in range(rest):
        arcs += net.last[search.rest[k]] - net.first[search.rest[k]]
    return arcs


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_down(
    net: Net, search: Search, rest: cython.int, distance: cython.int, end: cython.int
) -> cython.int:
    """Let the rest look for pay nodes at this distance: cheaper when few are left."""
    for k in range(rest):
        h = search.rest[k]
        if needs(net, search, h, distance):
            end = note(search, h, distance + 1, end)
    return end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tell_all(
    net: Net, search: Search, begin: cython.int, stop: cython.int, end: cython.int
) -> cython.int:
    """Let the pay nodes in ring[begin:stop] tell all splits that need them."""
    splits: cython.int = len(net.parent)
    for k in range(begin, stop):
        v = search.ring[k]
        if v >= splits:
            for j in range(net.come[v - splits], net.come[v - splits + 1]):
                h = net.tail[j]
                if h >= 0:
                    end = note(search, h, search.label[v] + 1, end)
    return end
