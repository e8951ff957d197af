"""Rungs: nested features, early stopping, out-of-fold outputs, calibration."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.learn.binned import Binned
from thrifty.learn.folds import assign_folds
from thrifty.learn.ladder.rungs import BinnedRows, Rows, RungTrainer
from thrifty.learn.losses import LogLoss, SquaredLoss


def binned_rows(X, y, weight=None):
    binned = Binned.of(X, np.zeros(X.shape[1], dtype=bool), np.random.RandomState(0))
    return BinnedRows(X, y, weight, binned)


def trainer(prices, make_loss=SquaredLoss, **settings):
    """A trainer of small rungs."""
    settings = {"n_rungs": 6, "n_estimators": 30, "learning_rate": 0.3, **settings}
    return RungTrainer(prices, make_loss, max_depth=3, max_leaves=8, min_samples_leaf=5, **settings)


def make_sum(n=400, seed=0):
    """A number that is the sum of three columns of decreasing weight; a fourth is noise."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, X @ [3.0, 2.0, 1.0, 0.0]


def test_some_rows_keep_target_weights_and_bins():
    X, y = make_sum(20)
    rows = binned_rows(X, y, np.arange(1.0, 21.0)).take(np.array([3, 5]))
    np.testing.assert_array_equal(rows.X, X[[3, 5]])
    np.testing.assert_array_equal(rows.y, y[[3, 5]])
    assert rows.weight.tolist() == [4.0, 6.0] and rows.unit_weights.tolist() == [0.8, 1.2]
    assert rows.binned.bins.shape == (4, 2)
    assert Rows(X, y, None).unit_weights.tolist() == [1.0] * 20


def test_gain_is_summed_over_all_trees_of_a_rung():
    X, y = make_sum()
    train = binned_rows(X, y)
    rung = trainer(Prices().bind(4)).fit(train.binned, SquaredLoss(y, None), np.arange(3), 20)
    assert rung.gain[0] > rung.gain[1] > rung.gain[2] > 0.0 == rung.gain[3]
    assert rung.n_rounds == 20 and rung.monitored_raw.shape == (1, 0)


def test_rungs_are_fitted_on_nested_features_and_stopped_early():
    X, y = make_sum()
    monitored = Rows(*make_sum(200, seed=1), None)
    rungs = trainer(Prices([1.0, 1.0, 1.0, 1.0]).bind(4)).fit_rungs(binned_rows(X, y), monitored)
    assert rungs[-1].features.tolist() == [0, 1, 2, 3]
    assert rungs[0].features.tolist() == [0]
    for less, more in pairwise(rungs):
        assert set(less.features.tolist()) < set(more.features.tolist())
    for rung in rungs:
        np.testing.assert_allclose(rung.monitored_raw, rung.forest.raw(monitored.X).T)
        assert 0 < rung.n_rounds <= 30


def test_given_feature_sets_are_followed_down_to_the_free_features():
    X, y = make_sum()
    monitored = Rows(*make_sum(200, seed=1), None)
    groups = {"g": [0], "h": [2, 3]}
    prices = Prices([0.0] * 4, groups=groups, shared={"g": 1.0, "h": 3.0}).bind(4)
    sets = [np.array([1]), np.array([0, 1]), np.arange(4)]
    rungs = trainer(prices).fit_rungs(binned_rows(X, y), monitored, sets)
    assert [rung.features.tolist() for rung in rungs] == [[1], [0, 1], [0, 1, 2, 3]]


def test_groups_are_ordered_by_what_they_save_per_price():
    X, y = make_sum()
    groups = {"most": [0], "useless": [3], "some": [1, 2]}
    prices = Prices([0.0] * 4, groups=groups, shared=dict.fromkeys(groups, 1.0)).bind(4)
    half = assign_folds(y, 2, np.random.RandomState(0))
    order = trainer(prices).order_groups(binned_rows(X, y), half)
    assert [features.tolist() for features in order] == [[], [0], [0, 1, 2], [0, 1, 2, 3]]


def test_out_of_fold_outputs_are_those_of_models_without_the_fold():
    X, y = make_sum(90)
    train, fold = binned_rows(X, y), np.arange(90) % 3
    small = trainer(Prices().bind(4), n_estimators=5)
    rungs = small.fit_rungs(train, Rows(*make_sum(50, seed=1), None))
    folded = small.score_out_of_fold(train, rungs, fold)
    rest = train.take(np.flatnonzero(fold != 1))
    for rung, (raw, used) in zip(rungs, folded, strict=True):
        refit = small.fit(rest.binned, small.loss(rest), rung.features, rung.n_rounds).forest
        np.testing.assert_array_equal(raw[:, fold == 1], refit.raw(X[fold == 1]).T)
        np.testing.assert_array_equal(used[fold == 1], refit.used(X[fold == 1]))


@pytest.mark.parametrize("with_folds", [False, True])
def test_calibration_lowers_the_loss_of_unseen_rows(with_folds):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = (rng.random(600) < 1 / (1 + np.exp(-X[:, 0]))).astype(np.int64)
    train, monitored = binned_rows(X[:300], y[:300]), Rows(X[300:], y[300:], None)
    small = trainer(
        Prices().bind(4),
        lambda target, weight: LogLoss(target, weight, 2),
        n_estimators=3,
        learning_rate=0.1,
    )
    rungs = small.fit_rungs(train, monitored)
    fold = np.arange(300) % 3
    folded = small.score_out_of_fold(train, rungs, fold) if with_folds else []
    calibrated, scaled = small.calibrate(train, monitored, rungs, folded)
    assert len(scaled) == len(folded)
    for before, after in zip(rungs, calibrated, strict=True):
        loss = small.loss(monitored)
        # Three short steps leave the trees far too uncertain.
        assert loss.value(after.monitored_raw) < loss.value(before.monitored_raw) - 0.01
        factor = after.forest.base[0] / before.forest.base[0]
        assert factor > 1.5
        np.testing.assert_allclose(after.monitored_raw, after.forest.raw(monitored.X).T)
        np.testing.assert_allclose(after.monitored_raw, factor * before.monitored_raw)
    for (raw, used), (scaled_raw, same) in zip(folded, scaled, strict=True):
        ratio = scaled_raw / raw
        np.testing.assert_allclose(ratio, ratio[0, 0])
        assert same is used
