"""From a soft tree to the one that predicts: answers fitted, routes thinned, branches cut.

The relaxed cost chooses what a node may use, but it also shrinks weights, and it lets nodes keep
inputs that do not pay. Here the exact objective (Xu 2014, eq. 3.11) decides, with hard thresholds.
"""

from __future__ import annotations

from functools import partial

from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.cost_tree.leaf_fit import answer_all, answer_node
from thrifty.learn.cost_tree.objective import SoftObjective
from thrifty.learn.cost_tree.simplify import prune_branches, thin
from thrifty.learn.cost_tree.soft_tree import SoftTree

__all__ = ["harden"]

PASSES = 2


def harden(
    objective: SoftObjective, tree: SoftTree, held_out: SoftObjective | None = None
) -> HardTree:
    """The tree that predicts; `held_out` rows say which branches are cut, or the same rows."""
    hard = HardTree.of(tree)
    for _ in range(PASSES):
        answer_all(objective, hard)
        _thin(objective, hard)
    answer_all(objective, hard)
    hard = prune_branches(hard, held_out or objective, partial(answer_node, objective))
    answer_all(objective, hard)
    return hard


def _thin(objective: SoftObjective, tree: HardTree) -> None:
    """Routes from the bottom up, so that a node knows what its rows come to below."""
    arrivals = tree.arrivals(objective.Z)
    for node in reversed(range(len(tree.shape))):
        if len(arrivals[node]) and not tree.shape.is_leaf(node):
            thin(objective, tree, node, arrivals[node])
