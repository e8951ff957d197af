"""From soft to hard trees: routes and branches by the exact objective."""

from __future__ import annotations

import numpy as np
import pytest
from soft_tree_cases import LOSSES, SHAPES, random_objective, random_tree

from thrifty.learn.cost_tree.fit import descend, initial_tree
from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.cost_tree.harden import harden, prune_branches, simplify_route
from thrifty.learn.cost_tree.leaf_fit import fit_nodes


@pytest.mark.parametrize("kind", SHAPES)
def test_hardening_lowers_the_exact_objective(kind) -> None:
    rng = np.random.default_rng(5)
    shape, at_exit = SHAPES[kind]
    on = random_objective(rng, LOSSES["logistic"], at_exit, n=200, penalty=0.01)
    soft = initial_tree(on, shape)
    descend(on, soft, 3)
    hard = harden(on, soft)
    assert hard.value(on) < HardTree.of(soft).value(on)
    assert len(hard.shape) <= len(shape)


@pytest.mark.parametrize("kind", SHAPES)
def test_neither_simpler_routes_nor_pruning_raise_the_exact_objective(kind) -> None:
    rng = np.random.default_rng(6)
    shape, at_exit = SHAPES[kind]
    on = random_objective(rng, LOSSES["squared"], at_exit, n=100, penalty=0.02)
    tree = HardTree.of(random_tree(rng, shape))
    fit_nodes(on, tree)
    before = tree.value(on)
    simplify_route(on, tree, 0, np.arange(100))
    assert tree.value(on) <= before + 1e-9
    pruned = prune_branches(on, tree, on)
    assert pruned.value(on) <= tree.value(on) + 1e-9
