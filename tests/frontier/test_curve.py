"""The curve: which points are beaten, what lies on the hull, and how it is read."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from points import curve, point

from thrifty.errors import BudgetError, DataError
from thrifty.frontier import Curve
from thrifty.frontier.curve import area, quality_at

amounts = st.integers(0, 8).map(float)
curves = st.lists(st.builds(point, amounts, amounts), min_size=1, max_size=14).map(
    lambda points: curve(*points)
)


def figures(points):
    return [(p.bill, p.quality) for p in points]


@given(curves)
def test_points_come_cheapest_first_and_the_better_of_equals_first(found) -> None:
    assert figures(found.points) == sorted(figures(found.points), key=lambda f: (f[0], -f[1]))


@given(curves)
def test_a_pareto_point_is_never_beaten(found) -> None:
    for kept in found.frontier:
        for other in found.points:
            beaten = other.bill <= kept.bill and other.quality >= kept.quality
            assert not beaten or figures([other]) == figures([kept])


@given(curves)
def test_whatever_is_not_on_the_frontier_is_beaten_or_equaled(found) -> None:
    for p in found.points:
        assert any(k.bill <= p.bill and k.quality >= p.quality for k in found.frontier)


@given(curves)
def test_no_point_lies_above_the_hull(found) -> None:
    bills, qualities = zip(*figures(found.hull), strict=True)
    for p in found.points:
        assert p.quality <= np.interp(p.bill, bills, qualities) + 1e-9
    assert set(map(id, found.hull)) <= set(map(id, found.frontier))


@given(curves)
def test_slopes_of_the_hull_fall(found) -> None:
    hull = found.hull
    slopes = [(b.quality - a.quality) / (b.bill - a.bill) for a, b in pairwise(hull)]
    assert all(a > b for a, b in pairwise(slopes))


@given(curves, curves)
def test_the_frontier_of_a_merged_curve_is_that_of_both_frontiers(one, other) -> None:
    both = curve(*one.frontier, *other.frontier)
    assert figures((one + other).frontier) == figures(both.frontier)


def test_a_curve_of_one_learner_is_taken_out_of_a_merged_one() -> None:
    one = curve(point(0, 0.5), point(2, 0.9))
    other = curve(point(1, 0.8, learner="other"))
    merged = Curve.merge([one, other])
    assert merged.learners == ("hand", "other")
    assert figures(merged.of("other").points) == [(1, 0.8)]
    with pytest.raises(DataError, match="no learner 'third'; there are hand, other"):
        merged.of("third")


def test_curves_of_other_rows_or_scorings_are_not_merged() -> None:
    one = curve(point(0, 0.5), data="a")
    with pytest.raises(
        DataError, match=r"2 problems(?s:.*)'accuracy' and 'roc_auc'(?s:.*)the validation set"
    ):
        one + curve(point(0, 0.5), data="b", scoring="roc_auc")
    with pytest.raises(DataError, match="no curves to merge"):
        Curve.merge([])


def test_a_curve_without_points_is_refused() -> None:
    with pytest.raises(DataError, match="no points"):
        curve()


def test_the_cheapest_point_of_a_quality_is_found() -> None:
    found = curve(point(0, 0.5), point(3, 0.9), point(5, 0.85), point(9, 0.95))
    assert found.cheapest(0.85).bill == 3
    assert found.cheapest(-1).bill == 0
    with pytest.raises(
        BudgetError, match=r"accuracy 0\.99; the nearest, hand, has 0\.95.*CAD 9\.00"
    ):
        found.cheapest(0.99)


def test_a_cap_keeps_the_points_whose_every_bill_is_within_it() -> None:
    found = curve(point(0, 0.5), point(3, 0.9, ceiling=7.0), point(4, 0.8, ceiling=4.0))
    assert figures(found.within(5).points) == [(0, 0.5), (4, 0.8)]
    assert found.within(math.inf).points == found.points
    with pytest.raises(BudgetError, match=r"within CAD 2\.00; the lowest ceiling.*CAD 3\.50"):
        curve(point(3, 0.9, ceiling=3.5)).within(2)


def test_a_chosen_point_is_marked() -> None:
    found = curve(point(0, 0.5), point(3, 0.9))
    assert found.chosen is None
    assert found.with_chosen(found.points[1]).frame()["chosen"].tolist() == [False, True]


def test_the_area_is_the_mean_quality_over_the_budgets() -> None:
    found = curve(point(0, 0.5), point(10, 0.7), point(40, 0.6), point(50, 1.0))
    assert found.area(scale="linear", low=0.0) == pytest.approx(0.1 * 0.5 + 0.4 * 0.7 + 0.5)
    share = (math.log(5) * 0.5 + math.log(5) * 0.7 + math.log(2) * 1.0) / math.log(50)
    assert found.area() == pytest.approx(share)


def test_below_the_first_affordable_point_the_area_has_the_constant() -> None:
    assert curve(point(0, 0.5), point(200, 1.0)).area() == pytest.approx(0.5)


def test_the_frame_has_a_row_for_each_point() -> None:
    frame = curve(point(0, 0.5), point(3, 0.9, "b"), point(4, 0.8)).frame()
    assert frame["bill"].tolist() == [0, 3, 4]
    assert frame["accuracy"].tolist() == [0.5, 0.9, 0.8]
    assert frame["frontier"].tolist() == [True, True, False]
    assert frame["knob"].tolist() == ["", "name=b", ""]


def test_a_point_is_shown_in_a_line() -> None:
    assert repr(point(3, 0.9)) == "CurvePoint(hand: bill CAD 3.00, quality 0.9, at most CAD 3.00)"


def test_a_curve_tells_what_it_is() -> None:
    told = repr(curve(point(0, 0.5), point(3, 0.9)))
    assert told == "Curve(2 points of hand; best accuracy 0.900 at CAD 3.00 of CAD 100.00)"


# --- area ---------------------------------------------------------------------

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
    mean = np.mean([quality_at(bills, qualities, share * FULL) for share in middles])
    assert area(bills, qualities, FULL, scale=scale) == pytest.approx(mean, abs=0.02)


def test_a_constant_curve_has_its_quality_as_area() -> None:
    assert area([0.0, 3.0], [0.6, 0.6], FULL) == pytest.approx(0.6)
    assert area([0.0], [0.6], FULL) == pytest.approx(0.6)


def test_points_beyond_the_range_do_not_count() -> None:
    assert area([0.0, 0.1, 99.0], [0.1, 0.8, 1.0], FULL) == pytest.approx(0.8)


def test_where_all_is_free_every_budget_affords_the_best() -> None:
    assert area([0.0, 0.0], [0.5, 0.9], 0.0) == 0.9


def test_a_budget_below_every_point_buys_nothing() -> None:
    assert np.isnan(quality_at([1.0], [0.5], 0.9))


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
