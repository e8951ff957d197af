"""The update of an inner node: gradients, quadratic models, descent."""

from __future__ import annotations

import numpy as np
import pytest
from soft_tree_cases import LOSSES, SHAPES, random_objective, random_tree

from thrifty.learn.cost_tree.split_step import MAX_SLOPE, MIN_SLOPE, SplitProblem, solve_split


def parameters(tree, node):
    rest = [tree.bias[node], tree.threshold[node], np.log(tree.slope[node])]
    return np.concatenate([tree.weights[node], rest])


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_through_all_descendants_equal_finite_differences(kind, loss) -> None:
    rng = np.random.default_rng(1)
    shape, at_exit = SHAPES[kind]
    on, tree = random_objective(rng, LOSSES[loss], at_exit), random_tree(rng, shape)
    for node in range(len(shape)):
        if shape.is_leaf(node):
            continue

        def whole(x, node=node):
            moved = tree.copy()
            moved.weights[node], moved.bias[node], moved.threshold[node] = x[:-3], x[-3], x[-2]
            moved.slope[node] = np.exp(x[-1])
            return on.value(moved)

        problem = SplitProblem.of(on, on.node_values(tree), tree, node)
        x = parameters(tree, node)
        value, gradient = problem.model_and_gradient(x, *problem.touching_points(x))
        steps = 1e-6 * np.eye(len(x))
        expected = [(whole(x + step) - whole(x - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(gradient, expected, atol=1e-8)
        # The quadratic functions touch the roots, so both forms have the same value there, and
        # they are above the roots elsewhere.
        np.testing.assert_allclose(value, problem.value(x))
        other = x + rng.normal(size=len(x))
        bound = problem.model_and_gradient(other, *problem.touching_points(x))[0]
        assert bound >= problem.value(other)


@pytest.mark.parametrize("kind", SHAPES)
def test_a_node_never_gets_worse_and_its_slope_stays_in_range(kind) -> None:
    rng = np.random.default_rng(2)
    shape, at_exit = SHAPES[kind]
    on, tree = random_objective(rng, LOSSES["logistic"], at_exit), random_tree(rng, shape)
    problem = SplitProblem.of(on, on.node_values(tree), tree, 0)
    x = parameters(tree, 0)
    found = solve_split(problem, x)
    assert problem.value(found) < problem.value(x)
    assert MIN_SLOPE * (1 - 1e-9) <= np.exp(found[-1]) <= MAX_SLOPE * (1 + 1e-9)
