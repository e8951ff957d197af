"""The paper's primal-dual for one penalty (Nan 2018, ch. 4, algorithm 3).

Each tree pays for what its splits need on its own, at duals that the trees agree on step by
step; given the duals, each tree is pruned alone, bottom up, by dynamic programming, which is the
paper's shortest path. Trees are pruned side by side. Any duals bound what a pruning can be worth;
any pruning is worth what it is: the gap between the two is reported. The exact cut is faster where
its flow fits in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.closure.problem import best_alone, clash, share_out
from thrifty.kernels.threads import run
from thrifty.learn.pruning.closure_problem import Pruning

__all__ = ["Approximation", "solve_dual"]


@dataclass(frozen=True, eq=False)
class Approximation:
    """The best pruning found, what it is worth, and what no pruning can pass."""

    keep: NDArray[np.bool_]
    value: float
    bound: float
    iterations: int

    @property
    def gap(self) -> float:
        """Distance between bound and value."""
        return self.bound - self.value


def solve_dual(
    pruning: Pruning, penalty: float, iterations: int = 300, tolerance: float = 1e-6
) -> Approximation:
    """Ascend on the duals, with steps as long as the gap allows (Polyak's rule).

    Stops when the gap is below `tolerance` times the bound.
    """
    splits = len(pruning.parent)
    amounts = pruning.worth * pruning.worth_unit - penalty * (pruning.cost * pruning.cost_unit)
    weight, cost = amounts[:splits].copy(), -amounts[splits:]
    first, head = pruning.first, pruning.head
    beta = share_out(first, head, cost, np.bincount(head, minlength=len(cost)))
    keep, rise = np.zeros(splits, dtype=bool), np.empty(len(head))
    trees = _trees(pruning.parent)
    best, value, bound, done = keep.copy(), 0.0, np.inf, 0
    while done < iterations:
        done += 1
        alone = _prune_alone(pruning, weight, beta, trees, keep)
        left, size = clash(first, head, cost, beta, keep, rise)
        dual = alone + left
        bound = min(bound, dual)
        worth = _value(first, head, weight, cost, keep)
        if worth > value:
            best, value = keep.copy(), worth
        if bound - value <= tolerance * bound or size == 0.0:
            break
        beta = np.maximum(beta + (dual - value) / size * rise, 0.0)
    return Approximation(pruning.spread(best), value, float(bound), done)


def _trees(parent: NDArray[np.int32]) -> list[tuple[int, int]]:
    """First split and end of each tree."""
    roots = np.flatnonzero(parent < 0).tolist()
    return list(pairwise([*roots, len(parent)]))


def _prune_alone(
    pruning: Pruning,
    weight: NDArray[np.float64],
    beta: NDArray[np.float64],
    trees: list[tuple[int, int]],
    keep: NDArray[np.bool_],
) -> float:
    """Mark in `keep` the best pruning of each tree at these duals; what they are worth."""
    value = weight.copy()

    def task(begin: int, end: int) -> None:
        best_alone(pruning.parent, pruning.first, pruning.head, beta, begin, end, value, keep)

    run(task, trees)
    roots = [begin for begin, _ in trees]
    return float(np.maximum(value[roots], 0.0).sum())


def _value(
    first: NDArray[np.int64],
    head: NDArray[np.int32],
    weight: NDArray[np.float64],
    cost: NDArray[np.float64],
    keep: NDArray[np.bool_],
) -> float:
    paid = np.zeros(len(cost), dtype=bool)
    paid[head[np.repeat(keep, np.diff(first))]] = True
    return float(weight[keep].sum() - cost[paid].sum())
