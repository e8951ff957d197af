"""MarginNeighborsClassifier: terms of every base, the choice by price, the path, bad input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from thrifty import DataError, GreedyMiserClassifier, MarginNeighborsClassifier, Prices, load
from thrifty.learn.neighbors.additive import BASES, Examples, Settings

SETTINGS = Settings(C=1.0, rounds=30, random_state=0)


def draw(seed, n=300, d=5, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    value = 2 * X[:, 0] + X[:, 1] - X[:, 2] + 0.3 * rng.normal(size=n)
    return X, np.digitize(value, np.quantile(value, np.arange(1, classes) / classes))


def examples(X, y, categories=None):
    counts = np.zeros(X.shape[1], dtype=np.int64) if categories is None else np.array(categories)
    return Examples(X, y.astype(np.int64), int(y.max()) + 1, counts)


def totals(terms, X):
    return terms.offset + terms.evaluate(X).sum(axis=1)


# --- the terms add up to the classifier


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("name", "machine"), [("logistic", LogisticRegression()), ("svm", LinearSVC(random_state=0))]
)
def test_linear_terms_add_up_to_the_classifier(name, machine, classes):
    X, y = draw(0, classes=classes)
    X = 5.0 + 3.0 * X
    terms = BASES[name](examples(X, y), SETTINGS)
    scaler = StandardScaler().fit(X)
    due = clone(machine).fit(scaler.transform(X), y).decision_function(scaler.transform(X))
    np.testing.assert_allclose(totals(terms, X), due.reshape(len(X), -1), atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_terms_of_stumps_add_up_to_the_boosted_trees(classes):
    X, y = draw(1, classes=classes)
    X[::7, 0] = np.nan
    codes = np.random.default_rng(0).integers(0, 4, size=len(X)).astype(float)
    codes[::9] = np.nan
    y = np.where(codes == 2, 0, y)
    frame = pd.DataFrame(X).assign(kind=[None if c != c else "abcd"[int(c)] for c in codes])
    frame.columns = frame.columns.astype(str)
    boosted = GreedyMiserClassifier(n_estimators=30, max_depth=1, min_samples_leaf=5).fit(frame, y)
    table = np.column_stack([X, codes])
    terms = BASES["stumps"](examples(table, y, [0, 0, 0, 0, 0, 4]), SETTINGS)
    due = boosted.decision_function(frame).reshape(len(X), -1)
    np.testing.assert_allclose(totals(terms, table), due, atol=1e-9)


@pytest.mark.parametrize("base", sorted(BASES))
def test_every_term_has_mean_zero_over_the_values_that_came(base):
    X, y = draw(2)
    X[:60, 1] = np.nan
    X = np.column_stack([X, np.arange(len(X)) % 3])
    terms = BASES[base](examples(X, y, [0, 0, 0, 0, 0, 3]), SETTINGS).evaluate(X)[:, :, 0]
    means = [terms[~np.isnan(X[:, j]), j].mean() for j in range(X.shape[1])]
    np.testing.assert_allclose(means, 0.0, atol=1e-9)


@pytest.mark.parametrize("base", sorted(BASES))
def test_a_value_that_was_never_missing_is_missed_at_its_mean(base):
    X, y = draw(3)
    terms = BASES[base](examples(X, y), SETTINGS)
    assert (terms.evaluate(np.full((1, X.shape[1]), np.nan)) == 0.0).all()


# --- choosing


@pytest.mark.parametrize("base", sorted(BASES))
@pytest.mark.parametrize("classes", [2, 3])
def test_it_learns_and_reads_less_than_everything(base, classes):
    X, y = draw(4, n=600, classes=classes)
    model = MarginNeighborsClassifier(base=base, n_estimators=60, random_state=0, threshold=0.9)
    model.fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.75
    used = model.used(X[400:])
    assert used[:, 0].all()
    assert used.mean() < 0.95


def test_the_first_question_is_the_best_single_feature_on_the_training_rows():
    X, y = draw(5)
    order = MarginNeighborsClassifier(base="logistic").fit(X, y).model_.order
    terms = MarginNeighborsClassifier(base="logistic").fit(X, y).model_.terms
    alone = (terms.offset + terms.evaluate(X))[:, :, 0] > 0
    right = (alone == y[:, np.newaxis]).mean(axis=0)
    assert right[order].tolist() == sorted(right, reverse=True)


def test_a_feature_that_says_nothing_is_never_asked_for():
    X, y = draw(6)
    X[:, 3] = 7.0
    model = MarginNeighborsClassifier(base="logistic", threshold=1.0).fit(X, y)
    assert model.used(X).any(axis=0).tolist() == [True, True, True, False, True]


def test_of_two_equal_features_the_cheaper_is_bought_first():
    X, y = draw(7)
    X[:, 4] = X[:, 0]
    cheap = MarginNeighborsClassifier(Prices([9, 1, 1, 1, 1]), "logistic", threshold=0.9).fit(X, y)
    assert cheap.model_.order[0] == 4
    blind = clone(cheap).set_params(alpha=0.0).fit(X, y)
    assert cheap.bill(X).mean() < blind.bill(X).mean()


def test_prices_in_another_unit_make_the_same_model():
    X, y = draw(8)
    groups = {"groups": {"lab": [0, 1]}}
    one = Prices([1.0, 2.0, 0.5, 4.0, 1.0], shared={"lab": 3.0}, **groups)
    two = Prices([2.0, 4.0, 1.0, 8.0, 2.0], shared={"lab": 6.0}, **groups)
    ours, theirs = (MarginNeighborsClassifier(p, "logistic").fit(X, y) for p in (one, two))
    np.testing.assert_array_equal(ours.used(X), theirs.used(X))
    np.testing.assert_array_equal(2.0 * ours.bill(X), theirs.bill(X))


def test_what_is_free_costs_nothing_in_the_choice():
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
    trails = model.model_.with_threshold(1.0).run(X[800:])
    right = (trails.predicted == y[800:, np.newaxis]).mean(axis=0)
    np.testing.assert_allclose(trails.estimate.mean(axis=0), right, atol=0.04)


# --- the path


def test_the_path_is_what_fits_at_its_thresholds_give():
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


def test_the_path_takes_thresholds_and_begins_with_the_largest_class():
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


def test_more_neighbors_than_rows_are_refused():
    X, y = draw(0, n=40)
    with pytest.raises(DataError, match="n_neighbors: 41 near rows .* has 40; give at most 40"):
        MarginNeighborsClassifier(n_neighbors=41).fit(X, y)
    every = MarginNeighborsClassifier(base="logistic", n_neighbors=40, threshold=1.0).fit(X, y)
    assert every.used(X).all()


def test_one_class_is_refused():
    with pytest.raises(DataError, match="only one class"):
        MarginNeighborsClassifier().fit(draw(0)[0], np.ones(300))


@pytest.mark.parametrize(
    "wrong", [{"threshold": 1.5}, {"alpha": -0.1}, {"n_neighbors": 0}, {"base": "rbf"}, {"C": 0.0}]
)
def test_parameters_out_of_range_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        MarginNeighborsClassifier(**wrong).fit(*draw(0))


def test_validation_rows_are_checked():
    X, y = draw(0)
    with pytest.raises(DataError, match=r"\[7\] are not classes"):
        MarginNeighborsClassifier(base="logistic").path(X, y, validation=(X[:1], [7]))
    with pytest.raises(DataError, match="give the table and its target"):
        MarginNeighborsClassifier(base="logistic").path(X, y, validation=(X,))
