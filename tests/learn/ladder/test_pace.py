"""The pace of a fit: its clock, its progress, and how far down there is time to go."""

from __future__ import annotations

import math

import numpy as np
import pytest

from thrifty import Prices
from thrifty.learn.ladder.pace import Descent, Pace, work_below


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_a_limit_there_is_always_time() -> None:
    pace = Pace()
    assert not pace.is_limited
    assert pace.seconds_left == math.inf


def test_the_time_left_is_the_limit_minus_what_has_passed() -> None:
    clock = Clock()
    pace = Pace(10.0, clock=clock)
    clock.now += 4.0
    assert pace.is_limited
    assert (pace.elapsed, pace.seconds_left) == (4.0, 6.0)


def test_progress_is_reported_within_the_present_step_and_never_decreases() -> None:
    told: list[float] = []
    pace = Pace(report=told.append)
    pace.begin(0.0, 0.5)
    pace.advance(1.0)
    pace.begin(0.25, 0.75)  # a step that begins before the last one ended
    pace.advance(1.0)
    assert told == [0.0, 0.5, 0.75]


def descent(seconds: float, clock: Clock) -> Descent:
    """Return a descent from 32 features of unit price."""
    return Descent(Prices().bind(32), 10, Pace(clock=clock), seconds)


def test_with_enough_time_the_usual_rungs_are_fitted() -> None:
    clock = Clock()
    way = descent(1e6, clock)
    clock.now += 1.0
    features = np.arange(32)
    assert way.rungs_below(features) == 10
    assert way.ratio_to(features, 10) == pytest.approx(32 ** (-1 / 10))


def test_when_late_fewer_rungs_lead_to_the_cheapest_feature() -> None:
    clock = Clock()
    way = descent(3.0, clock)
    clock.now += 1.0  # two seconds are left for rungs that take up to a second
    features = np.arange(32)
    count = way.rungs_below(features)
    assert 1 <= count < 10
    assert work_below(32, count) <= 2.0 < work_below(32, count + 1)
    assert 32 * way.ratio_to(features, count) ** count == pytest.approx(1.0)


def test_without_time_no_rung_follows() -> None:
    clock = Clock()
    way = descent(1.0, clock)
    clock.now += 5.0
    assert way.rungs_below(np.arange(32)) == 0
