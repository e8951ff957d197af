"""PolicyClassifier: a known policy, caps, groups, paths, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import DataError, Prices
from thrifty.learn.policy import PolicyClassifier

SMALL = {"n_estimators": 30, "random_state": 0}


def test_every_row_reads_the_column_that_matters_for_it(quarters):
    X, y = quarters(600)
    model = PolicyClassifier(penalty=0.01, **SMALL).fit(X, y)
    Xt, yt = quarters(400, seed=1)
    used = model.used(Xt)
    assert used[:, 0].all()
    # Rows close to the border of column 0 may read both.
    assert model.bill(Xt).mean() < 2.3
    assert model.score(Xt, yt) > 0.85
    right = np.where(Xt[:, 0] > 0, used[:, 1], used[:, 2])
    assert right.mean() > 0.9


def test_no_row_pays_more_than_the_cap(quarters):
    X, y = quarters()
    model = PolicyClassifier(Prices([1.0, 2.0, 2.5]), cap=3.0, **SMALL).fit(X, y)
    assert model.bill(X).max() <= 3.0


def test_the_features_of_a_group_without_prices_are_bought_together(quarters):
    X, y = quarters()
    prices = Prices([1.0, 0.0, 0.0], groups={"lab": [1, 2]}, shared={"lab": 2.0})
    model = PolicyClassifier(prices, penalty=0.01, **SMALL).fit(X, y)
    used = model.used(X)
    assert used[:, 1].any()
    np.testing.assert_array_equal(used[:, 1], used[:, 2])


def test_free_features_are_read_by_every_row(quarters):
    X, y = quarters()
    model = PolicyClassifier(Prices([1.0, 0.0, 1.0]), penalty=10.0, **SMALL).fit(X, y)
    assert model.used(X).tolist() == [[False, True, False]] * len(X)


def test_a_table_of_free_features_is_simply_predicted(quarters):
    X, y = quarters()
    model = PolicyClassifier(Prices([0.0, 0.0, 0.0]), **SMALL).fit(X, y)
    assert model.used(X).all()
    assert model.score(X, y) > 0.9


def test_a_path_runs_from_the_constant_to_all_that_helps(quarters):
    points = list(PolicyClassifier(**SMALL).path(*quarters()))
    assert points[0].bill == 0.0
    assert 3 <= len(points) <= 13
    bills = [point.bill for point in points]
    assert bills == sorted(bills)
    assert points[-1].quality > 0.8


def test_out_of_fold_figures_hold_on_other_rows(quarters):
    X, y = quarters(500)
    Xt, yt = quarters(1000, seed=1)
    for point in PolicyClassifier(**SMALL).path(X, y):
        accuracy = np.mean(point.model.predict(Xt) == yt)
        assert accuracy > point.quality - 0.06
        assert point.model.bill(Xt).mean() == pytest.approx(point.bill, abs=0.3)


def test_a_path_with_validation_rows_is_measured_on_them(quarters):
    Xv, yv = quarters(100, seed=1)
    for point in PolicyClassifier(**SMALL).path(*quarters(), validation=(Xv, yv)):
        assert point.bill == point.model.bill(Xv).mean()
        assert point.quality == np.mean(point.model.predict(Xv) == yv)


def test_weights_count(quarters):
    X, y = quarters()
    weight = np.where(y == 0, 50.0, 0.1)
    model = PolicyClassifier(penalty=10.0, **SMALL).fit(X, y, sample_weight=weight)
    assert (model.predict(X) == 0).all()


def test_too_few_rows_are_refused(quarters):
    X = quarters(2)[0]
    with pytest.raises(DataError, match="3 folds need at least as many"):
        PolicyClassifier(**SMALL).fit(X, np.arange(2))
