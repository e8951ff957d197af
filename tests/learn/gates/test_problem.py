"""The losses of a gate problem: gradients, special cases and clipping."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.gates.assignment import DISTANCES
from thrifty.learn.gates.problem import DistanceLoss, GateProblem, LocalLoss
from thrifty.learn.losses import LogLoss


@pytest.mark.parametrize("classes", [2, 3])
def test_the_gradient_of_the_local_loss_is_a_finite_difference(classes, check_gradient) -> None:
    rng = np.random.default_rng(0)
    y, q = np.arange(12) % classes, rng.uniform(size=12)
    loss = LocalLoss(y, None, classes, 1.0 - q)
    raw = rng.normal(size=(loss.outputs, 12))

    def value(flat):
        return ((1.0 - q) * loss.losses(flat.reshape(raw.shape))).sum()

    check_gradient(value, raw.ravel(), -loss.derivatives(raw)[0].ravel())


@pytest.mark.parametrize("classes", [2, 3])
def test_the_local_loss_is_the_log_loss_if_no_row_is_sent(classes) -> None:
    rng = np.random.default_rng(0)
    y, weight = np.arange(30) % classes, rng.uniform(0.5, 2.0, 30)
    local, plain = LocalLoss(y, weight, classes), LogLoss(y, weight, classes)
    raw = rng.normal(size=(plain.outputs, 30))
    np.testing.assert_array_equal(local.start(), plain.start())
    for ours, theirs in zip(local.derivatives(raw), plain.derivatives(raw), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert np.average(local.losses(raw), weights=weight) == pytest.approx(plain.value(raw))


def test_rows_that_are_sent_do_not_count_in_the_initial_constant() -> None:
    y, q = np.array([0, 0, 1, 1]), np.array([0.0, 0.0, 0.0, 1.0])
    start = LocalLoss(y, None, 2, 1.0 - q).start()
    assert start[0] == pytest.approx(np.log(1 / 2))


@pytest.mark.parametrize("name", ["kl", "symmetric"])
def test_the_distance_loss_starts_at_the_best_constant(name) -> None:
    q, weight = np.array([0.1, 0.6, 0.9]), np.array([1.0, 1.0, 3.0])
    loss = DistanceLoss(q, weight, DISTANCES[name])
    start = np.repeat(loss.start()[:, np.newaxis], 3, axis=1)
    gradient, hessian = loss.derivatives(start)
    assert gradient.shape == hessian.shape == (1, 3)
    assert np.average(gradient[0], weights=weight) == pytest.approx(0.0, abs=1e-12)
    assert loss.value(start) < loss.value(start + 0.1)


def test_means_are_weighted(half_hard, problem_of) -> None:
    X, y = half_hard(50)
    weight = np.linspace(0.5, 2.0, 50)
    problem = problem_of(X, y, weight)
    values = np.arange(50.0)
    assert problem.mean(values) == pytest.approx(problem.row_shares @ values)
    assert problem.row_shares.sum() == pytest.approx(1.0)
    unweighted = GateProblem(problem_of(X, y).train, problem.expensive_proba)
    assert unweighted.mean(values) == values.mean()


def test_the_loss_of_a_sure_error_is_finite(half_hard, problem_of) -> None:
    X, y = half_hard(20)
    proba = np.eye(2)[1 - y]
    assert problem_of(X, y).expensive_loss.max() < 2.0
    assert GateProblem(problem_of(X, y).train, proba).expensive_loss.max() < 14.0
