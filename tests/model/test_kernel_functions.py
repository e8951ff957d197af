"""Kernel functions: values, gradients, and how a model file names them."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.errors import BundleError
from thrifty.model.kernel_functions import PolynomialKernel, RBFKernel, build_kernel

KERNEL_FUNCTIONS = [RBFKernel(0.7), PolynomialKernel(3, 0.5, 1.0), PolynomialKernel(1)]


@pytest.mark.parametrize("kernel", KERNEL_FUNCTIONS, ids=repr)
def test_gradients_equal_finite_differences(kernel) -> None:
    rng = np.random.default_rng(3)
    X, V, weights = rng.normal(size=(6, 2)), rng.normal(size=(3, 2)), rng.normal(size=(6, 3))
    gradient, h = kernel.gradient(X, V, weights), 1e-6
    for entry in np.ndindex(V.shape):
        step = np.zeros_like(V)
        step[entry] = h
        change = kernel.value(X, V + step) - kernel.value(X, V - step)
        assert gradient[entry] == pytest.approx((weights * change).sum() / (2 * h), abs=1e-6)


@pytest.mark.parametrize("kernel", KERNEL_FUNCTIONS, ids=repr)
def test_the_fast_matrix_equals_the_values_up_to_rounding(kernel) -> None:
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(40, 3)), rng.normal(size=(7, 3))
    np.testing.assert_allclose(kernel.matrix(X, V), kernel.value(X, V), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(kernel(X, V), kernel.matrix(X, V))


@pytest.mark.parametrize("kernel", KERNEL_FUNCTIONS, ids=repr)
def test_a_kernel_is_rebuilt_from_its_name_and_parameters(kernel) -> None:
    assert build_kernel(kernel.name, kernel.parameters) == kernel


@pytest.mark.parametrize(
    "settings", [{"degree": 0}, {"degree": 2.5}, {"gamma": 0.0}, {"coef0": np.nan}]
)
def test_invalid_parameters_are_refused(settings) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        PolynomialKernel(**settings)
    with pytest.raises(BundleError):
        build_kernel("rbf", {"gamma": 0.0})
