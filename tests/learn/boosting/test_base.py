"""GreedyMiser: what the penalty and the weights mean."""

from __future__ import annotations

import numpy as np
import pytest
from miser_cases import CHARGES, ESTIMATORS, EVERY, PRICES, draw, named, raw_of, target_of
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import compute_sample_weight

from thrifty import Prices, threads
from thrifty.learn import GreedyMiserClassifier, GreedyMiserRegressor, binned
from thrifty.learn.boosting import grower


def test_penalty_0_is_plain_boosting_whatever_the_prices():
    X, y, _ = draw()
    free = GreedyMiserRegressor(n_estimators=20).fit(X, y)
    dear = GreedyMiserRegressor(PRICES, n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(free.predict(X), dear.predict(X))
    np.testing.assert_array_equal(free.used(X), dear.used(X))
    assert dear.bill(X).mean() > free.bill(X).mean() > 0


@CHARGES
@EVERY
def test_a_large_penalty_buys_nothing(model, charge):
    X, value, labels = draw()
    y = target_of(model, value, labels)
    model = clone(model).set_params(prices=PRICES, penalty=1e9, charge=charge).fit(X, y)
    assert not model.used(X).any()
    assert not model.bill(X).any()
    assert len(np.unique(raw_of(model, X), axis=0)) == 1
    assert model.walk().asks == ()


def test_a_model_that_buys_nothing_pays_for_no_evaluation():
    X, y, _ = draw()
    prices = Prices([1.0] * 6, evaluation=0.1)
    model = GreedyMiserRegressor(prices, penalty=1e9).fit(X, y)
    assert model.bill(X).max() == 0.0


@CHARGES
@EVERY
def test_a_large_penalty_leaves_the_free_features(model, charge):
    X, value, labels = draw()
    y = target_of(model, value, labels)
    prices = Prices([1, 0, 1, 1, 1, 0])
    model = clone(model).set_params(prices=prices, penalty=1e9, charge=charge).fit(X, y)
    assert model.used(X)[:, [1, 5]].any()
    assert not model.used(X)[:, [0, 2, 3, 4]].any()
    assert model.bill(X).max() == 0.0


@CHARGES
def test_the_bill_falls_as_the_penalty_grows_from_nothing_to_much(charge):
    X, y, _ = draw()
    bills = [
        GreedyMiserRegressor(PRICES, penalty, charge, n_estimators=20).fit(X, y).bill(X).mean()
        for penalty in (0.0, 0.05, 10.0)
    ]
    assert bills[0] > bills[1] > bills[2] == 0.0


@CHARGES
@pytest.mark.parametrize(
    "model", [GreedyMiserRegressor(), GreedyMiserClassifier(loss="squared_hinge")], ids=named
)
@pytest.mark.parametrize("penalty", [0.0, 0.003, 0.03])
def test_the_penalty_does_not_depend_on_the_number_of_rows(model, penalty, charge):
    # The log-loss is left out: its leaves are damped, less so the more rows they have.
    X, value, labels = draw()
    y = target_of(model, value, labels)
    once = clone(model).set_params(
        prices=PRICES, penalty=penalty, charge=charge, n_estimators=15, min_samples_leaf=7
    )
    thrice = clone(once).set_params(min_samples_leaf=21)
    once.fit(X, y)
    thrice.fit(np.tile(X, (3, 1)), np.tile(y, 3))
    np.testing.assert_array_equal(once.used(X), thrice.used(X))
    np.testing.assert_allclose(raw_of(once, X), raw_of(thrice, X), atol=1e-9)


@CHARGES
@EVERY
def test_only_the_product_of_price_and_penalty_counts(model, charge):
    X, value, labels = draw()
    y = target_of(model, value, labels)
    model = clone(model).set_params(penalty=0.02, charge=charge, prices=PRICES, n_estimators=10)
    dearer = Prices([4, 8, 4, 2, 12, 4], groups={"lab": [4, 5]}, shared={"lab": 8.0})
    other = clone(model).set_params(penalty=0.005, prices=dearer).fit(X, y)
    model.fit(X, y)
    np.testing.assert_array_equal(raw_of(model, X), raw_of(other, X))
    np.testing.assert_array_equal(4 * model.bill(X), other.bill(X))


def test_a_member_of_a_group_already_entered_costs_its_own_price_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = 3 * X[:, 0] + X[:, 1]
    alone = Prices([1, 0.1, 1])
    together = Prices([1, 0.1, 1], groups={"lab": [0, 1]}, shared={"lab": 3.0})
    apart = Prices([4, 3.1, 1])
    bought = [
        GreedyMiserRegressor(prices, penalty=0.2, n_estimators=10).fit(X, y).used(X).any(axis=0)
        for prices in (alone, together, apart)
    ]
    assert [some.tolist() for some in bought] == [
        [True, True, False], [True, True, False], [True, False, False],
    ]  # fmt: skip


def test_classes_share_what_is_bought():
    # Each class alone could not pay for the column, and the first to pay frees it for the others.
    X, _, labels = draw()
    model = GreedyMiserClassifier(PRICES, penalty=0.01, n_estimators=10).fit(X, labels)
    assert len(model.model_.roots) == 30
    assert model.model_.outputs.tolist() == [0, 1, 2] * 10
    assert 0 < len(model.model_.features) < 6


# --- weights


@CHARGES
@pytest.mark.parametrize("model", [m for m in ESTIMATORS if "lambda" not in named(m)], ids=named)
def test_a_row_of_weight_two_is_two_rows(model, charge):
    # The lambda loss is left out: a row twice makes twice the pairs of its query.
    X, value, labels = draw()
    y = target_of(model, value, labels)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y))
    settings = {"prices": PRICES, "penalty": 0.01, "charge": charge, "n_estimators": 8}
    heavy = clone(model).set_params(**settings).fit(X, y, sample_weight=weight)
    long = clone(model).set_params(**settings).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_array_equal(heavy.used(X), long.used(X))
    np.testing.assert_allclose(raw_of(heavy, X), raw_of(long, X), atol=1e-9)


@EVERY
def test_a_row_of_weight_zero_is_no_row(model):
    X, value, labels = draw()
    y = target_of(model, value, labels)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.5], size=len(y))
    model = clone(model).set_params(prices=PRICES, penalty=0.01, n_estimators=8)
    here = weight > 0
    all_rows = clone(model).fit(X, y, sample_weight=weight)
    some = clone(model).fit(X[here], y[here], sample_weight=weight[here])
    np.testing.assert_array_equal(raw_of(all_rows, X), raw_of(some, X))


@EVERY
def test_equal_weights_are_no_weights(model):
    X, value, labels = draw()
    y = target_of(model, value, labels)
    model = clone(model).set_params(prices=PRICES, penalty=0.01, n_estimators=8)
    ones = clone(model).fit(X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_allclose(raw_of(ones, X), raw_of(model.fit(X, y), X), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 2.0**-9, 0.1, 1e6])
def test_the_unit_of_the_weights_does_not_matter_to_the_squared_loss(scale):
    X, y, _ = draw()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    model = GreedyMiserRegressor(PRICES, 0.01, n_estimators=8, min_samples_leaf=10)
    other = clone(model).set_params(min_samples_leaf=10 * scale)
    model.fit(X, y, sample_weight=weight)
    other.fit(X, y, sample_weight=scale * weight)
    np.testing.assert_allclose(other.predict(X), model.predict(X), atol=1e-9)


@pytest.mark.parametrize("unit", [1 / 300, 1e-6])
def test_small_weights_under_the_default_leaf_size_make_a_constant(unit):
    # All rows together weigh less than a leaf must: there is no split, and no error.
    X, y, _ = draw()
    model = GreedyMiserRegressor(n_estimators=3).fit(X, y, sample_weight=np.full(len(y), unit))
    np.testing.assert_allclose(model.predict(X), y.mean())


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
@pytest.mark.parametrize("weights", [{0: 1.0, 1: 5.0, 2: 0.5}, "balanced"], ids=str)
def test_class_weights_are_sample_weights(weights, loss):
    X, value, _ = draw()
    labels = np.digitize(value, [0.5, 1.5])
    each = compute_sample_weight(weights, labels)
    some = np.random.default_rng(0).uniform(0.5, 2.0, size=len(labels))
    model = GreedyMiserClassifier(PRICES, 0.01, loss, n_estimators=8)
    by_class = clone(model).set_params(class_weight=weights)
    np.testing.assert_array_equal(
        by_class.fit(X, labels).predict_proba(X),
        clone(model).fit(X, labels, sample_weight=each).predict_proba(X),
    )
    np.testing.assert_array_equal(
        by_class.fit(X, labels, sample_weight=some).predict_proba(X),
        clone(model).fit(X, labels, sample_weight=each * some).predict_proba(X),
    )


def test_class_weights_go_by_label():
    X, value, _ = draw()
    y = np.where(value > 0, "yes", "no")
    even = GreedyMiserClassifier(n_estimators=5).fit(X, y)
    keen = GreedyMiserClassifier(n_estimators=5, class_weight={"yes": 9.0, "no": 1.0}).fit(X, y)
    assert (keen.predict(X) == "yes").sum() > (even.predict(X) == "yes").sum()


# --- scikit-learn's conventions, seeds and threads


def test_a_grid_search_chooses_a_penalty():
    X, value, _ = draw()
    y = np.where(value > 0, "yes", "no")
    search = GridSearchCV(
        GreedyMiserClassifier(PRICES, n_estimators=5),
        {"penalty": [0.0, 100.0], "charge": ["model", "example"]},
        cv=3,
    )
    search.fit(X, y)
    assert search.best_params_["penalty"] == 0.0
    assert search.best_score_ > 0.7


def test_a_pipeline_ends_in_an_estimator():
    X, y, _ = draw()
    X = np.nan_to_num(X)
    pipeline = make_pipeline(StandardScaler(), GreedyMiserRegressor(PRICES, n_estimators=20))
    assert pipeline.fit(X, y).score(X, y) > 0.5
    assert pipeline[-1].bill(X).shape == (len(X),)


@EVERY
def test_a_clone_has_the_parameters_and_nothing_learnt(model):
    X, value, labels = draw(n=60)
    model = clone(model).set_params(prices=PRICES, penalty=0.25, n_estimators=2)
    model.fit(X, target_of(model, value, labels))
    copy = clone(model)
    mine, theirs = copy.get_params(), model.get_params()
    assert mine.pop("prices") == theirs.pop("prices")
    assert mine == theirs
    assert not hasattr(copy, "_predictor")


@EVERY
def test_the_same_seed_makes_the_same_model(model, monkeypatch):
    monkeypatch.setattr(binned, "SAMPLE", 100)
    X, value, labels = draw()
    X = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)
    y = target_of(model, value, labels)
    model = clone(model).set_params(n_estimators=5)
    raws = [
        raw_of(clone(model).set_params(random_state=seed).fit(X, y), X)
        for seed in (0, 0, 1, np.random.RandomState(0))
    ]
    np.testing.assert_array_equal(raws[0], raws[1])
    np.testing.assert_array_equal(raws[0], raws[3])
    assert not np.array_equal(raws[0], raws[2])


@CHARGES
@EVERY
def test_the_model_does_not_depend_on_the_number_of_threads(model, charge, monkeypatch):
    monkeypatch.setattr(grower, "INLINE_WORK", 0)
    X, value, labels = draw()
    X = np.hstack([X, X[:, ::-1], X + 0.01])
    y = target_of(model, value, labels)
    model = clone(model).set_params(penalty=0.001, charge=charge, n_estimators=5)
    one = raw_of(clone(model).fit(X, y), X)
    with threads(3):
        np.testing.assert_array_equal(raw_of(model.fit(X, y), X), one)


def test_predictions_improve_with_rounds():
    X, y, _ = draw()
    scores = [GreedyMiserRegressor(n_estimators=k).fit(X, y).score(X, y) for k in (1, 10, 50)]
    assert scores == sorted(scores)
    assert scores[-1] > 0.8
