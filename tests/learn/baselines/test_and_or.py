"""The AND-OR cascade: its joint loss, its sweeps, and what each stage may read."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from thrifty import Prices
from thrifty.learn.baselines import AndOrClassifier
from thrifty.learn.baselines.and_or import AndOrPath, joint_loss, joint_row_objective
from thrifty.learn.baselines.priced_weights import LOSS
from thrifty.learn.dataset import TrainingSet

SMALL = {"n_estimators": 12, "max_depth": 2, "min_samples_leaf": 5, "random_state": 0}


def test_stages_read_features_up_to_their_price(train):
    prices = Prices([5, 1, 20, 1, 50, 150])
    for base in ("raw", "boosted"):
        model = AndOrClassifier(prices, base=base, n_stages=3, **SMALL).fit(*train).model_
        reads = [set(np.flatnonzero(node.inputs.support).tolist()) for node in model.nodes]
        assert reads[0] <= {0, 1, 3} and reads[0] < reads[1] <= {0, 1, 2, 3, 4} and 4 in reads[1]
        assert reads[2] == set(range(6)) if base == "raw" else reads[1] <= reads[2]


def test_the_joint_loss_is_the_largest_or_the_product():
    losses = np.array([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1], [3.0, 0.0, 0.5]])
    found = joint_loss(losses, np.array([1.0, -1.0, -1.0]))
    np.testing.assert_allclose(found, [0.7, 0.014, 0.0], atol=1e-5)


@pytest.fixture
def fitted(train, prices) -> AndOrPath:
    """Three stages before they are trained together."""
    read = TrainingSet.read("classification", *train, prices)
    path = AndOrClassifier(prices, n_stages=3)._fit_binary(read)
    assert isinstance(path, AndOrPath)
    return path


def joint_objective(fitted, stages, penalty):
    """Joint loss, relaxed cost and ridge of the stages."""
    y, costs = fitted.problem.y, fitted.inputs.costs
    outputs = [stage.outputs(fitted.inputs.Z) for stage in stages]
    losses = np.column_stack([LOSS.value(f, y) for f in outputs])
    relaxed = [costs.prices @ costs.smooth_norms(stage.weights) for stage in stages]
    ridge = sum(0.5e-4 * stage.weights @ stage.weights for stage in stages)
    return fitted.weight @ joint_loss(losses, y) + penalty * sum(relaxed) + ridge


def test_a_sweep_never_raises_the_joint_objective(fitted):
    stages, values = list(fitted.starts), []
    for _ in range(4):
        values.append(joint_objective(fitted, stages, 0.01))
        fitted.sweep(stages, fitted.readable, 0.01)
    values.append(joint_objective(fitted, stages, 0.01))
    assert (np.diff(values) <= 1e-12).all() and values[-1] < values[0] - 0.01


def test_the_derivative_at_a_stage_is_that_of_the_joint_loss(fitted):
    y = fitted.problem.y
    losses = np.random.default_rng(0).uniform(0.1, 2.0, size=(len(y), 3))

    def joint(column):
        return fitted.weight @ joint_loss(np.column_stack([losses[:, :2], column]), y)

    row_objective = joint_row_objective(losses[:, :2], y, fitted.weight)
    values, derivatives = row_objective(losses[:, 2])
    assert values.sum() == pytest.approx(joint(losses[:, 2]))
    np.testing.assert_allclose(derivatives, approx_fprime(losses[:, 2], joint, 1e-7), atol=1e-7)
