"""The SVM is at its optimum, and derivatives through it equal finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from thrifty.learn.anytime.hinge_svm import HingeSVM, soft_error, validation_gradient


def draw_problem(seed, n=60, m=40, dimensions=3):
    """A representation of n training and m validation rows, classes and weights."""
    rng = np.random.default_rng(seed)
    phi = np.vstack([np.ones(n + m), rng.normal(size=(dimensions, n + m))])
    sign = np.where(phi[1] + 0.5 * rng.normal(size=n + m) > 0, 1.0, -1.0)
    return phi, sign, rng.uniform(0.5, 2.0, n + m), n


def fit_svm(phi, sign, weight, n, C):
    svm = HingeSVM(sign[:n], weight[:n], C)
    svm.fit(phi[:, :n])
    return svm


def validation_error(phi, sign, weight, n, C):
    svm = fit_svm(phi, sign, weight, n, C)
    return soft_error(svm.beta @ phi[:, n:], sign[n:], weight[n:])


@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
def test_the_svm_is_at_the_optimum_of_its_objective(C):
    phi, sign, weight, n = draw_problem(0)
    svm = fit_svm(phi, sign, weight, n, C)

    def objective(beta):
        return svm.value(beta, beta @ phi[:, :n])

    best = minimize(objective, np.zeros(len(phi)), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(svm.beta, best.x, atol=1e-4)
    assert objective(svm.beta) <= best.fun + 1e-12


def test_gradients_with_respect_to_the_representation_equal_finite_differences():
    phi, sign, weight, n = draw_problem(1)
    svm = fit_svm(phi, sign, weight, n, 0.3)
    gradient = validation_gradient(svm, phi[:, :n], phi[:, n:], sign[n:], weight[n:])
    step = 1e-6
    for s in range(1, len(phi)):
        expected = np.empty(phi.shape[1])
        for i in range(phi.shape[1]):
            ends = []
            for shift in (step, -step):
                moved = phi.copy()
                moved[s, i] += shift
                ends.append(validation_error(moved, sign, weight, n, 0.3))
            expected[i] = (ends[0] - ends[1]) / (2 * step)
        assert np.abs(expected).max() > 0.01
        np.testing.assert_allclose(gradient.by_dimension(s), expected, atol=1e-5)


@pytest.mark.parametrize("C", [0.02, 0.3, 2.0])
def test_the_gradient_with_respect_to_c_equals_finite_differences(C):
    phi, sign, weight, n = draw_problem(2)
    svm = fit_svm(phi, sign, weight, n, C)
    found = validation_gradient(svm, phi[:, :n], phi[:, n:], sign[n:], weight[n:]).c_gradient
    step = 1e-5 * C
    more, less = (validation_error(phi, sign, weight, n, C + shift) for shift in (step, -step))
    assert found == pytest.approx((more - less) / (2 * step), rel=1e-5, abs=1e-5)


def test_an_updated_svm_equals_one_that_is_fitted_from_scratch():
    phi, sign, weight, n = draw_problem(3)
    svm = fit_svm(phi, sign, weight, n, 0.3)
    rng = np.random.default_rng(0)
    for _ in range(30):
        changed = int(rng.integers(1, len(phi)))
        phi[changed] += 0.3 * rng.normal(size=phi.shape[1])
        svm.fit(phi[:, :n], changed)
        np.testing.assert_allclose(svm.beta, fit_svm(phi, sign, weight, n, 0.3).beta, atol=1e-10)


def test_a_new_dimension_can_be_added():
    phi, sign, weight, n = draw_problem(4)
    svm = HingeSVM(sign[:n], weight[:n], 0.3)
    for size in range(1, len(phi) + 1):
        svm.fit(phi[:size, :n], size - 1)
    np.testing.assert_allclose(svm.beta, fit_svm(phi, sign, weight, n, 0.3).beta, atol=1e-10)


def test_an_svm_with_one_class_predicts_it():
    svm = HingeSVM(np.ones(5), np.ones(5))
    svm.fit(np.vstack([np.ones(5), np.arange(5.0)]))
    np.testing.assert_allclose(svm.beta, [1.0, 0.0], atol=1e-6)


def test_a_copy_is_not_changed_by_later_fits():
    phi, sign, weight, n = draw_problem(5)
    svm = fit_svm(phi, sign, weight, n, 0.3)
    copy = svm.copy()
    beta, rhs = svm.beta.copy(), np.arange(1.0, len(phi) + 1)
    solution = copy.solve(rhs)
    phi[1] *= 2.0
    svm.fit(phi[:, :n], 1)
    assert not np.array_equal(svm.beta, beta)
    np.testing.assert_array_equal(copy.beta, beta)
    np.testing.assert_array_equal(copy.solve(rhs), solution)
