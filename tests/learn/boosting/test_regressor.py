"""GreedyMiserRegressor: the squared loss, to the digits of a computation by hand."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserRegressor, Prices


def test_one_stump_takes_a_step_toward_the_means_of_its_two_sides():
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat([1.0, 5.0], 20)
    model = GreedyMiserRegressor(n_estimators=1, max_depth=1, learning_rate=0.5).fit(X, y)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [2.0, 4.0])


def test_a_feature_is_bought_only_if_it_saves_its_price():
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat([1.0, 5.0], 20)
    # A split saves half of the variance, 2, for each row; the price is 10.
    settings = {"n_estimators": 1, "max_depth": 1}
    cheap = GreedyMiserRegressor(Prices([10.0]), penalty=0.19, **settings).fit(X, y)
    dear = GreedyMiserRegressor(Prices([10.0]), penalty=0.21, **settings).fit(X, y)
    assert cheap.bill(X).mean() == 10.0 and dear.bill(X).mean() == 0.0


def test_the_quality_of_a_path_is_r2():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + X[:, 1]
    validation = (X[100:], y[100:])
    model = GreedyMiserRegressor(n_estimators=10)
    *_, last = model.path(X[:100], y[:100], validation=validation)
    error = np.mean((last.model.predict(X[100:]) - y[100:]) ** 2)
    assert last.quality == pytest.approx(1 - error / np.var(y[100:]))
