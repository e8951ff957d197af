"""Choosing a point: the best within the budget, the cheapest of equals, or a clear refusal."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import points as by_hand
import pytest
from hypothesis import given
from hypothesis import strategies as st
from points import MODEL, curve

from thrifty import Point
from thrifty.errors import BudgetError
from thrifty.frontier import affordable, cheaper_alternative, choose, pareto_optimal
from thrifty.frontier.confidence import upper_bound


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
    kept = pareto_optimal(points)
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
        assert any(choose(points, budget) is p for p in pareto_optimal(points))


# --- on curves ---------------------------------------------------------------


def drawn(mean, quality, seed=0, n=200, **changes):
    """Make a point whose bills are 0 or 10 with the given mean, on the training rows too."""
    bills = np.where(np.random.default_rng(seed).permutation(n) < n * mean / 10, 10.0, 0.0)
    spread = float(np.sqrt(mean * (10 - mean)))
    given = {"bills": bills, "ceiling": 10.0, "training_bill": (mean, spread), **changes}
    return by_hand.point(bills.mean(), quality, **given)


def test_without_a_confidence_the_mean_bill_is_taken_as_it_is() -> None:
    found = curve(by_hand.point(0, 0.5), drawn(4, 0.9), drawn(5, 0.95))
    assert choose(found, 4.5, None).bill == found.choose(4.5).bill == 4


def test_with_a_confidence_a_point_too_near_the_budget_is_left() -> None:
    found = curve(by_hand.point(0, 0.5), drawn(2, 0.8), drawn(4, 0.9), drawn(5, 0.95))
    assert choose(found, 4.5).bill == 2
    assert choose(found, 4.5, confidence=0.5).bill == 4
    assert found.choose(4.5, 0.95).bill == 2


def test_a_ceiling_within_the_budget_needs_no_proof() -> None:
    sure = by_hand.point(4.4, 0.9, ceiling=4.5, bills=np.array([4.4]), gains=np.array([0.9]))
    assert choose(curve(by_hand.point(0, 0.5), sure), 4.5, confidence=0.999) is sure


def test_testing_ends_at_the_first_point_that_is_not_certain() -> None:
    # The second looks safer on the training rows than it is: what comes after it is not tested.
    first = drawn(1, 0.8, training_bill=(1.0, 1.0))
    second = drawn(4.4, 0.9, training_bill=(2.0, 1.0))
    third = drawn(1, 0.99, training_bill=(3.0, 1.0))
    found = curve(by_hand.point(0, 0.5), first, second, third)
    assert [p.quality for p in affordable(found, 4.5, 0.95)] == [0.5, 0.8]


def test_the_order_of_testing_does_not_depend_on_validation_bills() -> None:
    blocked = drawn(4.4, 0.9, training_bill=(1.0, 1.0))
    cheap = drawn(0.5, 0.8, training_bill=(2.0, 1.0))
    assert affordable(curve(blocked, cheap), 4.5, 0.95) == ()


def test_points_without_a_training_bill_share_the_error_rate() -> None:
    one = drawn(3, 0.9, training_bill=None)
    budget = upper_bound(one.bills, 0.95, 10.0) + 1e-6
    assert affordable(curve(one), budget, 0.95) == (one,)
    assert affordable(curve(one, one, one), budget, 0.95) == ()
    assert affordable(curve(one, drawn(9, 0.9)), budget, 0.95) == ()
    third = upper_bound(one.bills, 1 - 0.05 / 3, 10.0) + 1e-6
    assert len(affordable(curve(one, one, one), third, 0.95)) == 3


def test_rows_of_one_cluster_are_one_observation() -> None:
    clusters = np.repeat(np.arange(20), 10)
    bills = np.repeat(np.where(np.arange(20) < 8, 10.0, 0.0), 10)
    point = drawn(4, 0.9, bills=bills)
    base = by_hand.point(0, 0.5)
    assert choose(curve(base, point), 5.5, 0.95) is point
    assert choose(curve(base, point, clusters=clusters), 5.5, 0.95) is base


def test_the_budget_is_met_after_the_choice_as_often_as_it_says() -> None:
    """Forty points around the budget, of which the luckiest look cheap."""
    rng = np.random.default_rng(0)
    means = np.linspace(2, 6, 40)
    broken = {None: 0, 0.9: 0}
    draws = 200
    for _ in range(draws):
        trained = rng.binomial(500, means / 10) / 50
        points = [
            drawn(m, quality, bills=rng.choice([0.0, 10.0], p=[1 - m / 10, m / 10], size=150),
                  training_bill=(t, math.sqrt(t * (10 - t))), knob={"mean": m})
            for quality, (m, t) in enumerate(zip(means, trained, strict=True))
        ]  # fmt: skip
        found = curve(
            by_hand.point(0, -1, knob={"mean": 0}),
            *(by_hand.point(p.bills.mean(), p.quality, bills=p.bills, ceiling=10.0,
                            training_bill=p.training_bill, knob=p.knob) for p in points),
        )  # fmt: skip
        for confidence in broken:
            broken[confidence] += choose(found, 4.0, confidence).knob["mean"] > 4.0
    assert broken[0.9] <= 0.1 * draws + 3 * math.sqrt(0.09 * draws)
    assert broken[None] > 0.5 * draws


def test_an_unkept_budget_names_the_cheapest_point_and_what_it_may_cost() -> None:
    found = curve(drawn(4, 0.9), drawn(6, 0.95))
    with pytest.raises(
        BudgetError, match=r"certain enough .*CAD 4\.10.*hand, costs CAD 4\.00.*at most CAD 4"
    ):
        choose(found, 4.1)
    with pytest.raises(BudgetError, match=r"at most CAD 1\.00.*hand, costs CAD 4\.00"):
        choose(found, 1, None)


@pytest.mark.parametrize("budget", [-1, math.nan, "3", None, True])
def test_a_budget_for_a_curve_is_a_number_of_0_or_more(budget) -> None:
    with pytest.raises(BudgetError, match="budget"):
        choose(curve(by_hand.point(0, 0.5)), budget)


def test_an_infinite_budget_takes_the_best_of_all() -> None:
    assert choose(curve(by_hand.point(0, 0.5), drawn(4, 0.9)), math.inf).quality == 0.9


def gained(bill, right, neg_brier):
    gains = np.zeros(100)
    gains[:right] = 1.0
    np.random.default_rng(right).shuffle(gains)
    clear = np.full(100, float(neg_brier))
    return by_hand.point(bill, right / 100, gains=gains, neg_brier=clear, bills=np.full(100, bill))


def test_of_points_that_are_level_the_one_with_the_better_brier_score_is_chosen() -> None:
    lucky, steady, worse = gained(3, 80, -0.4), gained(4, 79, -0.1), gained(2, 50, -0.1)
    assert choose(curve(lucky, steady, worse), 9) is steady
    assert choose(curve(lucky, worse), 9) is lucky


def test_of_points_that_are_equal_in_all_the_cheaper_is_chosen() -> None:
    points = [gained(bill, 80, -0.3) for bill in (4, 3)]
    assert choose(curve(*points), 9).bill == 3


def test_a_dearer_point_that_is_hardly_better_is_not_chosen() -> None:
    cheap, dear = gained(1, 80, -0.3), gained(50, 80, -0.2995)
    free = by_hand.point(0, 0.5, gains=np.tile([0.0, 1.0], 50), neg_brier=np.full(100, -0.5))
    gains = np.roll(cheap.gains, 1)  # right as often, on other rows: the difference is noise
    dear = by_hand.point(50, 0.8, gains=gains, neg_brier=dear.neg_brier, bills=np.full(100, 50.0))
    assert choose(curve(free, cheap, dear, gained(100, 80, -0.3)), 99) is cheap


def constant(right, neg_brier):
    return by_hand.point(
        0, right / 100, gains=(np.arange(100) < right) * 1.0, neg_brier=np.full(100, neg_brier)
    )


def test_a_better_brier_score_alone_is_not_worth_money() -> None:
    # The labels are those of the constant; only the probabilities are better.
    free = constant(90, -0.2)
    bought = by_hand.point(9, 0.9, gains=free.gains, neg_brier=np.full(100, -0.1))
    assert choose(curve(free, bought), 99) is free


def test_labels_that_differ_on_a_row_or_two_are_not_worth_money() -> None:
    # The probabilities are clearly better, but only one more row of a hundred is right.
    free = constant(90, -0.2)
    one_more, six_more = free.gains.copy(), free.gains.copy()
    one_more[90] = 1.0
    six_more[90:96] = 1.0
    hardly = by_hand.point(9, 0.91, gains=one_more, neg_brier=np.full(100, -0.1))
    clearly = by_hand.point(9, 0.96, gains=six_more, neg_brier=np.full(100, -0.1))
    assert choose(curve(free, hardly), 99) is free
    assert choose(curve(free, clearly), 99) is clearly


def is_clear(ahead, errors=1) -> bool:
    return ahead.mean() > errors * ahead.std(ddof=1) / math.sqrt(len(ahead))


# Drawn by a seed: lists that are drawn value by value are too much alike to find anything.
def random_point(bill: int, right: float, seed: int):
    random = np.random.default_rng(seed)
    gains = (random.random(30) < right).astype(float)
    brier = -random.random(30) * (2 - gains)
    bills = np.full(30, float(bill))
    return by_hand.point(bill, gains.mean(), gains=gains, neg_brier=brier, bills=bills)


sold_points = st.lists(
    st.builds(random_point, st.integers(1, 9), st.floats(0.3, 1.0), st.integers(0, 10**6)),
    max_size=6,
)
free_points = st.builds(random_point, st.just(0), st.floats(0.3, 0.7), st.integers(0, 10**6))


@given(sold_points, free_points)
def test_a_budget_that_excludes_something_never_buys_what_is_dearer_and_no_better(
    sold, free
) -> None:
    found = curve(free, *sold, by_hand.point(99, 1, gains=np.ones(30), neg_brier=np.zeros(30)))
    chosen = choose(found, 98)
    assert chosen is free or is_clear(chosen.gains - free.gains)
    assert chosen is free or is_clear(chosen.smooth_gains - free.smooth_gains)
    assert chosen in found.choices
    cheaper = [point for point in sold if point.bill < chosen.bill]
    assert all(point.smooth_quality < chosen.smooth_quality for point in cheaper)


@given(sold_points, free_points)
def test_where_money_is_no_object_the_strongest_point_is_chosen(sold, free) -> None:
    found = curve(free, *sold)
    frugal = choose(curve(free, *sold, by_hand.point(99, 0, gains=np.zeros(30))), 98)
    chosen = choose(found, 9)
    assert chosen is choose(found, math.inf)
    assert chosen is free or is_clear(chosen.gains - free.gains)
    assert chosen is free or is_clear(chosen.smooth_gains - free.smooth_gains)
    if chosen is not free and chosen is not frugal:
        assert chosen.bill == max(point.bill for point in sold)
        assert not is_clear(frugal.smooth_gains - chosen.smooth_gains, errors=40 / math.sqrt(30))


def with_hits(bill, hits, **changes):
    gains = np.zeros(100)
    gains[list(hits)] = 1.0
    return by_hand.point(bill, gains.mean(), gains=gains, bills=np.full(100, bill), **changes)


FREE, FRUGAL, STRONG = (
    with_hits(0, range(50)), with_hits(2, range(10, 92)), with_hits(9, range(18, 98))
)  # fmt: skip


def test_a_point_that_seems_a_little_worse_is_taken_for_the_strongest() -> None:
    # 82 and 80 rows of 100 are right.
    assert choose(curve(FREE, FRUGAL, STRONG), 9) is STRONG
    assert choose(curve(FREE, FRUGAL, STRONG), 8.9) is FRUGAL


def test_on_many_rows_a_cheaper_point_is_better_by_less_than_luck_is_on_few() -> None:
    many = [
        replace(each, gains=np.tile(each.gains, 16), bills=np.tile(each.bills, 16))
        for each in (FREE, FRUGAL, STRONG)
    ]
    assert choose(curve(*many), 9) is many[1]


def test_a_point_that_buys_the_most_and_is_clearly_worse_is_not_chosen() -> None:
    overfitted = with_hits(9, range(10, 70))
    assert choose(curve(FREE, FRUGAL, overfitted), 99) is FRUGAL


def test_the_strongest_is_the_best_of_the_dearest_points_of_the_learners() -> None:
    other = with_hits(30, range(20, 90), learner="other")
    assert choose(curve(FREE, FRUGAL, STRONG, other), 99) is STRONG


def test_where_money_is_no_object_a_cheaper_alternative_is_named_with_its_budget() -> None:
    found = curve(FREE, FRUGAL, STRONG)
    cheaper = cheaper_alternative(found.with_chosen(STRONG), math.inf)
    assert cheaper == (FRUGAL, 2.0)
    assert choose(found, cheaper.budget) is FRUGAL


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_the_budget_of_an_alternative_is_rounded_up(confidence) -> None:
    varied = by_hand.point(
        2.0, FRUGAL.quality, gains=FRUGAL.gains, bills=np.tile([1.11115, 2.88892], 50), ceiling=3.0
    )
    found = curve(varied, STRONG)
    cheaper = cheaper_alternative(found.with_chosen(STRONG), math.inf, confidence)
    assert cheaper is not None and cheaper.point is varied
    assert cheaper.budget == float(f"{cheaper.budget:.3g}") >= 2.0


def test_there_is_no_alternative_to_a_point_that_is_clearly_the_best() -> None:
    best = with_hits(9, range(100))
    found = curve(FREE, FRUGAL, best).with_chosen(best)
    assert cheaper_alternative(found, math.inf) is None


def test_a_budget_that_excludes_something_needs_no_alternative() -> None:
    found = curve(FREE, FRUGAL, STRONG).with_chosen(FRUGAL)
    assert cheaper_alternative(found, 8.9) is None


# --- where errors have costs -------------------------------------------------


def costly(bill, actual, expected=None):
    """Make a point from what its answers cost on each row, and what they were expected to."""
    actual = np.asarray(actual, dtype=float)
    expected = actual if expected is None else np.asarray(expected, dtype=float)
    return by_hand.point(
        bill, -actual.mean(), bills=np.full(len(actual), float(bill)), gains=-actual,
        totals=bill + (actual + expected) / 2, actual_total=float(bill + actual.mean()),
    )  # fmt: skip


def test_a_model_that_is_too_sure_of_itself_is_not_bought() -> None:
    # Its answers are those of the constant; it only expects them to be cheaper.
    errors = np.tile([0.0, 0.0, 0.0, 200.0], 50)
    free, sure = costly(0, errors, np.full(200, 50.0)), costly(2, errors, np.full(200, 10.0))
    assert sure.totals.mean() < free.totals.mean()
    assert choose(curve(free, sure), 99) is free
    # Nor does it stand in the way of one that saves money.
    saves = costly(3, np.tile([0.0, 0.0, 0.0, 0.0, 200.0], 40), np.full(200, 30.0))
    assert choose(curve(free, sure, saves), 99) is saves


def test_a_saving_within_noise_is_not_worth_money() -> None:
    errors = np.zeros(100)
    errors[:10] = 100.0
    fewer = np.roll(errors, 50)  # on other rows, and three less
    fewer[50:53] = 0.0
    free, bought = costly(0, errors), costly(0.5, fewer)
    assert bought.actual_total < free.actual_total
    assert choose(curve(free, bought), 99) is free


def test_of_totals_that_are_level_the_cheaper_point_is_chosen() -> None:
    errors = np.zeros(400)
    errors[:100] = 100.0
    free, cheap = costly(0, np.full(400, 90.0)), costly(1, errors)
    dear = costly(20, np.roll(errors, 7) * 0.235)  # 26.5 and 25.9, on partly other rows
    assert dear.totals.mean() < cheap.totals.mean()
    assert choose(curve(free, cheap, dear), 99) is cheap
    clear = costly(20, np.zeros(400))
    assert choose(curve(free, cheap, clear), 99) is clear


costs_of_rows = st.integers(0, 10**6).map(
    lambda seed: np.random.default_rng(seed).choice([0.0, 5.0, 50.0], size=12)
)


@given(
    st.lists(st.tuples(st.integers(1, 9), costs_of_rows, costs_of_rows), max_size=6),
    costs_of_rows,
    costs_of_rows,
)
def test_nothing_is_sold_that_does_not_save_what_it_costs(sold, actual, expected) -> None:
    free = costly(0, actual, expected)
    points = [costly(*each) for each in sold]
    chosen = choose(curve(free, *points), 99)
    assert chosen is free or chosen.actual_total < free.actual_total
    # Never a dearer point whose total is no lower, of those that save something.
    saves = [p for p in points if p.bill < chosen.bill and p.actual_total < free.actual_total]
    ahead = [(p, free.totals - p.totals) for p in saves]
    clear = [p for p, gain in ahead if gain.mean() > 1.001 * gain.std(ddof=1) / math.sqrt(12)]
    assert all(p.totals.mean() > chosen.totals.mean() for p in clear)


def test_choices_are_the_frontier_where_there_is_no_brier_score() -> None:
    found = curve(by_hand.point(0, 0.5), by_hand.point(2, 0.9), by_hand.point(3, 0.8))
    assert found.choices == found.frontier


def test_bills_of_single_folds_are_taken_to_be_too_low() -> None:
    bills = np.tile([1.0, 3.0], 2000)
    points = [by_hand.point(0, 0.5), by_hand.point(2, 0.9, bills=bills, ceiling=9.0)]
    budget = 2.08
    assert len(affordable(curve(*points), budget)) == 2
    assert len(affordable(curve(*points, cross_fitted=True), budget)) == 1
    assert len(affordable(curve(*points, cross_fitted=True), 9.0)) == 2  # the ceiling
