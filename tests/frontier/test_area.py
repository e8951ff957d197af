"""The area under a curve: by hand, and against fine sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.frontier.curve import area, step

FULL = 40.0


def test_the_area_by_hand() -> None:
    # From 2 % to 10 % the constant, from there to 50 % the second, then the third.
    bills, qualities = [0.0, 4.0, 20.0], [0.5, 0.7, 0.9]
    log = (0.5 * np.log(5) + 0.7 * np.log(5) + 0.9 * np.log(2)) / np.log(50)
    assert area(bills, qualities, FULL) == pytest.approx(log)
    linear = (0.5 * 0.08 + 0.7 * 0.4 + 0.9 * 0.5) / 0.98
    assert area(bills, qualities, FULL, scale="linear") == pytest.approx(linear)


@given(
    shares=st.lists(st.floats(0, 1.5), max_size=6),
    qualities=st.lists(st.floats(-2, 1), min_size=7, max_size=7),
    scale=st.sampled_from(["log", "linear"]),
)
def test_the_area_is_the_mean_of_the_steps(shares, qualities, scale) -> None:
    bills = np.array([0.0, *sorted(shares)]) * FULL
    qualities = qualities[: len(bills)]
    grid = np.geomspace(0.02, 1, 2_001) if scale == "log" else np.linspace(0.02, 1, 2_001)
    middles = np.sqrt(grid[1:] * grid[:-1]) if scale == "log" else (grid[1:] + grid[:-1]) / 2
    mean = np.mean([step(bills, qualities, share * FULL) for share in middles])
    assert area(bills, qualities, FULL, scale=scale) == pytest.approx(mean, abs=0.02)


def test_a_constant_curve_has_its_quality_as_area() -> None:
    assert area([0.0, 3.0], [0.6, 0.6], FULL) == pytest.approx(0.6)
    assert area([0.0], [0.6], FULL) == pytest.approx(0.6)


def test_points_beyond_the_range_do_not_count() -> None:
    assert area([0.0, 0.1, 99.0], [0.1, 0.8, 1.0], FULL) == pytest.approx(0.8)


def test_where_all_is_free_every_budget_affords_the_best() -> None:
    assert area([0.0, 0.0], [0.5, 0.9], 0.0) == 0.9


def test_a_budget_below_every_point_buys_nothing() -> None:
    assert np.isnan(step([1.0], [0.5], 0.9))


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"scale": "cubic"}, "scale: 'cubic' is not one of log, linear"),
        ({"low": 0.0}, "not a range on the log scale"),
        ({"low": 0.5, "high": 0.5}, "not a range"),
        ({"scale": "linear", "low": -0.1}, "not a range on the linear scale"),
    ],
)
def test_a_range_that_is_none_is_refused(wrong, words) -> None:
    with pytest.raises(ValueError, match=words):
        area([0.0], [0.5], FULL, **wrong)
