"""Uncertainty of values: what climbing saves, predicted by models that have not seen the errors."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.ladder.rungs import Rung
from thrifty.learn.ladder.uncertainty import fit_uncertainty
from thrifty.model import Forest


def make_rungs(rows, *scores):
    """Rungs with given scores of the evidence; rung r reads the first r columns."""
    model = Forest.constant([0.0], "sum", rows.X.shape[1])
    return [Rung(np.arange(r), model, np.asarray(each)) for r, each in enumerate(scores)]


@pytest.fixture
def table():
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))
    return X, np.where(X[:, 0] > 0, 2.0, 0.0)


def test_rows_that_gain_more_by_climbing_are_more_uncertain(read_rows, table):
    X, y = table
    rows = read_rows("regression", X, y)
    # The second rung errs by 2 where the first column is positive, the third one is right.
    rungs = make_rungs(rows, np.full(300, 1.0), np.zeros(300), y)
    models, uncertainty = fit_uncertainty(rows, rungs, np.random.RandomState(0))
    assert uncertainty.shape == (3, 300)
    assert models[0] is None and models[2] is None
    # The constant errs by 1 everywhere; above, the mean square error is 2 or 0, and then 0.
    np.testing.assert_allclose(uncertainty[0], 0.0, atol=0.2)
    assert (uncertainty[0] == uncertainty[0, 0]).all()
    far = np.abs(X[:, 0]) > 0.05
    np.testing.assert_allclose(uncertainty[1][far], np.where(X[far, 0] > 0, 4.0, 0.0), atol=0.5)
    assert (uncertainty[2] == 0.0).all()
    # It reads what its rung has bought, and nothing else.
    assert models[1].support.tolist() == [True, False, False]


def test_the_uncertainty_of_the_constant_is_what_climbing_saves_on_average(read_rows, table):
    X, y = table
    weight = np.where(y > 0, 3.0, 1.0)
    rows = read_rows("regression", X, y, sample_weight=weight)
    _, uncertainty = fit_uncertainty(
        rows, make_rungs(rows, np.zeros(300), y), np.random.RandomState(0)
    )
    np.testing.assert_allclose(uncertainty[0], np.average(y**2, weights=weight))


def test_errors_that_are_pure_chance_are_not_recognized(read_rows):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    rows = read_rows("regression", X, y)
    models, uncertainty = fit_uncertainty(
        rows, make_rungs(rows, np.zeros(400), np.zeros(400), y), np.random.RandomState(0)
    )
    saved = y**2
    assert np.corrcoef(models[1].score(X), saved)[0, 1] > 0.3
    assert abs(np.corrcoef(uncertainty[1], saved)[0, 1]) < 0.15


def test_rows_of_a_group_are_scored_by_models_without_the_group(read_rows):
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(60), 8)
    X = rng.normal(size=(60, 3))[group] + 0.001 * rng.normal(size=(480, 3))

    def correlation(y, **groups):
        rows = read_rows("regression", X, y, **groups)
        rungs = make_rungs(rows, np.zeros(480), np.zeros(480), y)
        _, uncertainty = fit_uncertainty(rows, rungs, np.random.RandomState(0))
        return np.corrcoef(uncertainty[1], y**2)[0, 1]

    targets = [rng.normal(size=60)[group] for _ in range(8)]
    assert np.mean([correlation(y) for y in targets]) > 0.4
    assert np.mean([correlation(y, groups=group) for y in targets]) < 0.1


def test_validation_rows_are_scored_by_the_model_and_not_fitted_on(read_rows, table):
    X, y = table
    V = np.random.default_rng(1).uniform(-1, 1, size=(40, 3))
    found = []
    for wrong in (0.0, 50.0):
        rows = read_rows("regression", X, y, validation=(V, np.zeros(40)))
        scores = np.concatenate([np.zeros(300), np.full(40, wrong)])
        rungs = make_rungs(rows, np.ones(340), scores, rows.y)
        models, uncertainty = fit_uncertainty(rows, rungs, np.random.RandomState(0))
        np.testing.assert_array_equal(uncertainty[1, 300:], models[1].score(V))
        found.append(models[1])
    np.testing.assert_array_equal(found[0].score(V), found[1].score(V))
