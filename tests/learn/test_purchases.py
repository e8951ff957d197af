"""Purchases: what features cost the model, or all rows, as they are bought."""

from __future__ import annotations

import numpy as np

from thrifty.costs import Prices
from thrifty.learn.purchases import Purchases

PRICES = Prices([1, 2, 1, 0, 3, 1, 1, 1], groups={"lab": [4, 5, 6]}, shared={"lab": 2.0})


def test_what_is_due_falls_as_features_and_groups_are_bought():
    purchases = Purchases(PRICES.bind(8), 10, "model")
    assert purchases.due().tolist() == [1, 2, 1, 0, 5, 3, 3, 1]
    purchases.features[5] = 1
    assert purchases.due().tolist() == [1, 2, 1, 0, 3, 0, 1, 1]
    purchases.features[0] = 1
    assert purchases.due().tolist() == [0, 2, 1, 0, 3, 0, 1, 1]


def test_a_total_counts_the_weight_of_the_rows_that_have_not_paid():
    prices = Prices([1.0, 2.0], groups={"g": [0, 1]}, shared={"g": 4.0}).bind(2)
    purchases = Purchases(prices, 3, "example")
    np.testing.assert_allclose(purchases.total_due(None), [15.0, 18.0])
    purchases.paid[0, :2], purchases.group_paid[0, :2] = 1, 1
    np.testing.assert_allclose(purchases.total_due(None), [1.0 + 4.0, 6.0 + 4.0])
    np.testing.assert_allclose(purchases.total_due(np.array([1.0, 1.0, 2.0])), [10.0, 16.0])


def test_a_total_for_the_model_is_the_price_times_the_weight():
    purchases = Purchases(Prices([1.0, 2.0]).bind(2), 3, "model")
    np.testing.assert_allclose(purchases.total_due(None), [3.0, 6.0])
    np.testing.assert_allclose(purchases.total_due(np.array([0.5, 0.5, 0.5])), [1.5, 3.0])
