"""The race: which learners run, are beaten on a sample, or have no time left; and its forecast."""

from __future__ import annotations

import json
from dataclasses import replace

import joblib
import numpy as np
import pytest

from thrifty import (
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    Prices,
)
from thrifty.frontier import race as race_module
from thrifty.frontier.curve_file import pack_curve
from thrifty.frontier.race import forecast, race, screen
from thrifty.frontier.scoring import find_metric
from thrifty.learn.dataset import TrainingSet

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 3))
y = X[:, 0] + X[:, 1] > 0
PRICES = Prices([1.0, 1.0, 1.0])
GOOD = GreedyMiserClassifier(PRICES, n_estimators=20, random_state=0)


class Contrary(GreedyMiserClassifier):
    """Learns the opposite of the target: the more it pays, the worse it is."""

    def path(self, X, y, *, validation):
        flipped = replace(validation, y=1 - validation.y)
        return super().path(replace(X, y=1 - X.y), y, validation=flipped)


POOR = Contrary(PRICES, n_estimators=20)


def sets(y, n, m, task="regression", qid=None, X=X):
    """The first n rows to train on, the next m to validate on."""
    query = None if qid is None else qid[: n + m]
    whole = TrainingSet.read(task, X[: n + m], y[: n + m], PRICES, qid=query)
    train = whole.take(np.arange(n))
    return train, whole.hold_out(np.arange(n, n + m), train.schema)


@pytest.fixture
def two_sets():
    return sets(y, 600, 300, "classification")


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(race_module, "SCREENING_ROWS", 200)
    monkeypatch.setattr(race_module, "WORTH_SCREENING", 2)


METRIC = find_metric(None, "classification")


def rng():
    return np.random.default_rng(0)


def test_on_few_rows_every_learner_runs(two_sets) -> None:
    curve, results = race({"good": GOOD, "poor": POOR}, *two_sets, METRIC, None, rng())
    assert [(r.learner, r.outcome) for r in results] == [("good", "ran"), ("poor", "ran")]
    assert set(curve.learners) == {"good", "poor"}
    assert all(result.seconds > 0 for result in results)


def test_a_learner_that_is_clearly_beaten_does_not_start(two_sets, small_samples) -> None:
    curve, results = race({"good": GOOD, "poor": POOR}, *two_sets, METRIC, None, rng())
    assert [result.outcome for result in results] == ["ran", "beaten on a sample"]
    assert results[1].seconds == 0.0
    assert curve.learners == ("good",)


def test_learners_that_are_level_both_start(two_sets, small_samples) -> None:
    other = GreedyMiserClassifier(PRICES, n_estimators=25, random_state=0)
    assert screen({"good": GOOD, "other": other}, *two_sets, METRIC, rng()) == set()


def test_screening_never_drops_every_learner(two_sets, small_samples) -> None:
    beaten = screen({"a": POOR, "b": POOR, "c": GOOD}, *two_sets, METRIC, rng())
    assert "c" not in beaten


def test_a_sample_keeps_the_shares_of_the_classes(two_sets, small_samples, monkeypatch) -> None:
    seen = []
    trace_learner = race_module.trace_learner

    def record(name, learner, train, validation, metric):
        seen.append((train, validation))
        return trace_learner(name, learner, train, validation, metric)

    monkeypatch.setattr(race_module, "trace_learner", record)
    screen({"a": GOOD, "b": GOOD}, *two_sets, METRIC, rng())
    train, validation = seen[0]
    assert len(train) == pytest.approx(200, abs=2)
    assert len(validation) == pytest.approx(100, abs=2)
    assert train.y.mean() == pytest.approx(two_sets[0].y.mean(), abs=0.01)


def test_screening_and_finals_are_kept_and_not_run_again(
    two_sets, small_samples, tmp_path, monkeypatch
) -> None:
    learners = {"good": GOOD, "poor": POOR}
    first = race(learners, *two_sets, METRIC, None, rng(), tmp_path, {"data": "abc"})
    manifest = json.loads((tmp_path / "manifest.json").read_bytes())
    assert sorted(manifest["jobs"]) == ["good", "good, on a sample", "poor", "poor, on a sample"]
    assert len(list(tmp_path.glob("*.curve"))) == 3  # the poor one has no final
    monkeypatch.setattr(race_module, "trace_learner", lambda *a: pytest.fail("run again"))
    again = race(learners, *two_sets, METRIC, None, rng(), tmp_path, {"data": "abc"})
    assert [result.outcome for result in again[1]] == ["ran", "beaten on a sample"]
    assert pack_curve(again[0]) == pack_curve(first[0])


def test_learners_run_at_a_time_if_joblib_is_told_so(two_sets, dask_client) -> None:
    learners = {"good": GOOD, "poor": POOR}
    metric = find_metric(None, "classification")
    one, _ = race(learners, *two_sets, metric, None, np.random.default_rng(0))
    with joblib.parallel_config("dask"):
        curve, results = race(learners, *two_sets, metric, None, np.random.default_rng(0))
    assert pack_curve(curve, {}) == pack_curve(one, {})
    assert [result.outcome for result in results] == ["ran", "ran"]
    assert results[0].seconds == results[1].seconds > 0


def test_when_time_is_up_no_further_learner_starts(two_sets) -> None:
    curve, results = race({"good": GOOD, "late": GOOD}, *two_sets, METRIC, 1e-9, rng())
    assert [result.outcome for result in results] == ["ran", "no time left"]
    assert curve.learners == ("good",)


# --- forecast ----------------------------------------------------------------

SIZES = {"n_estimators": 3, "max_depth": 2, "min_samples_leaf": 5}


@pytest.fixture
def traced(monkeypatch):
    """Small samples, a clock that counts training rows, and a list of what was traced."""
    runs = []
    trace_learner, clock = race_module.trace_learner, [0.0]

    def count(name, learner, train, validation, metric):
        runs.append((train, validation))
        clock[0] += 1 + 0.5 * len(train)
        return trace_learner(name, learner, train, validation, metric)

    monkeypatch.setattr(race_module, "trace_learner", count)
    monkeypatch.setattr(race_module, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(race_module, "FORECAST_ROWS", (40, 100))
    return runs


def test_time_grows_linearly(traced) -> None:
    learners = {"a": GreedyMiserRegressor(**SIZES), "b": GreedyMiserRegressor(**SIZES)}
    seconds = forecast(learners, *sets(X[:, 0], 300, 100), rng())
    assert seconds == {"a": pytest.approx(151), "b": pytest.approx(151)}


def test_samples_stay_in_proportion(traced) -> None:
    forecast({"a": GreedyMiserRegressor(**SIZES)}, *sets(X[:, 0], 300, 90), rng())
    sizes = [(len(train), len(validation)) for train, validation in traced]
    assert sizes == [(40, 12), (100, 30)]


def test_few_rows_are_timed_as_they_are(traced) -> None:
    seconds = forecast({"a": GreedyMiserRegressor(**SIZES)}, *sets(X[:, 0], 30, 20), rng())
    assert seconds == {"a": pytest.approx(16)}
    assert {len(train) for train, _ in traced} == {30}


def test_a_sample_misses_no_class(traced) -> None:
    target = np.zeros(400, dtype=int)
    target[[7, 299, 301]] = 1, 2, 2
    forecast(
        {"a": GreedyMiserClassifier(**SIZES)}, *sets(target, 300, 100, "classification"), rng()
    )
    assert all(set(train.y.tolist()) == {0, 1, 2} for train, _ in traced)


def test_queries_with_relevant_rows_come_first(traced) -> None:
    qid = np.repeat(np.arange(80), 5)
    grades = np.where(qid == 79, np.arange(400) % 2, 0) + (qid < 20) * (np.arange(400) % 3)
    parts = sets(grades, 300, 100, "ranking", qid)
    forecast({"a": GreedyMiserRanker(**SIZES)}, *parts, rng())
    assert len(traced) == 2
    for train, validation in traced:
        assert validation.y.any()  # query 79 is the only one with a relevant row
        assert set(np.unique(train.query, return_counts=True)[1]) == {5}


def test_the_samples_are_those_of_the_seed(traced) -> None:
    for _ in range(2):
        forecast({"a": GreedyMiserRegressor(**SIZES)}, *sets(X[:, 0], 300, 100), rng())
    np.testing.assert_array_equal(traced[0][0].X, traced[2][0].X)
