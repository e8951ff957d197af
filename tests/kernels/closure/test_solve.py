"""A largest flow leaves excess only where it can reach no deficit: at the best closure."""

from __future__ import annotations

import numpy as np
import pytest
from plain_closure import draw, least_best, members

from thrifty.kernels.closure.network import start_flow, weave
from thrifty.kernels.closure.solve import largest_flow, reach


def solve(seed, dtype, dust):
    """Return a random problem, its solved flow and the nodes that excess reaches."""
    parent, first, head, gain, cost = draw(seed)
    weight = np.append(gain, np.zeros(len(cost) - len(gain), dtype=np.int64)) - cost
    net = weave(parent, first, head, len(cost) - len(parent))
    flow = start_flow(net, weight.astype(dtype))
    nodes = np.arange(len(weight), dtype=np.int32)
    largest_flow(net, flow, nodes, dust)
    inside = np.zeros(len(weight), dtype=bool)
    reach(net, flow, nodes, dust, inside)
    return (parent, first, head, weight), net, flow, inside


@pytest.mark.parametrize(("dtype", "dust"), [(np.int64, np.int64(0)), (np.float64, 1e-12)])
def test_excess_reaches_the_least_best_closure(dtype, dust):
    for seed in range(80):
        (parent, first, head, weight), _, _, inside = solve(seed, dtype, dust)
        due = least_best(parent, first, head, weight.tolist())
        assert members(inside[: len(parent)]) == due, seed


def test_a_flow_is_not_negative_and_loses_nothing():
    for seed in range(80):
        (parent, _, _, weight), net, flow, _ = solve(seed, np.int64, np.int64(0))
        splits = len(parent)
        assert (flow.up >= 0).all() and (flow.along >= 0).all()
        out = flow.up.copy()
        np.add.at(out, net.tail, flow.along)
        into = np.zeros(len(weight), dtype=np.int64)
        np.add.at(into, parent[parent >= 0], flow.up[parent >= 0])
        for v in range(len(weight) - splits):
            into[splits + v] = flow.along[net.come[v] : net.come[v + 1]].sum()
        left = weight + into
        left[:splits] -= out
        np.testing.assert_array_equal(flow.excess, left)
