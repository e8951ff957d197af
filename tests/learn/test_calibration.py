"""Calibration: each way finds the scale that the rows were drawn with."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from thrifty import GreedyMiserClassifier
from thrifty.learn.calibration import (
    fit_inverse_temperature,
    fit_pairwise_slopes,
    fit_platt_scaling,
    rescale_probabilities,
    scale_outputs,
)
from thrifty.learn.losses import LogLoss

# --- temperature -------------------------------------------------------------


def draw_classes(raw, rng):
    """Draw a class of each column of the outputs (3, n) by its softmax."""
    shares = np.exp(raw) / np.exp(raw).sum(axis=0)
    return (rng.random(raw.shape[1]) > np.cumsum(shares, axis=0)).sum(axis=0).clip(max=2)


@pytest.mark.parametrize("factor", [0.4, 1.0, 2.5])
def test_the_inverse_temperature_undoes_a_scaling(factor):
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(3, 20_000)) * 2
    y = draw_classes(raw, rng)
    found = fit_inverse_temperature(raw / factor, LogLoss(y, None, 3))
    assert found == pytest.approx(factor, rel=0.1)


def test_few_rows_leave_the_outputs_nearly_as_they_are():
    y = np.array([0, 1])
    found = fit_inverse_temperature(np.array([[-3.0, 3.0]]), LogLoss(y, None, 2))
    assert 0.8 < found < 1.25


def test_a_scaled_forest_has_scaled_outputs():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 3))
    y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] > 0)
    forest = GreedyMiserClassifier(n_estimators=20, max_depth=3, random_state=0).fit(X, y).model_
    X = rng.uniform(-1, 1, size=(50, 3))
    np.testing.assert_allclose(scale_outputs(forest, 0.7).raw(X), 0.7 * forest.raw(X))


def test_overconfident_probabilities_are_rescaled_to_the_true_ones():
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(3, 20_000))
    codes = draw_classes(raw, rng)
    truth = (np.exp(raw) / np.exp(raw).sum(axis=0)).T
    overconfident = truth**3 / (truth**3).sum(axis=1, keepdims=True)
    found = rescale_probabilities(overconfident, codes, None)
    np.testing.assert_allclose(found, truth, atol=0.05)
    np.testing.assert_array_equal(found.argmax(axis=1), truth.argmax(axis=1))


# --- Platt scaling -----------------------------------------------------------


def test_platt_scaling_of_many_rows_is_logistic_regression():
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(20_000, 1))
    codes = (rng.random(20_000) < 1 / (1 + np.exp(-2 * outputs[:, 0] + 0.5))).astype(np.int64)
    scale, offset = fit_platt_scaling(outputs, codes, np.ones(len(codes)), 2)
    expected = LogisticRegression(C=1e6).fit(outputs, codes)
    assert scale == pytest.approx(expected.coef_.item(), abs=0.01)
    assert offset.item() == pytest.approx(expected.intercept_.item(), abs=0.01)


def test_platt_scaling_of_three_classes_finds_the_scale():
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(20_000, 3))
    noise = rng.gumbel(size=outputs.shape)
    codes = (3.0 * outputs + [0.0, 0.5, 1.0] + noise).argmax(axis=1)
    scale, offset = fit_platt_scaling(outputs, codes, np.ones(len(codes)), 3)
    assert scale == pytest.approx(3.0, abs=0.1)
    np.testing.assert_allclose(offset - offset[0], [0.0, 0.5, 1.0], atol=0.1)


def test_outputs_that_point_the_wrong_way_are_not_believed():
    codes = np.array([0, 1] * 10)
    scale, _ = fit_platt_scaling(1.0 - 2.0 * codes[:, np.newaxis], codes, np.ones(20), 2)
    assert scale == 0.0


# --- pairs of classes --------------------------------------------------------


def test_the_slope_of_a_pair_makes_decisions_log_odds():
    rng = np.random.default_rng(0)
    f = rng.normal(size=4000)
    codes = (rng.random(4000) > 1.0 / (1.0 + np.exp(-3.0 * f))).astype(np.int64)
    slope = fit_pairwise_slopes(f[:, np.newaxis], codes, 2)[0]
    assert slope == pytest.approx(3.0, rel=0.1)
    double = fit_pairwise_slopes(f[:, np.newaxis], codes, 2, np.full(4000, 2.0))
    assert double[0] == pytest.approx(slope, rel=0.01)
    assert fit_pairwise_slopes(-f[:, np.newaxis], codes, 2)[0] > 0


def test_a_pair_without_rows_keeps_the_slope_one():
    decisions = np.array([[2.0, 1.0, 1.0], [-2.0, -1.0, 1.0]])
    slopes = fit_pairwise_slopes(decisions, np.array([0, 1]), 3)
    assert slopes[0] > 0 and slopes.shape == (3,)
    assert fit_pairwise_slopes(decisions[:1], np.array([0]), 3)[2] == 1.0  # classes 1 and 2
