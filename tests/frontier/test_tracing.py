"""Tracing: correct figures, on rows that had no part in training, the same every time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

from thrifty import (
    BudgetForestClassifier,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    Prices,
)
from thrifty.bundle.file import pack
from thrifty.errors import DataError
from thrifty.frontier import trace
from thrifty.frontier.curve_file import pack_curve
from thrifty.frontier.scoring import find_metric
from thrifty.learn.dataset import ValidationSet

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(300, 3)), columns=["cheap", "dear", "noise"])
X["city"] = RNG.choice(["a", "b", "c"], size=300)
VALUE = (X["cheap"] + X["dear"] + (X["city"] == "a")).to_numpy()
LABEL = np.digitize(VALUE, [-0.5, 0.8])
GRADE = np.digitize(VALUE, [0.5, 1.5])
QUERY = np.repeat(np.arange(30), 10)
PRICES = Prices(
    {"cheap": 1.0, "dear": 10.0, "noise": 1.0, "city": 2.0},
    groups={"lab": ["dear", "noise"]}, shared={"lab": 3.0}, evaluation=0.25, unit="CAD",
)  # fmt: skip
SMALL = {"n_estimators": 8, "prices": PRICES}
TRAIN, HELD = slice(0, 200), slice(200, 300)


def held_out(y, qid=None):
    table = X[HELD].reset_index(drop=True)
    return (table, y[HELD]) if qid is None else (table, y[HELD], qid[HELD])


@pytest.mark.parametrize(
    ("learner", "y", "qid", "scoring"),
    [
        (GreedyMiserClassifier(**SMALL), LABEL, None, "accuracy"),
        (GreedyMiserClassifier(**SMALL), LABEL, None, "neg_log_loss"),
        (BudgetForestClassifier(**SMALL), LABEL, None, "balanced_accuracy"),
        (GreedyMiserRegressor(**SMALL), VALUE, None, "r2"),
        (GreedyMiserRanker(**SMALL), GRADE, QUERY, "ndcg@5"),
    ],
)
def test_bills_and_qualities_are_what_bill_and_score_give_on_the_same_rows(
    learner, y, qid, scoring
) -> None:
    validation = held_out(y, qid)
    queries = None if qid is None else qid[TRAIN]
    curve = trace(learner, X[TRAIN], y[TRAIN], qid=queries, validation=validation, scoring=scoring)
    metric = find_metric(scoring, curve.task)
    assert curve.scoring == scoring
    assert curve.unit == "CAD" and curve.full == 17.0
    for point in curve.points:
        rows = ValidationSet.for_predictor(point.model, curve.task, *validation)
        bills = point.model.bill(validation[0])
        np.testing.assert_array_equal(point.bills, bills)
        assert point.bill == bills.mean()
        assert point.quality == metric.value(point.model.model.score(rows.X), rows)
        assert point.gains.mean() == pytest.approx(point.quality)
        assert point.bill_interval[0] <= point.bill <= point.bill_interval[1]
        assert point.quality_interval[0] <= point.quality <= point.quality_interval[1]
        assert bills.max() <= point.ceiling == point.model.ceiling
        assert point.training_bill[0] == pytest.approx(point.model.bill(X[TRAIN]).mean())


def test_the_first_point_is_the_constant_at_bill_0() -> None:
    curve = trace(GreedyMiserClassifier(**SMALL), X, LABEL)
    assert curve.points[0].bill == curve.points[0].ceiling == 0
    assert curve.points[0].quality == pytest.approx(np.bincount(LABEL).max() / 300, abs=0.01)


def test_validation_rows_are_not_trained_on() -> None:
    found = {}
    y = VALUE.copy()
    for change in (0.0, 100.0):
        y[HELD] = VALUE[HELD] + change
        curve = trace(
            GreedyMiserRegressor(n_estimators=1, prices=PRICES), X[TRAIN], y[TRAIN],
            validation=held_out(y),
        )  # fmt: skip
        found[change] = curve.points[0]
    assert found[0.0].model.predict(X)[0] == found[100.0].model.predict(X)[0]
    assert found[0.0].quality > found[100.0].quality


def test_rows_are_held_out_by_class_or_whole_queries() -> None:
    curve = trace(GreedyMiserClassifier(**SMALL), X, LABEL, share=0.3)
    assert len(curve.points[0].bills) == pytest.approx(90, abs=2)
    ranked = trace(GreedyMiserRanker(**SMALL), X, GRADE, qid=QUERY, share=0.3)
    assert len(ranked.points[0].bills) == 90
    assert np.bincount(ranked.clusters).tolist() == [10] * 9
    grouped = trace(GreedyMiserClassifier(**SMALL), X, LABEL, groups=QUERY, share=0.3)
    assert np.bincount(grouped.clusters).tolist() == [10] * 9


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_the_same_seed_gives_the_same_curve_for_any_number_of_jobs(backend) -> None:
    learners = {
        "miser": GreedyMiserClassifier(**SMALL),
        "forest": BudgetForestClassifier(**SMALL),
    }
    alone = trace(learners, X, LABEL)
    with parallel_config(backend=backend):
        together = trace(learners, X, LABEL, n_jobs=2)
    assert pack_curve(alone) == pack_curve(together)
    assert alone.learners == ("miser", "forest")
    other = trace(learners, X, LABEL, random_state=1)
    assert pack_curve(alone) != pack_curve(other)


@pytest.mark.parametrize("how", ["resumed", "first run", "another process"])
def test_models_keep_their_evidence(how, tmp_path) -> None:
    learner = GreedyMiserClassifier(**SMALL)
    alone = trace(learner, X, LABEL).points[-1].predictor()
    if how == "another process":
        with parallel_config("loky"):
            found = trace({"a": learner, "b": learner}, X, LABEL, n_jobs=2)
    else:
        for _ in range(1 + (how == "resumed")):
            found = trace(learner, X, LABEL, resume=tmp_path)
    assert alone.evidence is not None
    assert pack(found.points[-1].predictor()) == pack(alone)


def test_a_learner_keeps_the_seed_that_it_has() -> None:
    one, other = (
        trace(BudgetForestClassifier(**SMALL, random_state=seed), X[TRAIN], LABEL[TRAIN],
              validation=held_out(LABEL))
        for seed in (1, 2)
    )  # fmt: skip
    assert pack_curve(one) != pack_curve(other)


def test_the_learner_of_the_caller_is_not_touched() -> None:
    learner = GreedyMiserClassifier(**SMALL)
    trace(learner, X, LABEL)
    assert learner.random_state is None
    assert not hasattr(learner, "classes_")


def test_a_bar_with_the_time_left_is_shown_on_demand(capsys) -> None:
    trace(GreedyMiserClassifier(**SMALL), X, LABEL)
    assert capsys.readouterr() == ("", "")
    trace(GreedyMiserClassifier(**SMALL), X, LABEL, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "1/1" in shown.err and "0:00:00" in shown.err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"learner": {}}, "there are none"),
        ({"learner": {"a": object()}}, r"\['a'\] have no path"),
        ({"learner": GreedyMiserClassifier}, "give estimators"),
        (
            {"learner": {"c": GreedyMiserClassifier(), "r": GreedyMiserRegressor()}},
            "c is for classification, r is for regression",
        ),
        ({"scoring": "acuracy"}, "did you mean 'accuracy'"),
        ({"scoring": "r2"}, "'r2' is for regression"),
        ({"y": LABEL[:9]}, "9 values for 300 rows"),
        ({"y": np.zeros(300)}, "only one class"),
        ({"qid": QUERY}, "classification has no queries"),
        ({"groups": QUERY[:4]}, "4 values for 300 rows"),
        ({"validation": (X,)}, "give the table and its target"),
        ({"validation": (X, LABEL[:7])}, "7 values for 300 rows"),
        ({"validation": (X, np.full(300, 9))}, r"\[9\] are not classes"),
        ({"X": X[:2], "y": LABEL[:2] * 0 + [0, 1]}, "too few to hold out"),
        ({"learner": GreedyMiserRanker(), "y": GRADE}, "needs the query"),
        ({"learner": GreedyMiserRanker(), "y": GRADE, "qid": QUERY,
          "validation": (X, GRADE)}, "needs the query"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(change, words) -> None:
    given = {"learner": GreedyMiserClassifier(), "X": X, "y": LABEL, **change}
    with pytest.raises(DataError, match=words):
        trace(**given)
