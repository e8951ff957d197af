"""The primal-dual method for one penalty (Nan 2018, ch. 4, algorithm 3).

Each tree pays for what its splits need at dual prices on which the trees agree step by step. Given
the duals, each tree is pruned alone, bottom up, by dynamic programming, which is the shortest path
of the thesis. Trees are pruned in parallel. Any duals bound the value of a pruning from above, and
any pruning from below: the gap between the two is reported. The exact cut is faster if its flow
fits in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.closure.problem import best_alone, clash, share_out
from thrifty.kernels.threads import run
from thrifty.learn.pruning.closure_problem import ClosureProblem

__all__ = ["Approximation", "solve_dual"]


@dataclass(frozen=True, eq=False)
class Approximation:
    """The best pruning found, its value, and an upper bound on the value of any pruning."""

    keep: NDArray[np.bool_]
    value: float
    bound: float
    iterations: int

    @property
    def gap(self) -> float:
        """Distance between the bound and the value."""
        return self.bound - self.value


def solve_dual(
    problem: ClosureProblem, penalty: float, iterations: int = 300, tolerance: float = 1e-6
) -> Approximation:
    """Return the best pruning found for one penalty, its value, and an upper bound.

    The bound is lowered by subgradient steps on the duals, with Polyak's step size, until the gap
    is at most `tolerance` times the bound or `iterations` are done.
    """
    splits = len(problem.parent)
    amounts = problem.worth * problem.worth_unit - penalty * (problem.cost * problem.cost_unit)
    weight, cost = amounts[:splits].copy(), -amounts[splits:]
    first, head = problem.first, problem.head
    beta = share_out(head, cost, np.bincount(head, minlength=len(cost)))
    keep, rise = np.zeros(splits, dtype=bool), np.empty(len(head))
    roots = np.flatnonzero(problem.parent < 0).tolist()
    trees = list(pairwise([*roots, splits]))  # first split and end of each tree
    best, value, bound, done = keep.copy(), 0.0, np.inf, 0
    while done < iterations:
        done += 1
        alone = _prune_trees(problem, weight, beta, trees, keep)
        left, size = clash(first, head, cost, beta, keep.view(np.uint8), rise)
        dual = alone + left
        bound = min(bound, dual)
        paid = np.zeros(len(cost), dtype=bool)
        paid[head[np.repeat(keep, np.diff(first))]] = True
        worth = float(weight[keep].sum() - cost[paid].sum())
        if worth > value:
            best, value = keep.copy(), worth
        if bound - value <= tolerance * bound or size == 0.0:
            break
        beta = np.maximum(beta + (dual - value) / size * rise, 0.0)
    return Approximation(problem.spread(best), value, float(bound), done)


def _prune_trees(
    problem: ClosureProblem,
    weight: NDArray[np.float64],
    beta: NDArray[np.float64],
    trees: list[tuple[int, int]],
    keep: NDArray[np.bool_],
) -> float:
    """Prune each tree alone at these duals, into `keep`; return the value of all of them."""
    value, kept = weight.copy(), keep.view(np.uint8)

    def prune_one(begin: int, end: int) -> None:
        best_alone(problem.parent, problem.first, beta, begin, end, value, kept)

    run(prune_one, trees)
    roots = [begin for begin, _ in trees]
    return float(np.maximum(value[roots], 0.0).sum())
