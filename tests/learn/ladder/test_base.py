"""Ladders: operating points, honest evidence, bills, caps, random numbers, and bad input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty import DataError, LadderClassifier, LadderRegressor, Prices, load, threads
from thrifty.learn import crossfit
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.point import Point, ValidationOutputs
from thrifty.model import Average, Branch, Forest, Stages

# --- the path ----------------------------------------------------------------


def test_the_path_has_every_rung_by_itself_and_beats_them(
    ladder_and_table, prices, small, path_points
):
    ladder, make = ladder_and_table
    found = path_points(ladder(prices, **small), make)
    static = [point for point in found if "rung" in point.knob]
    adaptive = [point for point in found if "penalty" in point.knob]
    assert [point.knob["rung"] for point in static] == list(range(len(static)))
    assert isinstance(static[0].model.model, Forest)
    assert all(isinstance(point.model.model, Average) for point in static[1:])
    assert all(isinstance(point.model.model, Stages) for point in adaptive)
    top = max(static, key=lambda point: point.quality)
    assert any(
        point.bill < 0.8 * top.bill and point.quality > top.quality - 0.02 for point in adaptive
    )


def test_the_path_starts_with_the_constant_and_gets_more_expensive(make_labels, prices, small):
    found = list(LadderClassifier(prices, **small).path(*make_labels()))
    assert (found[0].bill, found[0].knob) == (0.0, {"rung": 0})
    assert [point.bill for point in found] == sorted(point.bill for point in found)
    assert [point.model.knob for point in found] == [point.knob for point in found]


def test_no_two_points_of_a_path_are_the_same_model(ladder_and_table, prices, small):
    ladder, make = ladder_and_table
    found = [point.model.model for point in ladder(prices, **small).path(*make())]
    adaptive = [model for model in found if isinstance(model, Stages)]
    keys = {(tuple(map(id, model.rungs)), model.thresholds.tobytes()) for model in adaptive}
    assert len(keys) == len(adaptive) > 0


def test_some_points_send_every_row_to_a_rung_before_it_may_stop(make_labels, small):
    # The first column saves a quarter of all errors, the second one half of those of some rows.
    found = list(LadderClassifier(**small).path(*make_labels()))
    X = make_labels(100, seed=1)[0]
    forced = [point for point in found if point.knob.get("start") == 1]
    assert forced
    for point in forced:
        assert set(point.model.bill(X).tolist()) == {1.0, 2.0}


# --- evidence ----------------------------------------------------------------


def test_points_on_validation_rows_are_what_their_models_reach_there(
    ladder_and_table, prices, small, path_points
):
    ladder, make = ladder_and_table
    held_out, y = make(150, seed=1)
    for point in path_points(ladder(prices, **small), make, n=300):
        assert point.bill == point.model.bill(held_out).mean()
        if point.model.classes is not None:
            assert point.quality == np.mean(point.model.predict(held_out) == y)


def test_pure_noise_is_at_chance_out_of_fold_although_the_model_learns_it_by_heart():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), np.arange(400) % 2
    found = list(LadderClassifier(random_state=0).path(X, y))
    assert np.mean(found[-1].model.predict(X) == y) > 0.9
    # Four standard errors around one half.
    assert all(0.4 < point.quality < 0.6 for point in found)


def test_the_score_of_a_row_comes_from_models_that_saw_nothing_of_its_group():
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), 6)
    # The visits of a patient are alike, and what he has is pure chance.
    X = rng.normal(size=(60, 3))[patient] + 0.01 * rng.normal(size=(360, 3))
    y = (np.arange(60) % 2)[patient]
    model = LadderClassifier(random_state=0)
    by_patient = list(model.path(X, y, groups=patient))[-1]
    by_row = list(model.path(X, y))[-1]
    assert by_row.quality > 0.9 > 0.7 > by_patient.quality


def test_without_validation_rows_a_rung_costs_what_its_features_cost(ladder_and_table, small):
    ladder, make = ladder_and_table
    prices = Prices([1.0, 4.0, 16.0])
    for point in ladder(prices, **small).path(*make(300)):
        if "rung" in point.knob:
            reads = point.model.model.support
            assert point.bill == np.array([1.0, 4.0, 16.0])[reads].sum()


def test_all_rows_of_a_small_table_are_evidence_and_a_fifth_of_a_large_one(
    make_labels, small, monkeypatch
):
    model, train = LadderClassifier(**small), TrainingSet.read("classification", *make_labels(100))
    assert model.evidence(train).positions.tolist() == list(range(100))
    monkeypatch.setattr(crossfit, "LARGE", 100)
    rows = model.evidence(train).positions
    assert len(rows) == 20
    np.testing.assert_array_equal(model.evidence(train).positions, rows)
    np.testing.assert_array_equal(model.evidence(train).y, train.y[rows])


@pytest.mark.parametrize("n", [400, 1200])
def test_a_fast_ladder_has_honest_evidence_too(n):
    # Without boosted trees on few rows, and with a third of the rows as evidence on more.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 4)), np.arange(n) % 2
    model = LadderClassifier(effort="fast", random_state=0)
    train = TrainingSet.read("classification", X, y)
    found = list(model.path(train, None))
    assert np.mean(found[-1].model.predict(X) == y) > 0.75
    assert all(abs(point.quality - 0.5) < 0.1 for point in found)
    assert len(model.evidence(train)) == (n if n < 1000 else n // 3)
    assert found[-1].quality == model.evidence(train).quality(found[-1].outputs.scores)


@pytest.mark.parametrize("seed", [3, None, np.random.RandomState(3)], ids=["int", "none", "state"])
def test_the_evidence_after_a_path_is_what_its_points_were_measured_on(
    make_labels, seed, monkeypatch
):
    monkeypatch.setattr(crossfit, "LARGE", 300)
    X, y = make_labels(300)
    train = TrainingSet.read("classification", X, y)
    model = LadderClassifier(random_state=seed)
    top = max(model.path(train, None), key=lambda point: point.quality)
    assert top.quality > 0.9
    assert top.quality == model.evidence(train).quality(top.outputs.scores)


def test_validation_rows_move_thresholds_and_weights_but_no_tree(make_labels, prices, small):
    X, y = make_labels(200)
    held_out, labels = make_labels(100, seed=1)
    swapped = np.where(labels == "yes", "no", "yes")

    def rungs(validation):
        points = LadderClassifier(prices, **small).path(X, y, validation=validation)
        static = [point for point in points if point.knob.get("rung", 0) > 0]
        return [point.model.model for point in sorted(static, key=lambda point: point.knob["rung"])]

    alone, right, wrong = rungs(None), rungs((held_out, labels)), rungs((held_out, swapped))
    for models in zip(alone, right, wrong, strict=True):
        for parts in zip(*(model.parts for model in models), strict=True):
            first, *others = (part.state()[1] for part in parts)
            for other in others:
                for name, array in first.items():
                    np.testing.assert_array_equal(array, other[name])
    assert not np.array_equal(right[-1].factors, wrong[-1].factors)


# --- purchases ---------------------------------------------------------------


def make_grouped(n=400, seed=0):
    """Three columns of a group matter equally, the fourth one less."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] + X[:, 2] + 0.3 * X[:, 3] > 0).astype(int)


GROUP_PRICES = Prices({3: 1.0}, groups={"g": [0, 1, 2]}, shared={"g": 6.0})


def test_rungs_are_nested(small, path_points):
    found = path_points(LadderClassifier(**small), make_grouped, n=300)
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
    X = make(100, seed=1)[0]
    for point in path_points(ladder(prices, **small), make, n=200):
        assert point.bill == point.model.bill(X).mean()
        assert point.bill <= point.model.ceiling * (1 + 1e-12)


def test_a_free_feature_may_be_read_from_the_start(make_labels, small):
    found = list(LadderClassifier(Prices([0.0, 4.0, 4.0]), **small).path(*make_labels(300)))
    assert found[0].bill == found[1].bill == 0.0
    assert max(point.quality for point in found if point.bill == 0) > found[0].quality + 0.15


def test_a_ladder_buys_two_cheap_groups_that_replace_an_expensive_one(small):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(600, 2))
    # The expensive group has all the information; the two others have it together.
    X = np.column_stack([hidden[:, 0], hidden, hidden[:, 1], rng.normal(size=600)])
    y = hidden.sum(axis=1) > 0
    groups = {"cheap": [0], "expensive": [1, 2], "middle": [3]}
    shared = {"cheap": 1.0, "expensive": 20.0, "middle": 4.0}
    prices = Prices({j: 0.0 for j in range(5)}, groups=groups, shared=shared)
    found = list(LadderClassifier(prices, **small).path(X, y))
    bought = [
        {name for name, columns in groups.items() if point.model.model.support[columns].any()}
        for point in found
        if "rung" in point.knob
    ]
    assert bought[:2] == [set(), set()]  # the constant, and the free column
    assert bought[2:4] == [{"cheap"}, {"cheap", "middle"}]
    assert max(point.quality for point in found if point.bill <= 5.0) > 0.95


# --- the cap -----------------------------------------------------------------

CELLS = st.one_of(st.just(np.nan), st.floats(-1e9, 1e9))


@pytest.mark.parametrize("cap", [0.0, 1.0, 4.5, 5.0, 9.0])
def test_no_row_costs_more_than_the_cap_whatever_its_values(cap, make_labels, prices, small):
    X, y = make_labels(150)
    model = LadderClassifier(prices, cap=cap, **small).fit(X, y)
    points = list(LadderClassifier(prices, cap=cap, **small).path(X, y))
    assert model.predictor_.ceiling <= cap
    assert all(point.model.ceiling <= cap for point in points)

    @settings(max_examples=30)
    @given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=5))
    def check(rows):
        table = np.array(rows)
        for each in (model, *(point.model for point in points)):
            assert each.bill(table).max() <= cap

    check()


@pytest.mark.parametrize("cap", [0.0, 1.5, 6.0, 12.0])
def test_evaluations_count_toward_the_cap(cap, ladder_and_table, small):
    ladder, make = ladder_and_table
    # More than two hundred trees a rung: they cost more than the cheap column.
    prices = Prices([1.0, 4.0, 4.0], evaluation=0.005)
    X, y = make(150)
    points = list(ladder(prices, cap=cap, **small).path(X, y))
    assert all(point.model.ceiling <= cap for point in points)
    assert (len(points) > 1) == (cap >= 6.0)


# --- branches ----------------------------------------------------------------


def make_context(n=900, seed=0):
    """Column 0 says whether columns 1 to 3, or columns 4 to 6, vote on the label."""
    X = np.random.default_rng(seed).choice([-1.0, 1.0], size=(n, 8))
    votes = np.where(X[:, 0] > 0, X[:, 1:4].sum(axis=1), X[:, 4:7].sum(axis=1))
    return X, (votes > 0).astype(int)


@pytest.fixture
def branching(small) -> list[Point]:
    """The points of a ladder with branches."""
    return list(LadderClassifier(**small).path(*make_context()))


def test_where_a_feature_says_which_others_matter_a_row_buys_only_those(branching):
    X, y = make_context(seed=1)
    # The column that decides, and three votes at most; a ladder without branches needs all seven.
    good = [point for point in branching if point.bill <= 4.0 and point.quality > 0.97]
    assert good
    assert np.mean(good[0].model.predict(X) == y) > 0.97
    assert good[0].model.bill(X).mean() <= 4.0


def test_noise_leads_to_no_branch():
    X = np.random.default_rng(0).normal(size=(600, 6))
    model = LadderClassifier(random_state=0)
    found = model.path(X, np.arange(600) % 2)
    assert not any(isinstance(point.model.model, Branch) for point in found)


def test_branches_keep_the_cap(branching):
    assert any(isinstance(point.model.model, Branch) for point in branching)
    X, y = make_context()
    rows = np.where(np.random.default_rng(2).random(X.shape) < 0.3, np.nan, X)
    prices = Prices([5.0] + [1.0] * 7)
    for cap in (0.5, 6.0):
        model = LadderClassifier(prices, cap=cap, random_state=0)
        assert model.fit(X, y).bill(rows).max() <= cap
        for point in model.path(X, y):
            assert point.model.ceiling <= cap


# --- random numbers ----------------------------------------------------------


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(
    ladder_and_table, prices, small, n_threads, tmp_path
):
    ladder, make = ladder_and_table
    saved = []
    for count in (1, n_threads):
        with threads(count):
            ladder(prices, penalty=0.01, **small).fit(*make(200)).save(tmp_path / "a.thrifty")
        saved.append((tmp_path / "a.thrifty").read_bytes())
    assert saved[0] == saved[1]


def test_another_seed_gives_another_ladder(make_labels, prices):
    X, y = make_labels(200)
    scores = [
        LadderClassifier(prices, random_state=seed).fit(X, y).predict_proba(X) for seed in (0, 1)
    ]
    assert not np.array_equal(*scores)


# --- the estimator -----------------------------------------------------------


def test_a_walk_that_is_stopped_early_answers_with_its_rung(make_labels, prices, small):
    model = LadderClassifier(prices, penalty=0.02, **small).fit(*make_labels())
    walk = model.walk()
    assert walk.asks == (0,)
    walk.tell({0: 0.05})
    assert walk.asks == (1,)
    walk.stop("no money left")
    assert walk.answer == walk.best and walk.receipt.total == 1.0


def test_a_walk_ends_like_the_batch(ladder_and_table, prices, small):
    ladder, make = ladder_and_table
    model = ladder(prices, penalty=0.02, **small).fit(*make())
    X = make(25, seed=4)[0]
    X[::5, 1] = np.nan
    bills, answers = model.bill(X), model.predict(X)
    assert len(set(bills.tolist())) > 1
    for i, row in enumerate(X):
        walk = model.walk()
        while walk.asks:
            walk.tell({j: row[j] for j in walk.asks})
        assert walk.answer == answers[i] and walk.receipt.total == bills[i]


@pytest.mark.parametrize("penalty", [0.02, 0.05])
def test_a_ladder_is_saved_and_loaded(ladder_and_table, prices, small, penalty, tmp_path):
    ladder, make = ladder_and_table
    model = ladder(prices, penalty=penalty, **small).fit(*make())
    assert isinstance(model.model_, Stages)
    model.save(tmp_path / "ladder.thrifty")
    again, X = load(tmp_path / "ladder.thrifty"), make(100, seed=5)[0]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.bill(X), model.bill(X))


def test_the_model_of_a_point_gives_the_outputs_that_were_measured(make_labels, prices, small):
    model = LadderClassifier(prices, **small)
    train = model._read_training(*make_labels(200))
    held_out = model._read_validation(make_labels(80, seed=1), train)
    for point in model.path(train, None, validation=held_out):
        scored = ValidationOutputs.of(point.model, held_out.X)
        np.testing.assert_array_equal(point.outputs.scores, scored.scores)
        np.testing.assert_array_equal(point.outputs.bills, scored.bills)


# --- bad input ---------------------------------------------------------------


def test_fewer_rows_than_folds_are_refused():
    X = np.arange(10.0).reshape(5, 2)
    with pytest.raises(DataError, match="6 folds need at least as many rows, there are 5"):
        LadderRegressor(folds=6).fit(X, np.arange(5.0))


def test_fewer_groups_than_folds_are_refused(make_labels):
    X, y = make_labels(40)
    with pytest.raises(DataError, match="3 folds need at least as many groups, there are 2"):
        LadderClassifier().fit(X, y, groups=np.arange(40) % 2)


def test_groups_of_another_length_are_refused(make_labels):
    with pytest.raises(DataError, match="groups: 5 values for 40 rows"):
        LadderClassifier().fit(*make_labels(40), groups=np.arange(5))


def test_a_validation_set_without_target_is_refused(make_labels, small):
    X, y = make_labels(60)
    with pytest.raises(DataError, match="give the table and its target"):
        LadderClassifier(**small).fit(X, y, validation=(X,))


@pytest.mark.parametrize(
    ("name", "value"),
    [("folds", 1), ("penalty", -1.0), ("effort", "huge"), ("cap", -1.0), ("time_limit", 0.0)],
)
def test_settings_out_of_range_are_refused(name, value, make_labels):
    with pytest.raises(ValueError, match=name):
        LadderClassifier(**{name: value}).fit(*make_labels(60))
