"""Ladders: known answers, what the rungs may see, and mistakes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from thrifty import DataError, LadderClassifier, LadderRegressor, Prices, load
from thrifty.learn.calibration import factor_of, scaled
from thrifty.learn.folds import deal
from thrifty.learn.ladder import classifier as ladder_classifier
from thrifty.learn.ladder.stages import LadderRungs, RungFitter
from thrifty.learn.losses import LogLoss
from thrifty.model import Forest, Stages

SMALL = {"n_estimators": 20, "max_depth": 3, "min_samples_leaf": 5, "random_state": 0}


def half_settled(n=1200, seed=0):
    """Column 0, which is cheap, settles the rows where it is far from 0; column 1 the others."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 3))
    y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] > 0)
    return X, np.where(y, "yes", "no")


def numbers(n=1200, seed=0):
    """Column 1 matters much where column 0 is negative, and a little elsewhere."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 3))
    return X, np.where(X[:, 0] > 0, 3.0 + 0.2 * X[:, 1], 2.0 * np.sign(X[:, 1]))


PRICES = Prices([1.0, 4.0, 4.0])


def points(model, make, n=1200):
    return list(model.path(*make(n), validation=make(n // 2, seed=1)))


# --- known answers -----------------------------------------------------------


def test_half_of_the_rows_stop_at_the_cheap_feature():
    model = LadderClassifier(PRICES, penalty=0.02, **SMALL).fit(*half_settled())
    X, y = half_settled(seed=2)
    # Everyone pays 1, and those that it leaves in doubt, a half, pay 4.
    assert model.bill(X).mean() == pytest.approx(3.0, abs=0.25)
    assert model.score(X, y) > 0.97
    clear = np.abs(X[:, 0]) > 0.6
    assert (model.bill(X)[clear] == 1.0).mean() > 0.95


def test_dear_money_buys_nothing():
    model = LadderClassifier(PRICES, penalty=10.0, **SMALL).fit(*half_settled())
    assert not model.used(half_settled(seed=2)[0]).any()


def test_a_number_is_climbed_for_where_it_pays():
    model = LadderRegressor(PRICES, penalty=0.05, **SMALL).fit(*numbers())
    X, y = numbers(seed=2)
    assert model.bill(X).mean() == pytest.approx(3.0, abs=0.3)
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize(
    ("kind", "make"), [(LadderClassifier, half_settled), (LadderRegressor, numbers)]
)
def test_the_path_has_every_rung_by_itself_and_beats_them(kind, make):
    found = points(kind(PRICES, **SMALL), make)
    static = [point for point in found if "rung" in point.knob]
    climbed = [point for point in found if "penalty" in point.knob]
    assert [point.knob["rung"] for point in static] == list(range(len(static)))
    assert all(isinstance(point.model.model, Forest) for point in static)
    assert all(isinstance(point.model.model, Stages) for point in climbed)
    top = max(static, key=lambda point: point.quality)
    assert any(
        point.bill < 0.8 * top.bill and point.quality > top.quality - 0.01 for point in climbed
    )


def test_the_path_starts_with_the_constant_and_rises():
    found = points(LadderClassifier(PRICES, **SMALL), half_settled)
    assert (found[0].bill, found[0].knob) == (0.0, {"rung": 0})
    assert [point.bill for point in found] == sorted(point.bill for point in found)
    assert [point.model.knob for point in found] == [point.knob for point in found]


# --- purchases ---------------------------------------------------------------


def grouped(n=900, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] + X[:, 2] + 0.3 * X[:, 3] > 0).astype(int)


GROUPS = Prices({3: 1.0}, groups={"g": [0, 1, 2]}, shared={"g": 6.0})


def test_rungs_are_nested():
    found = points(LadderClassifier(**SMALL), grouped)
    supports = [point.model.model.support for point in found if "rung" in point.knob]
    for less, more in pairwise(supports):
        assert not (less & ~more).any()
    assert supports[-1].all()


def test_a_group_is_bought_as_a_whole_and_paid_once():
    model = LadderClassifier(GROUPS, penalty=0.001, **SMALL).fit(*grouped())
    X, _ = grouped(seed=2)
    assert set(model.bill(X).tolist()) <= {0.0, 1.0, 6.0, 7.0}
    for point in points(LadderClassifier(GROUPS, **SMALL), grouped):
        if "rung" in point.knob:
            assert point.model.model.support[:3].sum() in (0, 3)


def test_evaluations_are_paid_rung_by_rung():
    prices = Prices([1.0, 4.0, 4.0], evaluation=0.01)
    for point in points(LadderClassifier(prices, **SMALL), half_settled, n=400):
        X = half_settled(200, seed=1)[0]
        assert point.bill == point.model.bill(X).mean()
        assert point.bill <= point.model.ceiling * (1 + 1e-12)


def test_a_free_feature_may_be_read_from_the_start():
    prices = Prices([0.0, 4.0, 4.0])
    found = points(LadderClassifier(prices, **SMALL), half_settled)
    assert found[0].bill == found[1].bill == 0.0
    assert found[1].quality > found[0].quality + 0.2


# --- rows out of fold --------------------------------------------------------


def test_no_row_is_predicted_by_trees_that_have_seen_it(monkeypatch):
    """Every fit is told by the rows of its target: each row is marked by its own value."""
    seen = []
    fit = RungFitter.fit

    def spy(self, binned, loss, features, rounds, watch=None):
        rung = fit(self, binned, loss, features, rounds, watch)
        seen.append((rung.forest, set(loss.y.tolist())))
        return rung

    asked = []
    raw = Forest.raw

    def raw_spy(self, X):
        asked.append((self, set(X[:, 0].tolist())))
        return raw(self, X)

    monkeypatch.setattr(RungFitter, "fit", spy)
    monkeypatch.setattr(Forest, "raw", raw_spy)
    rng = np.random.default_rng(0)
    y = rng.permutation(120).astype(float)
    X = np.column_stack([y, rng.normal(size=(120, 2))])
    LadderRegressor(n_estimators=3, folds=4, random_state=0).fit(
        X[:90], y[:90], validation=(X[90:], y[90:])
    )
    folded = [(forest, rows) for forest, rows in asked if rows <= set(y[:90].tolist())]
    assert folded
    for forest, rows in folded:
        training = next(told for fitted, told in seen if fitted is forest)
        assert not rows & training
    assert set().union(*(rows for _, rows in folded)) == set(y[:90].tolist())


def test_folds_join_only_where_validation_rows_are_few(monkeypatch):
    folds = []
    kept = LadderRungs.__init__

    def spy(self, *args, **kwargs):
        kept(self, *args, **kwargs)
        folds.append(self.folds)

    monkeypatch.setattr(LadderRungs, "__init__", spy)
    monkeypatch.setattr(ladder_classifier, "ENOUGH", 50)
    for held in (49, 50):
        LadderClassifier(**SMALL).fit(*half_settled(200), validation=half_settled(held, seed=1))
    assert folds == [3, 0]


def test_rows_are_dealt_evenly():
    target = np.repeat([0, 1, 2], [50, 31, 4])
    part = deal(target, 5, np.random.RandomState(0))
    for value in range(3):
        counts = np.bincount(part[target == value], minlength=5)
        assert counts.max() - counts.min() <= 1


# --- calibration -------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.4, 1.0, 2.5])
def test_a_factor_undoes_what_was_done(factor):
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(3, 20_000)) * 2
    shares = np.exp(raw) / np.exp(raw).sum(axis=0)
    y = (rng.random(20_000) > np.cumsum(shares, axis=0)).sum(axis=0).clip(max=2)
    assert factor_of(raw / factor, LogLoss(y, None, 3)) == pytest.approx(factor, rel=0.1)


def test_few_rows_leave_the_outputs_nearly_as_they_are():
    y = np.array([0, 1])
    assert 0.8 < factor_of(np.array([[-3.0, 3.0]]), LogLoss(y, None, 2)) < 1.25


def test_a_scaled_forest_has_scaled_outputs():
    model = LadderClassifier(penalty=0.0, **SMALL).fit(*half_settled(300)).model_
    forest = model.rungs[-1] if isinstance(model, Stages) else model
    X = half_settled(50, seed=3)[0]
    np.testing.assert_allclose(scaled(forest, 0.7).raw(X), 0.7 * forest.raw(X))


# --- the estimator -----------------------------------------------------------


def test_a_walk_stopped_early_answers_with_its_rung():
    model = LadderClassifier(PRICES, penalty=0.02, **SMALL).fit(*half_settled())
    walk = model.walk()
    assert walk.asks == (0,)
    walk.tell({0: 0.05})
    assert walk.asks == (1,)
    walk.stop("no money left")
    assert walk.answer == walk.best and walk.receipt.total == 1.0


def test_a_ladder_is_saved_and_loaded(tmp_path):
    for model, make in (
        (LadderClassifier(PRICES, penalty=0.02, **SMALL), half_settled),
        (LadderRegressor(PRICES, penalty=0.05, **SMALL), numbers),
    ):
        model.fit(*make())
        assert isinstance(model.model_, Stages)
        model.save(tmp_path / "ladder.thrifty")
        again, X = load(tmp_path / "ladder.thrifty"), make(100, seed=5)[0]
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.bill(X), model.bill(X))


def test_weights_count():
    X = np.arange(200.0)[:, np.newaxis] % 2
    y = np.arange(200) % 4 // 2  # the column says nothing
    for heavy in (0, 1):
        weight = np.where(y == heavy, 3.0, 1.0)
        model = LadderClassifier(**SMALL).fit(X, y, sample_weight=weight)
        assert (model.predict(X) == heavy).all()


# --- bad input ---------------------------------------------------------------


def test_one_class_is_refused():
    with pytest.raises(DataError, match="only one class"):
        LadderClassifier().fit(np.zeros((9, 2)), ["a"] * 9)


def test_fewer_rows_than_folds_are_refused():
    X = np.arange(10.0).reshape(5, 2)
    with pytest.raises(DataError, match="6 folds need as many rows, there are 4 to learn from"):
        LadderRegressor(folds=6).fit(X, np.arange(5.0))


def test_a_class_may_be_missing_from_a_fold_or_from_validation():
    X, y = half_settled(120)
    y = np.where(np.arange(120) == 7, "rare", y)
    model = LadderClassifier(**SMALL).fit(X, y)
    assert model.classes_.tolist() == ["no", "rare", "yes"]
    assert model.predict_proba(X).shape == (120, 3)
    some = list(LadderClassifier(**SMALL).path(X, y, validation=half_settled(40, seed=1)))
    assert np.isfinite([point.quality for point in some]).all()


def test_a_strange_validation_label_is_refused():
    X, y = half_settled(60)
    with pytest.raises(DataError, match="are not classes of the training target"):
        LadderClassifier(**SMALL).fit(X, y, validation=(X[:3], ["yes", "no", "perhaps"]))


def test_a_validation_without_target_is_refused():
    X, y = half_settled(60)
    with pytest.raises(DataError, match="give the table and its target"):
        LadderClassifier(**SMALL).fit(X, y, validation=(X,))


@pytest.mark.parametrize(
    ("name", "value"), [("folds", 1), ("penalty", -1.0), ("n_rungs", 0), ("max_depth", 13)]
)
def test_settings_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        LadderClassifier(**{name: value}).fit(*half_settled(60))


def test_columns_that_say_nothing_leave_the_constant():
    X = np.zeros((60, 3))
    model = LadderClassifier(**SMALL).fit(X, np.arange(60) % 2)
    assert not model.used(X).any()
