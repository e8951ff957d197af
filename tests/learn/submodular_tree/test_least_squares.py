"""Least squares against an orthogonal decomposition of all rows."""

from __future__ import annotations

import numpy as np
import pytest
from selection_cases import random_rows, residual

from thrifty.learn.submodular_tree.gram import Gram
from thrifty.learn.submodular_tree.least_squares import least_squares


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e5, 1e9])
@pytest.mark.parametrize("known", ["nothing", "products", "rough products", "other products"])
def test_coefficients_are_those_of_an_orthogonal_decomposition(condition, known):
    rng, Z, Y = random_rows(1, n=9000, d=8, targets=2, condition=condition)
    weight = rng.random(9000)
    products = Gram.of(Z, Y, weight).products(np.arange(8))
    noise = 1.0 + 1e-12 * rng.normal(size=(9, 9))
    given = {"nothing": None, "products": products, "rough products": products * noise * noise.T,
             "other products": np.eye(9)}[known]  # fmt: skip
    coefficients, intercept = least_squares(Z, Y, weight, given)
    A = np.column_stack([np.ones(9000), Z]) * np.sqrt(weight)[:, None]
    expected = np.linalg.lstsq(A, Y * np.sqrt(weight)[:, None], rcond=None)[0]
    found = np.vstack([intercept, coefficients])
    assert np.allclose(A @ found, A @ expected, atol=1e-7)
    if condition < 1e6:
        assert np.allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_dependent_columns_have_finite_coefficients():
    _, Z, Y = random_rows(2)
    Z = np.column_stack([Z, Z[:, 0], np.ones(len(Z))])
    coefficients, intercept = least_squares(Z, Y)
    assert np.isfinite(coefficients).all() and np.isfinite(intercept).all()
    fitted = Z @ coefficients + intercept
    assert np.square(Y - fitted).sum() == pytest.approx(residual(Z, Y, range(6)))


def test_fewer_rows_than_columns_have_finite_coefficients():
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(4, 9)), rng.normal(size=(4, 1))
    coefficients, intercept = least_squares(Z, Y)
    assert np.allclose(Z @ coefficients + intercept, Y)
