"""A largest flow leaves excess only where it can reach no deficit: at the best closure."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from plain_closure import draw, least_best, members
from uncompiled import agree

from thrifty.kernels.closure.network import Net, Search, start_flow
from thrifty.kernels.closure.solve import largest_flow, reach


def solve(seed, dtype, dust):
    """Return a random problem, its solved flow and the nodes that excess reaches."""
    parent, first, head, gain, cost = draw(seed)
    weight = np.append(gain, np.zeros(len(cost) - len(gain), dtype=np.int64)) - cost
    net = Net(parent, first, head, len(cost) - len(parent))
    search, flow = Search(net), start_flow(net, weight.astype(dtype))
    nodes = np.arange(len(weight), dtype=np.int32)
    largest_flow(net, search, flow, nodes, dust)
    inside = np.zeros(len(weight), dtype=np.uint8)
    reach(net, search, *flow, nodes, dust, inside)
    return (parent, first, head, weight), net, flow, inside


@pytest.mark.parametrize(("dtype", "dust"), [(np.int64, 0), (np.float64, 1e-12)])
def test_excess_reaches_the_least_best_closure(dtype, dust):
    for seed in range(80):
        (parent, first, head, weight), _, _, inside = solve(seed, dtype, dust)
        due = least_best(parent, first, head, weight.tolist())
        assert members(inside[: len(parent)]) == due, seed


def test_a_flow_is_not_negative_and_loses_nothing():
    for seed in range(80):
        (parent, _, _, weight), net, flow, _ = solve(seed, np.int64, 0)
        splits = len(parent)
        assert (flow.up >= 0).all() and (flow.along >= 0).all()
        out = flow.up.copy()
        np.add.at(out, np.asarray(net.tail), flow.along)
        into = np.zeros(len(weight), dtype=np.int64)
        np.add.at(into, parent[parent >= 0], flow.up[parent >= 0])
        for v in range(len(weight) - splits):
            into[splits + v] = flow.along[net.come[v] : net.come[v + 1]].sum()
        left = weight + into
        left[:splits] -= out
        np.testing.assert_array_equal(flow.excess, left)


@pytest.mark.parametrize(("dtype", "dust"), [(np.int64, 0), (np.float64, 1e-12)])
def test_compiled_and_uncompiled_they_find_the_same_flow(dtype, dust):
    def run(kernels):
        network = import_module(kernels.__name__.replace("solve", "network"))
        found = []
        for seed in range(100):
            parent, first, head, gain, cost = draw(seed, worthless=False, most=14)
            weight = np.append(gain, np.zeros(len(cost) - len(gain), dtype=np.int64)) - cost
            net = network.Net(parent, first, head, len(cost) - len(parent))
            search = network.Search(net)
            flow = network.start_flow(net, weight.astype(dtype))
            nodes = np.arange(len(weight), dtype=np.int32)
            kernels.largest_flow(net, search, flow, nodes, dust)
            inside = np.zeros(len(weight), dtype=np.uint8)
            kernels.reach(net, search, *flow, nodes, dust, inside)
            found += [*flow, np.array(search.label), inside]
        return found

    agree("closure.solve", run)


def test_compiled_and_uncompiled_a_lower_rate_sends_flow_back():
    def run(kernels):
        network = import_module(kernels.__name__.replace("solve", "network"))
        found = []
        for seed in range(40):
            parent, first, head, gain, cost = draw(seed)
            excess = np.append(gain, np.zeros(len(cost) - len(gain))) - cost
            net = network.Net(parent, first, head, len(cost) - len(parent))
            search, flow = network.Search(net), network.start_flow(net, excess)
            nodes = np.arange(len(cost), dtype=np.int32)
            kernels.largest_flow(net, search, flow, nodes, 1e-12)
            change, block = np.array([-0.5]), np.zeros(len(cost), dtype=np.int32)
            price = cost.astype(np.float64)
            kernels.change_rate(net, search, flow.excess, flow.along, price, nodes, block, change)
            found += [*flow, np.asarray(search.fillers).tolist()]
        return found

    agree("closure.solve", run)
