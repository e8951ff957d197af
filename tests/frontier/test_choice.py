"""Choosing a point: the best within the budget, the cheapest of equals, or a clear refusal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty import Point, Prices
from thrifty.bundle import Predictor, Schema
from thrifty.errors import BudgetError
from thrifty.frontier import choose, undominated
from thrifty.model import Forest
from thrifty.model.nodes import empty_nodes

NONE = np.zeros(0, dtype=np.int64)
CONSTANT = Forest(empty_nodes(0), np.zeros((0, 1)), NONE, NONE, np.zeros(1), "sum", 1)
MODEL = Predictor(CONSTANT, Schema.of([[0.0]]), Prices([1.0], unit="CAD").bind(1))


def point(bill: float, quality: float, name: str = "") -> Point:
    return Point({"name": name}, MODEL, bill, quality)


amounts = st.integers(0, 6).map(float)
curves = st.lists(st.builds(point, amounts, amounts), min_size=1, max_size=12)


def test_the_best_point_within_the_budget_is_chosen() -> None:
    points = [point(0, 0.5), point(2, 0.9), point(3, 0.8), point(9, 0.95)]
    assert choose(points, 5).bill == 2
    assert choose(points, 9).bill == 9


def test_the_budget_itself_may_be_spent() -> None:
    assert choose([point(0, 0.5), point(2, 0.9)], 2).bill == 2


def test_of_equally_good_points_the_cheapest_is_chosen() -> None:
    assert choose([point(4, 0.9), point(2, 0.9), point(3, 0.9)], 5).bill == 2


def test_of_equal_points_the_first_is_chosen() -> None:
    assert choose([point(2, 0.9, "first"), point(2, 0.9, "second")], 5).knob["name"] == "first"


def test_a_budget_below_every_point_names_the_cheapest_and_its_bill() -> None:
    with pytest.raises(BudgetError, match=r"at most CAD 1\.00.*'thin'.*costs CAD 2\.50"):
        choose([point(4, 0.9, "thick"), point(2.5, 0.8, "thin")], 1)


def test_no_points_are_refused() -> None:
    with pytest.raises(BudgetError, match="no point"):
        choose([], 1)


@pytest.mark.parametrize("budget", [-1, math.nan, math.inf, "3", None, True])
def test_a_budget_is_a_finite_number_of_0_or_more(budget) -> None:
    with pytest.raises(BudgetError, match="budget"):
        choose([point(0, 0.5)], budget)


@given(curves, amounts)
def test_no_point_within_the_budget_beats_the_chosen_one(points, budget) -> None:
    within = [p for p in points if p.bill <= budget]
    if within:
        best = choose(points, budget)
        assert best in within
        assert not any((p.quality, -p.bill) > (best.quality, -best.bill) for p in within)


@given(curves)
def test_a_point_stays_on_the_frontier_unless_another_beats_it(points) -> None:
    kept = undominated(points)
    for p in points:
        beaten = any(
            q.bill <= p.bill
            and q.quality >= p.quality
            and (q.bill, q.quality) != (p.bill, p.quality)
            for q in points
        )
        assert beaten != any((k.bill, k.quality) == (p.bill, p.quality) for k in kept)
    bills = [k.bill for k in kept]
    assert bills == sorted(set(bills))


@given(curves, amounts)
def test_the_chosen_point_is_on_the_frontier(points, budget) -> None:
    if any(p.bill <= budget for p in points):
        assert any(choose(points, budget) is p for p in undominated(points))
