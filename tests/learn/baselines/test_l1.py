"""Cost-weighted L1: scikit-learn's solutions at equal prices, and an optimum at any."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

from thrifty import Prices
from thrifty.errors import DataError
from thrifty.learn.baselines import PricedL1Classifier, PricedL1Regressor
from thrifty.learn.baselines.l1 import minimize_quadratic
from thrifty.learn.baselines.ridged_gram import RidgedGram
from thrifty.learn.cost_tree.objective import LogisticLoss

# The parameter of an L1 norm depends on the version of scikit-learn.
IS_NEW = parse_version(sklearn.__version__) >= parse_version("1.8")
L1 = {"l1_ratio": 1.0} if IS_NEW else {"penalty": "l1"}


def weights_of(model):
    """Weights of the encoded columns at the only node."""
    frozen = model.model_
    weights = np.zeros(len(frozen.encoding.columns))
    weights[frozen.inputs] = frozen.weights[:, 0]
    return weights


@pytest.mark.parametrize("penalty", [0.002, 0.02, 0.1])
def test_at_equal_prices_it_is_the_l1_solution_of_scikit_learn(penalty, train):
    Z = StandardScaler().fit_transform(train[0])
    ours = PricedL1Classifier(Prices([2.0] * 6), penalty=penalty).fit(*train)
    C = 1.0 / (len(Z) * 2.0 * penalty)
    theirs = LogisticRegression(**L1, C=C, solver="saga", tol=1e-12, max_iter=100_000)
    theirs.fit(Z, train[1])
    np.testing.assert_allclose(weights_of(ours), theirs.coef_[0], atol=2e-5)
    np.testing.assert_array_equal(weights_of(ours) == 0, theirs.coef_[0] == 0)


@pytest.mark.parametrize("penalty", [0.002, 0.02, 0.1])
def test_at_any_prices_it_is_the_lasso_on_columns_divided_by_them(penalty):
    rng, own = np.random.default_rng(3), np.array([1.0, 4.0, 0.5, 2.0, 1.0, 8.0])
    X = rng.normal(size=(120, 6)) @ rng.normal(size=(6, 6))
    y = X @ [1.0, 0.0, 2.0, 0.0, -1.0, 0.3] + rng.normal(size=120)
    ours = PricedL1Regressor(Prices(own), penalty=penalty).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    theirs = Lasso(alpha=penalty, tol=1e-12, max_iter=100_000).fit(Z / own, y)
    np.testing.assert_allclose(weights_of(ours), theirs.coef_ / own, atol=1e-5)


@pytest.mark.parametrize("penalty", [0.001, 0.01, 0.05])
def test_no_change_of_a_weight_improves_the_objective(penalty, train):
    own = np.array([1.0, 4.0, 0.5, 0.0, 1.0, 3.0])
    model = PricedL1Classifier(Prices(own), penalty=penalty).fit(*train)
    Z, y = StandardScaler().fit_transform(train[0]), np.where(train[1] == 1, 1.0, -1.0)
    weights = weights_of(model)
    outputs = Z @ weights + model.model_.bias[0, 0]
    gradient = Z.T @ LogisticLoss().derivatives(outputs, y)[0] / len(y)
    on = weights != 0
    np.testing.assert_allclose(gradient[on], -penalty * (own * np.sign(weights))[on], atol=1e-6)
    assert (np.abs(gradient[~on]) <= penalty * own[~on] + 1e-9).all()
    assert on[3]  # the free column is not penalized


def test_the_largest_penalty_of_the_path_buys_nothing_and_the_next_something(train, validation):
    points = list(PricedL1Classifier(Prices([1.0] * 6)).path(*train, validation=validation))
    assert [point.bill > 0 for point in points[:3]] == [False, False, True]


def test_a_regression_path_measures_r2(train, prices):
    X, y = train[0], train[0] @ np.arange(6.0)
    points = list(PricedL1Regressor(prices).path(X, y, validation=(X, y)))
    assert points[0].bill == 0.0 and abs(points[0].quality) < 1e-12
    assert points[-1].quality > 0.999
    with pytest.raises(DataError, match="validation"):
        PricedL1Regressor().path(X, y, validation=(X,))


def test_a_diagonal_quadratic_is_minimized_by_soft_thresholding():
    gradient, curvature = np.array([3.0, -1.0, 0.5]), np.array([1.0, 2.0, 4.0])
    diagonal, costs = RidgedGram(np.zeros((1, 3)), curvature), np.array([1.0, 2.0, 0.0])
    found = minimize_quadratic(gradient, diagonal, costs, np.zeros(3))
    np.testing.assert_allclose(found, [-2.0, 0.0, -0.125], atol=1e-12)
