"""The problem of a gate: weighted means, calibrated scores, and losses."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.dataset import TrainingSet
from thrifty.learn.gates.losses import GradeLoss, ValueLoss
from thrifty.learn.gates.problem import GateProblem


def test_means_are_weighted(half_hard, problem_of) -> None:
    X, y = half_hard(50)
    weight = np.linspace(0.5, 2.0, 50)
    problem = problem_of(X, y, weight)
    values = np.arange(50.0)
    assert problem.mean(values) == pytest.approx(problem.row_shares @ values)
    assert problem.row_shares.sum() == pytest.approx(1.0)
    unweighted = GateProblem(problem_of(X, y).train, problem.expensive_scores)
    assert unweighted.mean(values) == values.mean()


def test_the_loss_of_a_sure_error_is_finite(half_hard, problem_of) -> None:
    X, y = half_hard(20)
    proba = np.eye(2)[1 - y]
    assert problem_of(X, y).expensive_loss.max() < 2.0
    assert GateProblem(problem_of(X, y).train, proba).expensive_loss.max() < 14.0


@pytest.mark.parametrize("loss", [ValueLoss(), GradeLoss()])
def test_a_problem_of_values_is_restored_to_the_unit_of_the_expensive_model(loss) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60).astype(float)
    task = "ranking" if isinstance(loss, GradeLoss) else "regression"
    train = TrainingSet.read(task, X, y, sample_weight=rng.uniform(0.5, 2.0, 60))
    scores = y + 0.5 * rng.normal(size=60)
    problem = GateProblem.of(train, scores, loss)
    np.testing.assert_allclose(
        problem.scale.slope * problem.expensive_scores + problem.scale.offset, scores
    )
    assert 0.4 < problem.expensive_loss.mean() / 0.5 < 2.1  # the unit is a power of two
    restored = problem.constant.score(X)[0]
    expected = np.average(y, weights=train.weight)
    assert restored == pytest.approx(expected, rel=0.2 if task == "ranking" else 1e-6)


def test_the_loss_of_a_constant_is_in_the_unit_of_the_target() -> None:
    y = np.array([0.0, 100.0, 0.0, 100.0])
    train = TrainingSet.read("regression", np.arange(4.0)[:, np.newaxis], y)
    problem = GateProblem.of(train, y + 10.0, ValueLoss())
    assert problem.constant_loss == pytest.approx(0.5 * 50.0**2)
