"""MarginNeighborsClassifier: the choice by price, the path, tables and bad input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from neighbors_cases import draw
from sklearn.base import clone

from thrifty import DataError, MarginNeighborsClassifier, Prices, load
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.neighbors.additive import BASES, ScaledTable, fit_additive
from thrifty.learn.neighbors.classifier import make_neighbors

# --- choosing


@pytest.mark.parametrize("base", sorted(BASES))
@pytest.mark.parametrize("classes", [2, 3])
def test_it_predicts_well_and_does_not_buy_everything(base, classes):
    X, y = draw(4, n=600, classes=classes)
    model = MarginNeighborsClassifier(base=base, n_estimators=60, random_state=0, threshold=0.9)
    model.fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.75
    used = model.used(X[400:])
    assert used[:, 0].all()
    assert used.mean() < 0.95


def test_the_first_purchase_is_the_best_single_feature_on_the_training_rows():
    X, y = draw(5)
    order = MarginNeighborsClassifier(base="logistic").fit(X, y).model_.order
    terms = MarginNeighborsClassifier(base="logistic").fit(X, y).model_.terms
    is_positive = (terms.offset + terms.evaluate(X))[:, :, 0] > 0
    correct = (is_positive == y[:, np.newaxis]).mean(axis=0)
    assert correct[order].tolist() == sorted(correct, reverse=True)


def test_a_constant_feature_is_never_bought():
    X, y = draw(6)
    X[:, 3] = 7.0
    model = MarginNeighborsClassifier(base="logistic", threshold=1.0).fit(X, y)
    assert model.used(X).any(axis=0).tolist() == [True, True, True, False, True]


def test_of_two_equal_features_the_cheaper_is_bought_first():
    X, y = draw(7)
    X[:, 4] = X[:, 0]
    cheap = MarginNeighborsClassifier(Prices([9, 1, 1, 1, 1]), "logistic", threshold=0.9).fit(X, y)
    assert cheap.model_.order[0] == 4
    price_blind = clone(cheap).set_params(alpha=0.0).fit(X, y)
    assert cheap.bill(X).mean() < price_blind.bill(X).mean()


def test_prices_in_another_unit_make_the_same_model():
    X, y = draw(8)
    groups = {"groups": {"lab": [0, 1]}}
    one = Prices([1.0, 2.0, 0.5, 4.0, 1.0], shared={"lab": 3.0}, **groups)
    two = Prices([2.0, 4.0, 1.0, 8.0, 2.0], shared={"lab": 6.0}, **groups)
    first, second = (MarginNeighborsClassifier(p, "logistic").fit(X, y) for p in (one, two))
    np.testing.assert_array_equal(first.used(X), second.used(X))
    np.testing.assert_array_equal(2.0 * first.bill(X), second.bill(X))


def test_free_features_lose_nothing_in_the_choice():
    X, y = draw(8)
    free = Prices([0.0] * 5)
    model = MarginNeighborsClassifier(free, "logistic").fit(X, y)
    assert (model.model_.weighted_price == 0.0).all()
    assert (model.bill(X) == 0.0).all()


def test_a_lower_threshold_never_buys_more():
    X, y = draw(9)
    model = MarginNeighborsClassifier(base="logistic").fit(X, y).model_
    used = [model.with_threshold(threshold).used(X) for threshold in (0.0, 0.6, 0.8, 0.95, 1.0)]
    assert not used[0].any() and used[-1].all()
    assert all((less <= more).all() for less, more in pairwise(used))


def test_the_estimate_is_near_the_accuracy():
    X, y = draw(10, n=1500)
    model = MarginNeighborsClassifier(base="logistic", n_neighbors=60).fit(X[:800], y[:800])
    states = model.model_.with_threshold(1.0).run(X[800:])
    accuracy = (states.predicted == y[800:, np.newaxis]).mean(axis=0)
    np.testing.assert_allclose(states.estimate.mean(axis=0), accuracy, atol=0.04)


# --- the path


def test_a_point_of_the_path_equals_a_fit_at_its_threshold():
    (X, y), (Xv, yv) = draw(11), draw(12, n=120)
    prices = Prices([1, 2, 1, 3, 0.5], groups={"lab": [1, 2]}, shared={"lab": 1.5}, evaluation=0.1)
    model = MarginNeighborsClassifier(prices, "logistic", random_state=0)
    points = list(model.path(X, y, validation=(Xv, yv)))
    bills = [point.bill for point in points]
    assert bills == sorted(set(bills)) and bills[0] == 0.0 and 5 < len(points) <= 32
    assert points[-1].knob == {"threshold": 1.0}
    for point in points[1::5]:
        again = clone(model).set_params(**point.knob).fit(X, y)
        assert again.bill(Xv).mean() == point.bill
        assert again.score(Xv, yv) == point.quality


def test_the_path_takes_thresholds_and_starts_with_the_largest_class():
    (X, y), (Xv, yv) = draw(13), draw(14, n=50)
    y = np.where(X[:, 3] > -0.5, y, 0)
    model = MarginNeighborsClassifier(base="logistic")
    first, second, last = model.path(X, y, validation=(Xv, yv), thresholds=[0.99, 0.1, 0.8])
    assert first.quality == np.mean(yv == 0)
    assert (second.knob, last.knob) == ({"threshold": 0.8}, {"threshold": 0.99})


def test_a_path_shares_the_training_rows():
    X, y = draw(15)
    points = list(MarginNeighborsClassifier(base="logistic").path(X, y, validation=(X, y)))
    assert len({id(point.model.model.coordinates) for point in points}) == 1


def test_neighbors_without_early_stopping_buy_every_feature_with_a_term():
    X, y = draw(16)
    X[:, 2] = 1.0
    train = TrainingSet.read("classification", X, y)
    table = ScaledTable.of(train)
    terms = fit_additive("logistic", table, C=1.0, n_estimators=1, random_state=0)
    model = make_neighbors(table, terms, train.prices, k=10, alpha=0.05)
    assert sorted(model.order) == [0, 1, 3, 4]
    assert model.threshold == 1.0 and (model.run(X).steps == 4).all()


# --- tables


def test_categories_and_missing_values_keep_their_prices(tmp_path):
    rng = np.random.default_rng(0)
    town = rng.choice(["ulm", "bonn", "kiel"], size=300)
    age = np.where(rng.random(300) < 0.1, np.nan, rng.normal(size=300))
    frame = pd.DataFrame({"town": town, "age": age, "noise": rng.normal(size=300)})
    y = np.where(town == "ulm", "well", np.where(np.nan_to_num(age) > 0, "ill", "well"))
    for base in sorted(BASES):
        prices = Prices({"town": 1.0, "age": 5.0, "noise": 2.0}, unit="EUR")
        model = MarginNeighborsClassifier(prices, base, threshold=0.9, n_estimators=40)
        model.fit(frame, y)
        assert model.score(frame, y) > 0.85
        model.save(tmp_path / "model.thrifty")
        walk = load(tmp_path / "model.thrifty").walk()
        while walk.asks:
            walk.tell(
                {name: {"town": "ulm", "age": None, "noise": 0.0}[name] for name in walk.asks}
            )
        assert walk.answer == "well"


# --- bad input


def test_more_neighbors_than_training_rows_are_refused():
    X, y = draw(0, n=40)
    with pytest.raises(DataError, match="n_neighbors: 41 .* 40 rows .*; give at most 40"):
        MarginNeighborsClassifier(n_neighbors=41).fit(X, y)
    model = MarginNeighborsClassifier(base="logistic", n_neighbors=40, threshold=1.0).fit(X, y)
    assert model.used(X).all()


@pytest.mark.parametrize(
    "wrong", [{"threshold": 1.5}, {"alpha": -0.1}, {"n_neighbors": 0}, {"base": "rbf"}, {"C": 0.0}]
)
def test_parameters_out_of_range_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        MarginNeighborsClassifier(**wrong).fit(*draw(0))
