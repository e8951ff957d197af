"""LadderRegressor: rows climb where that lowers the squared error."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import LadderRegressor
from thrifty.learn.ladder.rungs import RungTrainer
from thrifty.model import Forest


def test_rows_climb_only_where_it_pays_off(make_numbers, prices, small):
    model = LadderRegressor(prices, penalty=0.05, **small).fit(*make_numbers())
    X, y = make_numbers(seed=2)
    assert model.bill(X).mean() == pytest.approx(3.0, abs=0.3)
    assert model.score(X, y) > 0.95


def test_the_uncertainty_is_larger_where_climbing_lowers_the_error(make_numbers, prices, small):
    model = LadderRegressor(prices, penalty=0.05, **small).fit(*make_numbers()).model_
    X, _ = make_numbers(seed=2)
    r = int(np.flatnonzero(np.isfinite(model.thresholds))[0])
    uncertainty = model.uncertainties[r].score(X)
    assert uncertainty[X[:, 0] < -0.1].min() > uncertainty[X[:, 0] > 0.1].max()
    # It reads nothing that its rung does not read.
    assert not (model.uncertainties[r].support & ~model.rungs[r].support).any()


def test_no_row_is_predicted_by_trees_that_have_seen_it(monkeypatch):
    # Each row is identified by its own target value, which is also its first column.
    fitted, scored = [], []
    fit, raw = RungTrainer.fit, Forest.raw

    def fit_spy(self, binned, loss, features, n_rounds, monitor=None):
        rung = fit(self, binned, loss, features, n_rounds, monitor)
        fitted.append((rung.forest, set(loss.y.tolist())))
        return rung

    def raw_spy(self, X):
        scored.append((self, set(X[:, 0].tolist())))
        return raw(self, X)

    monkeypatch.setattr(RungTrainer, "fit", fit_spy)
    monkeypatch.setattr(Forest, "raw", raw_spy)
    rng = np.random.default_rng(0)
    y = rng.permutation(120).astype(float)
    X = np.column_stack([y, rng.normal(size=(120, 2))])
    LadderRegressor(n_estimators=3, folds=4, random_state=0).fit(
        X[:90], y[:90], validation=(X[90:], y[90:])
    )
    out_of_fold = [(forest, rows) for forest, rows in scored if rows <= set(y[:90].tolist())]
    assert out_of_fold
    for forest, rows in out_of_fold:
        training = next(seen for candidate, seen in fitted if candidate is forest)
        assert not rows & training
    assert set().union(*(rows for _, rows in out_of_fold)) == set(y[:90].tolist())
