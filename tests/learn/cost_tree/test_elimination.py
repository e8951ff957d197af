"""Elimination of inputs and branches over whole subtrees, as the penalty increases."""

from __future__ import annotations

import numpy as np
import pytest
from soft_tree_cases import LOSSES, SHAPES, random_objective, random_tree

from thrifty import Prices
from thrifty.learn.cost_tree.cost_terms import CostTerms
from thrifty.learn.cost_tree.elimination import Elimination
from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.cost_tree.leaf_fit import fit_nodes
from thrifty.learn.cost_tree.objective import HalfSquaredError, SoftObjective
from thrifty.learn.cost_tree.soft_tree import SoftTree, TreeShape


def objective_of(Z, y, prices):
    share = np.full(len(Z), 1.0 / len(Z))
    terms = CostTerms.of_columns(np.arange(Z.shape[1]), Prices(prices).bind(Z.shape[1]))
    return SoftObjective(Z, y, share, share, HalfSquaredError("sum"), terms, 0.0, 0.0)


def test_an_input_that_route_and_leaves_hold_for_each_other_is_dropped() -> None:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 2))
    y = np.where(Z[:, 0] > 0, 2.0, -2.0) + 0.1 * Z[:, 1]  # the second column says next to nothing
    on = objective_of(Z, y, [1.0, 5.0])
    soft = SoftTree.zero(TreeShape.full(1), 2)
    soft.weights[:] = [1.0, 0.2]
    stuck = HardTree.of(soft)
    fit_nodes(on.at(0.02), stuck)
    assert stuck.uses[:, 1].all()  # no node alone saves anything without it
    (tree,) = Elimination(on, HardTree.of(soft)).trees([0.02])
    assert not tree.uses[:, 1].any() and tree.uses[0, 0]
    assert tree.value(on.at(0.02)) < stuck.value(on.at(0.02)) - 0.05


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", SHAPES)
def test_a_tree_never_gets_worse_at_its_penalty_and_ends_as_a_constant(kind, loss) -> None:
    rng = np.random.default_rng(1)
    shape, at_exit = SHAPES[kind]
    on = random_objective(rng, LOSSES[loss], at_exit, n=80)
    start = HardTree.of(random_tree(rng, shape))
    fit_nodes(on.at(0.0), start)
    penalties = [0.001, 0.01, 0.1, 10.0]
    trees = list(Elimination(on, start).trees(penalties))
    last = start
    for penalty, tree in zip(penalties, trees, strict=False):
        assert tree.value(on.at(penalty)) <= last.value(on.at(penalty)) + 1e-9
        last = tree
    assert len(last.shape) == 1 and not last.uses.any()


def test_a_branch_that_does_not_pay_becomes_its_child() -> None:
    Z = np.random.default_rng(2).normal(size=(200, 2))
    on = objective_of(Z, Z[:, 0], [1.0, 1.0])
    soft = SoftTree.zero(TreeShape.full(1), 2)
    soft.weights[0, 1] = soft.weights[1, 0] = soft.weights[2, 0] = 1.0  # routes by noise
    (tree,) = Elimination(on, HardTree.of(soft)).trees([0.01])
    assert len(tree.shape) == 1
    assert tree.uses[0].tolist() == [True, False]


def test_the_tree_that_it_starts_from_is_not_changed() -> None:
    rng = np.random.default_rng(3)
    on = random_objective(rng, LOSSES["squared"], n=40)
    start = HardTree.of(random_tree(rng, TreeShape.full(1)))
    before = start.weights.copy()
    assert len(list(Elimination(on, start).trees([0.1]))) == 1
    np.testing.assert_array_equal(start.weights, before)
