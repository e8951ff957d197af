"""Several operating points of one model: one is the default, a budget chooses another."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.bundle import OperatingPoints, Schema
from thrifty.costs import Prices
from thrifty.errors import BudgetError, DataError


@pytest.fixture
def points(make):
    return OperatingPoints(
        [make(knob={"k": k}) for k in range(3)], [0.0, 4.0, 9.0], [0.6, 0.8, 0.7], 2, "accuracy"
    )


def test_the_default_point_is_the_predictor(points):
    assert points.predictor.knob == {"k": 2}
    assert (len(points), points.unit, points.metric) == (3, "CAD", "accuracy")
    assert repr(points) == "OperatingPoints(3 points; default: accuracy 0.7 at CAD 9.00)"


@pytest.mark.parametrize(("budget", "chosen"), [(0, 0), (3.9, 0), (4, 1), (100, 1)])
def test_a_budget_chooses_the_best_point_within_it(points, budget, chosen):
    assert points.at_budget(budget).default == chosen
    assert points.default == 2


def test_of_equally_good_points_the_cheaper_one_is_chosen(make):
    points = OperatingPoints([make(), make()], [5.0, 2.0], [0.8, 0.8])
    assert points.at_budget(9).default == 1


@pytest.mark.parametrize("budget", [-1, float("nan"), "much", None, True])
def test_a_budget_that_is_no_amount_is_refused(points, budget):
    with pytest.raises(BudgetError, match="is not a number of 0 or more"):
        points.at_budget(budget)


def test_a_budget_below_all_points_names_the_cheapest(make):
    points = OperatingPoints([make(), make()], [5.0, 2.5], [0.8, 0.7])
    with pytest.raises(BudgetError, match=r"at most CAD 1\.00 on average.* costs CAD 2\.50"):
        points.at_budget(1)


def test_all_that_is_wrong_with_points_is_said_at_once(make):
    with pytest.raises(DataError) as caught:
        OperatingPoints([make(), make()], [-1.0], [np.nan, 0.5], 2, "a\nb")
    for words in ("bills: 1 for 2", "bills[0]: -1.0", "qualities[0]: nan", "default: 2", "metric"):
        assert words in str(caught.value)


def test_no_point_is_too_few():
    with pytest.raises(DataError, match="there are 0, not 1 to 1024"):
        OperatingPoints([], [], [])


def test_points_share_columns_classes_and_prices(make):
    wider = Schema.of({"age": [1.0], "chol": [2.0], "sex": ["m"], "more": [0.5]})
    others = {
        "columns": make(schema=wider, prices=Prices(dict.fromkeys(wider.names, 1.0))),
        "prices": make(prices=Prices({"age": 1.0, "chol": 7.27, "sex": 0.2})),
        "classes": make(classes=np.array(["a", "b"])),
    }
    for what, other in others.items():
        with pytest.raises(DataError, match=f"points 0 and 1 have different {what}"):
            OperatingPoints([make(), other], [0.0, 1.0], [0.5, 0.6])
