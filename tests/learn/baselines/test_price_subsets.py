"""Boosting on the features up to a price."""

from __future__ import annotations

import numpy as np

from thrifty import GreedyMiserClassifier, Prices
from thrifty.learn.baselines import PriceSubsetsClassifier

SMALL = {"n_estimators": 12, "max_depth": 2, "min_samples_leaf": 5, "random_state": 0}


def test_a_subset_is_boosted_as_if_the_other_columns_did_not_exist(train, validation, new_rows):
    prices = Prices([1, 5, 1, 20, 5, 20])
    model = PriceSubsetsClassifier(prices, max_price=5, **SMALL).fit(*train)
    cheap = [0, 1, 2, 4]
    alone = GreedyMiserClassifier(**SMALL).fit(train[0][:, cheap], train[1])
    np.testing.assert_array_equal(
        model.predict_proba(new_rows), alone.predict_proba(new_rows[:, cheap])
    )
    levels = [point.knob for point in model.path(*train, validation=validation)][1:]
    assert levels == [{"max_price": 1.0}, {"max_price": 5.0}, {"max_price": 20.0}]


def test_a_group_counts_with_its_shared_price(train, prices, new_rows):
    model = PriceSubsetsClassifier(prices, max_price=2.0, **SMALL).fit(*train)
    assert not model.used(new_rows)[:, 4:].any()  # 5 and 3 with the shared price of the lab


def test_a_subset_without_features_is_the_constant(train, prices, new_rows):
    model = PriceSubsetsClassifier(prices, max_price=0.1, **SMALL).fit(*train)
    assert model.bill(new_rows).max() == 0.0
    np.testing.assert_allclose(model.predict_proba(new_rows)[:, 1], train[1].mean())
