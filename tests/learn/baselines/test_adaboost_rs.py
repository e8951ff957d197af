"""AdaBoostRS: the vote of AdaBoost, and unbiased samples of it that prefer cheap trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from thrifty import Prices
from thrifty.learn.baselines import AdaBoostRSClassifier


@pytest.mark.parametrize("classes", [2, 3])
def test_all_trees_vote_as_in_adaboost(classes, draw, new_rows):
    train = draw(0, classes=classes)
    ours = AdaBoostRSClassifier(n_estimators=10, max_depth=2, random_state=0).fit(*train)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10)
    np.testing.assert_array_equal(ours.predict(new_rows), theirs.fit(*train).predict(new_rows))


def test_draws_estimate_the_whole_vote(train, prices, new_rows):
    whole = AdaBoostRSClassifier(prices, n_estimators=6, random_state=3)
    sample = clone(whole).set_params(draws=40_000).fit(*train).model_
    full = whole.fit(*train).model_
    assert len(sample.roots) == len(full.roots)
    np.testing.assert_allclose(sample.raw(new_rows), full.raw(new_rows), atol=0.15)


def test_cheap_trees_are_drawn_more_often(train, new_rows):
    prices = Prices([100, 100, 1, 1, 1, 1])
    for seed in range(3):
        model = AdaBoostRSClassifier(draws=3, n_estimators=20, max_depth=1, random_state=seed)
        unpriced = model.fit(*train).used(new_rows).any(axis=0)
        priced = clone(model).set_params(prices=prices).fit(*train).used(new_rows).any(axis=0)
        assert unpriced[0] and not priced[:2].any()


def test_a_constant_table_gives_the_class_shares():
    X, y = np.ones((20, 2)), np.arange(20) % 4 // 3
    model = AdaBoostRSClassifier(draws=3).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[0], [0.75, 0.25])
