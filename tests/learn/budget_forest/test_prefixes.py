"""Prefixes of a forest: measured in one pass, each what its model says."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.learn.budget_forest.classifier import ALPHAS, BudgetForestClassifier
from thrifty.learn.budget_forest.impurities import ThresholdPairs

PRICES = Prices([1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.01)
GREEDY = {"n_estimators": 1, "bootstrap": False, "max_features": 1.0, "random_state": 0}


def draw(seed, n=250, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    return X, np.digitize(value, [0.0] if classes == 2 else [-0.8, 0.8])


# --- the path ----------------------------------------------------------------


@pytest.fixture(scope="module")
def points():
    model = BudgetForestClassifier(PRICES, n_estimators=8, random_state=0)
    return list(model.path(*draw(0), validation=draw(1)))


def test_the_path_starts_at_the_constant_and_goes_up(points):
    assert points[0].bill == 0.0
    assert points[0].knob == {"trees": 0}
    bills = [point.bill for point in points]
    assert bills == sorted(bills)
    assert {point.knob["alpha"] for point in points[1:]} <= set(ALPHAS)
    assert len({point.knob["alpha"] for point in points[1:]}) > 3


def test_points_are_what_their_models_say(points):
    X, y = draw(1)
    for point in points:
        assert point.bill == point.model.bill(X).mean()
        assert point.quality == np.mean(point.model.predict(X) == y)


def test_a_longer_prefix_of_the_same_alpha_has_less_error(points):
    X, y = draw(1)
    member = np.eye(3)[y]
    for alpha in ALPHAS:
        mine = [point for point in points[1:] if point.knob["alpha"] == alpha]
        trees = [point.knob["trees"] for point in mine]
        assert trees == sorted(trees)
        losses = [np.sum((point.model.predict_proba(X) - member) ** 2) for point in mine]
        assert losses == sorted(losses, reverse=True)


def test_a_point_is_a_prefix_of_the_fit_with_its_alpha(points):
    X, y = draw(0)
    for point in (points[len(points) // 2], points[-1]):
        impurity = ThresholdPairs(point.knob["alpha"])
        model = BudgetForestClassifier(PRICES, impurity=impurity, n_estimators=8, random_state=0)
        prefix = model.fit(X, y).model_.prefix(point.knob["trees"])
        np.testing.assert_array_equal(prefix.nodes, point.model.model.nodes)


def test_the_alphas_can_be_chosen():
    model = BudgetForestClassifier(n_estimators=4, random_state=0)
    points = list(model.path(*draw(0), validation=draw(1), alphas=[3]))
    assert {point.knob.get("alpha") for point in points[1:]} == {3.0}
