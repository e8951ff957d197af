"""Maximum closure by push-relabel without source and sink (Goldberg and Tarjan 1988).

What a split is worth is excess and what a node costs is deficit. Excess flows toward what its
node needs; excess that can reach no deficit belongs to the splits worth keeping. A flow remains
valid when the costs change, so it can be reused.

Amounts are int64 (exact) or float64; `dust` is the excess that counts as none, 0 for integers.
Labels are lower bounds on the distance to a deficit.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.closure.network import FAR, ONE, measure
from thrifty.kernels.jit import jit, lean, tiny

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


@lean
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


@lean
def discharge(net, flow, h, end, dust):
    """Pass the excess of a split on; tell how many splits joined the line, and the work done."""
    excess, label, head, place = flow.excess, flow.label, net.head, net.place
    come, tail, along = net.come, net.tail, flow.along
    fillers, sources, ring, waiting = flow.fillers, flow.sources, flow.ring, flow.waiting
    splits, start, below, steps = len(net.parent), end, label[h] - 1, np.int64(1)
    end = give_parent(net, flow, h, below, end, dust)
    begin, last, nearest = flow.cursor[h], net.last[h], FAR
    i = begin
    while i < last and excess[h] > dust:
        v = head[i]
        if label[v] == below:
            pay = v - splits
            if excess[v] < 0:
                amount = min(-excess[v], excess[h])
                send(along, fillers, sources, h, pay, place[i], amount)
                excess[h] -= amount
                excess[v] += amount
            else:
                # A full pay node passes excess on to the splits that filled it and are nearer.
                j, stop = fillers[pay] - ONE, fillers[pay] - ONE + 1
                if j >= ONE:
                    j, stop = come[pay], come[pay + 1]
                while j < stop and excess[h] > dust:
                    other = tail[j]
                    if along[j] > 0 and label[other] == below - 1:
                        amount = min(along[j], excess[h])
                        send(along, fillers, sources, h, pay, place[i], amount)
                        take(along, fillers, sources, other, pay, j, amount)
                        excess[h] -= amount
                        excess[other] += amount
                        end = join(excess, label, ring, waiting, other, end, dust)
                    j += 1
                    steps += 1
            if excess[v] == 0 and excess[h] > dust:
                lift_pay(label, along, fillers, sources, come, tail, v, pay)
        nearest = min(nearest, label[v])
        # A pay node that took all may have room for more: it stays the next to try.
        i += excess[h] > dust
        steps += 1
    flow.cursor[h] = i
    if excess[h] > dust:
        end, more = give_back(net, flow, h, begin, nearest, end, dust)
        steps += more
    joined = end - start
    return joined if joined >= 0 else joined + len(ring), steps


@tiny
def join(excess, label, ring, waiting, h, end, dust):
    """Let split h wait at ring place `end` if it has excess to pass on; the end after that."""
    if not waiting[h] and excess[h] > dust and label[h] < FAR:
        waiting[h] = True
        ring[end] = h
        end = end + 1 if end + 1 < len(ring) else 0
    return end


@tiny
def send(along, fillers, sources, h, pay, place, amount):
    """Add `amount` to the flow from split h to a pay node, `along[place]`.

    An arc that was empty is also counted in `fillers[pay]` and `sources[pay]`, see `Flow`.
    """
    if along[place] == 0:
        fillers[pay] += ONE + place
        sources[pay] += h
    along[place] += amount


@tiny
def take(along, fillers, sources, h, pay, place, amount):
    """Take `amount` from the flow from split h to a pay node, `along[place]`.

    An arc that becomes empty is also taken from `fillers[pay]` and `sources[pay]`.
    """
    along[place] -= amount
    if along[place] == 0:
        fillers[pay] -= ONE + place
        sources[pay] -= h


@lean
def lift_pay(label, along, fillers, sources, come, tail, v, pay):
    """Label a full pay node one above the nearest split that filled it."""
    nearest = FAR
    if fillers[pay] >= ONE and fillers[pay] < 2 * ONE:
        nearest = label[sources[pay]]
    else:
        for j in range(come[pay], come[pay + 1]):
            if along[j] > 0:
                nearest = min(nearest, label[tail[j]])
    label[v] = min(nearest + 1, FAR)


@lean
def give_parent(net, flow, h, below, end, dust):
    """Send all to the parent if it is nearer: it can take any amount."""
    parent = net.parent[h]
    if parent >= 0 and flow.label[parent] == below:
        flow.up[h] += flow.excess[h]
        flow.excess[parent] += flow.excess[h]
        flow.excess[h] = 0
        end = join(flow.excess, flow.label, flow.ring, flow.waiting, parent, end, dust)
    return end


@lean
def give_back(net, flow, h, begin, nearest, end, dust):
    """Send excess back to kids that it came from; with some left, go on at a higher label.

    `nearest` is the least label of the needs from place `begin` on. Gives the end of the line
    and the work done.
    """
    excess, label, up, ring, waiting = flow.excess, flow.label, flow.up, flow.ring, flow.waiting
    below = label[h] - 1
    c = net.kid[h]
    while c >= 0 and excess[h] > dust:
        if up[c] > 0 and label[c] == below:
            amount = min(up[c], excess[h])
            up[c] -= amount
            excess[h] -= amount
            excess[c] += amount
            end = join(excess, label, ring, waiting, c, end, dust)
        c = net.twin[c]
    if excess[h] <= dust:
        return end, np.int64(1)
    lift_split(net, flow, h, begin, nearest)
    # Behind all others: in the long run measuring is cheaper than climbing.
    return join(excess, label, ring, waiting, h, end, dust), begin - net.first[h]


@lean
def lift_split(net, flow, h, begin, nearest):
    """Label a split one above the nearest node that it can send to."""
    label, head, up = flow.label, net.head, flow.up
    if net.parent[h] >= 0:
        nearest = min(nearest, label[net.parent[h]])
    for i in range(net.first[h], begin):
        nearest = min(nearest, label[head[i]])
    c = net.kid[h]
    while c >= 0:
        if up[c] > 0:
            nearest = min(nearest, label[c])
        c = net.twin[c]
    label[h] = min(nearest + 1, FAR)
    flow.cursor[h] = net.first[h]


@jit
def reach(net, flow, nodes, dust, inside):
    """Mark in `inside` the least best closure: all that excess without a way out can reach."""
    splits, ring, excess = len(net.parent), flow.ring, flow.excess
    come, tail, along = net.come, net.tail, flow.along
    end = 0
    for v in nodes:
        inside[v] = excess[v] > dust
        if inside[v]:
            ring[end] = v
            end += 1
    begin = 0
    while begin < end:
        v = ring[begin]
        begin += 1
        if v < splits:
            end = reach_split(net, flow, v, end, inside)
            continue
        for j in range(come[v - splits], come[v - splits + 1]):
            if along[j] > 0 and not inside[tail[j]]:
                inside[tail[j]] = True
                ring[end] = tail[j]
                end += 1


@lean
def reach_split(net, flow, h, end, inside):
    """What a split needs, and the kids whose flow it could send back."""
    head, ring = net.head, flow.ring
    if net.parent[h] >= 0 and not inside[net.parent[h]]:
        inside[net.parent[h]] = True
        ring[end] = net.parent[h]
        end += 1
    for i in range(net.first[h], net.last[h]):
        if not inside[head[i]]:
            inside[head[i]] = True
            ring[end] = head[i]
            end += 1
    c = net.kid[h]
    while c >= 0:
        if flow.up[c] > 0 and not inside[c]:
            inside[c] = True
            ring[end] = c
            end += 1
        c = net.twin[c]
    return end
