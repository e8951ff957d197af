"""A linear classifier that pays for its inputs: an optimum, a selection, a refit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from thrifty.learn.baselines import AndOrClassifier, CronusClassifier, SingleCostClassifier
from thrifty.learn.baselines.priced_weights import (
    InputCosts,
    LinearProblem,
    LinearWeights,
    refit,
    scatter,
    select_and_refit,
    weighted_sum,
)

SMALL = {"n_estimators": 12, "max_depth": 2, "min_samples_leaf": 5, "random_state": 0}
PRICED = {
    "single": SingleCostClassifier(),
    "single, boosted": SingleCostClassifier(base="boosted", **SMALL),
    "cronus": CronusClassifier(n_stages=3, **SMALL),
    "and-or": AndOrClassifier(n_stages=3),
}


@pytest.fixture
def problem(train):
    """Three columns; two share a price, one of them has a price of its own, too."""
    X, y = train[0][:, :3], np.where(train[1] == 1, 1.0, -1.0)
    members = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    costs = InputCosts(np.array([1.0, 0.5]), members, np.arange(3))
    weight = np.full(len(y), 1.0 / len(y))
    return LinearProblem(X, y, weighted_sum(weight), costs, penalty=0.05)


def test_the_solution_minimizes_the_objective(problem):
    def objective(b):
        model = LinearWeights(weights=b[:3], bias=float(b[3]))
        return problem.objective(model, model.outputs(problem.Z))

    found = np.append(*problem.minimize(problem.zeros))
    expected = minimize(objective, np.full(4, 0.1), method="BFGS", options={"gtol": 1e-9})
    assert objective(found) == pytest.approx(expected.fun, abs=1e-6)
    np.testing.assert_allclose(found, expected.x, atol=5e-3)
    assert objective(found) < objective(np.zeros(4))


def test_prices_are_paid_for_nonzero_weights(problem):
    assert problem.costs.paid(np.array([1.0, 0.0, 1.0])).tolist() == [True, False]
    assert problem.costs.selected(np.array([1.0, 1e-4, 0.0])).tolist() == [True, False, False]
    norms = problem.costs.smooth_norms(np.array([3.0, 4.0, 1.0]))
    np.testing.assert_allclose(norms, [5.0, 4.0])


def test_above_the_largest_penalty_nothing_with_a_price_is_selected(problem):
    weight = np.full(len(problem.y), 1.0 / len(problem.y))
    largest = problem.largest_penalty(weight)
    for factor, buys in ((1.1, False), (0.5, True)):
        part = LinearProblem(
            problem.Z, problem.y, problem.row_objective, problem.costs, factor * largest
        )
        found = select_and_refit(part, part.zeros)
        assert problem.costs.paid(found.weights).any() == buys


def test_a_refit_ignores_prices_and_leaves_other_weights_0(problem):
    inputs = np.array([True, False, True])
    found = refit(problem, inputs, problem.zeros)
    free = LinearProblem(
        problem.Z[:, inputs],
        problem.y,
        problem.row_objective,
        InputCosts(np.empty(0), np.empty((0, 2)), np.arange(2)),
    )
    expected = free.minimize(free.zeros)
    np.testing.assert_allclose(found.weights, scatter(expected.weights, inputs))
    assert found.weights[1] == 0.0 and found.bias == pytest.approx(expected.bias)


@pytest.mark.parametrize("name", PRICED)
def test_no_penalty_buys_everything_and_a_large_one_nothing(name, train, prices, new_rows):
    model = PRICED[name].set_params(prices=prices)
    full = model.set_params(penalty=0.0).fit(*train).used(new_rows)
    none = model.set_params(penalty=10.0).fit(*train).used(new_rows)
    assert none.sum() == 0 < full.all(axis=0).sum()
