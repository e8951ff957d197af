"""Branches that do not pay are cut (002 sec. 3.4.5).

From the bottom up, a node may become a leaf, or one of its children may take its place; the
simpler tree stays if the rows that decide are not worse off with it. The thesis prunes the
initial tree; what a branch is worth shows only once it is learnt, so here it is pruned then.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thrifty.learn.hard_tree import HardTree
from thrifty.learn.soft_objective import SoftObjective

__all__ = ["prune_branches"]

MARGIN = 1e-10


def prune_branches(
    tree: HardTree, judge: SoftObjective, refit: Callable[[HardTree, int], None]
) -> HardTree:
    """The tree without branches that do not pay on the rows of `judge`.

    `refit` fits the answer of a node, in place, to the rows that are learnt from.
    """
    node = len(tree.shape)
    while node > 0:
        node = min(node - 1, len(tree.shape) - 1)
        if not tree.shape.is_leaf(node):
            tree = _best(tree, judge, refit, node)
    return tree


def _best(
    tree: HardTree, judge: SoftObjective, refit: Callable[[HardTree, int], None], node: int
) -> HardTree:
    leaf = tree.leaf(node)
    refit(leaf, node)
    children = (int(tree.shape.left[node]), int(tree.shape.right[node]))
    simpler = [leaf, *(tree.without(node, child) for child in children if child >= 0)]
    values = [trial.value(judge) for trial in simpler]
    best = int(np.argmin(values))
    return simpler[best] if values[best] <= tree.value(judge) + MARGIN else tree
