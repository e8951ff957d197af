"""One step of the primal-dual: best prunings tree by tree for given duals, and where they clash.

`beta` is the dual of every arc, what a split pays on its own for a pay node that it shares.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.jit import jit

__all__ = ["best_alone", "clash", "share_out"]


@jit
def share_out(first, head, cost, degree):
    """Start: every split pays its even share of a pay node."""
    beta = np.empty(len(head))
    for i in range(len(head)):
        beta[i] = cost[head[i]] / degree[head[i]]
    return beta


@jit
def best_alone(parent, first, head, beta, begin, end, value, keep):
    """Best pruning of the trees of splits begin to end when needs cost `beta`, bottom up.

    `value` is what splits are worth and becomes what they are worth with their best offspring.
    """
    for h in range(end - 1, begin - 1, -1):
        for i in range(first[h], first[h + 1]):
            value[h] -= beta[i]
        if parent[h] >= 0 and value[h] > 0:
            value[parent[h]] += value[h]
    for h in range(begin, end):
        keep[h] = value[h] > 0 and (parent[h] < 0 or keep[parent[h]])


@jit
def clash(first, head, cost, beta, keep, rise):
    """Slope of the dual by arc in `rise`; what is paid beyond the costs, and the slope's size.

    A pay node is bought when the duals of its arcs come to more than it costs.
    """
    paid = np.zeros(len(cost))
    for i in range(len(head)):
        paid[head[i]] += beta[i]
    left = 0.0
    for v in range(len(cost)):
        left += max(paid[v] - cost[v], 0.0)
    size = 0.0
    for h in range(len(keep)):
        for i in range(first[h], first[h + 1]):
            rise[i] = (1.0 if keep[h] else 0.0) - (1.0 if paid[head[i]] > cost[head[i]] else 0.0)
            # A dual that is 0 cannot fall.
            if beta[i] > 0 or rise[i] > 0:
                size += rise[i] * rise[i]
    return left, size
