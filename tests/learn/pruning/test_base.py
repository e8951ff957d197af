"""The forest to prune: given in many forms, trained if none is given, or refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator

from thrifty import GreedyMiserClassifier, Prices, PrunedForestClassifier
from thrifty.errors import DataError
from thrifty.model import Forest

PRICES = Prices([1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.01)
NAMES = ["age", "bmi", "chol", "dose", "ecg", "fbs"]


def draw(seed, n=240):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    return X, np.array(["low", "mid", "top"])[np.digitize(value, [-0.8, 0.8])]


TRAIN, HELD, TEST = draw(0), draw(1), draw(2)


@pytest.fixture(scope="module")
def theirs():
    return RandomForestClassifier(12, max_features=None, random_state=0).fit(*TRAIN)


@pytest.fixture(scope="module")
def points(theirs):
    model = PrunedForestClassifier(theirs, PRICES)
    return list(model.path(*TRAIN, validation=HELD, min_step=0.0))


# --- the forest that comes in


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_an_unpruned_forest_predicts_what_scikit_learn_predicts(kind):
    forest = kind(10, random_state=0).fit(*TRAIN)
    model = PrunedForestClassifier(forest)
    data = model._read_pruning(*TRAIN, None, HELD)
    np.testing.assert_array_equal(data.forest.score(TEST[0]), forest.predict_proba(TEST[0]))


def test_a_frozen_forest_and_an_estimator_with_one_are_taken(theirs):
    fitted = PrunedForestClassifier(theirs, PRICES, random_state=0).fit(*TRAIN)
    for forest in (fitted.model_, fitted, FrozenEstimator(theirs)):
        again = PrunedForestClassifier(forest, PRICES, penalty=0.05).fit(*TRAIN, validation=HELD)
        assert again.bill(TEST[0]).mean() < fitted.bill(TEST[0]).mean()
        assert again.score(*TEST) > 0.5


def test_a_frozen_forest_survives_a_clone(theirs):
    model = PrunedForestClassifier(FrozenEstimator(theirs), PRICES, penalty=0.004)
    one, two = model.fit(*TRAIN, validation=HELD), clone(model).fit(*TRAIN, validation=HELD)
    np.testing.assert_array_equal(one.predict_proba(TEST[0]), two.predict_proba(TEST[0]))


def test_a_vote_is_pruned_as_a_mean_of_votes(theirs):
    frozen = PrunedForestClassifier(theirs).fit(*TRAIN).model_
    vote = Forest(frozen.nodes, frozen.values, frozen.roots, frozen.outputs, np.zeros(3), "vote", 6)
    data = PrunedForestClassifier(vote)._read_pruning(*TRAIN, None, HELD)
    np.testing.assert_allclose(data.forest.score(TEST[0]), vote.score(TEST[0]))


def test_without_a_forest_one_is_trained():
    model = PrunedForestClassifier(prices=PRICES, penalty=0.01, n_estimators=8, random_state=0)
    model.fit(*TRAIN)
    assert len(model.model_.roots) <= 8
    assert model.score(*TEST) > 0.6
    assert model.bill(TEST[0]).mean() < PRICES.bind(6).full


# --- refusals


def refuse(forest, match, X=TRAIN[0], y=TRAIN[1]):
    with pytest.raises(DataError, match=match):
        PrunedForestClassifier(forest).fit(X, y)


def test_a_forest_that_is_not_fitted_is_refused():
    refuse(RandomForestClassifier(), "forest: this RandomForestClassifier is not fitted.*Frozen")
    refuse(PrunedForestClassifier(), "forest: this PrunedForestClassifier is not fitted")


def test_a_forest_of_values_is_refused():
    forest = RandomForestRegressor(3).fit(TRAIN[0], np.arange(240.0))
    refuse(forest, "forest: this RandomForestRegressor predicts values; pruning takes classifiers")


def test_boosted_trees_are_refused():
    refuse(GreedyMiserClassifier(n_estimators=2).fit(*TRAIN), "adds up its trees")


def test_something_that_is_no_forest_is_refused():
    refuse("forest.txt", "forest: a str is not a forest")
    refuse(42, "forest: an object of type int cannot be adopted")


def test_a_forest_of_other_columns_is_refused(theirs):
    refuse(theirs, "forest: trained on 6 columns, the table has 3", X=TRAIN[0][:, :3])
    frame = pd.DataFrame(TRAIN[0], columns=NAMES)
    named = RandomForestClassifier(3).fit(frame, TRAIN[1])
    other = frame.rename(columns={"chol": "thal"})
    refuse(named, "column 2 was 'chol', in the table it is 'thal'", X=other)
    text = pd.DataFrame({"age": ["a", "b"] * 120})
    alone = RandomForestClassifier(3).fit(TRAIN[0][:, :1], TRAIN[1])
    refuse(alone, "trained on numbers, but column 'age' holds categories", X=text)


def test_a_forest_of_other_classes_is_refused(theirs):
    refuse(theirs, r"target: \['rest'\] are not classes of the forest", y=["rest", "low"] * 120)
    frozen = PrunedForestClassifier(theirs).fit(*TRAIN).model_
    refuse(frozen, "forest: it has 3 classes, the target has 2", y=["a", "b"] * 120)
