"""Where the points of a curve are drawn, and what is said about them."""

from __future__ import annotations

import pytest

from thrifty.web.curve import draw_curve


def test_points_are_drawn_by_bill_whatever_their_order():
    curve = draw_curve([9.0, 0.0, 4.0], [0.9, 0.5, 0.8], 2, "EUR", "accuracy")
    assert [mark.x for mark in curve.points] == sorted(mark.x for mark in curve.points)
    assert [mark.is_here for mark in curve.points] == [False, True, False]


def test_a_better_point_is_drawn_higher():
    curve = draw_curve([0.0, 4.0], [0.5, 0.8], 0, "EUR", "accuracy")
    worse, better = curve.points
    assert better.y < worse.y


@pytest.mark.parametrize(
    ("bills", "qualities"),
    [
        ([0.0, 0.0], [0.5, 0.5]),
        ([3.0], [-12.5]),
        ([0.0, 1e-9], [0.0, 1e-12]),
        ([0.0, 1e90], [-1e6, 1e6]),
        ([0.0, 7.0], [0.999, 0.9991]),
    ],
)
def test_all_is_inside_the_picture(bills, qualities):
    curve = draw_curve(bills, qualities, 0, "", "r2")
    left, right, top, bottom = curve.axis
    for mark in [*curve.points, *curve.bills, *curve.qualities]:
        assert left <= mark.x <= right and top <= mark.y <= bottom
    assert 2 <= len(curve.bills) <= 7 and 2 <= len(curve.qualities) <= 7


def test_the_point_that_is_served_is_put_into_words():
    curve = draw_curve([0.0, 4.25], [0.5, 0.81], 1, "EUR", "balanced_accuracy")
    assert curve.words == "EUR 4.25 per case on average, balanced accuracy 81.0%"
