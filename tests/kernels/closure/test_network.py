"""The arrays of a network list its kin and arcs, and labels are distances to a deficit."""

from __future__ import annotations

import numpy as np
import pytest
from plain_closure import draw
from uncompiled import agree

from thrifty.kernels.closure.network import Net, Search, measure, start_flow

FAR = 1 << 30


def chained(first, following, start):
    """Return a linked list of kids as a list."""
    found, node = [], first[start]
    while node >= 0:
        found.append(int(node))
        node = following[node]
    return found


def test_a_network_lists_kids_and_arcs_both_ways():
    for seed in range(30):
        parent, first, head, _, cost = draw(seed)
        splits, pays = len(parent), len(cost) - len(parent)
        net = Net(parent, first, head, pays)
        for h in range(splits):
            assert chained(net.kid, net.twin, h) == np.flatnonzero(parent == h).tolist()
            needs = np.asarray(net.head)[net.first[h] : net.last[h]] - splits
            np.testing.assert_array_equal(needs, head[first[h] : first[h + 1]])
        for v in range(pays):
            owners = np.asarray(net.tail)[net.come[v] : net.come[v + 1]].tolist()
            assert owners == [
                h for h in range(splits) if v in head[first[h] : first[h + 1]].tolist()
            ]
        # Every arc is found at its place among the arcs by pay node.
        owner = np.repeat(np.arange(splits), np.diff(first))
        np.testing.assert_array_equal(np.asarray(net.tail)[np.asarray(net.place)], owner)


def plain_distances(parent, first, head, excess):
    """Return the number of arcs to the nearest deficit without any flow, FAR if there is none."""
    splits = len(parent)
    distance = [0 if amount < 0 else FAR for amount in excess]
    for _ in range(len(excess)):
        for h in range(splits):
            ways = [splits + v for v in head[first[h] : first[h + 1]].tolist()]
            ways += [int(parent[h])] if parent[h] >= 0 else []
            nearest = min((distance[v] for v in ways), default=FAR)
            distance[h] = min(distance[h], nearest + 1 if nearest < FAR else FAR)
    return distance


def test_labels_are_distances_and_those_with_excess_and_a_way_wait():
    for seed in range(60):
        parent, first, head, gain, cost = draw(seed)
        pays = len(cost) - len(parent)
        excess = np.append(gain, np.zeros(pays, dtype=np.int64)) - cost
        net = Net(parent, first, head, pays)
        search, flow = Search(net), start_flow(net, excess.copy())
        nodes = np.arange(len(excess), dtype=np.int32)
        waiting = measure(net, search, *flow, nodes, 0)
        due = plain_distances(parent, first, head, excess)
        assert np.asarray(search.label).tolist() == due
        ready = [h for h in range(len(parent)) if excess[h] > 0 and due[h] < FAR]
        assert sorted(np.asarray(search.ring)[:waiting].tolist()) == ready
        # The farthest goes first.
        labels = [due[h] for h in search.ring[:waiting]]
        assert labels == sorted(labels, reverse=True)


@pytest.mark.parametrize(("dtype", "dust"), [(np.int64, 0), (np.float64, 1e-12)])
def test_compiled_and_uncompiled_they_measure_the_same_distances(dtype, dust):
    def run(kernels):
        found = []
        for seed in range(40):
            parent, first, head, gain, cost = draw(seed)
            excess = (np.append(gain, np.zeros(len(cost) - len(gain))) - cost).astype(dtype)
            net = kernels.Net(parent, first, head, len(cost) - len(parent))
            search, flow = kernels.Search(net), kernels.start_flow(net, excess)
            nodes = np.arange(len(cost), dtype=np.int32)
            # The second time, some flow fills pay nodes and goes up to parents.
            for _ in range(2):
                waiting = kernels.measure(net, search, *flow, nodes, dust)
                found += [waiting, np.array(search.label), np.array(search.ring[:waiting])]
                fill(net, search, flow)
            found += [net.parent, net.kid, net.twin, net.first, net.last]
            found += [net.head, net.place, net.come, net.tail]
        return found

    agree("closure.network", run)


def fill(net, search, flow):
    """Send flow along each arc, until each pay node is full, and from each split to its parent."""
    come, tail, fillers = (np.asarray(x) for x in (net.come, net.tail, search.fillers))
    flow.along[:] = 1
    flow.up[:] = np.asarray(net.parent) >= 0
    flow.excess[len(net.parent) :] = 0
    for v in range(len(come) - 1):
        arcs = np.arange(come[v], come[v + 1])
        fillers["count"][v] = len(arcs)
        fillers["place"][v] = np.bitwise_xor.reduce(arcs)
        fillers["split"][v] = np.bitwise_xor.reduce(tail[arcs])
