"""The update of a leaf against general solvers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from soft_tree_cases import random_objective

from thrifty.learn.cost_tree.leaf_step import LeafProblem, solve_leaf
from thrifty.learn.cost_tree.objective import HalfSquaredError, LogisticLoss


@pytest.mark.parametrize(
    "loss", [HalfSquaredError("sum"), LogisticLoss()], ids=["squared", "logistic"]
)
def test_a_leaf_is_at_the_minimum_of_its_convex_problem(loss) -> None:
    rng = np.random.default_rng(2)
    loss.newton_steps = 30
    on = random_objective(rng, loss)
    problem = LeafProblem(on, on.loss_weight, 0.7, np.array([0.5, 0.0, 0.0, 0.2]))
    beta, bias = solve_leaf(problem, np.zeros(5), 0.0)
    found = minimize(
        lambda x: problem.value(x[:-1], x[-1]), np.append(beta, bias), method="Nelder-Mead",
        options={"maxiter": 4000, "xatol": 1e-7, "fatol": 1e-10},
    )  # fmt: skip
    assert problem.value(beta, bias) <= found.fun + 1e-6


def test_a_leaf_without_prices_is_least_squares() -> None:
    rng = np.random.default_rng(3)
    on = replace(random_objective(rng, HalfSquaredError("sum"), penalty=0.0), shrinkage=1e-12)
    problem = LeafProblem(on, on.loss_weight, 1.0, np.zeros(len(on.weighted_prices)))
    beta, bias = solve_leaf(problem, np.zeros(5), 0.0)
    scale = np.sqrt(on.loss_weight)[:, np.newaxis]
    ones = np.column_stack([on.Z, np.ones(len(on.Z))])
    expected = np.linalg.lstsq(scale * ones, scale[:, 0] * on.y, rcond=None)[0]
    np.testing.assert_allclose(np.append(beta, bias), expected, atol=1e-6)
