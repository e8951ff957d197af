"""Cost-sensitive trees and cascades: known optima, prices, weights and degenerate tables."""

from __future__ import annotations

import numpy as np
import pytest
from rare_class import rare_positives

from thrifty import CostCascadeClassifier, CostTreeClassifier, CostTreeRegressor, Prices
from thrifty.data import quadrants
from thrifty.model import LinearTree, OneVsRest


@pytest.mark.parametrize("seed", range(3))
def test_the_quadrants_are_solved_at_the_optimal_bill(seed) -> None:
    train, test = quadrants(800, random_state=seed), quadrants(800, random_state=50 + seed)
    model = CostTreeRegressor(train.prices, penalty=0.01, max_depth=2, random_state=seed)
    model.fit(train.X, train.y)
    assert np.mean((model.predict(test.X) - test.y) ** 2) < 1e-4
    assert np.all(model.bill(test.X) == 12.0)


def test_the_frozen_tree_beats_the_constant_by_the_exact_objective() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 3))
    y = 3.0 + 2.0 * np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + X[:, 0]
    model = CostTreeRegressor(Prices([1.0, 5.0, 5.0]), penalty=0.02, max_depth=1).fit(X, y)
    mean = CostTreeRegressor(Prices([1.0, 5.0, 5.0]), penalty=100.0).fit(X, y)

    def exact(fitted):
        loss = 0.5 * np.mean((fitted.predict(X) - y) ** 2)
        return loss + 0.02 * fitted.bill(X).mean()

    assert exact(model) < 0.5 * exact(mean)
    np.testing.assert_allclose(mean.predict(X), y.mean())
    assert mean.bill(X).max() == 0.0


@pytest.mark.parametrize("base", ["raw", "boosted"])
def test_several_classes_have_a_tree_each(base) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.1 * X[:, 1], [-0.5, 0.5])]
    model = CostTreeClassifier(base=base, max_depth=1, n_estimators=10, penalty=0.01).fit(X, y)
    assert isinstance(model.model_, OneVsRest)
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_boosted_trees_are_evaluated_once_and_paid_for() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 3))
    y = np.abs(X[:, 0]) > 0.7  # no linear model of the columns can learn this
    prices = Prices([1.0, 1.0, 1.0], evaluation=0.5)
    model = CostTreeClassifier(
        prices, penalty=0.001, max_depth=1, base="boosted", n_estimators=20
    ).fit(X, y)
    assert model.score(X, y) > 0.95
    assert isinstance(model.model_, LinearTree)
    trees = model.predictor_.evaluations(X)
    np.testing.assert_allclose(model.bill(X), model.used(X).sum(axis=1) + 0.5 * trees)
    assert 0 < trees.max() <= 20
    plain = CostTreeClassifier(prices, penalty=0.001, max_depth=0).fit(X, y)
    assert plain.score(X, y) < 0.7


def test_a_shared_price_keeps_a_whole_group_out() -> None:
    rng = np.random.default_rng(9)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.5 * X[:, 2]
    members = {"panel": [1, 2]}

    def used(shared):
        prices = Prices([1.0, 0.1, 0.1], groups=members, shared={"panel": shared})
        model = CostTreeRegressor(prices, penalty=0.05, max_depth=0).fit(X, y)
        return model.used(X).any(axis=0).tolist()

    assert used(0.0) == [True, True, True]  # one member alone is not worth an expensive group
    assert used(1.0) == [True, True, True]
    assert used(10.0) == [True, False, False]


def test_class_weights_move_the_predictions() -> None:
    rng = np.random.default_rng(10)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + rng.normal(size=600) > 1.5
    plain = CostTreeClassifier(max_depth=0).fit(X, y)
    balanced = CostTreeClassifier(max_depth=0, class_weight="balanced").fit(X, y)
    assert plain.predict(X).mean() < 0.7 * y.mean()
    assert balanced.predict(X)[y].mean() > 0.7


def test_a_row_of_weight_two_is_two_rows() -> None:
    rng = np.random.default_rng(11)
    X, weight = rng.normal(size=(120, 2)), rng.integers(1, 3, 120)
    y = X[:, 0] * (X[:, 1] > 0) + 0.1 * rng.normal(size=120)
    settings = {"penalty": 0.01, "max_depth": 1}
    one = CostTreeRegressor(**settings).fit(X, y, sample_weight=weight)
    two = CostTreeRegressor(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.predict(X), two.predict(X), atol=1e-4)


@pytest.mark.parametrize("loss", ["log_loss", "squared"])
def test_constant_and_duplicate_columns_are_harmless(loss) -> None:
    rng = np.random.default_rng(14)
    x = rng.normal(size=(80, 1))
    X = np.hstack([x, x, x, np.ones((80, 1)), np.full((80, 1), 1e-300)])
    y = x[:, 0] > 0
    model = CostTreeClassifier(max_depth=2, loss=loss, shrinkage=0.0).fit(X, y)
    assert np.isfinite(model.model_.weights).all() and np.isfinite(model.model_.bias).all()
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("loss", ["log_loss", "squared"])
def test_few_rows_and_pure_nodes_keep_weights_finite(loss) -> None:
    rng = np.random.default_rng(15)
    X = rng.normal(size=(7, 20))  # more columns than rows, more leaves than rows
    y = np.arange(7) % 2 == 0
    model = CostTreeClassifier(max_depth=3, loss=loss, max_sweeps=2).fit(X, y)
    for part in (model.model_.route, model.model_.weights, model.model_.bias):
        assert np.isfinite(part).all()
    assert np.isfinite(model.predict_proba(rng.normal(size=(50, 20)) * 100)).all()


def test_the_log_loss_is_finite_where_leaves_are_pure() -> None:
    rng = np.random.default_rng(20)
    X = rng.standard_t(3, size=(150, 3))
    y = X[:, 0] > 0
    y[:2] = ~y[:2]
    model = CostTreeClassifier(max_depth=2, max_sweeps=2).fit(X, y)
    X_test = rng.standard_t(3, size=(400, 3))
    right = model.predict_proba(X_test)[np.arange(400), (X_test[:, 0] > 0).astype(int)]
    flipped = 1.0 - right  # even if every label were wrong
    assert np.isfinite(np.log(right)).all() and np.isfinite(np.log(flipped)).all()


def test_ten_decisions_are_allowed() -> None:
    rng = np.random.default_rng(21)
    X = rng.uniform(-1, 1, size=(150, 1))
    y = np.sin(8 * X[:, 0])
    shallow = CostTreeRegressor(max_depth=1, max_sweeps=1).fit(X, y)
    deep = CostTreeRegressor(max_depth=10, max_sweeps=1).fit(X, y)
    assert deep.score(X, y) > 0.98 > shallow.score(X, y)


def test_a_target_that_never_varies_is_predicted_for_free() -> None:
    X = np.random.default_rng(16).normal(size=(20, 2))
    model = CostTreeRegressor(max_depth=1).fit(X, np.full(20, 7.0))
    np.testing.assert_array_equal(model.predict(X), np.full(20, 7.0))
    assert model.bill(X).max() == 0.0


@pytest.mark.parametrize("loss", ["log_loss", "squared"])
def test_most_negatives_pay_for_the_cheap_column_only(loss) -> None:
    X, y = rare_positives()
    model = CostCascadeClassifier(
        Prices([1.0, 10.0, 10.0]), penalty=0.005, n_stages=2, loss=loss, class_weight="balanced"
    ).fit(X, y)
    X_test, y_test = rare_positives(seed=1)
    bills = model.bill(X_test)
    assert bills.mean() < 4.0
    assert np.mean(bills[~y_test] == 1.0) > 0.6
    assert model.predict(X_test)[y_test].mean() > 0.9
    assert model.predict(X_test)[~y_test].mean() < 0.1


def test_positives_pass_more_stages_than_negatives() -> None:
    X, y = rare_positives()
    model = CostCascadeClassifier(
        Prices([1.0, 10.0, 10.0]), penalty=0.005, n_stages=3, class_weight="balanced"
    ).fit(X, y)
    tree = model.model_
    assert np.all(tree.left == -1)
    assert len(tree.left) > 1
    depth = tree.visited(X).sum(axis=1)
    assert depth[y].mean() > depth[~y].mean() + 0.5


def test_one_stage_is_a_single_linear_classifier() -> None:
    X, y = rare_positives(400)
    model = CostCascadeClassifier(n_stages=1).fit(X, y)
    assert len(model.model_.left) == 1
    assert len(np.unique(model.bill(X))) == 1


def test_several_classes_have_a_cascade_each() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0], [-0.6, 0.6])
    model = CostCascadeClassifier(n_stages=2, penalty=0.01, max_sweeps=3).fit(X, y)
    assert isinstance(model.model_, OneVsRest)
    assert model.score(X, y) > 0.75


def test_boosted_stages_learn_what_no_linear_one_can() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    y = np.abs(X[:, 0]) > 1.3
    settings = {"penalty": 0.002, "n_stages": 2, "class_weight": "balanced", "max_sweeps": 2}
    boosted = CostCascadeClassifier(base="boosted", n_estimators=10, **settings).fit(X, y)
    assert boosted.predict(X)[y].mean() > 0.9
    assert boosted.predict(X)[~y].mean() < 0.1
