"""The path: operating points from the constant up, each as good and as dear as it says."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import Prices
from thrifty.learn import (
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    LadderClassifier,
)

PRICES = Prices([1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.01)
SETTINGS = {"prices": PRICES, "n_estimators": 25, "min_samples_leaf": 5, "learning_rate": 0.3}
MODELS = {
    "regressor": GreedyMiserRegressor(**SETTINGS),
    "example": GreedyMiserRegressor(**SETTINGS, charge="example"),
    "two classes": GreedyMiserClassifier(**SETTINGS),
    "classes": GreedyMiserClassifier(**SETTINGS),
    "hinge": GreedyMiserClassifier(**SETTINGS, loss="squared_hinge"),
    "ranker": GreedyMiserRanker(**SETTINGS),
}


def draw(name, seed, n=250):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    if name in ("regressor", "example"):
        return X, value
    return X, np.digitize(value, [0.0] if name == "two classes" else [-0.8, 0.8])


@pytest.mark.parametrize("learner", [GreedyMiserClassifier, LadderClassifier])
def test_a_point_hands_over_what_its_model_tells_the_validation_rows(learner):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    model = learner(Prices([1.0, 2.0, 3.0, 0.5]), n_estimators=8, random_state=0)
    points = list(model.path(X[:200], y[:200], validation=(X[200:], y[200:])))
    assert all(point.outputs is not None for point in points)
    for point in points:
        np.testing.assert_array_equal(point.outputs.scores, point.model.predict_proba(X[200:]))
        np.testing.assert_array_equal(point.outputs.bills, point.model.bill(X[200:]))


def test_a_point_keeps_no_more_than_it_has_room_for(monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    monkeypatch.setattr("thrifty.learn.boosting.validation_tracker.MAX_KEPT", 100)
    points = GreedyMiserClassifier(n_estimators=3).path(X, y, validation=(X, y))
    assert all(point.outputs is None for point in points)


def test_with_a_price_of_evaluations_the_model_is_asked_for_the_bill():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    model = GreedyMiserClassifier(Prices(evaluation=0.1), n_estimators=3)
    assert all(point.outputs is None for point in model.path(X, y, validation=(X, y)))
