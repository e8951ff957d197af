"""Ladders: operating points, bills, random numbers, and bad input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from thrifty import DataError, LadderClassifier, LadderRegressor, Prices, load
from thrifty.learn import binned
from thrifty.learn.ladder.rungs import RungTrainer
from thrifty.model import Forest, Stages

# --- the path ----------------------------------------------------------------


def test_the_path_has_every_rung_by_itself_and_beats_them(
    ladder_and_table, prices, small, path_points
):
    ladder, make = ladder_and_table
    found = path_points(ladder(prices, **small), make)
    static = [point for point in found if "rung" in point.knob]
    adaptive = [point for point in found if "penalty" in point.knob]
    assert [point.knob["rung"] for point in static] == list(range(len(static)))
    assert all(isinstance(point.model.model, Forest) for point in static)
    assert all(isinstance(point.model.model, Stages) for point in adaptive)
    top = max(static, key=lambda point: point.quality)
    assert any(
        point.bill < 0.8 * top.bill and point.quality > top.quality - 0.01 for point in adaptive
    )


def test_the_path_starts_with_the_constant_and_gets_more_expensive(
    make_labels, prices, small, path_points
):
    found = path_points(LadderClassifier(prices, **small), make_labels)
    assert (found[0].bill, found[0].knob) == (0.0, {"rung": 0})
    assert [point.bill for point in found] == sorted(point.bill for point in found)
    assert [point.model.knob for point in found] == [point.knob for point in found]


def test_no_two_points_of_a_path_are_the_same_model(ladder_and_table, prices, small, path_points):
    ladder, make = ladder_and_table
    found = [point.model.model for point in path_points(ladder(prices, **small), make)]
    adaptive = [model for model in found if isinstance(model, Stages)]
    assert len({model.thresholds.tobytes() for model in adaptive}) == len(adaptive)


# --- purchases ---------------------------------------------------------------


def make_grouped(n=900, seed=0):
    """Three columns of a group matter equally, the fourth one less."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] + X[:, 2] + 0.3 * X[:, 3] > 0).astype(int)


GROUP_PRICES = Prices({3: 1.0}, groups={"g": [0, 1, 2]}, shared={"g": 6.0})


def test_rungs_are_nested(small, path_points):
    found = path_points(LadderClassifier(**small), make_grouped)
    supports = [point.model.model.support for point in found if "rung" in point.knob]
    for less, more in pairwise(supports):
        assert not (less & ~more).any()
    assert supports[-1].all()


def test_a_group_is_bought_as_a_whole_and_paid_once(small, path_points):
    model = LadderClassifier(GROUP_PRICES, penalty=0.001, **small).fit(*make_grouped())
    X, _ = make_grouped(seed=2)
    assert set(model.bill(X).tolist()) <= {0.0, 1.0, 6.0, 7.0}
    for point in path_points(LadderClassifier(GROUP_PRICES, **small), make_grouped):
        if "rung" in point.knob:
            assert point.model.model.support[:3].sum() in (0, 3)


def test_evaluations_are_paid_rung_by_rung(ladder_and_table, small, path_points):
    ladder, make = ladder_and_table
    prices = Prices([1.0, 4.0, 4.0], evaluation=0.01)
    for point in path_points(ladder(prices, **small), make, n=400):
        X = make(200, seed=1)[0]
        assert point.bill == point.model.bill(X).mean()
        assert point.bill <= point.model.ceiling * (1 + 1e-12)


def test_a_free_feature_may_be_read_from_the_start(make_labels, small, path_points):
    prices = Prices([0.0, 4.0, 4.0])
    found = path_points(LadderClassifier(prices, **small), make_labels)
    assert found[0].bill == found[1].bill == 0.0
    assert found[1].quality > found[0].quality + 0.2


def test_a_ladder_buys_two_cheap_groups_that_replace_an_expensive_one():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1200, 2))
    # The expensive group has all the information; the two others have it together.
    X = np.column_stack([hidden[:, 0], hidden, hidden[:, 1], rng.normal(size=1200)])
    y = hidden.sum(axis=1) > 0
    groups = {"cheap": [0], "expensive": [1, 2], "middle": [3]}
    shared = {"cheap": 1.0, "expensive": 20.0, "middle": 4.0}
    prices = Prices({j: 0.0 for j in range(5)}, groups=groups, shared=shared)
    model = LadderClassifier(prices, n_estimators=20, random_state=0)
    found = list(model.path(X[:800], y[:800], validation=(X[800:], y[800:])))
    bought = [
        {name for name, columns in groups.items() if point.model.model.support[columns].any()}
        for point in found
        if "rung" in point.knob
    ]
    assert bought[:2] == [set(), set()]  # the constant, and the free column
    assert bought[2:4] == [{"cheap"}, {"cheap", "middle"}]
    assert max(point.quality for point in found if point.bill <= 5.0) > 0.95


# --- random numbers ----------------------------------------------------------


def test_all_random_numbers_are_drawn_before_anything_is_fitted(
    ladder_and_table, prices, small, monkeypatch
):
    ladder, make = ladder_and_table
    states = []
    random = np.random.RandomState(3)
    fit = RungTrainer.fit

    def spy(self, *args, **kwargs):
        states.append(random.get_state()[2])
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(RungTrainer, "fit", spy)
    ladder(prices, **{**small, "random_state": random}).fit(*make(200))
    assert len(states) > 2
    assert set(states) == {random.get_state()[2]}


def test_the_bins_of_a_long_table_are_drawn_before_its_folds(
    ladder_and_table, prices, small, monkeypatch
):
    ladder, make = ladder_and_table
    monkeypatch.setattr(binned, "SAMPLE", 50)

    sizes = []

    class Recorder(np.random.RandomState):
        def permutation(self, x):
            sizes.append(x)
            return super().permutation(x)

    ladder(prices, **{**small, "random_state": Recorder(0)}).fit(*make(100))
    # The held-out fifth, the bins of the rest, the monitored rows, and the folds of the rest.
    assert sizes == [100, 80, 20, 80]


# --- the estimator -----------------------------------------------------------


def test_a_walk_that_is_stopped_early_answers_with_its_rung(make_labels, prices, small):
    model = LadderClassifier(prices, penalty=0.02, **small).fit(*make_labels())
    walk = model.walk()
    assert walk.asks == (0,)
    walk.tell({0: 0.05})
    assert walk.asks == (1,)
    walk.stop("no money left")
    assert walk.answer == walk.best and walk.receipt.total == 1.0


@pytest.mark.parametrize("penalty", [0.02, 0.05])
def test_a_ladder_is_saved_and_loaded(ladder_and_table, prices, small, penalty, tmp_path):
    ladder, make = ladder_and_table
    model = ladder(prices, penalty=penalty, **small).fit(*make())
    assert isinstance(model.model_, Stages)
    model.save(tmp_path / "ladder.thrifty")
    again, X = load(tmp_path / "ladder.thrifty"), make(100, seed=5)[0]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.bill(X), model.bill(X))


# --- bad input ---------------------------------------------------------------


def test_fewer_rows_than_folds_are_refused():
    X = np.arange(10.0).reshape(5, 2)
    with pytest.raises(DataError, match="6 folds need at least as many training rows, there are 4"):
        LadderRegressor(folds=6).fit(X, np.arange(5.0))


def test_a_validation_set_without_target_is_refused(make_labels, small):
    X, y = make_labels(60)
    with pytest.raises(DataError, match="give the table and its target"):
        LadderClassifier(**small).fit(X, y, validation=(X,))


@pytest.mark.parametrize(
    ("name", "value"), [("folds", 1), ("penalty", -1.0), ("n_rungs", 0), ("max_depth", 13)]
)
def test_settings_out_of_range_are_refused(name, value, make_labels):
    with pytest.raises(ValueError, match=name):
        LadderClassifier(**{name: value}).fit(*make_labels(60))
