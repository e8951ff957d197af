"""Hard trees: routing, exact objective, and what is left when a node is collapsed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from soft_tree_cases import LOSSES, SHAPES, random_objective, random_tree

from thrifty.learn.cost_tree.hard_tree import WEIGHT_TOL, HardTree, best_threshold
from thrifty.learn.cost_tree.soft_tree import TreeShape


@pytest.mark.parametrize("kind", SHAPES)
def test_the_exact_objective_is_loss_plus_penalty_times_bill(kind) -> None:
    rng = np.random.default_rng(0)
    shape, at_exit = SHAPES[kind]
    on = random_objective(rng, LOSSES["squared"], at_exit)
    tree = HardTree.of(random_tree(rng, shape))
    total = 0.0
    for i in range(len(on.Z)):
        node, visits, bought = 0, 0, np.zeros(5, dtype=bool)
        while True:
            visits += 1
            bought |= tree.uses[node]
            right = on.Z[i] @ tree.route[node] > tree.threshold[node]
            child = (shape.right if right else shape.left)[node]
            if child < 0:
                break
            node = child
        paid = [bought[0], bought[1:3].any(), bought[4], bought[1:4].any()]
        bill = np.dot(paid, [1.0, 2.0, 4.0, 3.0]) + 0.25 * visits
        loss = 0.5 * (on.Z[i] @ tree.weights[node] + tree.bias[node] - on.y[i]) ** 2
        total += on.loss_weight[i] * loss + on.weight[i] * on.penalty * bill
    np.testing.assert_allclose(tree.value(on), total)


def test_tiny_weights_of_a_soft_tree_become_zero() -> None:
    soft = random_tree(np.random.default_rng(1), TreeShape.full(1))
    soft.weights[0, 2] = 0.5 * WEIGHT_TOL
    tree = HardTree.of(soft)
    assert tree.weights[0, 2] == 0.0 and tree.uses[0].sum() == 4
    assert not tree.route[1:].any()  # leaves do not route


def test_a_collapsed_node_is_a_leaf_or_is_replaced_by_a_child() -> None:
    tree = HardTree.of(random_tree(np.random.default_rng(2), TreeShape.full(2)))
    leaf = tree.collapse(1)
    assert (leaf.shape.left.tolist(), leaf.shape.right.tolist()) == (
        [1, -1, 3, -1, -1], [2, -1, 4, -1, -1]
    )  # fmt: skip
    np.testing.assert_array_equal(leaf.weights, tree.weights[[0, 1, 2, 5, 6]])
    assert not leaf.route[1].any()
    replaced = tree.collapse(0, 2)
    assert replaced.shape.left.tolist() == [1, -1, -1]
    np.testing.assert_array_equal(replaced.bias, tree.bias[[2, 5, 6]])


@given(st.integers(0, 2**31 - 1))
def test_the_best_threshold_is_that_of_a_search(seed) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    values, gap = rng.integers(0, 5, n).astype(float), rng.normal(size=n)
    threshold, least = best_threshold(values, gap)
    np.testing.assert_allclose(gap[values > threshold].sum(), least, atol=1e-12)
    trials = [values.min() - 1, *(np.unique(values))]
    assert least <= min(gap[values > trial].sum() for trial in trials) + 1e-12
