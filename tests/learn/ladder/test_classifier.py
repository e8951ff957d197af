"""LadderClassifier: known ladders, weights, groups, rare classes, categories, and bad labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty import DataError, LadderClassifier, Prices


def test_half_of_the_rows_stop_at_the_cheap_feature(make_labels, prices, small):
    model = LadderClassifier(prices, penalty=0.02, **small).fit(*make_labels(1200))
    X, y = make_labels(seed=2)
    # Every row pays 1, and the half that is still uncertain pays 4 more.
    assert model.bill(X).mean() == pytest.approx(3.0, abs=0.25)
    assert model.score(X, y) > 0.97
    certain = np.abs(X[:, 0]) > 0.6
    assert (model.bill(X)[certain] == 1.0).mean() > 0.95


def test_few_validation_rows_join_the_evidence_and_do_not_replace_it(make_labels, prices, small):
    model = LadderClassifier(prices, penalty=0.02, **small)
    model.fit(*make_labels(), validation=make_labels(10, seed=1))
    X, y = make_labels(seed=2)
    assert model.bill(X).mean() == pytest.approx(3.0, abs=0.3)
    assert model.score(X, y) > 0.95


def test_a_large_cost_weight_buys_nothing(make_labels, prices, small):
    model = LadderClassifier(prices, penalty=10.0, **small).fit(*make_labels(200))
    assert not model.used(make_labels(seed=2)[0]).any()


def test_columns_without_information_leave_the_constant(small):
    X = np.zeros((60, 3))
    model = LadderClassifier(**small).fit(X, np.arange(60) % 2)
    assert not model.used(X).any()


# --- weights and groups ------------------------------------------------------


def test_sample_weights_count(small):
    X = np.arange(200.0)[:, np.newaxis] % 2
    y = np.arange(200) % 4 // 2  # independent of the column
    for heavy in (0, 1):
        weight = np.where(y == heavy, 3.0, 1.0)
        model = LadderClassifier(**small).fit(X, y, sample_weight=weight)
        assert (model.predict(X) == heavy).all()


def test_rows_of_weight_0_are_as_if_they_were_not_there(make_labels, prices, small):
    X, y = make_labels(200)
    rng = np.random.default_rng(3)
    kept = rng.random(200) < 0.7
    # Values far outside, which would move every bin and every threshold.
    spoiled, labels = np.where(kept[:, np.newaxis], X, 1e6), np.where(kept, y, "yes")
    weight = rng.uniform(0.5, 2.0, size=200)
    model = LadderClassifier(prices, penalty=0.01, **small)
    without = model.fit(X[kept], y[kept], sample_weight=weight[kept]).predict_proba(X)
    beside = model.fit(spoiled, labels, sample_weight=weight * kept).predict_proba(X)
    np.testing.assert_array_equal(without, beside)


@pytest.mark.parametrize("class_weight", ["balanced", {"rare": 9.0}])
def test_class_weights_raise_the_probability_of_a_rare_class(class_weight, small):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(rng.random(400) < 0.1, "rare", "usual")
    # At this cost weight nothing is bought: the prediction is the share of the class.
    plain = LadderClassifier(penalty=10.0, **small).fit(X, y)
    weighted = LadderClassifier(penalty=10.0, class_weight=class_weight, **small).fit(X, y)
    share = np.mean(y == "rare")
    assert plain.predict_proba(X[:1])[0, 0] == pytest.approx(share)
    expected = 0.5 if class_weight == "balanced" else 9 * share / (9 * share + 1 - share)
    assert weighted.predict_proba(X[:1])[0, 0] == pytest.approx(expected)


def test_class_weights_find_more_of_a_rare_class(small):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] + rng.normal(size=600) > 1.8).astype(int)
    found = [
        LadderClassifier(class_weight=weight, **small).fit(X[:400], y[:400]).predict(X[400:])
        for weight in (None, "balanced")
    ]
    rare = y[400:] == 1
    assert found[1][rare].mean() > found[0][rare].mean() + 0.2


def test_a_single_group_is_divided_as_if_there_were_none(make_labels, prices, small):
    X, y = make_labels(150)
    model = LadderClassifier(prices, **small)
    plain = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y, groups=["me"] * 150).predict_proba(X), plain)


# --- rare classes ------------------------------------------------------------


def test_a_class_may_be_missing_from_a_fold_or_from_validation(make_labels, small):
    X, y = make_labels(120)
    y = np.where(np.arange(120) == 7, "rare", y)
    model = LadderClassifier(**small).fit(X, y)
    assert model.classes_.tolist() == ["no", "rare", "yes"]
    assert model.predict_proba(X).shape == (120, 3)
    assert np.isfinite(model.predict_proba(X)).all()
    points = list(LadderClassifier(**small).path(X, y, validation=make_labels(40, seed=1)))
    assert np.isfinite([point.quality for point in points]).all()


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [0, 0, 1, 1, 2, 2], [0, 1, 1]])
def test_two_rows_of_a_class_are_enough_to_fit(labels, small):
    X = np.random.default_rng(0).normal(size=(len(labels), 2))
    model = LadderClassifier(**small).fit(X, labels)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    points = list(LadderClassifier(**small).path(X, labels))
    assert points[0].bill == 0.0 and np.isfinite([point.quality for point in points]).all()


# --- tables ------------------------------------------------------------------


def test_categories_and_missing_values_are_learned_from(small):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "city": rng.choice(["Bonn", "Oslo", "Rome", "Turku"], size=400),
            "pulse": rng.normal(size=400),
            "noise": rng.normal(size=400),
        }
    )
    table.loc[rng.random(400) < 0.3, "pulse"] = np.nan
    # In the north the pulse was not taken where there was nothing to be seen.
    y = np.where(table["city"].isin(["Oslo", "Turku"]), table["pulse"].isna(), table["pulse"] > 0)
    prices = Prices({"city": 1.0, "pulse": 5.0, "noise": 5.0})
    model = LadderClassifier(prices, **small).fit(table, y)
    assert model.score(table, y) > 0.97
    strange = table.head(8).assign(city=None)
    assert np.isfinite(model.predict_proba(strange)).all()
    points = list(LadderClassifier(prices, **small).path(table, y))
    assert max(point.quality for point in points) > 0.95


# --- bad labels --------------------------------------------------------------


def test_one_class_is_refused():
    with pytest.raises(DataError, match="only one class"):
        LadderClassifier().fit(np.zeros((9, 2)), ["a"] * 9)


def test_an_unknown_validation_label_is_refused(make_labels, small):
    X, y = make_labels(60)
    with pytest.raises(DataError, match="are not classes of the training target"):
        LadderClassifier(**small).fit(X, y, validation=(X[:3], ["yes", "no", "perhaps"]))
