"""How much work fits into a time limit."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.ladder import time_plan
from thrifty.learn.ladder.effort import EFFORTS
from thrifty.learn.ladder.pace import Pace
from thrifty.learn.ladder.time_plan import Line, plan_work, time_rung

BALANCED = EFFORTS["balanced"]


class Ticking:
    """A clock that moves on by one second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def rows(read_rows):
    """Rows of a small table."""
    X = np.random.default_rng(0).normal(size=(900, 3))
    return read_rows("classification", X, (X[:, 0] > 0).astype(int))


def test_a_line_never_predicts_less_than_nothing() -> None:
    line = Line(100.0, 1.0, 0.02)
    assert line.at(150.0) == pytest.approx(2.0)
    assert line.at(0.0) == 0.0


def test_small_models_are_timed_by_round_tree_and_fit(rows) -> None:
    times = time_rung(rows, BALANCED, Ticking(), 1e9, np.random.RandomState(0))
    # Every part takes one tick: for eight rounds, four trees and two linear models.
    assert (times.boosted.seconds, times.tree.seconds, times.linear.seconds) == (0.125, 0.25, 0.5)


def test_a_second_sample_tells_how_the_time_grows_with_the_rows(rows, monkeypatch) -> None:
    monkeypatch.setattr(time_plan, "TIMED_ROWS", 100)
    times = time_rung(rows, BALANCED, Ticking(), 1e9, np.random.RandomState(0))
    # Every part takes one tick on both samples, so the rows do not matter.
    assert times.tree.at(1e6) == times.tree.at(100) == 0.25


def test_without_time_for_a_second_sample_the_time_is_in_proportion(rows, monkeypatch) -> None:
    monkeypatch.setattr(time_plan, "TIMED_ROWS", 100)
    times = time_rung(rows, BALANCED, Ticking(), 0.1, np.random.RandomState(0))
    assert times.linear.at(100) == pytest.approx(0.5)
    assert times.linear.at(600) == pytest.approx(3.0)


def test_few_rows_of_a_wide_table_are_timed(rows, monkeypatch) -> None:
    monkeypatch.setattr(time_plan, "TIMED_CELLS", 6 * 50.0)  # three columns, two classes
    times = time_rung(rows, BALANCED, Ticking(), 0.1, np.random.RandomState(0))
    assert times.linear.rows == pytest.approx(50)


def test_with_enough_time_nothing_is_cut(rows) -> None:
    pace = Pace(1e9)
    kept, settings = plan_work(rows, BALANCED, pace, 1e9, np.random.RandomState(0))
    assert settings == BALANCED
    assert len(kept.crossfit.divisions) == len(rows.crossfit.divisions)
    assert kept.share == 1.0


def test_without_time_a_sample_and_few_trees_must_do(rows) -> None:
    pace = Pace(1e-9)
    kept, settings = plan_work(rows, BALANCED, pace, 1e-9, np.random.RandomState(0))
    assert settings.n_trees == EFFORTS["fast"].n_trees
    assert kept.share < 1.0
    # The evidence stays what it is.
    assert np.array_equal(kept.evidence, rows.evidence)
