"""Linear models on some columns: solved as by scikit-learn, and frozen as one node."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from thrifty.learn.linear import RIDGE_GRID, fit_linear
from thrifty.model import LinearTree

NUMBERS = np.zeros(4, dtype=bool)


def draw(n=200, n_classes=3, seed=0):
    """Draw four columns and a target; the last column holds nothing about it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, -3.0, 0.0]
    raw = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=(4, max(n_classes, 1)))
    if n_classes == 0:
        return X, raw[:, 0] + rng.normal(size=n)
    return X, (raw + rng.gumbel(size=raw.shape)).argmax(axis=1)


def standardized(X, weight=None):
    center = np.average(X, axis=0, weights=weight)
    return (X - center) / np.sqrt(np.average((X - center) ** 2, axis=0, weights=weight))


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_are_predicted_as_by_logistic_regression(n_classes, weighted):
    X, y = draw(400, n_classes)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, size=len(y)) if weighted else None
    model = fit_linear(X, y, n_classes, NUMBERS, np.arange(4), weight)
    w = np.ones(len(y)) if weight is None else weight / weight.mean()
    Z = standardized(X, weight)
    expected = LogisticRegression(C=1.0, tol=1e-8, max_iter=5000).fit(Z, y, sample_weight=w)
    np.testing.assert_allclose(model.score(X), expected.predict_proba(Z), atol=0.01)


def ridge(Z, y, weight, alpha):
    """Return weights and constant of a ridge regression, by its normal equations."""
    A, W = np.column_stack([Z, np.ones(len(Z))]), weight[:, np.newaxis]
    penalty = np.diag([*np.full(Z.shape[1], alpha), 0.0])
    return np.linalg.solve(A.T @ (W * A) + penalty, A.T @ (weight * y))


def loo_error(Z, y, weight, alpha):
    """Return the weighted squared error of rows predicted by fits without them."""
    error = 0.0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        theta = ridge(Z[rest], y[rest], weight[rest], alpha)
        error += weight[i] * (y[i] - np.append(Z[i], 1.0) @ theta) ** 2
    return error


@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_predicted_by_the_ridge_with_the_least_leave_one_out_error(weighted):
    X, y = draw(30, n_classes=0)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, size=30) if weighted else np.ones(30)
    weight /= weight.mean()
    Z = standardized(X, weight)
    # The columns are not standardized anew without a row, nor is the penalty of 30 rows changed.
    best = min(30 * RIDGE_GRID, key=lambda alpha: loo_error(Z, y, weight, alpha))
    expected = np.column_stack([Z, np.ones(30)]) @ ridge(Z, y, weight, best)
    model = fit_linear(X, y, 0, NUMBERS, np.arange(4), weight)
    np.testing.assert_allclose(model.score(X), expected, rtol=1e-8)


def test_only_the_given_columns_are_read():
    X, y = draw()
    model = fit_linear(X, y, 3, NUMBERS, np.array([3, 1]))
    assert isinstance(model, LinearTree)
    assert model.support.tolist() == [False, True, False, True]
    assert model.most_evaluations == 1


def test_the_order_of_the_columns_in_the_table_decides_no_bit():
    X, y = draw()
    order = np.array([2, 0, 3, 1])
    place = np.argsort(order)
    one = fit_linear(X, y, 3, NUMBERS, np.arange(4))
    other = fit_linear(X[:, order], y, 3, NUMBERS, place)
    np.testing.assert_array_equal(other.score(X[:, order]), one.score(X))


def test_the_scale_of_the_weights_decides_nothing():
    X, y = draw()
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    one = fit_linear(X, y, 3, NUMBERS, np.arange(4), weight)
    np.testing.assert_array_equal(
        fit_linear(X, y, 3, NUMBERS, np.arange(4), 4 * weight).score(X), one.score(X)
    )


def test_a_missing_value_counts_as_the_mean():
    X, y = draw()
    X[::5, 0] = np.nan
    model = fit_linear(X, y, 3, NUMBERS, np.arange(4))
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_allclose(model.score(X), model.score(filled), rtol=1e-12)


def test_categories_become_indicators_and_an_unseen_one_none_of_them():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(300, 1)).astype(float)
    X[X == 3] = 4.0
    y = np.isin(X[:, 0], [1, 4]).astype(int)  # not monotone in the code
    model = fit_linear(X, y, 2, np.array([True]), np.array([0]))
    assert model.score(X).argmax(axis=1).tolist() == y.tolist()
    assert np.isfinite(model.score(np.array([[3.0], [99.0], [np.nan]]))).all()


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_without_a_column_that_varies_the_model_is_constant(n_classes):
    y = np.array([0, 1, 1, 1])
    X = np.column_stack([np.ones(4), np.full(4, np.nan), [1e200, -1e200, 1e200, 0.0]])
    model = fit_linear(X, y, n_classes, np.zeros(3, dtype=bool), np.arange(3))
    assert not model.support.any() and model.most_evaluations == 0
    expected = [0.75] if n_classes == 0 else [0.25, 0.75, 0.0][:n_classes]
    np.testing.assert_allclose(np.atleast_1d(model.score(X)[0]), expected, atol=0.01)


def test_a_class_without_rows_is_possible_but_unlikely():
    X, y = draw(300, n_classes=3)
    rows = y < 2
    model = fit_linear(X[rows], y[rows], 4, NUMBERS, np.arange(4))
    assert (model.score(X)[:, 2:] > 0).all() and (model.score(X)[:, 2:] < 0.01).all()


@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_repeated_columns_and_separable_classes_raise_no_warning(n_classes):
    X, _ = draw(60)
    X = np.hstack([X, X])
    y = X[:, 0] if n_classes == 0 else np.digitize(X[:, 0], [-0.5, 0.0, 0.5][: n_classes - 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit_linear(X, y, n_classes, np.zeros(8, dtype=bool), np.arange(8))
    again = LinearTree.build(*model.state())
    np.testing.assert_array_equal(again.score(X), model.score(X))
    expected = y if n_classes else X[:, 0]
    scores = model.score(X).argmax(axis=1) if n_classes else model.score(X)
    assert np.mean(np.abs(scores - expected)) < 0.2


def test_more_columns_than_rows_give_the_ridge_with_the_least_leave_one_out_error():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 15)), rng.normal(size=12)
    weight = rng.uniform(0.1, 3.0, size=12)
    weight /= weight.mean()
    Z = standardized(X, weight)
    best = min(12 * RIDGE_GRID, key=lambda alpha: loo_error(Z, y, weight, alpha))
    expected = np.column_stack([Z, np.ones(12)]) @ ridge(Z, y, weight, best)
    model = fit_linear(X, y, 0, np.zeros(15, dtype=bool), np.arange(15), weight)
    np.testing.assert_allclose(model.score(X), expected, rtol=1e-6)


def test_more_columns_than_rows_are_no_problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 50))
    model = fit_linear(X, X[:, 0], 0, np.zeros(50, dtype=bool), np.arange(50))
    assert np.isfinite(model.score(X)).all()
