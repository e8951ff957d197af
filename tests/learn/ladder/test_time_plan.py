"""How much work fits into a time limit."""

from __future__ import annotations

import numpy as np
import pytest

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
    times = time_rung(rows, BALANCED, Ticking(), np.random.RandomState(0))
    # Every part takes one tick: for four rounds, four trees and two linear models.
    assert (times.boosted.seconds, times.tree.seconds, times.linear.seconds) == (0.25, 0.25, 0.5)


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
