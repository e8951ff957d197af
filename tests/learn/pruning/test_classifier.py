"""PrunedForestClassifier: any forest in, every best pruning out, and clear refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    RandomForestClassifier,
)

from thrifty import Point, Prices, PrunedForestClassifier, load
from thrifty.errors import BudgetError, DataError
from thrifty.learn.pruning.closure_problem import node_gains

PRICES = Prices([1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.01)
NAMES = ["age", "bmi", "chol", "dose", "ecg", "fbs"]


def draw(seed, n=240):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    return X, np.array(["low", "mid", "top"])[np.digitize(value, [-0.8, 0.8])]


TRAIN, HELD, TEST = draw(0), draw(1), draw(2)


@pytest.fixture(scope="module")
def theirs():
    return RandomForestClassifier(12, max_features=None, random_state=0).fit(*TRAIN)


@pytest.fixture(scope="module")
def points(theirs):
    model = PrunedForestClassifier(theirs, PRICES)
    return list(model.path(*TRAIN, validation=HELD, min_step=0.0))


# --- what comes out


def test_the_path_starts_at_the_constant_and_goes_up_in_price(points):
    assert points[0].bill == 0.0 and len(points[0].model.model.roots) == 0
    bills = [point.bill for point in points]
    assert bills == sorted(bills) and len(points) > 5
    assert all(isinstance(point, Point) for point in points)


def test_bill_and_quality_are_those_of_the_model(points):
    for point in points[:: max(1, len(points) // 10)]:
        assert point.bill == point.model.bill(HELD[0]).mean()
        assert point.quality == np.mean(point.model.predict(HELD[0]) == HELD[1])


@pytest.mark.slow
def test_a_point_is_what_fit_gives_at_its_penalty(points, theirs):
    best = [point for point in points[1:] if "features" not in point.knob]
    for point in best[:: max(1, len(best) // 5)]:
        for solver in ("path", "cut"):
            model = PrunedForestClassifier(
                theirs, PRICES, penalty=np.nextafter(point.knob["penalty"], 1) + 1e-9,
                solver=solver, errors=point.knob["errors"],
            )  # fmt: skip
            scores = model.fit(*TRAIN, validation=HELD).predict_proba(TEST[0])
            np.testing.assert_array_equal(scores, point.model.predict_proba(TEST[0]))


def test_a_path_has_the_prunings_of_both_kinds_of_errors(points):
    assert {point.knob["errors"] for point in points[1:]} == {"training", "out_of_bag"}
    bills = [point.bill for point in points]
    assert bills == sorted(bills)


def test_features_are_given_up_within_the_largest_jump_of_the_bill(points):
    for errors in ("training", "out_of_bag"):
        own = [point for point in points[1:] if point.knob["errors"] == errors]
        best = np.array([point.bill for point in own if "features" not in point.knob])
        more = [point for point in own if "features" in point.knob]
        jump = np.diff(best).argmax()
        assert len(more) > 0
        for point in more:
            assert best[jump] < point.bill < best[jump + 1]
            assert len(point.model.model.features) <= point.knob["features"] <= 6


def test_wide_tables_have_the_best_prunings_alone(theirs, monkeypatch):
    monkeypatch.setattr("thrifty.learn.pruning.classifier.MAX_FEATURES", 5)
    points = PrunedForestClassifier(theirs, PRICES).path(*TRAIN, validation=HELD)
    assert all("features" not in point.knob for point in points)


def test_out_of_bag_rows_are_those_that_a_tree_was_not_grown_on(theirs):
    """A tree is right about all of its own rows; on the others it saves errors, but fewer."""
    data = PrunedForestClassifier(theirs, PRICES)._read_pruning(*TRAIN, None, HELD)
    assert 0.3 < data.out_of_bag.mean() < 0.45
    for tree, out in zip(theirs.estimators_, data.out_of_bag, strict=True):
        own = theirs.classes_[tree.predict(TRAIN[0][~out]).astype(int)]
        assert (own == TRAIN[1][~out]).all()
    gains = [
        node_gains(data.forest, data.train.X, data.train.y, None, counted)
        for counted in (~data.out_of_bag, data.out_of_bag)
    ]
    saved = [gain.sum() * unit for gain, unit in gains]
    assert 0 < saved[1] < saved[0]


def test_out_of_bag_errors_of_other_rows_are_refused(theirs):
    model = PrunedForestClassifier(theirs, PRICES, errors="out_of_bag")
    with pytest.raises(DataError, match='give errors="training"'):
        model.fit(TRAIN[0][:100], TRAIN[1][:100], validation=HELD)
    points = PrunedForestClassifier(theirs, PRICES).path(
        TRAIN[0][:100], TRAIN[1][:100], validation=HELD
    )
    assert {point.knob.get("errors") for point in points} == {None, "training"}


def test_larger_steps_thin_the_path_out(points, theirs):
    model = PrunedForestClassifier(theirs, PRICES)
    few = list(model.path(*TRAIN, validation=HELD, min_step=0.1))
    assert 3 < len(few) < len(points)
    assert few[-1].bill == points[-1].bill
    assert len(few) <= 12


def test_at_budget_gives_the_dearest_pruning_within(points, theirs, monkeypatch):
    model = PrunedForestClassifier(theirs, PRICES).fit(*TRAIN, validation=HELD)
    monkeypatch.setattr(
        "thrifty.learn.pruning.closure_problem.all_closures", None
    )  # nothing is solved again
    for budget in (0.0, 0.5, 3.0, 6.0, 100.0):
        bill = model.at_budget(budget).bill(HELD[0]).mean()
        by_training = [
            p for p in points if p.knob.get("errors") != "out_of_bag" and "features" not in p.knob
        ]
        assert bill == max(p.bill for p in by_training if p.bill <= budget + 1e-12)


def test_a_bill_that_is_the_budget_to_the_last_bits_is_within_it(theirs):
    for price in (0.1, 0.3, 0.7, 1.1):
        model = PrunedForestClassifier(theirs, Prices([price] * 6)).fit(*TRAIN, validation=HELD)
        dearest = model.bill(HELD[0]).mean()
        assert model.at_budget(dearest).bill(HELD[0]).mean() == dearest


def test_steps_are_charged_while_pruning_and_are_on_no_bill(theirs):
    model = PrunedForestClassifier(theirs, PRICES, step_price=0.1).fit(*TRAIN, validation=HELD)
    dearest = model.bill(HELD[0]).mean()
    assert model.at_budget(dearest).bill(HELD[0]).mean() == dearest


def test_a_path_is_made_point_by_point(theirs, monkeypatch):
    made = []
    predictor_of = PrunedForestClassifier._predictor_of
    monkeypatch.setattr(
        PrunedForestClassifier, "_predictor_of", lambda *args: made.append(0) or predictor_of(*args)
    )
    path = PrunedForestClassifier(theirs, PRICES).path(*TRAIN, validation=HELD)
    next(path)
    assert len(made) == 1


def test_the_gap_of_the_primal_dual_is_told(theirs):
    def fit(solver):
        model = PrunedForestClassifier(theirs, PRICES, penalty=0.005, solver=solver)
        return model.fit(*TRAIN, validation=HELD).gap_

    assert fit("path") == fit("cut") == 0.0
    assert 0.0 < fit("primal_dual") < 0.05


def test_solvers_agree(theirs):
    fits = {
        solver: PrunedForestClassifier(theirs, PRICES, penalty=0.005, solver=solver)
        .fit(*TRAIN, validation=HELD)
        .bill(TEST[0])
        .mean()
        for solver in ("path", "cut", "primal_dual")
    }
    assert fits["path"] == fits["cut"]
    assert fits["primal_dual"] == pytest.approx(fits["cut"], rel=0.1)


def test_steps_that_cost_make_trees_shallower(theirs):
    plain, dear = (
        PrunedForestClassifier(theirs, PRICES, penalty=0.001, step_price=price).fit(
            *TRAIN, validation=HELD
        )
        for price in (0.0, 20.0)
    )
    assert len(dear.model_.nodes) < len(plain.model_.nodes)


def test_a_free_feature_is_kept_at_any_penalty():
    X, y = TRAIN
    prices = Prices([0.0, 1, 1, 1, 1, 1])
    model = PrunedForestClassifier(prices=prices, penalty=1e6, n_estimators=5, random_state=0)
    model.fit(X, y)
    np.testing.assert_array_equal(model.used(X).any(axis=0), [True, *[False] * 5])


def test_weights_move_the_errors_that_count(theirs):
    X, y = TRAIN
    model = PrunedForestClassifier(theirs, PRICES, penalty=0.02)
    weight = np.where(y == "top", 20.0, 0.1)
    plain = model.fit(X, y, validation=HELD).predict(TEST[0])
    heavy = model.fit(X, y, sample_weight=weight, validation=HELD).predict(TEST[0])
    assert np.mean(plain != heavy) > 0


def test_names_prices_and_files(tmp_path):
    frame = pd.DataFrame(TRAIN[0], columns=NAMES)
    prices = Prices(dict.fromkeys(NAMES, 2.0))
    forest = RandomForestClassifier(5, random_state=0).fit(frame, TRAIN[1])
    model = PrunedForestClassifier(forest, prices, penalty=0.001).fit(frame, TRAIN[1])
    model.save(tmp_path / "model.thrifty")
    walk = load(tmp_path / "model.thrifty").walk()
    while walk.asks:
        walk.tell({name: frame[name][3] for name in walk.asks})
    assert walk.answer == model.predict(frame)[3]
    assert walk.receipt.total == model.bill(frame)[3]


@pytest.mark.parametrize(
    ("name", "value"),
    [("penalty", -0.1), ("penalty", np.nan), ("solver", "magic"), ("step_price", -1.0),
     ("n_estimators", 0), ("prices", 3.0)],
)  # fmt: skip
def test_parameters_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        PrunedForestClassifier(**{name: value}).fit(*TRAIN)


def test_a_step_of_the_path_that_is_no_share_is_refused(theirs):
    for step in (-0.1, 1.5, np.nan):
        with pytest.raises(DataError, match="min_step"):
            PrunedForestClassifier(theirs).path(*TRAIN, validation=HELD, min_step=step)


def test_a_budget_below_nothing_and_a_solver_of_one_penalty_are_refused(theirs):
    model = PrunedForestClassifier(theirs).fit(*TRAIN)
    with pytest.raises(BudgetError, match="-1"):
        model.at_budget(-1)
    with pytest.raises(DataError, match="solver='path'"):
        PrunedForestClassifier(theirs, solver="cut").fit(*TRAIN).at_budget(1.0)
    with pytest.raises(ValueError, match="not fitted"):
        PrunedForestClassifier(theirs).at_budget(1.0)


def test_the_columns_of_a_forest_go_by_name_and_else_by_position(theirs):
    X, y = TRAIN
    frame = pd.DataFrame(X, columns=list("fbdaec"))
    named = RandomForestClassifier(12, max_features=None, random_state=0).fit(frame, y)
    prices = Prices(dict(zip("fbdaec", [1, 2, 1, 0.5, 3, 1], strict=True)))
    permuted = frame[list("abcdef")]
    expected = PrunedForestClassifier(named, prices, penalty=0.01, random_state=0).fit(frame, y)
    other = PrunedForestClassifier(named, prices, penalty=0.01, random_state=0).fit(permuted, y)
    unnamed = PrunedForestClassifier(theirs, prices, penalty=0.01, random_state=0).fit(frame, y)
    for model, table in ((other, permuted), (unnamed, frame)):
        np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(frame))
        np.testing.assert_array_equal(model.bill(table), expected.bill(frame))
