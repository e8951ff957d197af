"""Classes, calibration, weights, categories and degenerate tables."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from tree_cases import has_finite_weights, small_tree, two_halves

from thrifty.learn.submodular_tree.estimators import (
    SubmodularTreeClassifier,
    SubmodularTreeRegressor,
)

BOTH = pytest.mark.parametrize("routing", ["hard", "soft"])


@BOTH
def test_more_than_two_classes_share_what_is_bought(routing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + 0.1 * rng.normal(size=(1500, 3)), axis=1)]
    model = SubmodularTreeClassifier(max_depth=3, routing=routing).fit(X, y)
    tree = model.model_
    assert tree.link == "softmax" and tree.bias.shape[1] == 3
    assert model.score(X, y) > 0.9
    assert not tree.support[3:].any()
    assert np.array_equal(
        model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X)
    )


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    truth = 1.0 / (1.0 + np.exp(-2.0 * X[:, 0]))
    y = rng.random(6000) < truth
    model = SubmodularTreeClassifier(max_depth=2).fit(X[:3000], y[:3000])
    found = model.predict_proba(X[3000:])[:, 1]
    assert np.abs(found - truth[3000:]).mean() < 0.05
    assert np.allclose(found, 1.0 / (1.0 + np.exp(-model.decision_function(X[3000:]))))


def test_class_weights_are_row_weights():
    X, y = two_halves()
    labels = y + 3.0 * np.random.default_rng(1).normal(size=len(y)) > 3.0
    by_class = SubmodularTreeClassifier(class_weight={True: 3.0}).fit(X, labels)
    by_row = SubmodularTreeClassifier().fit(X, labels, sample_weight=1.0 + 2.0 * labels)
    assert np.array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    assert by_class.predict(X).mean() > SubmodularTreeClassifier().fit(X, labels).predict(X).mean()


def test_categories_and_missing_values_are_inputs_too():
    rng = np.random.default_rng(0)
    town = rng.choice(["bonn", "kiel", "ulm"], 900)
    size = rng.normal(size=900)
    y = np.where(town == "ulm", 5.0, 0.0) + np.where(np.abs(size) > 2, 0.0, size)
    table = pandas.DataFrame({"town": town, "size": size, "rest": rng.normal(size=900)})
    table.loc[np.abs(size) > 2, "size"] = np.nan
    model = small_tree(max_depth=1).fit(table, y)
    assert model.score(table, y) > 0.99
    assert model.used(table[:1]).tolist() == [[True, True, False]]
    assert model.feature_names_in_.tolist() == ["town", "size", "rest"]


@BOTH
@pytest.mark.parametrize("copies", [1, 3])
def test_constant_and_repeated_columns_are_harmless(routing, copies):
    X, y = two_halves(n=300)
    X = np.column_stack([np.full(300, 7.0), *[X] * copies, 1e9 + 1e-7 * X[:, 0], np.zeros(300)])
    model = small_tree(routing=routing).fit(X, y)
    assert has_finite_weights(model)
    assert model.score(X, y) > 0.99
    assert not model.model_.support[[0, -1]].any()
    assert model.model_.support.sum() <= 4


@BOTH
def test_a_table_in_which_nothing_varies_gives_a_constant(routing):
    X = np.ones((30, 3))
    model = small_tree(routing=routing).fit(X, np.arange(30.0))
    assert model.predict(X[:1]).item() == pytest.approx(14.5)
    assert model.bill(X).max() == 0.0
    labels = SubmodularTreeClassifier(routing=routing).fit(X, np.arange(30) < 20)
    assert labels.predict(X).all()


@BOTH
def test_a_target_that_never_varies_gives_a_constant(routing):
    X, _ = two_halves(n=100)
    model = small_tree(routing=routing).fit(X, np.full(100, 1e8))
    assert model.predict(X).tolist() == [1e8] * 100
    assert model.bill(X).max() == 0.0


@BOTH
def test_fewer_rows_than_columns(routing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 200))
    y = 5.0 * X[:, 3] + 0.1 * rng.normal(size=30)
    model = SubmodularTreeRegressor(min_samples_leaf=1, max_depth=5, routing=routing).fit(X, y)
    assert has_finite_weights(model)
    assert model.model_.support[3]
    fresh = rng.normal(size=(200, 200))
    assert np.abs(model.predict(fresh)).max() < 1e3


@BOTH
def test_a_node_of_one_class_buys_nothing_more(routing):
    X = np.random.default_rng(0).normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 0] > 1)
    model = SubmodularTreeClassifier(max_depth=5, min_samples_leaf=1, routing=routing).fit(X, y)
    assert has_finite_weights(model)
    tree = model.model_
    pure = [k for k in range(len(tree.left)) if len(set(y[tree.visited(X)[:, k]])) == 1]
    if routing == "hard":
        assert pure and all(tree.left[k] < 0 and tree.starts[k] == tree.starts[k + 1] for k in pure)


def test_near_collinear_columns_keep_the_fit_exact():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(2000, 1))
    X = base + 1e-5 * rng.normal(size=(2000, 4))
    y = 3.0 * base[:, 0] + (X - base) @ np.array([1e5, -1e5, 3e5, 0.0])
    model = small_tree(max_depth=1).fit(X, y)
    A = np.column_stack([np.ones(2000), X])
    expected = A @ np.linalg.lstsq(A, y, rcond=None)[0]
    assert np.square(model.predict(X) - expected).mean() < 1e-6 * y.var()


def test_a_target_far_from_zero_is_learned_as_well():
    X, y = two_halves()
    near, far = small_tree(max_depth=2).fit(X, y), small_tree(max_depth=2).fit(X, 1e7 + 1e-3 * y)
    assert np.allclose((far.predict(X) - 1e7) * 1e3, near.predict(X), atol=1e-4)


def test_weights_below_one_count_by_their_ratio():
    X, y = two_halves()
    weight = np.random.default_rng(0).random(1000)
    small = small_tree().fit(X, y, sample_weight=1e-6 * weight)
    large = small_tree().fit(X, y, sample_weight=weight / weight.mean())
    assert np.allclose(small.predict(X), large.predict(X))
    assert small.bill(X).max() > 0


@pytest.mark.parametrize(
    "settings",
    [{"node_budget": -1.0}, {"max_depth": 0}, {"max_depth": 40}, {"routing": "firm"},
     {"min_samples_leaf": 0}],
)  # fmt: skip
def test_invalid_parameters_raise_an_error(settings):
    X, y = two_halves(n=50)
    with pytest.raises(ValueError, match=next(iter(settings))):
        SubmodularTreeRegressor(**settings).fit(X, y)


def test_the_rule_of_the_paper_buys_noise_too_and_stops_at_the_first_that_does_not_fit():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4))
    y = 3.0 * X[:, 0] + X[:, 1]
    y += 1e-3 * rng.normal(size=400)
    prices = [1.0, 3.0, 1.0, 1.0]  # the last two columns are noise

    def used(selection, budget):
        model = SubmodularTreeRegressor(prices, budget, 1, selection=selection).fit(X, y)
        return model.model_.support.tolist()

    assert used("significant", None) == [True, True, False, False]
    assert used("greedy", None) == [True, True, True, True]
    # The second column is the next, and 2 do not cover it.
    assert used("greedy", 3.0) == [True, False, False, False]


def test_each_node_may_have_a_budget_of_its_own():
    X = np.random.default_rng(4).normal(size=(400, 3))
    y = 3.0 * X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], X[:, 2])
    prices = [1.0, 5.0, 5.0]
    model = SubmodularTreeRegressor(prices, [1.0, 0.0, 5.0], 2, selection="greedy").fit(X, y)
    bills, right = model.bill(X), X[:, 0] > np.median(X[:, 0])
    assert bills[~right].tolist() == [1.0] * int((~right).sum())
    assert bills[right].tolist() == [6.0] * int(right.sum())
    with pytest.raises(ValueError, match="each of the 3 nodes"):
        SubmodularTreeRegressor(prices, [1.0, 2.0], 2).fit(X, y)
