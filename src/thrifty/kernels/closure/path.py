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

import numpy as np

from thrifty.kernels.closure.network import start_flow, weave
from thrifty.kernels.closure.solve import largest_flow, reach, take
from thrifty.kernels.jit import jit

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
    net = weave(parent, first, head, len(weight) - splits)
    flow = start_flow(net, excess)
    nodes = np.arange(len(weight), dtype=np.int32)
    largest_flow(net, flow, nodes, np.int64(0))
    inside = np.zeros(len(weight), dtype=np.bool_)
    reach(net, flow, nodes, np.int64(0), inside)
    return inside[:splits]


def all_closures(parent, first, head, worth, cost):
    """Rate at which each node, split or pay node, leaves the least best closure.

    A node is in the closure at mu while mu < its rate. `worth` and `cost` (int64) are of splits,
    then of pay nodes; worth must be such that at mu = 0 all nodes are in. Free ones leave at
    infinity.
    """
    for amounts in (worth, cost):
        _refuse_overflow(amounts)
    splits, nodes = len(parent), np.arange(len(worth), dtype=np.int32)
    net = weave(parent, first, head, len(worth) - splits)
    rates = np.zeros(len(worth))
    if not len(worth):
        return rates
    amount, price = worth.astype(np.float64), cost.astype(np.float64)
    flow = start_flow(net, amount.copy())
    dust = DUST * max(1.0, float(np.abs(amount).max()))
    block = np.zeros(len(worth), dtype=np.int32)
    inside = np.zeros(len(worth), dtype=np.bool_)
    worths, costs = [int(worth.sum())], [int(cost.sum())]
    mu = np.zeros(1)
    while len(nodes):
        new = np.array([a / b if b else np.inf for a, b in zip(worths, costs, strict=True)])
        free = np.isinf(new)
        change_rate(net, flow, price, nodes, block, np.where(free, 0.0, new - mu))
        largest_flow(net, flow, nodes, dust)
        reach(net, flow, nodes, dust, inside)
        worths, costs, mu, nodes = _divide(
            net, flow, nodes, inside, block, worth, cost, (worths, costs, new), rates
        )
    return rates


def _refuse_overflow(amounts):
    if float(np.abs(amounts.astype(np.float64)).sum()) >= 2.0**62:
        raise OverflowError("closure: the amounts add up to 2^62 or more; scale them down")


def _divide(net, flow, nodes, inside, block, worth, cost, blocks, rates):
    """Settle blocks that hold together, part the others; the blocks and nodes that remain."""
    worths, costs, mu = blocks
    inner = part_sums(nodes, inside, block, worth, cost, len(worths)).tolist()
    # In whole numbers of any size: is the part inside worth more per cost than the block?
    parts = [b for b, (a, c) in enumerate(zip(*inner, strict=True)) if a * costs[b] > worths[b] * c]
    low = np.full(len(worths), -1, dtype=np.int32)
    low[parts] = np.arange(0, 2 * len(parts), 2)
    nodes = settle(net, nodes, inside, block, low, mu, rates)
    halves = [
        [(all_[b] - in_[b], in_[b]) for b in parts]
        for all_, in_ in zip((worths, costs), inner, strict=True)
    ]
    worths, costs = ([x for pair in half for x in pair] for half in halves)
    return worths, costs, np.repeat(mu[parts], 2), nodes


@jit
def change_rate(net, flow, price, nodes, block, change):
    """Move each block to its new rate; the flow stays, but for what pay nodes no longer take."""
    excess, splits = flow.excess, len(net.parent)
    for v in nodes:
        excess[v] -= change[block[v]] * price[v]
        if v >= splits and excess[v] > 0:
            empty(net, flow, v, v - splits)


@jit
def empty(net, flow, v, pay):
    """Send the excess of a pay node back where it came from."""
    excess, along, tail = flow.excess, flow.along, net.tail
    for j in range(net.come[pay], net.come[pay + 1]):
        amount = min(along[j], excess[v])
        if amount > 0:
            excess[v] -= amount
            excess[tail[j]] += amount
            take(along, flow.fillers, flow.sources, tail[j], pay, j, amount)
    # Rounding may leave a trace; a pay node never holds excess.
    excess[v] = min(excess[v], 0.0)


@jit
def part_sums(nodes, inside, block, worth, cost, blocks):
    """Worth and cost of the inner part of each block."""
    sums = np.zeros((2, blocks), dtype=np.int64)
    for v in nodes:
        if inside[v]:
            sums[0, block[v]] += worth[v]
            sums[1, block[v]] += cost[v]
    return sums


@jit
def settle(net, nodes, inside, block, low, mu, rates):
    """Give settled nodes their rate and others their new block; cut arcs; nodes that remain."""
    splits, kept = len(net.parent), 0
    for v in nodes:
        b = block[v]
        if low[b] < 0:
            rates[v] = mu[b]
            block[v] = -1
        else:
            block[v] = low[b] + np.int32(inside[v])
            nodes[kept] = v
            kept += 1
    nodes = nodes[:kept]
    for h in nodes:
        if h < splits:
            if net.parent[h] >= 0 and block[net.parent[h]] != block[h]:
                net.parent[h] = -1
            drop_arcs(net, h, block)
    return nodes


@jit
def drop_arcs(net, h, block):
    """Move the needs of split h that lie in other blocks behind its last."""
    head, place, tail = net.head, net.place, net.tail
    i, last, own = net.first[h], net.last[h], block[h]
    while i < last:
        if block[head[i]] == own:
            i += 1
            continue
        last -= 1
        tail[place[i]] = -1
        head[i], head[last] = head[last], head[i]
        place[i], place[last] = place[last], place[i]
    net.last[h] = last
