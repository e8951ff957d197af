"""The NumPy reference: an impurity of the user, and the same trees as the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.learn.budget_forest.classifier import BudgetForestClassifier
from thrifty.learn.budget_forest.impurities import Impurity, Powers

PRICES = Prices([1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.01)
GREEDY = {"n_estimators": 1, "bootstrap": False, "max_features": 1.0, "random_state": 0}


def draw(seed, n=250, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    return X, np.digitize(value, [0.0] if classes == 2 else [-0.8, 0.8])


def test_an_impurity_of_the_user_makes_a_forest():
    class Rest(Impurity):
        def value(self, counts):
            total = counts.sum(axis=-1)
            return total * (total - counts.max(axis=-1))

    X, y = draw(0, n=120)
    model = BudgetForestClassifier(PRICES, impurity=Rest(), n_estimators=5, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.9
    points = list(model.path(X, y, validation=draw(1)))
    assert all("alpha" not in point.knob for point in points)


class Hidden(Impurity):
    """An impurity of the library without its kernel."""

    def __init__(self, impurity):
        self.impurity = impurity

    def value(self, counts):
        return self.impurity.value(counts)


@pytest.mark.parametrize("splits", ["minimax", "expected"])
def test_the_reference_grows_the_trees_of_the_kernel(splits):
    X, y = draw(0, n=60)
    settings = {"n_estimators": 2, "splits": splits, "random_state": 0}
    kernel, reference = (
        BudgetForestClassifier(PRICES, impurity=impurity, **settings).fit(X, y)
        for impurity in (Powers(2), Hidden(Powers(2)))
    )
    np.testing.assert_array_equal(kernel.predict_proba(X), reference.predict_proba(X))
    np.testing.assert_array_equal(kernel.used(X), reference.used(X))
