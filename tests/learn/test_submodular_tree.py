"""ASTC: what nodes buy, where they send rows, and awkward tables."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas
import pytest

from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.learn.submodular_tree.estimators import (
    SubmodularTreeClassifier,
    SubmodularTreeRegressor,
)
from thrifty.learn.submodular_tree.grower import middle

BOTH = pytest.mark.parametrize("routing", ["hard", "soft"])


def halves(n=1000, seed=0):
    """Column 0 tells the halves apart; columns 1 and 2 matter in one half each; 3 is noise."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, 4.0 * X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], -X[:, 2])


def tree_of(**settings):
    return SubmodularTreeRegressor(min_samples_leaf=20, **settings)


def columns_of(tree, node):
    return set(tree.encoding.columns[tree.inputs[tree.starts[node] : tree.starts[node + 1]]])


# --- what nodes buy ---------------------------------------------------------------


@BOTH
def test_each_half_buys_what_it_needs(routing):
    X, y = halves()
    prices = Prices([1.0, 5.0, 5.0, 5.0])
    model = tree_of(prices=prices, node_budget=5, max_depth=2, routing=routing).fit(X, y)
    tree = model.model_
    assert columns_of(tree, 0) == {0}  # column 0, and no more for 4
    for node in (tree.left[0], tree.right[0]):
        assert columns_of(tree, node) - {0} == {2 if node == tree.left[0] else 1}
    assert set(model.bill(X)) == {6.0}
    assert model.score(X, y) > 0.99
    assert SubmodularTreeRegressor(prices, 5, max_depth=1).fit(X, y).score(X, y) < 0.95


def test_no_node_spends_more_than_its_budget_and_parents_have_paid():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 12))
    y = X @ rng.normal(size=12) + np.abs(X[:, 0]) * X[:, 1] + rng.normal(size=3000)
    groups = {"a": [0, 1, 2], "b": [3, 4, 5]}
    prices = Prices(rng.choice([1.0, 2.0, 5.0], 12).tolist(), groups=groups,
                    shared={"a": 3.0, "b": 1.0})  # fmt: skip
    for budget in (2.0, 6.0, 11.0):
        tree = tree_of(prices=prices, node_budget=budget, max_depth=4).fit(X, y).model_
        bound = prices.bind(12)
        paid = {-1: set()}
        for node, parent in enumerate(tree.parents):
            paid[node] = paid[parent] | columns_of(tree, node)
            bills = [bound.bill(np.isin(np.arange(12), list(s))[None])[0]
                     for s in (paid[node], paid[parent])]  # fmt: skip
            assert bills[0] - bills[1] <= budget + 1e-9
        assert len(tree.left) == 15


def test_coefficients_are_least_squares_on_the_rows_of_each_node():
    X, y = halves()
    tree = tree_of(max_depth=3).fit(X, y).model_
    visited = tree.visited(X)
    for node in range(len(tree.left)):
        rows, span = visited[:, node], slice(tree.starts[node], tree.starts[node + 1])
        Z = (X[rows] - tree.encoding.centers[0] * 0)[:, tree.encoding.columns[tree.inputs[span]]]
        A = np.column_stack([np.ones(rows.sum()), Z])
        due = A @ np.linalg.lstsq(A, y[rows], rcond=None)[0]
        inputs = tree.nodes[node].inputs.read(X, np.flatnonzero(rows))
        assert np.allclose(inputs @ tree.weights[span, 0] + tree.bias[node, 0], due)


def test_a_node_sends_half_of_its_rows_to_each_child():
    X, y = halves(n=1024)
    tree = tree_of(max_depth=4).fit(X, y).model_
    counts = tree.visited(X).sum(axis=0)
    for node in np.flatnonzero(tree.left >= 0):
        assert counts[tree.left[node]] == counts[tree.right[node]] == counts[node] // 2


def test_the_threshold_divides_weights_evenly_and_never_a_value():
    assert middle(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 4.0])) == 2.5
    assert middle(np.array([1.0, 1.0, 1.0, 2.0]), np.ones(4)) == 1.5
    assert middle(np.array([5.0, 5.0]), np.ones(2)) == np.inf
    low = 1.0
    high = np.nextafter(low, 2.0)
    cut = middle(np.array([low, high]), np.ones(2))
    assert low <= cut < high


def test_soft_routing_learns_from_all_rows():
    X, y = halves()
    hard, soft = (tree_of(max_depth=2, routing=routing).fit(X, y).model_
                  for routing in ("hard", "soft"))  # fmt: skip
    assert np.array_equal(hard.weights[: hard.starts[1]], soft.weights[: soft.starts[1]])
    assert not np.allclose(hard.bias[1:], soft.bias[1:])
    one = [tree_of(max_depth=1, routing=routing).fit(X, y).model_ for routing in ("hard", "soft")]
    assert np.array_equal(one[0].weights, one[1].weights)


# --- classes -----------------------------------------------------------------------


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


def test_weights_of_classes_are_weights_of_rows():
    X, y = halves()
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
    model = tree_of(max_depth=1).fit(table, y)
    assert model.score(table, y) > 0.99
    assert model.used(table[:1]).tolist() == [[True, True, False]]
    assert model.prices_.names == ("town", "size", "rest")


# --- paths and price lists ------------------------------------------------------------


def test_a_path_has_every_budget_at_every_depth():
    X, y = halves()
    points = list(tree_of(max_depth=2).path(X, y, validation=(X, y), budgets=[1.0, 2.0]))
    assert [(point.knob["node_budget"], point.knob["depth"]) for point in points[:2]] == [
        (0.0, 0), (1.0, 1)
    ]  # fmt: skip
    assert len(points) == 5
    best = max(points, key=lambda point: point.quality)
    due = tree_of(max_depth=2, node_budget=best.knob["node_budget"]).fit(X, y)
    assert best.quality == due.score(X, y)
    assert np.array_equal(best.model.predict(X), due.predict(X))


def test_a_path_finds_its_own_budgets():
    X, y = halves()
    prices = Prices([1.0, 5.0, 5.0, 5.0])
    points = list(tree_of(prices=prices, max_depth=2).path(X, y, validation=(X, y)))
    assert {point.knob["node_budget"] for point in points} >= {0.0, 1.0, 5.0, 11.0}
    assert max(point.quality for point in points if point.bill <= 6.0) > 0.99
    # Nothing costs 2, 3 or 4: those budgets buy what 1 buys, and are not told again.
    assert not {point.knob["node_budget"] for point in points} & {2.0, 3.0, 4.0}


def test_what_the_root_buys_is_nested_in_the_budget():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(800, 10))
    y = X @ np.linspace(2.0, 0.2, 10) + rng.normal(size=800)
    points = tree_of(max_depth=1).path(X, y, validation=(X, y), budgets=range(1, 11))
    bought = [set(np.flatnonzero(point.model.model.support)) for point in points]
    assert all(less <= more for less, more in pairwise(bought))
    assert len(bought[-1]) == 10


@pytest.mark.parametrize("budgets", [[], [-1.0], [np.nan], [np.inf]])
def test_unfit_budgets_are_refused(budgets):
    X, y = halves(n=50)
    with pytest.raises(DataError, match="budgets"):
        tree_of().path(X, y, validation=(X, y), budgets=budgets)


@BOTH
def test_each_price_list_gives_what_a_fit_of_its_own_gives(routing):
    X, y = halves()
    lists = [Prices([1.0, 5.0, 5.0, 5.0]), None, Prices([9.0, 1.0, 1.0, 1.0], unit="EUR")]
    learner = tree_of(node_budget=5.0, max_depth=3, routing=routing)
    for prices, model in zip(lists, learner.fit_each(X, y, lists), strict=True):
        due = tree_of(prices=prices, node_budget=5.0, max_depth=3, routing=routing).fit(X, y)
        assert model.prices == prices
        assert np.array_equal(model.predict(X), due.predict(X))
        assert np.array_equal(model.bill(X), due.bill(X))
    labels = y > 0
    (only,) = SubmodularTreeClassifier().fit_each(pandas.DataFrame(X, columns=list("abcd")), labels,
                                                  [Prices(dict.fromkeys("abcd", 2.0))])  # fmt: skip
    assert only.score(pandas.DataFrame(X, columns=list("abcd")), labels) > 0.8


# --- awkward tables -------------------------------------------------------------------


def finite(model):
    tree = model.model_
    return all(np.isfinite(a).all() for a in (tree.weights, tree.route, tree.bias, tree.threshold))


@BOTH
@pytest.mark.parametrize("copies", [1, 3])
def test_constant_and_repeated_columns_do_no_harm(routing, copies):
    X, y = halves(n=300)
    X = np.column_stack([np.full(300, 7.0), *[X] * copies, 1e9 + 1e-7 * X[:, 0], np.zeros(300)])
    model = tree_of(routing=routing).fit(X, y)
    assert finite(model)
    assert model.score(X, y) > 0.99
    assert not model.model_.support[[0, -1]].any()
    assert model.model_.support.sum() <= 4


@BOTH
def test_a_table_in_which_nothing_varies_gives_a_constant(routing):
    X = np.ones((30, 3))
    model = tree_of(routing=routing).fit(X, np.arange(30.0))
    assert model.predict(X[:1]).item() == pytest.approx(14.5)
    assert model.bill(X).max() == 0.0
    labels = SubmodularTreeClassifier(routing=routing).fit(X, np.arange(30) < 20)
    assert labels.predict(X).all()


@BOTH
def test_a_target_that_never_varies_gives_a_constant(routing):
    X, _ = halves(n=100)
    model = tree_of(routing=routing).fit(X, np.full(100, 1e8))
    assert model.predict(X).tolist() == [1e8] * 100
    assert model.bill(X).max() == 0.0


@BOTH
def test_fewer_rows_than_columns(routing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 200))
    y = 5.0 * X[:, 3] + 0.1 * rng.normal(size=30)
    model = SubmodularTreeRegressor(min_samples_leaf=1, max_depth=5, routing=routing).fit(X, y)
    assert finite(model)
    assert model.model_.support[3]
    fresh = rng.normal(size=(200, 200))
    assert np.abs(model.predict(fresh)).max() < 1e3


@BOTH
def test_a_node_of_one_class_buys_nothing_more(routing):
    X = np.random.default_rng(0).normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 0] > 1)
    model = SubmodularTreeClassifier(max_depth=5, min_samples_leaf=1, routing=routing).fit(X, y)
    assert finite(model)
    tree = model.model_
    pure = [k for k in range(len(tree.left)) if len(set(y[tree.visited(X)[:, k]])) == 1]
    if routing == "hard":
        assert pure and all(tree.left[k] < 0 and tree.starts[k] == tree.starts[k + 1] for k in pure)


def test_no_node_is_left_without_rows():
    X = np.random.default_rng(0).integers(0, 2, size=(500, 3)).astype(float)
    tree = SubmodularTreeRegressor(max_depth=6, min_samples_leaf=1e-9).fit(
        X, X @ [1.0, 2.0, 4.0] + X[:, 0] * X[:, 1]
    )
    assert finite(tree)
    assert tree.model_.visited(X).any(axis=0).all()


def test_near_collinear_columns_keep_the_fit_exact():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(2000, 1))
    X = base + 1e-5 * rng.normal(size=(2000, 4))
    y = 3.0 * base[:, 0] + (X - base) @ np.array([1e5, -1e5, 3e5, 0.0])
    model = tree_of(max_depth=1).fit(X, y)
    A = np.column_stack([np.ones(2000), X])
    due = A @ np.linalg.lstsq(A, y, rcond=None)[0]
    assert np.square(model.predict(X) - due).mean() < 1e-6 * y.var()


def test_a_target_far_from_zero_is_learnt_as_well():
    X, y = halves()
    near, far = tree_of(max_depth=2).fit(X, y), tree_of(max_depth=2).fit(X, 1e7 + 1e-3 * y)
    assert np.allclose((far.predict(X) - 1e7) * 1e3, near.predict(X), atol=1e-4)


def test_weights_below_one_count_by_their_ratio():
    X, y = halves()
    weight = np.random.default_rng(0).random(1000)
    small = tree_of().fit(X, y, sample_weight=1e-6 * weight)
    large = tree_of().fit(X, y, sample_weight=weight / weight.mean())
    assert np.allclose(small.predict(X), large.predict(X))
    assert small.bill(X).max() > 0


@pytest.mark.parametrize(
    "settings",
    [{"node_budget": -1.0}, {"max_depth": 0}, {"max_depth": 40}, {"routing": "firm"},
     {"min_samples_leaf": 0}],
)  # fmt: skip
def test_unfit_settings_are_refused(settings):
    X, y = halves(n=50)
    with pytest.raises(ValueError, match=next(iter(settings))):
        SubmodularTreeRegressor(**settings).fit(X, y)


def test_a_node_budget_of_nothing_buys_what_is_free():
    X, y = halves()
    model = tree_of(prices=Prices([0.0, 1.0, 1.0, 1.0]), node_budget=0.0).fit(X, y)
    assert model.bill(X).max() == 0.0
    assert model.used(X).any(axis=0).tolist() == [True, False, False, False]
