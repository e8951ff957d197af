"""What all gates share: targets, paths, calls for the rows sent, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

import thrifty
from thrifty import Call, GatedClassifier, GreedyMiserClassifier, Prices
from thrifty.errors import BudgetError, DataError
from thrifty.learn.dataset import TrainingSet

FOREST = RandomForestClassifier(15, min_samples_leaf=3, random_state=0)


def test_targets_are_met_on_validation_rows(half_hard, families) -> None:
    X, y = half_hard(1000)
    validation = half_hard(1000, seed=1)
    model = GatedClassifier(
        FOREST, penalty=0.002, family=families["boosted"], alternations=2, random_state=0
    )

    def fit(target, **more):
        return clone(model).set_params(target=target).fit(X, y, **more)

    cheap = fit({"bill": 2.0}, validation=validation)
    assert 1.0 < cheap.bill(validation[0]).mean() <= 2.0
    accurate = fit({"quality": 0.9}, validation=validation)
    assert accurate.score(*validation) >= 0.9
    assert accurate.sent(validation[0]).mean() < 0.6
    few = fit({"share": 0.1}, validation=validation)
    assert few.sent(validation[0]).mean() <= 0.1
    with pytest.raises(BudgetError, match=r"the best is 0\.9"):
        fit({"quality": 1.0}, validation=validation)
    with pytest.raises(BudgetError, match="the lowest is"):
        fit({"bill": 0.5}, validation=validation)
    with pytest.raises(DataError, match="give validation"):
        fit({"quality": 0.9})


def test_a_path_covers_shares_and_penalties(half_hard, families) -> None:
    X, y = half_hard(600)
    validation = half_hard(400, seed=1)
    model = GatedClassifier(FOREST, family=families["boosted"], alternations=2, random_state=0)
    points = list(
        model.path(X, y, validation=validation, shares=[0.1, 0.5], penalties=[0.02, 0.001])
    )
    assert points[0].bill == 0.0
    bills = [point.bill for point in points]
    assert bills == sorted(bills)
    qualities = [point.quality for point in points]
    assert qualities == sorted(qualities)
    assert {point.knob["penalty"] for point in points[1:]} <= {0.02, 0.001}
    assert all("threshold" in point.knob for point in points[1:])
    best = points[-1]
    assert best.bill == best.model.bill(validation[0]).mean()
    assert best.quality == np.mean(best.model.predict(validation[0]) == validation[1])


def test_calls_are_made_only_for_the_rows_sent(
    gate_with_call, counting_oracle, named_table
) -> None:
    X, y = named_table(200, seed=1)
    assert counting_oracle.rows == 300  # each training row once
    sent = gate_with_call.sent(X)
    gate_with_call.used(X), gate_with_call.bill(X)
    assert counting_oracle.rows == 300  # neither the route nor the bill needs a call
    assert gate_with_call.score(X, y) > 0.8
    assert counting_oracle.rows == 300 + sent.sum()
    assert list(counting_oracle.tables[-1].columns) == ["a", "b", "kind"]


def raise_error(rows):
    raise RuntimeError("out of order")


@pytest.mark.parametrize(
    "fault",
    [
        raise_error,
        lambda rows: np.full((len(rows), 2), np.nan),
        lambda rows: np.full((len(rows), 2), 0.7),
        lambda rows: np.tile([1.5, -0.5], (len(rows), 1)),
        lambda rows: np.array(["maybe"] * len(rows)),
    ],
)
def test_the_local_model_steps_in_for_a_call_that_fails(
    gate_with_call, counting_oracle, named_table, fault
) -> None:
    model = gate_with_call
    X, _ = named_table(200, seed=1)
    sent, counting_oracle.fault = model.sent(X), fault
    message = f"failed for {sent.sum()} rows, which the local model predicts"
    with pytest.warns(UserWarning, match=message):
        proba = model.predict_proba(X)
    np.testing.assert_array_equal(proba, model.model_.local.score(model._encode(X)))
    why = np.array(model.why(X))
    assert all(line.startswith("local: oracle failed") for line in why[sent])
    assert (why[~sent] == "local: the gate keeps it").all()


def test_one_bad_row_does_not_spoil_the_others(
    gate_with_call, counting_oracle, named_table, oracle
) -> None:
    X, _ = named_table(200, seed=1)
    rows = np.flatnonzero(gate_with_call.sent(X))

    def spoil_first(rows):
        proba = oracle(rows)
        proba[0] = np.nan
        return proba

    counting_oracle.fault = spoil_first
    with pytest.warns(UserWarning, match="failed for 1 rows"):
        proba = gate_with_call.predict_proba(X)
    np.testing.assert_array_equal(proba[rows[1:]], oracle(X)[rows[1:]])
    assert "missing" in gate_with_call.why(X)[rows[0]]


def test_the_expensive_model_can_be_run_on_all_rows(gate_with_call, named_table, oracle) -> None:
    X, _ = named_table(50, seed=1)
    proba, bills = gate_with_call.expensive_outputs(X)
    np.testing.assert_array_equal(proba, oracle(X))
    assert set(bills) == {9.0}


def test_rows_of_weight_zero_do_not_matter(half_hard, families) -> None:
    X, y = half_hard(300)
    weight = np.ones(300)
    weight[200:] = 0.0
    proba = np.eye(2)[y] * 0.8 + 0.1
    model = GatedClassifier(FOREST, family=families["boosted"], alternations=2, random_state=0)
    one = clone(model).fit(X, y, sample_weight=weight, expensive_proba=proba)
    other = clone(model).fit(
        X[:200], y[:200], sample_weight=np.ones(200), expensive_proba=proba[:200]
    )
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_a_table_that_was_read_before_gives_the_same_model(half_hard, small) -> None:
    X, y = half_hard(300)
    proba = np.eye(2)[y] * 0.8 + 0.1
    read = TrainingSet.read("classification", X, y)
    model = GatedClassifier(FOREST, class_weight={0: 1.0, 1: 2.0}, **small)
    one = clone(model).fit(X, y, expensive_proba=proba)
    other = clone(model).fit(read, None, expensive_proba=proba)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_probabilities_that_are_none_are_refused(half_hard, families) -> None:
    X, y = half_hard(100)
    model = GatedClassifier(FOREST, family=families["leaves"])
    for bad, words in (
        (np.full((100, 2), 0.9), "sum to 1.8"),
        (np.full((100, 3), 1 / 3), "3 probabilities for 2 classes"),
        (np.full((99, 2), 0.5), "for 100 rows"),
        (np.full((101, 2), 0.5), "for 100 rows"),
        (np.full((100, 2), np.nan), "missing"),
    ):
        with pytest.raises(thrifty.SourceError, match=words):
            model.fit(X, y, expensive_proba=bad)


def test_a_frozen_model_that_knows_more_categories_sets_the_schema(families) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"kind": rng.choice(list("abc"), 300), "x": rng.normal(size=300)})
    y = (X["x"] > 0) ^ (X["kind"] == "a")
    expensive = GreedyMiserClassifier(n_estimators=20, min_samples_leaf=5).fit(X, y)
    some = X["kind"] != "c"
    prices = Prices({"x": 1.0, "kind": 3.0})
    model = GatedClassifier(
        Call("big", fn=expensive, folds=None), prices, share=0.5, family=families["boosted"]
    ).fit(X[["kind", "x"]][some], y[some])
    assert model.schema_ == expensive.schema_
    sent = model.sent(X)
    np.testing.assert_array_equal(model.predict(X[sent]), expensive.predict(X[sent]))
    assert model.bill(X).max() == 4.0


def test_a_penalty_is_chosen_on_validation_rows(half_hard, small) -> None:
    X, y = half_hard(600)
    rows, held_out = (X[:400], y[:400]), (X[400:], y[400:])
    forest = RandomForestClassifier(20, random_state=0).fit(*half_hard(600, seed=9))
    call = Call("forest", 1.0, fn=forest, folds=None)
    auto = GatedClassifier(call, share=0.5, penalty="auto", **small)
    with pytest.raises(DataError, match="give validation"):
        auto.fit(*rows)
    auto.fit(*rows, validation=held_out)
    plain = GatedClassifier(call, share=0.5, **small).fit(*rows, validation=held_out)
    assert auto.predictor_.knob["penalty"] > 0
    assert auto.bill(X).mean() < plain.bill(X).mean()
    assert auto.score(*held_out) > plain.score(*held_out) - 0.05
    assert np.diff(auto.history_).max() <= 0
    with pytest.raises(BudgetError, match="no threshold reaches"):
        auto.set_params(target={"quality": 1.01}).fit(*rows, validation=held_out)
    cheap = auto.set_params(target={"quality": 0.7}).fit(*rows, validation=held_out)
    assert cheap.score(*held_out) >= 0.7
