"""The race: who runs, who is beaten on a sample, who has no time left."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier, Prices
from thrifty.frontier import race as race_module
from thrifty.frontier.race import Track, heat, race
from thrifty.frontier.splits import Rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 3))
y = X[:, 0] + X[:, 1] > 0
PRICES = Prices([1.0, 1.0, 1.0])
GOOD = GreedyMiserClassifier(PRICES, n_estimators=20, random_state=0)


class Contrary(GreedyMiserClassifier):
    """Learns the opposite of what it is told: the more it pays, the worse it is."""

    def path(self, X, y, *, validation):
        return super().path(X, ~y, validation=(validation[0], ~validation[1]))


POOR = Contrary(PRICES, n_estimators=20)


@pytest.fixture
def track():
    rows = np.arange(900)
    train, held_out = rows[:600], rows[600:]
    return Track(Rows(train, X[train], y[train]), Rows(held_out, X[held_out], y[held_out]),
                 None, stratified=True)  # fmt: skip


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(race_module, "HEAT_ROWS", 200)
    monkeypatch.setattr(race_module, "WORTH_A_HEAT", 2)


def rng():
    return np.random.default_rng(0)


def test_on_few_rows_everyone_runs(track) -> None:
    curve, laps = race({"good": GOOD, "poor": POOR}, track, None, rng())
    assert [(lap.learner, lap.outcome) for lap in laps] == [("good", "ran"), ("poor", "ran")]
    assert set(curve.learners) == {"good", "poor"}
    assert all(lap.seconds > 0 for lap in laps)


def test_a_learner_that_is_clearly_beaten_does_not_start(track, short) -> None:
    curve, laps = race({"good": GOOD, "poor": POOR}, track, None, rng())
    assert [lap.outcome for lap in laps] == ["ran", "beaten on a sample"]
    assert laps[1].seconds == 0.0
    assert curve.learners == ("good",)


def test_learners_that_are_level_both_start(track, short) -> None:
    other = GreedyMiserClassifier(PRICES, n_estimators=25, random_state=0)
    assert heat({"good": GOOD, "other": other}, track, rng()) == set()


def test_a_heat_never_drops_everyone(track, short) -> None:
    beaten = heat({"a": POOR, "b": POOR, "c": GOOD}, track, rng())
    assert "c" not in beaten


def test_a_sample_keeps_the_shares_of_the_classes(track, short) -> None:
    sample = track.sample(rng())
    assert len(sample.train) == pytest.approx(200, abs=2)
    assert len(sample.validation) == pytest.approx(100, abs=2)
    assert sample.train.y.mean() == pytest.approx(track.train.y.mean(), abs=0.01)


def test_when_time_is_up_no_further_learner_starts(track) -> None:
    curve, laps = race({"good": GOOD, "late": GOOD}, track, 1e-9, rng())
    assert [lap.outcome for lap in laps] == ["ran", "no time left"]
    assert curve.learners == ("good",)
