"""Maximum closure by push-relabel without source and sink (Goldberg and Tarjan 1988).

What a split is worth is excess and what a node costs is deficit. Excess flows toward what its
node needs; excess that can reach no deficit belongs to the splits worth keeping. A flow remains
valid when the costs change, so it can be reused.

Amounts are int64 (exact) or float64; `dust` is the excess that counts as none, 0 for integers.
Labels are lower bounds on the distance to a deficit.
"""

from __future__ import annotations

import cython
from cython.cimports.thrifty.kernels.closure.network import FAR, Net, Search, amount

from thrifty.kernels.closure.network import measure

__all__ = ["change_rate", "largest_flow", "reach"]

# Arcs looked at before the distances are measured anew, as a share of all.
PATIENCE = cython.declare(cython.double, 0.4)

# The end of the line in the ring, and how many steps were taken.
Turn = cython.struct(end=cython.int, steps=cython.longlong)


def largest_flow(net: Net, search: Search, flow, nodes, dust):
    """Send excess to deficits among `nodes` until none can reach any."""
    patience = forget_labels(net, search, nodes)
    nodes = nodes.copy()
    while waiting := measure(net, search, *flow, nodes, dust):
        nodes = nodes[: drop_far(search, nodes)]
        discharge_all(net, search, *flow, waiting, patience, dust)


def forget_labels(net: Net, search: Search, nodes: cython.const[cython.int][::1]):
    """Set all labels to 0; return for how many steps measured distances are good."""
    patience: cython.longlong = len(nodes)
    splits: cython.int = len(net.parent)
    with cython.nogil:
        for k in range(len(nodes)):
            v = nodes[k]
            search.label[v] = 0
            if v < splits:
                patience += cython.cast(cython.longlong, PATIENCE * (net.last[v] - net.first[v]))
    return patience


def drop_far(search: Search, nodes: cython.int[::1]):
    """Move nodes with a way to a deficit to the front, and return how many there are.

    The others will have none either until the costs change.
    """
    kept: cython.Py_ssize_t = 0
    with cython.nogil:
        for k in range(len(nodes)):
            v = nodes[k]
            if search.label[v] < FAR:
                nodes[kept] = v
                kept += 1
    return kept


def discharge_all(
    net: Net,
    search: Search,
    excess: amount[::1],
    up: amount[::1],
    along: amount[::1],
    waiting: cython.int,
    patience: cython.longlong,
    dust: amount,
):
    """First in, first out, until the queue is empty or the labels are stale."""
    size: cython.int = len(search.ring)
    begin: cython.int = 0
    work: cython.longlong = 0
    with cython.nogil:
        while waiting > 0 and work < patience:
            h = search.ring[begin]
            begin = begin + 1 if begin + 1 < size else 0
            waiting -= 1
            search.waiting[h] = False
            end = begin + waiting if begin + waiting < size else begin + waiting - size
            turn = discharge(net, search, excess, up, along, h, end, dust)
            joined = turn.end - end
            waiting += joined if joined >= 0 else joined + size
            work += turn.steps
        while waiting > 0:
            search.waiting[search.ring[begin]] = False
            begin = begin + 1 if begin + 1 < size else 0
            waiting -= 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def discharge(
    net: Net,
    search: Search,
    excess: amount[::1],
    up: amount[::1],
    along: amount[::1],
    h: cython.int,
    end: cython.int,
    dust: amount,
) -> Turn:
    """Pass the excess of a split on; the end of the line after that, and the work done."""
    splits: cython.int = len(net.parent)
    below: cython.int = search.label[h] - 1
    steps: cython.longlong = 1
    nearest: cython.int = FAR
    end = give_parent(net, search, excess, up, h, below, end, dust)
    begin: cython.int = search.cursor[h]
    last: cython.int = net.last[h]
    i: cython.int = begin
    while i < last and excess[h] > dust:
        v = net.head[i]
        if search.label[v] == below:
            if excess[v] < 0:
                sent = min(-excess[v], excess[h])
                send(search, along, h, v - splits, net.place[i], sent)
                excess[h] -= sent
                excess[v] += sent
            else:
                turn = pass_through(net, search, excess, along, h, i, end, dust)
                end = turn.end
                steps += turn.steps
            if excess[v] == 0 and excess[h] > dust:
                lift_pay(net, search, along, v)
        nearest = min(nearest, search.label[v])
        # A pay node that took all may have room for more: it stays the next to try.
        if excess[h] > dust:
            i += 1
        steps += 1
    search.cursor[h] = i
    if excess[h] > dust:
        turn = give_back(net, search, excess, up, h, begin, nearest, end, dust)
        end = turn.end
        steps += turn.steps
    return Turn(end, steps)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def pass_through(
    net: Net,
    search: Search,
    excess: amount[::1],
    along: amount[::1],
    h: cython.int,
    i: cython.int,
    end: cython.int,
    dust: amount,
) -> Turn:
    """Pass excess of split h through the full pay node of arc i, to splits that filled it.

    What they had sent flows back to them; they must be nearer to a deficit.
    """
    steps: cython.longlong = 0
    pay: cython.int = net.head[i] - cython.cast(cython.int, len(net.parent))
    nearer: cython.int = search.label[h] - 2
    j: cython.int = search.fillers[pay].place
    stop: cython.int = j + 1
    if search.fillers[pay].count != 1:
        j, stop = net.come[pay], net.come[pay + 1]
    while j < stop and excess[h] > dust:
        other = net.tail[j]
        if along[j] > 0 and search.label[other] == nearer:
            sent = min(along[j], excess[h])
            send(search, along, h, pay, net.place[i], sent)
            take(search, along, other, pay, j, sent)
            excess[h] -= sent
            excess[other] += sent
            end = join(search, excess, other, end, dust)
        j += 1
        steps += 1
    return Turn(end, steps)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def join(
    search: Search, excess: amount[::1], h: cython.int, end: cython.int, dust: amount
) -> cython.int:
    """Let split h wait at ring place `end` if it has excess to pass on; the end after that."""
    if not search.waiting[h] and excess[h] > dust and search.label[h] < FAR:
        search.waiting[h] = True
        search.ring[end] = h
        end = end + 1 if end + 1 < len(search.ring) else 0
    return end


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def send(
    search: Search,
    along: amount[::1],
    h: cython.int,
    pay: cython.int,
    place: cython.int,
    sent: amount,
) -> cython.void:
    """Add to the flow from split h to a pay node, `along[place]`.

    An arc that was empty becomes one of the fillers of the pay node.
    """
    if along[place] == 0:
        search.fillers[pay].count += 1
        search.fillers[pay].place ^= place
        search.fillers[pay].split ^= h
        search.sends[h] += 1
    along[place] += sent


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def take(
    search: Search,
    along: amount[::1],
    h: cython.int,
    pay: cython.int,
    place: cython.int,
    taken: amount,
) -> cython.void:
    """Take from the flow from split h to a pay node, `along[place]`.

    An arc that becomes empty is no longer one of the fillers of the pay node.
    """
    along[place] -= taken
    if along[place] == 0:
        search.fillers[pay].count -= 1
        search.fillers[pay].place ^= place
        search.fillers[pay].split ^= h
        search.sends[h] -= 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def lift_pay(net: Net, search: Search, along: amount[::1], v: cython.int) -> cython.void:
    """Label a full pay node one above the nearest split that filled it."""
    pay: cython.int = v - cython.cast(cython.int, len(net.parent))
    nearest: cython.int = FAR
    if search.fillers[pay].count == 1:
        nearest = search.label[search.fillers[pay].split]
    else:
        for j in range(net.come[pay], net.come[pay + 1]):
            if along[j] > 0:
                nearest = min(nearest, search.label[net.tail[j]])
    search.label[v] = min(nearest + 1, FAR)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def give_parent(
    net: Net,
    search: Search,
    excess: amount[::1],
    up: amount[::1],
    h: cython.int,
    below: cython.int,
    end: cython.int,
    dust: amount,
) -> cython.int:
    """Send all to the parent if it is nearer: it can take any amount."""
    parent = net.parent[h]
    if parent >= 0 and search.label[parent] == below:
        up[h] += excess[h]
        excess[parent] += excess[h]
        excess[h] = 0
        end = join(search, excess, parent, end, dust)
    return end


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def give_back(
    net: Net,
    search: Search,
    excess: amount[::1],
    up: amount[::1],
    h: cython.int,
    begin: cython.int,
    nearest: cython.int,
    end: cython.int,
    dust: amount,
) -> Turn:
    """Send excess back to kids that it came from; with some left, go on at a higher label.

    `nearest` is the least label of the needs from place `begin` on. Gives the end of the line
    and the work done.
    """
    below: cython.int = search.label[h] - 1
    c = net.kid[h]
    while c >= 0 and excess[h] > dust:
        if up[c] > 0 and search.label[c] == below:
            sent = min(up[c], excess[h])
            up[c] -= sent
            excess[h] -= sent
            excess[c] += sent
            end = join(search, excess, c, end, dust)
        c = net.twin[c]
    if excess[h] <= dust:
        return Turn(end, 1)
    lift_split(net, search, up, h, begin, nearest)
    # Behind all others: in the long run measuring is cheaper than climbing.
    return Turn(join(search, excess, h, end, dust), begin - net.first[h])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def lift_split(
    net: Net,
    search: Search,
    up: amount[::1],
    h: cython.int,
    begin: cython.int,
    nearest: cython.int,
) -> cython.void:
    """Label a split one above the nearest node that it can send to."""
    if net.parent[h] >= 0:
        nearest = min(nearest, search.label[net.parent[h]])
    for i in range(net.first[h], begin):
        nearest = min(nearest, search.label[net.head[i]])
    c = net.kid[h]
    while c >= 0:
        if up[c] > 0:
            nearest = min(nearest, search.label[c])
        c = net.twin[c]
    search.label[h] = min(nearest + 1, FAR)
    search.cursor[h] = net.first[h]


def reach(
    net: Net,
    search: Search,
    excess: amount[::1],
    up: amount[::1],
    along: amount[::1],
    nodes: cython.const[cython.int][::1],
    dust: amount,
    inside: cython.uchar[::1],
):
    """Mark in `inside` the least best closure: all that excess without a way out can reach."""
    splits: cython.int = len(net.parent)
    begin: cython.int = 0
    end: cython.int = 0
    with cython.nogil:
        for k in range(len(nodes)):
            v = nodes[k]
            inside[v] = False
            if excess[v] > dust:
                end = enter(search, inside, v, end)
        while begin < end:
            v = search.ring[begin]
            begin += 1
            if v < splits:
                end = reach_split(net, search, up, v, end, inside)
                continue
            for j in range(net.come[v - splits], net.come[v - splits + 1]):
                if along[j] > 0:
                    end = enter(search, inside, net.tail[j], end)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def enter(search: Search, inside: cython.uchar[::1], v: cython.int, end: cython.int) -> cython.int:
    """Mark a node that is reached for the first time; the end of the line after that."""
    if not inside[v]:
        inside[v] = True
        search.ring[end] = v
        end += 1
    return end


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def reach_split(
    net: Net,
    search: Search,
    up: amount[::1],
    h: cython.int,
    end: cython.int,
    inside: cython.uchar[::1],
) -> cython.int:
    """What a split needs, and the kids whose flow it could send back."""
    if net.parent[h] >= 0:
        end = enter(search, inside, net.parent[h], end)
    for i in range(net.first[h], net.last[h]):
        end = enter(search, inside, net.head[i], end)
    c = net.kid[h]
    while c >= 0:
        if up[c] > 0:
            end = enter(search, inside, c, end)
        c = net.twin[c]
    return end


def change_rate(
    net: Net,
    search: Search,
    excess: cython.double[::1],
    along: cython.double[::1],
    price: cython.const[cython.double][::1],
    nodes: cython.const[cython.int][::1],
    block: cython.const[cython.int][::1],
    change: cython.const[cython.double][::1],
):
    """Move each block to its new rate; the flow stays, but for what pay nodes no longer take."""
    splits: cython.int = len(net.parent)
    with cython.nogil:
        for k in range(len(nodes)):
            v = nodes[k]
            excess[v] -= change[block[v]] * price[v]
            if v >= splits and excess[v] > 0:
                empty(net, search, excess, along, v)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def empty(
    net: Net,
    search: Search,
    excess: cython.double[::1],
    along: cython.double[::1],
    v: cython.int,
) -> cython.void:
    """Send the excess of a pay node back where it came from."""
    pay: cython.int = v - cython.cast(cython.int, len(net.parent))
    for j in range(net.come[pay], net.come[pay + 1]):
        taken = min(along[j], excess[v])
        if taken > 0:
            excess[v] -= taken
            excess[net.tail[j]] += taken
            take(search, along, net.tail[j], pay, j, taken)
    # Rounding may leave a trace; a pay node never holds excess.
    excess[v] = min(excess[v], 0.0)
