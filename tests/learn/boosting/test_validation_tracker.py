"""The validation tracker hands over scores and bills of each checkpoint where they are small."""

from __future__ import annotations

import numpy as np

from thrifty import Prices
from thrifty.learn import GreedyMiserClassifier


def test_a_point_hands_over_what_its_model_tells_the_validation_rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    prices = Prices([1.0, 2.0, 3.0, 0.5])
    model = GreedyMiserClassifier(prices, n_estimators=8, random_state=0)
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
