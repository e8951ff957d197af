"""`fit` with a validation set, paths, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from rare_class import rare_positives

from thrifty import CostCascadeClassifier, CostTreeClassifier, CostTreeRegressor, Prices
from thrifty.errors import DataError
from thrifty.learn.cost_tree.base import TREE_SHRINKAGES, UNTESTED_SHRINKAGE


def test_branches_that_fit_noise_are_pruned_on_the_validation_set() -> None:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(90, 6))
    y = X[:, 0] + rng.normal(size=90)
    X_valid = rng.normal(size=(400, 6))
    settings = {"max_depth": 2, "max_sweeps": 3}
    full = CostTreeRegressor(**settings).fit(X, y)
    pruned = CostTreeRegressor(**settings).fit(X, y, validation=(X_valid, X_valid[:, 0]))
    assert len(pruned.model_.left) < len(full.model_.left)
    assert pruned.score(X_valid, X_valid[:, 0]) > full.score(X_valid, X_valid[:, 0])


def test_a_path_starts_with_the_constant_and_ends_at_the_smallest_penalty() -> None:
    rng = np.random.default_rng(13)
    X = rng.normal(size=(300, 4))
    y = X @ [2.0, 1.0, 0.5, 0.1] > 0
    train, valid = slice(0, 200), slice(200, 300)
    model = CostTreeClassifier(max_depth=1, max_sweeps=2)
    points = list(model.path(X[train], y[train], validation=(X[valid], y[valid])))
    bills = [point.bill for point in points]
    assert bills == sorted(bills) and bills[0] == 0.0
    assert points[-1].bill > 2.0 and points[-1].quality > 0.85
    chosen = list(
        model.path(X[train], y[train], validation=(X[valid], y[valid]), penalties=[0.5, 0.0])
    )
    assert [point.knob.get("penalty") for point in chosen] == [None, 0.5, 0.0]
    assert chosen[1].bill == 0.0


def test_a_path_falls_until_nothing_more_is_bought() -> None:
    rng = np.random.default_rng(18)
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, 0.1, 0.01] + 0.001 * rng.normal(size=300)
    prices = Prices([1.0, 10.0, 100.0])  # the last pays at a penalty 1e6 times below the first
    points = list(CostTreeRegressor(prices, max_depth=0).path(X, y, validation=(X, y)))
    assert sorted({point.bill for point in points}) == [0.0, 1.0, 11.0, 111.0]
    assert min(point.knob.get("penalty", 1.0) for point in points) == 0.0


def test_a_tree_is_at_least_as_good_as_one_linear_model_at_every_penalty() -> None:
    rng = np.random.default_rng(19)
    X, weights = rng.normal(size=(400, 3)), [1.0, 0.5, 0.2]
    y = X @ weights + np.abs(X[:, 0]) + 0.1 * rng.normal(size=400)
    rows, settings = (X[:300], y[:300]), {"validation": (X[300:], y[300:])}
    for penalty in (0.3, 0.03, 0.003):
        objective = []
        for depth in (0, 1):
            model = CostTreeRegressor(max_depth=depth, penalty=penalty, max_sweeps=2)
            model.fit(*rows, **settings)
            loss = 0.5 * np.mean((model.predict(X[300:]) - y[300:]) ** 2)
            objective.append(loss + penalty * model.bill(X[300:]).mean())
        assert objective[1] <= objective[0] + 1e-6


def test_bad_input_raises_a_clear_error() -> None:
    X = np.random.default_rng(17).normal(size=(20, 2))
    y = X[:, 0]
    with pytest.raises(DataError, match="no column varies"):
        CostTreeRegressor().fit(np.ones((20, 2)), y)
    with pytest.raises(DataError, match="give the table and its target"):
        CostTreeRegressor().fit(X, y, validation=(X,))
    with pytest.raises(DataError, match="numbers from 0 up"):
        list(CostTreeRegressor().path(X, y, validation=(X, y), penalties=[-1.0]))
    with pytest.raises(ValueError, match="max_depth"):
        CostTreeRegressor(max_depth=11).fit(X, y)
    with pytest.raises(DataError, match="every class of the target has weight 0"):
        CostTreeClassifier(class_weight={False: 0.0, True: 0.0}).fit(X, y > 0)


def test_a_path_of_cascades_is_sorted_by_bill() -> None:
    X, y = rare_positives(600)
    validation = rare_positives(300, seed=4)
    model = CostCascadeClassifier(Prices([1.0, 5.0, 5.0]), n_stages=2, max_sweeps=2)
    points = list(model.path(X, y, validation=validation, penalties=[0.1, 0.01, 0.001]))
    bills = [point.bill for point in points]
    assert bills == sorted(bills) and bills[0] == 0.0
    assert points[-1].quality > points[0].quality


def test_class_weights_multiply_the_loss_but_not_the_cost() -> None:
    X, y = rare_positives(300)
    model = CostCascadeClassifier(class_weight={False: 1.0, True: 4.0})
    train = model._read_training(X, y)
    assert train.weight is None
    (learner,) = model._learners(train, None)
    np.testing.assert_allclose(learner.objective.weight, 1.0 / 300)
    factor = learner.objective.loss_weight / learner.objective.weight
    np.testing.assert_allclose(factor, np.where(y, 4.0, 1.0))


def test_the_l1_norm_on_boosted_trees_is_chosen_on_the_validation_set() -> None:
    rng = np.random.default_rng(22)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + 2.0 * rng.normal(size=300) > 0  # mostly noise, which the trees know by heart
    validation = (rng.normal(size=(300, 3)), rng.normal(size=300) > 0)
    model = CostTreeClassifier(base="boosted", n_estimators=8, max_depth=0)
    train = model._read_training(X, y)
    (chosen,) = model._learners(train, model._read_validation(validation, train))
    assert chosen.shrinkages == TREE_SHRINKAGES
    found = {one.shrinkage for one in chosen.candidates([0.05, 0.0])}
    assert found <= {None, *TREE_SHRINKAGES}  # None: a sum of base trees
    (untested,) = model._learners(train, None)
    assert untested.shrinkages == (UNTESTED_SHRINKAGE,)
    (given,) = model.set_params(shrinkage=0.5)._learners(train, None)
    assert given.shrinkages == (0.5,)
