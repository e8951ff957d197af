"""The forecast: seconds for each learner, from samples that can be learnt from."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from thrifty.errors import DataError
from thrifty.frontier import race as module
from thrifty.frontier.race import Track, forecast
from thrifty.frontier.splits import Rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
SIZES = {"n_estimators": 3, "max_depth": 2, "min_samples_leaf": 5}


def rng():
    return np.random.default_rng(1)


def rows(start: int, stop: int, y, qid=None) -> Rows:
    index = np.arange(start, stop)
    return Rows(index, X[index], y[index], None if qid is None else qid[index])


@pytest.fixture
def traced(monkeypatch):
    """Small samples, a clock that counts training rows, and a list of what was traced."""
    tracks: list[Track] = []
    trace, clock = Track.trace, [0.0]

    def count(self, name, learner):
        tracks.append(self)
        clock[0] += 1 + 0.5 * len(self.train)
        return trace(self, name, learner)

    monkeypatch.setattr(Track, "trace", count)
    monkeypatch.setattr(module, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(module, "SHORT", 40)
    monkeypatch.setattr(module, "LONG", 100)
    return tracks


def test_time_grows_in_a_line(traced) -> None:
    y = X[:, 0]
    told = forecast({"a": GreedyMiserRegressor(**SIZES), "b": GreedyMiserRegressor(**SIZES)},
                    rows(0, 300, y), rows(300, 400, y), rng())  # fmt: skip
    assert told == {"a": pytest.approx(151), "b": pytest.approx(151)}


def test_the_first_time_does_not_count_and_parts_stay_in_proportion(traced) -> None:
    y = X[:, 0]
    forecast({"a": GreedyMiserRegressor(**SIZES)}, rows(0, 300, y), rows(300, 390, y), rng())
    sizes = [(len(track.train), len(track.validation)) for track in traced]
    assert sizes == [(40, 12), (40, 12), (100, 30)]


def test_few_rows_are_timed_as_they_are(traced) -> None:
    y = X[:, 0]
    told = forecast({"a": GreedyMiserRegressor(**SIZES)}, rows(0, 30, y), rows(30, 50, y), rng())
    assert told == {"a": pytest.approx(16)}
    assert {len(track.train) for track in traced} == {30}


def test_no_class_is_missed(traced) -> None:
    y = np.zeros(400, dtype=int)
    y[[7, 299, 301]] = 1, 2, 2
    forecast({"a": GreedyMiserClassifier(**SIZES)}, rows(0, 300, y), rows(300, 400, y), rng())
    assert all(set(track.train.y.tolist()) == {0, 1, 2} for track in traced)


def test_a_class_to_choose_on_that_cannot_be_learnt_is_told(traced) -> None:
    y = np.arange(400) % 2
    y[399] = 2
    with pytest.raises(DataError, match=r"\[2\] are not classes of the training target"):
        forecast({"a": GreedyMiserClassifier(**SIZES)}, rows(0, 300, y), rows(300, 400, y), rng())


def test_queries_with_relevant_rows_come_first(traced) -> None:
    qid = np.repeat(np.arange(80), 5)
    y = np.where(qid == 79, np.arange(400) % 2, 0) + (qid < 20) * (np.arange(400) % 3)
    forecast({"a": GreedyMiserRanker(**SIZES)}, rows(0, 300, y, qid), rows(300, 400, y, qid), rng())
    assert len(traced) == 3
    for track in traced:
        assert 79 in track.validation.qid
        assert set(np.unique(track.train.qid, return_counts=True)[1]) == {5}


def test_the_rows_are_those_of_the_seed() -> None:
    whole = rows(0, 400, X[:, 0])
    one, same = (module._sample(whole, 0.1, False, rng()).index for _ in range(2))
    assert np.array_equal(one, same)
