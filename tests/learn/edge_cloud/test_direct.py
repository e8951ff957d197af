"""Direct parameterization: gradients, the planted model of the thesis, and the penalty path."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from thrifty.learn.edge_cloud.direct import direct_objective, penalty_path, promising_starts
from thrifty.learn.edge_cloud.gated_sum import GatedSum
from thrifty.learn.edge_cloud.lbfgs import minimize_lbfgs
from thrifty.learn.edge_cloud.losses import log_loss, squared_loss
from thrifty.model.links import ACTIVATIONS


def cosine(one, other):
    one, other = (np.concatenate([part.ravel() for part in parts]) for parts in (one, other))
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
@pytest.mark.parametrize("classes", [1, 3])
def test_gradients_of_the_direct_objective_are_finite_differences(
    activation, classes, device_rows, parameters, class_codes
) -> None:
    rows = device_rows()
    model = parameters(rows, classes)
    y = np.random.default_rng(3).normal(size=30)
    loss = squared_loss(y) if classes == 1 else log_loss(class_codes(rows, classes))
    objective = direct_objective(rows, loss, activation, 0.7, 0.05, model)
    expected = approx_fprime(model.flat, lambda flat: objective(flat)[0], 1e-7)
    np.testing.assert_allclose(objective(model.flat)[1], expected, atol=2e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_planted_model_is_recovered_through_sigmoids(seed, planted) -> None:
    rows, truth, y = planted("sigmoid", seed)
    rng = np.random.default_rng(seed)
    start = GatedSum(*(part + 0.1 * rng.normal(size=part.shape) for part in truth))
    objective = direct_objective(rows, squared_loss(y), "sigmoid", 0.0, 0.0, start)
    flat, value = minimize_lbfgs(objective, start.flat, 3000)
    found = GatedSum.unpack(flat, start)
    assert value < 1e-6 < 1e-3 < objective(start.flat)[0]
    assert cosine([found.v], [truth.v]) > 0.999
    assert cosine([found.w, found.b], [truth.w, truth.b]) > 0.999


@pytest.mark.parametrize("seed", range(3))
def test_the_planted_model_is_recovered_through_relus(seed, planted) -> None:
    rows, truth, y = planted("relu", seed)
    rng = np.random.default_rng(seed)
    start = GatedSum(*(part + 0.3 * rng.normal(size=part.shape) for part in truth))
    objective = direct_objective(rows, squared_loss(y), "relu", 0.0, 0.0, start)
    flat, value = minimize_lbfgs(objective, start.flat, 3000)
    found = GatedSum.unpack(flat, start)
    assert value < 1e-6 < 1e-3 < objective(start.flat)[0]
    # A gate may be longer and its contribution shorter by the same factor: directions are found.
    for k in range(2):
        own = slice(2 * k, 2 * k + 2)
        assert cosine([found.v[own]], [truth.v[own]]) > 0.999
        assert cosine([found.w[own], found.b[[k]]], [truth.w[own], truth.b[[k]]]) > 0.999


def test_a_growing_penalty_closes_gates_and_each_solution_is_better_than_its_start(
    device_rows, parameters, class_codes
) -> None:
    rows = device_rows(80, missing=0.0)
    loss = log_loss(class_codes(rows, 2))
    start = parameters(rows, 2)
    path = list(penalty_path(rows, loss, "sigmoid", 0.01, start, 50))
    activation = [ACTIVATIONS["sigmoid"](model.gate_values(rows)).mean() for model in path]
    assert activation[-1] < 0.1 < activation[0]
    objective = direct_objective(rows, loss, "sigmoid", 0.0, 0.01, start)
    assert objective(path[0].flat)[0] < objective(start.flat)[0]


def test_the_first_and_the_best_of_several_starts_go_on(
    device_rows, parameters, class_codes
) -> None:
    rows = device_rows(60, missing=0.0)
    loss = log_loss(class_codes(rows, 2))
    starts = [parameters(rows, 2, seed) for seed in range(4)]
    first, best = promising_starts(rows, loss, "relu", 0.01, starts, 30)
    objective = direct_objective(rows, loss, "relu", 0.0, 0.01, starts[0])
    trials = [minimize_lbfgs(objective, start.flat, 15) for start in starts]
    np.testing.assert_array_equal(first.flat, trials[0][0])
    np.testing.assert_array_equal(best.flat, min(trials, key=lambda trial: trial[1])[0])
    assert len(promising_starts(rows, loss, "relu", 0.01, starts[:1], 30)) == 1
