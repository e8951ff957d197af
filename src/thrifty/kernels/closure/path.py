"""One best closure, or all of them as the rate of exchange between worth and cost rises.

With worth a(v) and cost b(v) >= 0, the weight of node v at rate mu is a - mu b. The best closures
are nested: they shrink as mu rises (Gallo et al. 1989). Divide and conquer finds them all. A
block of nodes is first treated as a whole, which is worth nothing at mu = A / B. If some closure
inside it is worth more than nothing at that mu, the block is split into that closure, which
leaves later, and the rest, which leaves sooner; otherwise the whole block leaves at mu. All
blocks of one level share one flow problem: an arc between two blocks carries nothing and is cut.

The flow is computed in float64; whether a block splits is decided in integers.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.thrifty.kernels.closure.network import Net

from thrifty.kernels.closure.network import Search, start_flow
from thrifty.kernels.closure.solve import change_rate, largest_flow, reach

__all__ = ["all_closures", "best_closure"]

# Excess below this share of the largest worth is rounding.
DUST = 1e-12


def best_closure(parent, first, head, weight):
    """Splits in the least closure of largest weight, exact.

    `weight` (int64) is of splits, then of pay nodes; those of pay nodes are at most 0. The sum
    of the positive ones must be below 2^62.
    """
    splits = len(parent)
    total = np.maximum(weight, 0)
    _refuse_overflow(total)
    total = total.sum()
    # What costs more than everything is worth is never bought: no sum can pass 2^63 then.
    excess = np.maximum(weight, -total - 1)
    net = Net(parent, first, head, len(weight) - splits)
    search, flow = Search(net), start_flow(net, excess)
    nodes = np.arange(len(weight), dtype=np.int32)
    largest_flow(net, search, flow, nodes, 0)
    inside = np.zeros(len(weight), dtype=np.uint8)
    reach(net, search, *flow, nodes, 0, inside)
    return inside[:splits].view(np.bool_)


def all_closures(parent, first, head, worth, cost):
    """Rate at which each node, split or pay node, leaves the least best closure.

    A node is in the closure at mu while mu < its rate. `worth` and `cost` (int64) are of splits,
    then of pay nodes; worth must be such that at mu = 0 all nodes are in. Free ones leave at
    infinity.
    """
    for amounts in (worth, cost):
        _refuse_overflow(amounts)
    splits, nodes = len(parent), np.arange(len(worth), dtype=np.int32)
    net = Net(parent, first, head, len(worth) - splits)
    rates = np.zeros(len(worth))
    if not len(worth):
        return rates
    amount, price = worth.astype(np.float64), cost.astype(np.float64)
    search, flow = Search(net), start_flow(net, amount.copy())
    dust = DUST * max(1.0, float(np.abs(amount).max()))
    block = np.zeros(len(worth), dtype=np.int32)
    inside = np.zeros(len(worth), dtype=np.uint8)
    worths, costs = [int(worth.sum())], [int(cost.sum())]
    mu = np.zeros(1)
    while len(nodes):
        new = np.array([a / b if b else np.inf for a, b in zip(worths, costs, strict=True)])
        free = np.isinf(new)
        change = np.where(free, 0.0, new - mu)
        change_rate(net, search, flow.excess, flow.along, price, nodes, block, change)
        largest_flow(net, search, flow, nodes, dust)
        reach(net, search, *flow, nodes, dust, inside)
        worths, costs, mu, nodes = _divide(
            net, nodes, inside, block, worth, cost, (worths, costs, new), rates
        )
    return rates


def _refuse_overflow(amounts):
    if float(np.abs(amounts.astype(np.float64)).sum()) >= 2.0**62:
        raise OverflowError("closure: the amounts add up to 2^62 or more; scale them down")


def _divide(net, nodes, inside, block, worth, cost, blocks, rates):
    """Settle blocks that hold together, part the others; the blocks and nodes that remain."""
    worths, costs, mu = blocks
    sums = np.zeros((2, len(worths)), dtype=np.int64)
    part_sums(nodes, inside, block, worth, cost, sums)
    inner = sums.tolist()
    # In whole numbers of any size: is the part inside worth more per cost than the block?
    parts = [b for b, (a, c) in enumerate(zip(*inner, strict=True)) if a * costs[b] > worths[b] * c]
    low = np.full(len(worths), -1, dtype=np.int32)
    low[parts] = np.arange(0, 2 * len(parts), 2)
    nodes = nodes[: settle(net, nodes, inside, block, low, mu, rates)]
    halves = [
        [(all_[b] - in_[b], in_[b]) for b in parts]
        for all_, in_ in zip((worths, costs), inner, strict=True)
    ]
    worths, costs = ([x for pair in half for x in pair] for half in halves)
    return worths, costs, np.repeat(mu[parts], 2), nodes


def part_sums(
    nodes: cython.const[cython.int][::1],
    inside: cython.const[cython.uchar][::1],
    block: cython.const[cython.int][::1],
    worth: cython.const[cython.longlong][::1],
    cost: cython.const[cython.longlong][::1],
    sums: cython.longlong[:, ::1],
):
    """Add up worth and cost of the inner part of each block, into `sums` (2, blocks)."""
    with cython.nogil:
        for k in range(len(nodes)):
            v = nodes[k]
            if inside[v]:
                sums[0, block[v]] += worth[v]
                sums[1, block[v]] += cost[v]


def settle(
    net: Net,
    nodes: cython.int[::1],
    inside: cython.const[cython.uchar][::1],
    block: cython.int[::1],
    low: cython.const[cython.int][::1],
    mu: cython.const[cython.double][::1],
    rates: cython.double[::1],
):
    """Give settled nodes their rate and others their new block; cut arcs between blocks.

    Nodes that remain are moved to the front of `nodes`; returns how many.
    """
    splits: cython.int = len(net.parent)
    kept: cython.Py_ssize_t = 0
    with cython.nogil:
        for k in range(len(nodes)):
            v = nodes[k]
            b = block[v]
            if low[b] < 0:
                rates[v] = mu[b]
                block[v] = -1
            else:
                block[v] = low[b] + inside[v]
                nodes[kept] = v
                kept += 1
        for k in range(kept):
            h = nodes[k]
            if h < splits:
                if net.parent[h] >= 0 and block[net.parent[h]] != block[h]:
                    net.parent[h] = -1
                # What a split inside needs is inside too.
                if not inside[h]:
                    drop_arcs(net, h, block)
    return kept


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def drop_arcs(net: Net, h: cython.int, block: cython.const[cython.int][::1]) -> cython.void:
    """Move the needs of split h that lie in other blocks behind its last."""
    i: cython.int = net.first[h]
    last: cython.int = net.last[h]
    own: cython.int = block[h]
    while i < last:
        if block[net.head[i]] == own:
            i += 1
            continue
        last -= 1
        net.tail[net.place[i]] = -1
        net.head[i], net.head[last] = net.head[last], net.head[i]
        net.place[i], net.place[last] = net.place[last], net.place[i]
    net.last[h] = last
