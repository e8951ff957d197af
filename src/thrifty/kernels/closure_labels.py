"""How far it is from each node to a deficit: labels that tell excess where to go.

Breadth first, backwards from the deficits. A pay node is far away from memory's point of view, so
none is visited that need not be: splits next to a deficit find out themselves, and so do the last
ones that are not reached yet.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.closure_net import FAR, ONE
from thrifty.kernels.inline import inline
from thrifty.kernels.jit import jit

__all__ = ["measure"]

# Arcs that a split looks along in the time that a pay node takes to tell all who need it.
LEAP = 10


@jit
def measure(net, flow, nodes, dust):
    """Exact distances to deficits, backwards from them; line up who has excess and a way.

    Who was far from all deficits before stays so until the costs change.
    """
    splits, label, ring = len(net.parent), flow.label, flow.ring
    for v in nodes:
        if v < splits:
            flow.end[v] = 0
            flow.cursor[v] = net.first[v]
        if label[v] < FAR:
            label[v] = 0 if flow.excess[v] < -dust else FAR - 1
    list_full(net, flow, nodes)
    zeros, end, rest = line_up(net, flow, nodes)
    end = spread_labels(net, flow, zeros, end, rest)
    for v in nodes:
        if label[v] == FAR - 1:
            label[v] = FAR
    # Who is farthest goes first: on its way excess meets that of others.
    waiting = 0
    for k in range(end - 1, -1, -1):
        v = ring[k]
        if v < splits and flow.excess[v] > dust:
            flow.rest[waiting] = v
            waiting += 1
            flow.waiting[v] = True
    ring[:waiting] = flow.rest[:waiting]
    return waiting


@jit
def list_full(net, flow, nodes):
    """List for each split the full pay nodes that have flow from it."""
    splits = len(net.parent)
    for fill in range(2):
        total = np.int64(0)
        for v in nodes:
            if v >= splits:
                if flow.label[v] == FAR - 1:
                    enter_full(net, flow, v, fill)
            elif fill:
                flow.begin[v] = total
                total += flow.end[v]
                flow.end[v] = flow.begin[v]


@inline
def enter_full(net, flow, v, fill):
    """Count a full pay node with the splits that fill it, or enter it in their lists."""
    pay = v - len(net.parent)
    filler = flow.fillers[pay] - ONE
    if filler >= ONE:
        for j in range(net.come[pay], net.come[pay + 1]):
            if flow.along[j] > 0:
                if fill:
                    flow.full[flow.end[net.tail[j]]] = v
                flow.end[net.tail[j]] += 1
    elif filler >= 0:
        h = flow.sources[pay]
        if fill:
            flow.full[flow.end[h]] = v
        flow.end[h] += 1


@jit
def line_up(net, flow, nodes):
    """Splits with a deficit, then those that need one; how many, and how many are left."""
    splits, label, ring = len(net.parent), flow.label, flow.ring
    end = 0
    for v in nodes:
        if v < splits and label[v] == 0:
            ring[end] = v
            end += 1
    zeros, rest = end, 0
    for v in nodes:
        if v < splits and label[v] == FAR - 1:
            if needs(net, label, v, 0):
                label[v] = 1
                ring[end] = v
                end += 1
            else:
                flow.rest[rest] = v
                rest += 1
    return zeros, end, rest


@inline
def needs(net, label, h, distance):
    """Whether split h needs a pay node at this distance."""
    for i in range(net.first[h], net.last[h]):
        if label[net.head[i]] == distance:
            return True
    return False


@jit
def spread_labels(net, flow, zeros, end, rest):
    """Breadth first from the splits in line, against the arcs that can carry more."""
    splits, ring = len(net.parent), flow.ring
    begin, distance = 0, 0
    stop = zeros
    while begin < end:
        pays = 0
        for k in range(begin, stop):
            if ring[k] < splits:
                end = measure_split(net, flow, ring[k], end)
            else:
                pays += 1
        if pays > 0 and rest > 0:
            rest, arcs = still_far(net, flow, rest)
            if arcs < LEAP * pays:
                end = look_down(net, flow, rest, distance, end)
            else:
                for k in range(begin, stop):
                    if ring[k] >= splits:
                        end = measure_pay(net, flow, ring[k], end)
        begin, distance = stop, distance + 1
        # The splits that need a deficit are at distance 1 already.
        stop = end
    return end


@jit
def still_far(net, flow, rest):
    """Drop from the rest who has a label by now; how many are left, and their arcs."""
    left, arcs = 0, np.int64(0)
    for k in range(rest):
        h = flow.rest[k]
        if flow.label[h] == FAR - 1:
            flow.rest[left] = h
            left += 1
            arcs += net.last[h] - net.first[h]
    return left, arcs


@jit
def look_down(net, flow, rest, distance, end):
    """Let the rest look for pay nodes at this distance: cheaper when few are left."""
    for k in range(rest):
        if needs(net, flow.label, flow.rest[k], distance):
            end = note(flow, flow.rest[k], distance + 1, end)
    return end


@inline
def note(flow, v, distance, end):
    """Label a node that is met for the first time; tell the end of the line."""
    if flow.label[v] == FAR - 1:
        flow.label[v] = distance
        flow.ring[end] = v
        return end + 1
    return end


@inline
def measure_split(net, flow, h, end):
    """Who can send to a split: its kids, and whom it has sent to."""
    distance = flow.label[h] + 1
    c = net.kid[h]
    while c >= 0:
        if net.parent[c] == h:
            end = note(flow, c, distance, end)
        c = net.twin[c]
    if flow.up[h] > 0:
        end = note(flow, net.parent[h], distance, end)
    for k in range(flow.begin[h], flow.end[h]):
        end = note(flow, flow.full[k], distance, end)
    return end


@inline
def measure_pay(net, flow, v, end):
    """Who can send to a pay node: the splits that need it."""
    distance = flow.label[v] + 1
    pay = v - len(net.parent)
    for j in range(net.come[pay], net.come[pay + 1]):
        if net.tail[j] >= 0:
            end = note(flow, net.tail[j], distance, end)
    return end
