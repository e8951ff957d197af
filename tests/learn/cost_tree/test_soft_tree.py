"""Shapes and routing probabilities of soft trees."""

from __future__ import annotations

import numpy as np
import pytest
from soft_tree_cases import SHAPES, random_tree

from thrifty.learn.cost_tree.soft_tree import SoftTree, TreeShape


def test_a_cascade_exits_on_the_left_of_every_stage() -> None:
    shape = TreeShape.chain(4)
    assert [found.node for found in shape.exits] == [0, 1, 2, 3]
    tree = SoftTree.zero(shape, 2)
    right = np.full((5, 4), 0.75)
    reach = tree.reach_probability(right)
    np.testing.assert_allclose(reach[0], 0.75 ** np.arange(4))
    p_exit = tree.exit_probability(reach, right)
    np.testing.assert_allclose(p_exit.sum(axis=1), 1.0)
    np.testing.assert_allclose(p_exit[0, :3], 0.25 * reach[0, :3])


def test_a_full_tree_exits_at_its_leaves_only() -> None:
    shape = TreeShape.full(2)
    assert [found.node for found in shape.exits] == [3, 4, 5, 6]
    assert shape.parents.tolist() == [-1, 0, 0, 1, 1, 2, 2]
    assert shape.subtree(1) == [1, 3, 4]
    assert shape.exit_paths.sum(axis=1).tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("kind", SHAPES)
def test_the_probability_of_one_node_is_that_of_all_nodes_at_once(kind) -> None:
    rng = np.random.default_rng(0)
    tree = random_tree(rng, SHAPES[kind][0])
    values = rng.normal(size=(10, len(tree.shape)))
    reach = tree.reach_probability(tree.right_probability(values))
    for node in range(len(tree.shape)):
        np.testing.assert_allclose(tree.node_probability(values, node), reach[:, node])


def test_a_copy_does_not_share_its_parameters() -> None:
    tree = random_tree(np.random.default_rng(0), TreeShape.full(1))
    copy = tree.copy()
    copy.weights[0] = 7.0
    assert not np.any(tree.weights[0] == 7.0)
