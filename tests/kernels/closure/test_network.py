"""The arrays of a network list its kin and arcs, and labels are distances to a deficit."""

from __future__ import annotations

import numpy as np
from plain_closure import draw

from thrifty.kernels.closure.network import FAR, measure, start_flow, weave


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
        net = weave(parent, first, head, pays)
        for h in range(splits):
            assert chained(net.kid, net.twin, h) == np.flatnonzero(parent == h).tolist()
            needs = net.head[net.first[h] : net.last[h]] - splits
            np.testing.assert_array_equal(needs, head[first[h] : first[h + 1]])
        for v in range(pays):
            owners = net.tail[net.come[v] : net.come[v + 1]].tolist()
            assert owners == [
                h for h in range(splits) if v in head[first[h] : first[h + 1]].tolist()
            ]
        # Every arc is found at its place among the arcs by pay node.
        owner = np.repeat(np.arange(splits), np.diff(first))
        np.testing.assert_array_equal(net.tail[net.place], owner)


def plain_distances(parent, first, head, excess):
    """Return the number of arcs to the nearest deficit without any flow, FAR if there is none."""
    splits = len(parent)
    distance = [0 if amount < 0 else int(FAR) for amount in excess]
    for _ in range(len(excess)):
        for h in range(splits):
            ways = [splits + v for v in head[first[h] : first[h + 1]].tolist()]
            ways += [int(parent[h])] if parent[h] >= 0 else []
            nearest = min((distance[v] for v in ways), default=int(FAR))
            distance[h] = min(distance[h], nearest + 1 if nearest < FAR else int(FAR))
    return distance


def test_labels_are_distances_and_those_with_excess_and_a_way_wait():
    for seed in range(60):
        parent, first, head, gain, cost = draw(seed)
        pays = len(cost) - len(parent)
        excess = np.append(gain, np.zeros(pays, dtype=np.int64)) - cost
        net = weave(parent, first, head, pays)
        flow = start_flow(net, excess.copy())
        nodes = np.arange(len(excess), dtype=np.int32)
        waiting = measure(net, flow, nodes, np.int64(0))
        due = plain_distances(parent, first, head, excess)
        assert flow.label.tolist() == due
        ready = [h for h in range(len(parent)) if excess[h] > 0 and due[h] < FAR]
        assert sorted(flow.ring[:waiting].tolist()) == ready
        # The farthest goes first.
        labels = [due[h] for h in flow.ring[:waiting]]
        assert labels == sorted(labels, reverse=True)
