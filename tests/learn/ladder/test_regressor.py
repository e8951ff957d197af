"""LadderRegressor: rows climb where that lowers the squared error."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import LadderRegressor


def test_rows_climb_only_where_it_pays_off(make_numbers, prices, small):
    model = LadderRegressor(prices, penalty=0.05, **small).fit(*make_numbers(1000))
    X, y = make_numbers(seed=2)
    # Every row pays 1, and the half with a negative first column pays 4 more.
    assert model.bill(X).mean() == pytest.approx(3.0, abs=0.3)
    assert model.score(X, y) > 0.95


def test_the_uncertainty_is_larger_where_climbing_lowers_the_error(make_numbers, prices, small):
    model = LadderRegressor(prices, penalty=0.05, **small).fit(*make_numbers(1000)).model_
    X, _ = make_numbers(seed=2)
    r = int(np.flatnonzero(np.isfinite(model.thresholds))[0])
    uncertainty = model.uncertainties[r].score(X)
    assert uncertainty[X[:, 0] < -0.1].min() > uncertainty[X[:, 0] > 0.1].max()
    # It reads nothing that its rung does not read.
    assert not (model.uncertainties[r].support & ~model.rungs[r].support).any()


def test_pure_noise_explains_nothing_out_of_fold_although_the_model_learns_it_by_heart():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    found = list(LadderRegressor(random_state=0).path(X, y))
    top = max((point for point in found if "rung" in point.knob), key=lambda point: point.bill)
    assert np.corrcoef(top.model.predict(X), y)[0, 1] > 0.6
    assert all(point.quality < 0.05 for point in found)


def test_sample_weights_count(small):
    X = np.arange(200.0)[:, np.newaxis] % 2
    y = (np.arange(200) % 4 // 2).astype(float)  # independent of the column
    model = LadderRegressor(penalty=10.0, **small)
    model.fit(X, y, sample_weight=np.where(y > 0, 3.0, 1.0))
    assert model.predict(X[:1])[0] == pytest.approx(0.75)


def test_rows_of_weight_0_are_as_if_they_were_not_there(make_numbers, prices, small):
    X, y = make_numbers(150)
    kept = np.random.default_rng(3).random(150) < 0.7
    model = LadderRegressor(prices, penalty=0.01, **small)
    without = model.fit(X[kept], y[kept], sample_weight=np.ones(kept.sum())).predict(X)
    spoiled, values = np.where(kept[:, np.newaxis], X, 1e6), np.where(kept, y, -1e6)
    beside = model.fit(spoiled, values, sample_weight=kept.astype(float)).predict(X)
    np.testing.assert_array_equal(without, beside)


def test_a_single_group_is_divided_as_if_there_were_none(make_numbers, prices, small):
    X, y = make_numbers(120)
    model = LadderRegressor(prices, **small)
    plain = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(X, y, groups=np.zeros(120)).predict(X), plain)


def test_a_constant_target_and_three_rows_are_fitted(small):
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert (LadderRegressor(**small).fit(X, np.full(30, 7.0)).predict(X) == 7.0).all()
    model = LadderRegressor(**small).fit(X[:3], [1.0, 2.0, 6.0])
    assert np.isfinite(model.predict(X)).all()
