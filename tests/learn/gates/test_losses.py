"""Losses of local and expensive models: gradients, special cases and units."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.dataset import TrainingSet
from thrifty.learn.gates.assignment import DISTANCES
from thrifty.learn.gates.losses import (
    DistanceLoss,
    GradeLoss,
    LocalLogLoss,
    LocalSquaredLoss,
    ValueLoss,
)
from thrifty.learn.losses import LogLoss, SquaredLoss


@pytest.mark.parametrize("classes", [2, 3])
def test_the_gradient_of_the_local_loss_is_a_finite_difference(classes, check_gradient) -> None:
    rng = np.random.default_rng(0)
    y, q = np.arange(12) % classes, rng.uniform(size=12)
    loss = LocalLogLoss(y, None, classes, 1.0 - q)
    raw = rng.normal(size=(loss.outputs, 12))

    def value(flat):
        return ((1.0 - q) * loss.losses(flat.reshape(raw.shape))).sum()

    check_gradient(value, raw.ravel(), -loss.derivatives(raw)[0].ravel())


@pytest.mark.parametrize("classes", [2, 3])
def test_the_local_loss_is_the_log_loss_if_no_row_is_sent(classes) -> None:
    rng = np.random.default_rng(0)
    y, weight = np.arange(30) % classes, rng.uniform(0.5, 2.0, 30)
    local, plain = LocalLogLoss(y, weight, classes), LogLoss(y, weight, classes)
    raw = rng.normal(size=(plain.outputs, 30))
    np.testing.assert_array_equal(local.start(), plain.start())
    for ours, theirs in zip(local.derivatives(raw), plain.derivatives(raw), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert np.average(local.losses(raw), weights=weight) == pytest.approx(plain.value(raw))


def test_rows_that_are_sent_do_not_count_in_the_initial_constant() -> None:
    y, q = np.array([0, 0, 1, 1]), np.array([0.0, 0.0, 0.0, 1.0])
    start = LocalLogLoss(y, None, 2, 1.0 - q).start()
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


def test_the_gradient_of_the_local_squared_loss_is_a_finite_difference(check_gradient) -> None:
    rng = np.random.default_rng(0)
    y, q = rng.normal(size=12), rng.uniform(size=12)
    loss = LocalSquaredLoss(y, None, 1.0 - q)
    raw = rng.normal(size=(1, 12))

    def value(flat):
        return ((1.0 - q) * loss.losses(flat.reshape(1, 12))).sum()

    check_gradient(value, raw[0], -loss.derivatives(raw)[0][0])
    np.testing.assert_array_equal(loss.derivatives(raw)[1][0], 1.0 - q)


def test_the_local_squared_loss_is_the_squared_loss_if_no_row_is_sent() -> None:
    rng = np.random.default_rng(0)
    y, weight, raw = rng.normal(size=30), rng.uniform(0.5, 2.0, 30), rng.normal(size=(1, 30))
    local, plain = LocalSquaredLoss(y, weight), SquaredLoss(y, weight)
    np.testing.assert_array_equal(local.start(), plain.start())
    np.testing.assert_array_equal(local.derivatives(raw)[0], plain.derivatives(raw)[0])
    assert local.derivatives(raw)[1] is None
    assert np.average(local.losses(raw), weights=weight) == pytest.approx(plain.value(raw))


def test_a_mean_is_that_of_the_rows_that_stay() -> None:
    loss = LocalSquaredLoss(np.array([1.0, 3.0, 50.0]), None, np.array([1.0, 1.0, 0.0]))
    assert loss.start()[0] == pytest.approx(2.0)
    assert loss.is_wrong(np.array([[1.5, 1.5, 50.5]])).tolist() == [False, True, False]


def train_of(task, y):
    """Return a training set with one column."""
    return TrainingSet.read(task, np.arange(float(len(y)))[:, np.newaxis], y)


def test_a_perfect_expensive_model_leaves_a_finite_unit() -> None:
    y = np.array([0.0, 8.0, 0.0, 8.0])
    calibrated = ValueLoss().calibrate(train_of("regression", y), y)
    assert calibrated.scale.slope == 0.5  # a tenth of the spread, as a power of two
    assert ValueLoss().calibrate(train_of("regression", 0 * y), 0 * y).scale.slope == 1.0


@pytest.mark.parametrize("scores", [[5.0, 5.0, 5.0, 5.0], [3.0, 2.0, 1.0, 0.0]])
def test_scores_that_do_not_rise_with_the_grades_keep_their_order(scores) -> None:
    calibrated = GradeLoss().calibrate(train_of("ranking", np.arange(4.0)), np.array(scores))
    assert calibrated.scale.slope > 0
    assert np.argsort(calibrated.scores).tolist() == np.argsort(scores).tolist()
