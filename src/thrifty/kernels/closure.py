"""Maximum closure on a forest whose nodes pay: push-relabel without source and sink.

What a split is worth is excess, what a node costs is deficit, and excess flows to what its node
needs: excess that finds no deficit any more belongs to the splits worth keeping. A flow is a flow
whatever the costs are, so it serves again after they change.

The amounts are int64 (exact) or float64; `dust` is the excess that counts as none, 0 for whole
numbers. Labels are lower bounds on the distance to a deficit.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.closure_labels import measure
from thrifty.kernels.closure_net import FAR, ONE
from thrifty.kernels.inline import inline
from thrifty.kernels.jit import jit

__all__ = ["largest_flow", "reach", "take"]

# Arcs looked at before the distances are measured anew, as a share of all.
PATIENCE = 0.4


@jit
def largest_flow(net, flow, nodes, dust):
    """Send excess to deficits among `nodes` until none can reach any."""
    patience = np.int64(len(nodes))
    for v in nodes:
        if v < len(net.parent):
            patience += np.int64(PATIENCE * (net.last[v] - net.first[v]))
    for v in nodes:
        flow.label[v] = 0
    while True:
        waiting = measure(net, flow, nodes, dust)
        if waiting == 0:
            return
        discharge_all(net, flow, waiting, patience, dust)


@jit
def discharge_all(net, flow, waiting, patience, dust):
    """First in, first out, until nobody waits or the labels have grown old."""
    size, begin, work = len(flow.ring), 0, np.int64(0)
    while waiting > 0 and work < patience:
        h = flow.ring[begin]
        begin = begin + 1 if begin + 1 < size else 0
        waiting -= 1
        flow.waiting[h] = False
        end = begin + waiting
        more, steps = discharge(net, flow, h, end if end < size else end - size, dust)
        waiting += more
        work += steps
    while waiting > 0:
        flow.waiting[flow.ring[begin]] = False
        begin = begin + 1 if begin + 1 < size else 0
        waiting -= 1


@inline
def join(flow, h, end, dust):
    """Let split h wait at ring place `end` if it has excess to pass on; the end after that."""
    if flow.waiting[h] or flow.excess[h] <= dust or flow.label[h] >= FAR:
        return end
    flow.waiting[h] = True
    flow.ring[end] = h
    return end + 1 if end + 1 < len(flow.ring) else 0


@inline
def discharge(net, flow, h, end, dust):
    """Pass the excess of a split on; tell how many splits joined the line, and the work done."""
    excess, label = flow.excess, flow.label
    start, below, steps = end, label[h] - 1, np.int64(1)
    parent = net.parent[h]
    if parent >= 0 and label[parent] == below:
        flow.up[h] += excess[h]
        excess[parent] += excess[h]
        excess[h] = 0
        end = join(flow, parent, end, dust)
    begin, last, nearest = flow.cursor[h], net.last[h], FAR
    i = begin
    while i < last and excess[h] > dust:
        v = net.head[i]
        if label[v] == below:
            end, effort = give(net, flow, h, v, net.place[i], end, dust)
            steps += effort
        nearest = min(nearest, label[v])
        # A pay node that took all may have room for more: it stays the next to try.
        i += excess[h] > dust
        steps += 1
    flow.cursor[h] = i
    if excess[h] > dust:
        end = give_back(net, flow, h, end, dust)
    if excess[h] > dust:
        # Back to the end of the line with a higher label: in the long run measuring is cheaper.
        steps += lift_split(net, flow, h, begin, nearest)
        end = join(flow, h, end, dust)
    joined = end - start
    return joined if joined >= 0 else joined + len(flow.ring), steps


@inline
def give(net, flow, h, v, place, end, dust):
    """Fill pay node v from split h; if it is full, take the place of others that filled it.

    A pay node never holds excess: what it cannot use goes straight on to the splits it frees.
    """
    excess = flow.excess
    pay = v - len(net.parent)
    if excess[v] < 0:
        amount = min(-excess[v], excess[h])
        send(flow, h, pay, place, amount)
        excess[h] -= amount
        excess[v] += amount
        if excess[v] == 0:
            lift_pay(net, flow, v)
        return end, 1
    filler = flow.fillers[pay] - ONE
    if filler < ONE:
        end = relieve(flow, h, flow.sources[pay], pay, place, filler, end, dust)
        if excess[h] > dust:
            lift_pay(net, flow, v)
        return end, 1
    begin, stop = net.come[pay], net.come[pay + 1]
    for j in range(begin, stop):
        if flow.along[j] > 0 and excess[h] > dust:
            end = relieve(flow, h, net.tail[j], pay, place, j, end, dust)
    if excess[h] > dust:
        lift_pay(net, flow, v)
    return end, stop - begin


@inline
def send(flow, h, pay, place, amount):
    """Add flow to an arc."""
    if flow.along[place] == 0:
        flow.fillers[pay] += ONE + place
        flow.sources[pay] += h
    flow.along[place] += amount


@inline
def take(flow, h, pay, place, amount):
    """Take flow from an arc."""
    flow.along[place] -= amount
    if flow.along[place] == 0:
        flow.fillers[pay] -= ONE + place
        flow.sources[pay] -= h


@inline
def relieve(flow, h, other, pay, place, j, end, dust):
    """Replace flow from another split by arc j by flow from split h, if that split is nearer."""
    if flow.label[other] != flow.label[h] - 2:
        return end
    amount = min(flow.along[j], flow.excess[h])
    send(flow, h, pay, place, amount)
    take(flow, other, pay, j, amount)
    flow.excess[h] -= amount
    flow.excess[other] += amount
    return join(flow, other, end, dust)


@inline
def give_back(net, flow, h, end, dust):
    """Send excess back to kids that it came from."""
    below = flow.label[h] - 1
    c = net.kid[h]
    while c >= 0 and flow.excess[h] > dust:
        if flow.up[c] > 0 and flow.label[c] == below:
            amount = min(flow.up[c], flow.excess[h])
            flow.up[c] -= amount
            flow.excess[h] -= amount
            flow.excess[c] += amount
            end = join(flow, c, end, dust)
        c = net.twin[c]
    return end


@inline
def lift_split(net, flow, h, begin, nearest):
    """Label a split one above the nearest node that it can send to; tell the work done.

    `nearest` is that of its needs from place `begin` on.
    """
    if net.parent[h] >= 0:
        nearest = min(nearest, flow.label[net.parent[h]])
    for i in range(net.first[h], begin):
        nearest = min(nearest, flow.label[net.head[i]])
    c = net.kid[h]
    while c >= 0:
        if flow.up[c] > 0:
            nearest = min(nearest, flow.label[c])
        c = net.twin[c]
    flow.label[h] = min(nearest + 1, FAR)
    flow.cursor[h] = net.first[h]
    return begin - net.first[h]


@inline
def lift_pay(net, flow, v):
    """Label a full pay node one above the nearest split that filled it."""
    nearest = FAR
    pay = v - len(net.parent)
    filler = flow.fillers[pay] - ONE
    if filler >= 0 and filler < ONE:
        nearest = min(nearest, flow.label[flow.sources[pay]])
    else:
        for j in range(net.come[pay], net.come[pay + 1]):
            if flow.along[j] > 0:
                nearest = min(nearest, flow.label[net.tail[j]])
    flow.label[v] = min(nearest + 1, FAR)


@jit
def reach(net, flow, nodes, dust, inside):
    """Mark in `inside` the least best closure: all that excess without a way out can reach."""
    splits, ring = len(net.parent), flow.ring
    end = 0
    for v in nodes:
        inside[v] = flow.excess[v] > dust
        if inside[v]:
            ring[end] = v
            end += 1
    begin = 0
    while begin < end:
        v = ring[begin]
        begin += 1
        end = (
            reach_split(net, flow, v, end, inside)
            if v < splits
            else reach_pay(net, flow, v, end, inside)
        )


@inline
def enter(flow, v, end, inside):
    if inside[v]:
        return end
    inside[v] = True
    flow.ring[end] = v
    return end + 1


@inline
def reach_split(net, flow, h, end, inside):
    """What a split needs, and the kids whose flow it could send back."""
    if net.parent[h] >= 0:
        end = enter(flow, net.parent[h], end, inside)
    for i in range(net.first[h], net.last[h]):
        end = enter(flow, net.head[i], end, inside)
    c = net.kid[h]
    while c >= 0:
        if flow.up[c] > 0:
            end = enter(flow, c, end, inside)
        c = net.twin[c]
    return end


@inline
def reach_pay(net, flow, v, end, inside):
    """The splits whose flow a pay node could send back."""
    pay = v - len(net.parent)
    for j in range(net.come[pay], net.come[pay + 1]):
        if flow.along[j] > 0:
            end = enter(flow, net.tail[j], end, inside)
    return end
