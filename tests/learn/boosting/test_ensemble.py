"""Ensembles while they grow: what is paid is what is used, what is fitted is what is frozen."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.losses import LogLoss, SquaredLoss
from thrifty.learn.purchases import Purchases


def draw(seed=0, n=400, d=8, missing=0.1, dtype=np.float64):
    """A table of long, short, categorical and gappy columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] = rng.integers(0, 6, size=n)
    X[:, 2] = np.round(X[:, 2], 1)
    X[:, 3] = rng.standard_cauchy(n)
    signal = np.where(X[:, 1] % 2, X[:, 0], X[:, 4]) + 0.5 * np.sign(X[:, 3]) * X[:, 5]
    X[rng.random((n, d)) < missing] = np.nan
    return X.astype(dtype), signal + rng.normal(scale=0.1, size=n), np.arange(d) == 1


PRICES = Prices([1, 2, 1, 0, 3, 1, 1, 1], groups={"lab": [4, 5, 6]}, shared={"lab": 2.0})


def boosting_of(X, loss, categorical, charge, penalty, weight=None, depth=3, rate=0.3):
    bound = PRICES.bind(X.shape[1])
    bought = Purchases(bound, len(X), charge)
    binned = Binned.of(X, categorical, np.random.RandomState(0))
    grower = Grower(
        binned, bought, penalty=penalty, max_depth=depth, min_samples_leaf=5, weight=weight
    )
    return Boosting(loss, grower, rate), bought


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("charge", ["model", "example"])
def test_the_frozen_forest_sends_training_rows_where_the_growing_trees_sent_them(charge, dtype):
    X, y, categorical = draw(dtype=dtype)
    codes = np.digitize(y, [-0.5, 0.5])
    for loss in (SquaredLoss(y, None), LogLoss(codes, None, 3)):
        boosting, _ = boosting_of(X, loss, categorical, charge, penalty=1e-3)
        boosting.boost(10)
        forest = boosting.freeze()
        assert len(forest.roots) == 10 * loss.outputs
        np.testing.assert_array_equal(forest.raw(X).T, boosting.raw)


def test_each_class_has_gains_of_its_own():
    X, y, categorical = draw()
    loss = LogLoss(np.digitize(y, [-0.5, 0.5]), None, 3)
    boosting, _ = boosting_of(X, loss, categorical, "model", penalty=0.0)
    targets = loss.derivatives(boosting.raw)[0]
    alone = [boosting.grower.gains(target).tolist() for target in targets]
    assert [gains.tolist() for gains in boosting.gains()] == alone
    assert len({max(gains) for gains in alone}) == 3


def test_each_example_has_paid_for_exactly_what_it_uses():
    X, y, categorical = draw()
    boosting, bought = boosting_of(X, SquaredLoss(y, None), categorical, "example", penalty=0.003)
    boosting.boost(10)
    used = boosting.freeze().used(X)
    np.testing.assert_array_equal(bought.paid.T.astype(bool), used)
    np.testing.assert_array_equal(bought.group_paid[0].astype(bool), used[:, 4:7].any(axis=1))
    assert 0 < used.mean() < 0.9


def test_the_model_has_bought_exactly_the_features_of_its_forest():
    X, y, categorical = draw()
    boosting, bought = boosting_of(X, SquaredLoss(y, None), categorical, "model", penalty=0.01)
    boosting.boost(10)
    assert np.flatnonzero(bought.features).tolist() == boosting.freeze().features.tolist()
    assert 0 < bought.features.sum() < len(bought.features)


@pytest.mark.parametrize("charge", ["model", "example"])
@pytest.mark.parametrize("penalty", [0.0, 0.001, 0.01, 0.1])
def test_the_loss_saved_is_worth_the_bill(penalty, charge):
    # Whole steps (rate 1) on the squared loss: each tree saves exactly its gain.
    X, y, categorical = draw()
    loss = SquaredLoss(y, None)
    boosting, bought = boosting_of(X, loss, categorical, charge, penalty, rate=1.0)
    before = loss.value(boosting.raw)
    boosting.boost(6)
    forest = boosting.freeze()
    used = forest.used(X) if charge == "example" else bought.features[np.newaxis].astype(bool)
    saved = before - loss.value(boosting.raw)
    assert saved >= penalty * PRICES.bind(8).bill(used).mean()


@pytest.mark.parametrize("charge", ["model", "example"])
def test_an_inner_node_has_the_value_that_it_would_have_as_a_leaf(charge):
    X, y, categorical = draw(n=100)
    boosting, _ = boosting_of(X, SquaredLoss(y, None), categorical, charge, 0.0, depth=2)
    boosting.boost(1)
    forest = boosting.freeze()
    assert forest.values[0, 0] == pytest.approx(0.3 * np.mean(y - y.mean()), abs=1e-12)
    child = int(forest.nodes["child"][0])
    boosting, _ = boosting_of(X, SquaredLoss(y, None), categorical, charge, 0.0, depth=1)
    boosting.boost(1)
    np.testing.assert_allclose(
        boosting.freeze().values[1:, 0], forest.values[child : child + 2, 0], atol=1e-12
    )


def test_leaf_values_are_damped_newton_steps():
    X, y, categorical = draw()
    codes = (y > 0).astype(int)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    loss = LogLoss(codes, weight, 2)
    boosting, _ = boosting_of(X, loss, categorical, "model", 0.0, weight)
    gradient, hessian = loss.derivatives(boosting.raw)
    boosting.boost(1)
    forest = boosting.freeze()
    leaves = forest.leaves(X)[0]
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        step = (weight * gradient[0])[rows].sum() / ((weight * hessian[0])[rows].sum() + 1.0)
        assert forest.values[leaf, 0] == pytest.approx(0.3 * step, rel=1e-9)


def test_both_charges_are_one_when_every_row_reads_every_tree_whole():
    # Trees of one question: all rows pay for it, or the model does for all rows.
    X, y, categorical = draw()
    trees = []
    for charge in ("model", "example"):
        boosting, _ = boosting_of(X, SquaredLoss(y, None), categorical, charge, 0.01, depth=1)
        boosting.boost(20)
        trees.append(boosting.freeze())
    np.testing.assert_array_equal(trees[0].nodes, trees[1].nodes)


def test_boosting_stops_when_nothing_is_worth_its_price():
    X, y, categorical = draw()
    X[:, 3] = 0.0  # the free column
    boosting, bought = boosting_of(X, SquaredLoss(y, None), categorical, "model", 1e6)
    assert boosting.boost(50) is False
    assert len(boosting.freeze().roots) <= 1
    assert not bought.features.any()
