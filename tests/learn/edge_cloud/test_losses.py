"""Losses of edge/cloud models: values, and gradients by finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from thrifty.learn.edge_cloud.losses import log_loss, squared_loss


@pytest.mark.parametrize(
    ("loss", "outputs"),
    [(log_loss(np.array([2])), [0.3, -1.0, 0.2]), (squared_loss(np.array([0.7])), [1.5])],
)
def test_gradients_are_finite_differences(loss, outputs) -> None:
    outputs = np.array(outputs)
    expected = approx_fprime(outputs, lambda flat: loss(flat[np.newaxis])[0][0], 1e-7)
    np.testing.assert_allclose(loss(outputs[np.newaxis])[1][0], expected, atol=1e-6)


def test_losses_are_those_of_the_definition() -> None:
    outputs = np.array([[0.0, np.log(3.0)], [50.0, -1000.0]])
    np.testing.assert_allclose(log_loss(np.array([1, 0]))(outputs)[0], [np.log(4 / 3), 0.0])
    np.testing.assert_allclose(squared_loss(np.array([1.0]))(np.array([[3.0]]))[0], [2.0])
