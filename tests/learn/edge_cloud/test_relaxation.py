"""The relaxation: gradients, Frank-Wolfe against general solvers, and descent."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, linprog, minimize

from thrifty.learn.edge_cloud.losses import log_loss
from thrifty.learn.edge_cloud.relaxation import Relaxation, alternate, frank_wolfe, relaxation_path


def test_gradients_of_the_relaxed_objective_are_finite_differences(
    device_rows, parameters, class_codes
) -> None:
    rows = device_rows()
    model = parameters(rows, 3)
    problem = Relaxation(rows, log_loss(class_codes(rows, 3)), 0.5, 0.05)
    q = np.random.default_rng(4).uniform(0.1, 0.9, size=rows.present.shape) * rows.present
    expected = approx_fprime(
        q.ravel(), lambda flat: problem.objective(model, flat.reshape(q.shape))[0], 1e-7
    )
    found = problem.objective(model, q)[1]
    present = rows.present > 0
    np.testing.assert_allclose(found[present], expected.reshape(q.shape)[present], atol=2e-6)
    assert not found[~present].any()


@given(seed=st.integers(0, 1000), share=st.floats(0.05, 1.0))
@settings(max_examples=25, deadline=None)
def test_the_corner_of_frank_wolfe_solves_its_linear_program(
    device_rows, class_codes, seed, share
) -> None:
    rows = device_rows(6, (1, 2), seed)
    gradient = np.random.default_rng(seed).normal(size=(6, 2)) * rows.present
    problem = Relaxation(rows, log_loss(class_codes(rows, 2)), share, 0.1)
    corner = problem.best_corner(gradient)
    weights, room = np.repeat(rows.weights, 2), share * 2
    bounds = [(0, high) for high in rows.present.ravel()]
    expected = linprog(gradient.ravel(), A_ub=[weights], b_ub=[room], bounds=bounds)
    assert np.sum(gradient * corner) == pytest.approx(expected.fun, abs=1e-9)
    assert corner.min() >= 0 and np.all(corner <= rows.present)
    assert weights @ corner.ravel() <= room + 1e-9


# The solver of scipy 1.15 leaves the bounds for a moment, and says so.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
def test_frank_wolfe_comes_to_the_minimum_that_a_general_solver_finds(
    device_rows, parameters, class_codes
) -> None:
    rows = device_rows(8, (1, 2), missing=0.0)
    model, share = parameters(rows, 2), 0.4
    problem = Relaxation(rows, log_loss(class_codes(rows, 2)), share, 0.1)
    q = frank_wolfe(problem, model, problem.start(), 400)
    weights = np.repeat(rows.weights, 2)
    expected = minimize(
        lambda flat: problem.objective(model, flat.reshape(8, 2))[0],
        problem.start().ravel(),
        jac=lambda flat: problem.objective(model, flat.reshape(8, 2))[1].ravel(),
        bounds=[(1e-6, 1 - 1e-6)] * 16,
        constraints={"type": "ineq", "fun": lambda flat: 2 * share - weights @ flat},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert problem.objective(model, q)[0] == pytest.approx(expected.fun, abs=1e-3)
    assert weights @ q.ravel() <= 2 * share + 1e-9


def test_no_alternation_increases_the_objective(device_rows, parameters, class_codes) -> None:
    rows = device_rows(60, missing=0.05)
    problem = Relaxation(rows, log_loss(class_codes(rows, 3)), 0.4, 0.01)
    model, q = parameters(rows, 3), problem.start()
    values = [problem.objective(model, q)[0]]
    for _ in range(8):
        model, q = alternate(problem, model, q, 5)
        values.append(problem.objective(model, q)[0])
    assert all(after <= before + 1e-12 for before, after in pairwise(values))
    assert values[-1] < 0.8 * values[0]


def test_a_smaller_share_starts_within_its_limit_and_opens_gates_less(
    device_rows, parameters, class_codes
) -> None:
    rows = device_rows(60, missing=0.0)
    loss = log_loss(class_codes(rows, 2))
    start = Relaxation(rows, loss, 0.2, 0.01).scale_down(np.full((60, 3), 0.8))
    assert rows.weights @ start.mean(axis=1) == pytest.approx(0.2)
    path = relaxation_path(rows, loss, [0.9, 0.2], 0.01, parameters(rows, 2), 20)
    many, few = (model.gate_values(rows).mean() for model in path)
    assert few < many
