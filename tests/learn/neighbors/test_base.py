"""Sequential classifiers: where rows stop at a threshold, weighted prices, checked input."""

from __future__ import annotations

import numpy as np
import pytest
from neighbors_cases import draw

from thrifty import DataError, MarginNeighborsClassifier, Prices
from thrifty.learn.neighbors.base import MAX_POINTS, stops_at_thresholds, weighted_prices


@pytest.fixture(scope="module")
def full_model():
    """A model that buys everything."""
    return MarginNeighborsClassifier(base="logistic", threshold=1.0).fit(*draw(0)).model_


def test_stops_go_from_the_constant_to_everything(full_model):
    X = draw(1, n=80)[0]
    stops = list(stops_at_thresholds(full_model, full_model.run(X)))
    assert 5 < len(stops) <= 1 + MAX_POINTS
    assert not stops[0].steps.any() and (stops[-1].steps == 5).all()
    thresholds = [stop.knob["threshold"] for stop in stops]
    assert thresholds == sorted(set(thresholds))
    for _, model, steps in stops[1::4]:
        np.testing.assert_array_equal(steps, model.run(X).steps)


def test_a_threshold_at_which_nothing_is_bought_is_left_out(full_model):
    states = full_model.run(draw(1, n=80)[0])
    stops = list(stops_at_thresholds(full_model, states, [0.2, 0.9, 0.7]))
    assert [stop.knob["threshold"] for stop in stops] == [0.0, 0.7, 0.9]


def test_a_feature_of_the_mean_price_loses_alpha():
    prices = Prices([1.0, 2.0, 3.0], groups={"lab": [0, 1]}, shared={"lab": 6.0}).bind(3)
    own, shared = weighted_prices(prices, alpha=0.1)
    np.testing.assert_allclose(own, 0.1 * np.array([1.0, 2.0, 3.0]) / 4.0)
    np.testing.assert_allclose(shared, [0.1 * 6.0 / 4.0])


def test_free_features_lose_nothing():
    own, _ = weighted_prices(Prices([0.0, 0.0]).bind(2), alpha=0.1)
    assert own.tolist() == [0.0, 0.0]


def test_validation_rows_are_checked():
    X, y = draw(0)
    with pytest.raises(DataError, match=r"\[7\] are not classes"):
        MarginNeighborsClassifier(base="logistic").path(X, y, validation=(X[:1], [7]))
    with pytest.raises(DataError, match="give the table and its target"):
        MarginNeighborsClassifier(base="logistic").path(X, y, validation=(X,))


def test_one_class_is_refused():
    with pytest.raises(DataError, match="only one class"):
        MarginNeighborsClassifier().fit(draw(0)[0], np.ones(300))
