"""Bad tables are answered or refused with a clear error, by every public estimator.

`bad_tables` has the cases. What the border refuses is refused for all estimators by the same code,
so one estimator of each task sees every case; the cases that get past the border are given to all.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bad_tables import HARD, bad_tables, estimators, run

import thrifty
from thrifty import DataError, ThriftyError
from thrifty.learn import baselines
from thrifty.serve import RowSource, answer

TABLES = {table.name: table for table in bad_tables()}
ESTIMATORS = estimators(small=True)
ONE_OF_EACH_TASK = ("GreedyMiserClassifier", "GreedyMiserRegressor", "GreedyMiserRanker")
# CPU seconds of a fit that does not end; how quick it should be is measured by the benchmark.
PATIENCE = 120.0
LIGHT = [name for name, table in TABLES.items() if not table.heavy]


@pytest.fixture(autouse=True)
def quiet_numpy():
    with np.errstate(all="ignore"):
        yield


def check(estimator: str, table: str) -> None:
    outcome = run(ESTIMATORS[estimator], TABLES[table], PATIENCE)
    if outcome is not None:
        assert outcome.is_allowed, f"{outcome.kind}: {outcome.words}"


@pytest.mark.parametrize("table", LIGHT)
@pytest.mark.parametrize("estimator", ONE_OF_EACH_TASK)
def test_every_bad_table_is_answered_or_refused(estimator, table) -> None:
    check(estimator, table)


@pytest.mark.no_cover
@pytest.mark.parametrize("table", HARD)
@pytest.mark.parametrize("estimator", [name for name in ESTIMATORS if name not in ONE_OF_EACH_TASK])
def test_hard_tables_are_answered_or_refused_by_every_estimator(estimator, table) -> None:
    check(estimator, table)


@pytest.mark.parametrize(
    "parameter", ["budget", "cap", "time_limit", "confidence", "costs", "target", "class_weight"]
)
def test_odd_settings_are_refused_or_taken_by_every_estimator(parameter) -> None:
    for name, estimator in ESTIMATORS.items():
        if parameter in estimator.get_params(deep=False):
            for table in LIGHT:
                if table.startswith(f"settings: {parameter}="):
                    check(name, table)


# Above the numbers from which on methods do less; the benchmark has larger ones.
LARGE = ("size: 35 classes", "size: 600 classes", "size: 100 x 2500")


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("table", LARGE)
@pytest.mark.parametrize(
    "estimator", ["CostTreeClassifier", "CostTreeRegressor", "AnytimeClassifier",
                  "SubmodularTreeClassifier", "SubmodularTreeRegressor", "BudgetForestClassifier",
                  "CompressedSVC", "GreedyMiserClassifier"]
)  # fmt: skip
def test_large_tables_are_answered_or_refused(estimator, table) -> None:
    check(estimator, table)


# --- the words


def refusal(X, y, **settings) -> str:
    with pytest.raises(DataError) as caught:
        thrifty.GreedyMiserClassifier(n_estimators=2).fit(X, y, **settings)
    return str(caught.value)


FRAME = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0) % 3})
LABELS = np.array(["no", "yes"] * 10)


def test_columns_of_one_name_are_named() -> None:
    twice = pd.concat([FRAME, FRAME[["b"]]], axis=1)
    assert refusal(twice, LABELS) == (
        "table: more than one column is named 'b'; rename or drop them"
    )


@pytest.mark.parametrize("kind", [np.int64, object, "Int64"])
def test_identifiers_that_would_become_one_are_refused(kind) -> None:
    ids = pd.Series(2**53 + np.arange(20), dtype=kind)
    words = refusal(FRAME.assign(id=ids), LABELS)
    assert "column 'id' holds 9007199254740993 in row 1" in words and ".astype(str)" in words
    exact = FRAME.assign(id=pd.Series(2**54 + 4 * np.arange(20), dtype=kind))
    thrifty.GreedyMiserClassifier(n_estimators=2).fit(exact, LABELS)


def test_a_label_comes_back_as_it_is_or_is_refused() -> None:
    y = np.array(["a\0b", "a"] * 10, dtype=object)
    model = thrifty.GreedyMiserClassifier(n_estimators=2).fit(FRAME, y)
    assert set(model.predict(FRAME)) <= {"a\0b", "a"} and model.classes_.tolist() == ["a", "a\0b"]
    y[0] = "a\0"
    assert "the label 'a\\x00' ends in NUL" in refusal(FRAME, y)


def test_weights_that_no_sum_shows_are_left_out() -> None:
    weight = np.where(FRAME["a"] < 10, 1.0, 1e-200)
    model = thrifty.GreedyMiserRegressor(n_estimators=2).fit(FRAME, FRAME["a"], weight)
    part = thrifty.GreedyMiserRegressor(n_estimators=2).fit(FRAME[:10], FRAME["a"][:10])
    np.testing.assert_array_equal(model.predict(FRAME), part.predict(FRAME))
    assert "divide all weights by it" in refusal(FRAME, LABELS, sample_weight=np.full(20, 1e200))


def test_more_classes_than_a_forest_can_count_are_refused() -> None:
    y = np.arange(1200) % 600
    X = np.random.default_rng(0).normal(size=(1200, 2))
    with pytest.raises(DataError, match="600 classes; .* the limit is 512"):
        thrifty.BudgetForestClassifier(n_estimators=1).fit(X, y)
    model = thrifty.BudgetForestClassifier(n_estimators=1).fit(X[y < 512], y[y < 512])
    assert len(model.classes_) == 512


def test_many_classes_share_the_rounds_of_fewer(monkeypatch) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.arange(60) % 4
    for module, model, words in (
        ("edge_cloud.base", thrifty.EdgeCloudClassifier(max_steps=4), "2 instead of 4 steps"),
        (
            "neighbors.additive",
            thrifty.MarginNeighborsClassifier(n_estimators=6),
            "3 instead of 6 rounds of stumps are made, .* as for 2 classes; raise n_estimators",
        ),
        (
            "policy.classifier",
            thrifty.PolicyClassifier(n_estimators=4, random_state=0),
            "2 instead of 4 boosting rounds",
        ),
    ):
        monkeypatch.setattr(f"thrifty.learn.{module}.MANY_CLASSES", 2)
        with pytest.warns(UserWarning, match=f"4 classes: {words}"):
            model.fit(X, y)


def test_many_classes_share_the_sweeps_of_cost_sensitive_trees() -> None:
    y = np.repeat(np.arange(40), 3)
    X = np.random.default_rng(0).normal(size=(120, 2))
    with pytest.warns(UserWarning, match="1 instead of 2 sweeps"):
        thrifty.CostTreeClassifier(max_depth=1, max_sweeps=2).fit(X, y)
    with pytest.raises(DataError, match="201 classes; each has a tree of its own"):
        thrifty.CostTreeClassifier(max_depth=1).fit(np.zeros((402, 1)), np.arange(402) % 201)
    with pytest.raises(DataError, match="2001 inputs; .* the limit is 2000"):
        thrifty.CostTreeClassifier().fit(
            np.random.default_rng(0).normal(size=(4, 2001)), [0, 1] * 2
        )


def test_too_many_devices_or_inputs_are_refused_with_the_limit(monkeypatch) -> None:
    X = np.random.default_rng(0).normal(size=(12, 5))
    y = np.arange(12) % 2
    monkeypatch.setattr("thrifty.learn.edge_cloud.devices.MAX_DEVICES", 4)
    with pytest.raises(DataError, match="5 of them, and the limit is 4"):
        thrifty.EdgeCloudClassifier().fit(X, y)
    monkeypatch.setattr("thrifty.learn.submodular_tree.grower.MAX_INPUTS", 4)
    with pytest.raises(DataError, match="5 inputs; .* the limit is 4"):
        thrifty.SubmodularTreeClassifier().fit(X, y)
    with pytest.raises(DataError, match="151 classes; every pair of them has an SVM"):
        thrifty.CompressedSVC().fit(np.zeros((302, 1)), np.arange(302) % 151)
    with pytest.raises(DataError, match="51 classes; every purchase compares all pairs of them"):
        baselines.ValueOfClassifier().fit(np.zeros((102, 1)), np.arange(102) % 51)


# --- what is given to a model later

ODD = ["5", "x", float("nan"), -1, [], {}, 10**400]
X = np.random.default_rng(0).normal(size=(90, 3))
Y = np.where(X[:, 0] > 0, "a", "b")


@pytest.fixture(scope="module")
def fitted():
    miser = thrifty.GreedyMiserClassifier(n_estimators=3)
    return {
        "miser": miser.fit(X, Y),
        "anytime": thrifty.AnytimeClassifier(n_estimators=3, random_state=0).fit(X, Y),
        "budget": thrifty.BudgetClassifier(learners={"miser": miser}, random_state=0).fit(X, Y),
    }


@pytest.mark.parametrize("amount", ODD, ids=lambda amount: repr(amount)[:8])
def test_odd_amounts_are_refused_by_models_and_curves(fitted, amount) -> None:
    budget, predictor = fitted["budget"], fitted["miser"].predictor_
    row = RowSource(dict(enumerate(X[0])))
    for act in (
        lambda: predictor.walk(cap=amount),
        lambda: answer(predictor, row, cap=amount),
        lambda: budget.at_budget(amount),
        lambda: budget.frontier_.within(amount),
        lambda: thrifty.choose(budget.frontier_, amount),
        lambda: fitted["anytime"].predict(X, budget=amount),
        lambda: thrifty.OnlineGate([predictor], cost=0.1, horizon=amount),
        lambda: thrifty.Call("remote", 1.0, timeout=amount),
        lambda: thrifty.trace(thrifty.GreedyMiserClassifier(), X, Y, validation=(X, Y),
                              n_jobs=0.5 if amount == -1 else amount),
    ):  # fmt: skip
        with pytest.raises(ThriftyError):
            act()


@pytest.mark.parametrize("quality", ["5", float("nan"), [], 10**400], ids=lambda q: repr(q)[:8])
def test_odd_qualities_are_refused(fitted, quality) -> None:
    with pytest.raises(ThriftyError):
        fitted["budget"].at_quality(quality)
