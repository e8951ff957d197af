"""Pacing: the budget is held under drift, ceilings are never exceeded, states are resumed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import DataError
from thrifty.serve import OperatingPoint, Pacer, Ticket

BILLS = np.concatenate([[0.0], np.geomspace(0.5, 50.0, 19)])
POINTS = [OperatingPoint(bill, math.log1p(bill), 10 * bill) for bill in BILLS.tolist()]
BUDGET = 5.0


def served_bills(pacer: Pacer, factors: np.ndarray, delay: int = 0) -> np.ndarray:
    """Serve a case per factor of the published bills; bills arrive `delay` cases late."""
    noise = np.random.default_rng(0).gamma(1.5, 1 / 1.5, len(factors))
    bills, tickets = np.empty(len(factors)), []
    for t, factor in enumerate(factors):
        tickets.append(pacer.choose())
        bills[t] = min(BILLS[tickets[t].index] * factor * noise[t], tickets[t].cap)
        if t >= delay:
            pacer.settle(tickets[t - delay], bills[t - delay])
    return bills


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("delay", [0, 100])
def test_the_mean_bill_stays_at_the_budget_when_bills_shift(factor, delay):
    factors = np.repeat([1.0, factor], 4000)
    bills = served_bills(Pacer(POINTS, BUDGET), factors, delay)
    assert bills.mean() == pytest.approx(BUDGET, rel=0.01)
    assert bills[-2000:].mean() == pytest.approx(BUDGET, rel=0.04)


def test_without_a_pacer_the_same_shift_overspends():
    pacer = Pacer(POINTS, BUDGET, step=1e-9)
    bills = served_bills(pacer, np.repeat([1.0, 1.5], 4000))
    assert bills[-2000:].mean() > 1.2 * BUDGET


@given(st.lists(st.floats(0.0, 60.0), max_size=300), st.integers(0, 299), st.integers(0, 20))
def test_what_is_spent_beyond_the_budget_is_bounded_over_any_run_of_cases(bills, first, delay):
    """The steps of the log price add up, whatever the cases cost (the free point costs nothing)."""
    pacer = Pacer(POINTS, BUDGET)
    spent, tickets = [], []
    for t, bill in enumerate(bills):
        tickets.append(pacer.choose())
        spent.append(bill if BILLS[tickets[t].index] else 0.0)
        if t >= delay:
            pacer.settle(tickets[t - delay], spent[t - delay])
    slopes = np.diff(np.log1p(BILLS)) / np.diff(BILLS)
    width = math.log(slopes.max() / slopes.min()) + pacer.step
    # A bill that was paid but has not arrived yet cannot have been counted.
    largest = (delay + 1) * 60.0
    assert sum(spent[first:]) - BUDGET * len(spent[first:]) <= (
        BUDGET * width / pacer.step + largest
    )


def test_points_below_the_hull_are_never_served():
    points = [OperatingPoint(0, 0.5), OperatingPoint(1, 0.55), OperatingPoint(2, 0.9)]
    pacer = Pacer([*points, OperatingPoint(3, 0.9)], budget=1)
    for _ in range(200):
        ticket = pacer.choose()
        pacer.settle(ticket, pacer.points[ticket.index].bill)
    served = pacer.metrics()["by_point"]
    assert served == [100, 0, 100, 0]


def test_a_slack_budget_serves_the_best_point_and_does_not_save_up():
    pacer = Pacer(POINTS, budget=100.0)
    for _ in range(1000):
        ticket = pacer.choose()
        assert ticket.index == len(POINTS) - 1
        pacer.settle(ticket, 50.0)
    before = pacer.metrics()["cost_weight"]
    for _ in range(5):  # five bills of three budgets, and it is careful at once
        pacer.settle(pacer.choose(), 300.0)
    assert pacer.metrics()["cost_weight"] > before
    assert pacer.choose().index < len(POINTS) - 1


def test_a_single_point_is_always_served():
    pacer = Pacer([OperatingPoint(2, 0.9)], budget=3)
    assert [pacer.choose().index for _ in range(3)] == [0, 0, 0]


@given(
    st.lists(st.tuples(st.sampled_from(["choose", "settle", "wait"]), st.floats(0, 1))),
    st.floats(0, 40),
    st.floats(0, 200),
)
def test_no_ceiling_is_ever_exceeded(actions, per_minute, per_day):
    now = [0.0]
    pacer = Pacer(POINTS, BUDGET, per_minute=per_minute, per_day=per_day, clock=lambda: now[0])
    open_tickets: list[tuple[Ticket, int, int]] = []
    minutes: dict[int, float] = {}
    days: dict[int, float] = {}
    for action, amount in actions:
        minute, day = int(now[0] // 60), int(now[0] // 86_400)
        if action == "wait":
            now[0] += amount * 90 if amount < 0.9 else 86_400
        elif action == "choose":
            open_tickets.append((pacer.choose(), minute, day))
        elif open_tickets:
            ticket, minute, day = open_tickets.pop(0)
            spent = amount * ticket.cap
            pacer.settle(ticket, spent)
            minutes[minute] = minutes.get(minute, 0.0) + spent
            days[day] = days.get(day, 0.0) + spent
    for totals, ceiling in ((minutes, per_minute), (days, per_day)):
        assert max(totals.values(), default=0.0) <= ceiling * (1 + 1e-12)


def test_a_case_under_a_full_ceiling_gets_only_the_free_answer():
    points = [OperatingPoint(4, 0.9, largest=6)]
    pacer = Pacer(points, budget=5, per_minute=10, clock=lambda: 0.0)
    caps = [pacer.choose().cap for _ in range(3)]
    assert caps == [6, 4, 0]
    assert pacer.metrics()["limited"] == 2


def test_what_a_case_did_not_spend_is_free_for_others_in_the_same_window():
    pacer = Pacer([OperatingPoint(4, 0.9, largest=6)], budget=5, per_day=6, clock=lambda: 0.0)
    pacer.settle(pacer.choose(), 2.0)
    assert pacer.choose().cap == 4.0


def test_a_new_window_starts_with_nothing_spent():
    now = [0.0]
    points = [OperatingPoint(4, 0.9, largest=6)]
    pacer = Pacer(points, budget=5, per_minute=6, clock=lambda: now[0])
    ticket = pacer.choose()
    now[0] = 61.0
    assert pacer.metrics()["committed"] == {"minute": 0.0}
    pacer.settle(ticket, 6.0)  # belongs to the minute before
    assert pacer.choose().cap == 6.0


def test_the_metrics_compare_what_was_spent_with_what_was_expected():
    pacer = Pacer([OperatingPoint(4, 0.9)], budget=5)
    pacer.settle(pacer.choose(), 6.0)
    pacer.choose()
    metrics = pacer.metrics()
    assert (metrics["cases"], metrics["open"], metrics["mean_spent"]) == (2, 1, 6.0)
    assert (metrics["spent"], metrics["expected"], metrics["budget"]) == (6.0, 4.0, 5.0)


def same_metrics(one: Pacer, other: Pacer) -> bool:
    """Whether all figures of two pacers agree, but for rounding."""
    mine, its = one.metrics(), other.metrics()
    mine_weight, its_weight = mine.pop("cost_weight"), its.pop("cost_weight")
    return mine == its and mine_weight == pytest.approx(its_weight)


def shared_round(pacer: Pacer, state, **options):
    """Exchange a state once, as one that is stored by one process at a time."""
    state, changes = pacer.merge(state, **options)
    pacer.adopt(state, changes)
    return state


def test_a_pacer_goes_on_from_its_state():
    first = Pacer(POINTS, BUDGET)
    served_bills(first, np.full(500, 1.5))
    second = Pacer(POINTS, BUDGET)
    shared_round(second, shared_round(first, None))
    assert [first.choose() for _ in range(50)] == [second.choose() for _ in range(50)]


def test_two_pacers_together_take_the_steps_of_one():
    one, pair = Pacer(POINTS, BUDGET), [Pacer(POINTS, BUDGET) for _ in range(2)]
    state = None
    for pacer in pair:
        state = shared_round(pacer, state)
    rng = np.random.default_rng(0)
    for t in range(400):
        bill = 10 * rng.random()
        pacer = pair[t % 2]
        one.settle(one.choose(), bill)
        pacer.settle(pacer.choose(), bill)
        state = shared_round(pacer, state)
    assert pair[1].metrics()["cost_weight"] == pytest.approx(one.metrics()["cost_weight"])
    assert pair[1].choose().expected == pytest.approx(one.choose().expected, rel=0.01)


def test_what_happens_while_a_state_is_stored_is_kept():
    pacer, other = Pacer(POINTS, BUDGET), Pacer(POINTS, BUDGET)
    pacer.settle(pacer.choose(), 9.0)
    state, changes = pacer.merge(None)
    pacer.settle(pacer.choose(), 2.0)
    pacer.adopt(state, changes)
    pacer.adopt(*pacer.merge(state))
    for bill in (9.0, 2.0):
        other.settle(other.choose(), bill)
    assert pacer.metrics()["cost_weight"] == pytest.approx(other.metrics()["cost_weight"])


def test_a_state_that_could_not_be_stored_is_merged_again():
    pacer, other = Pacer(POINTS, BUDGET), Pacer(POINTS, BUDGET)
    for each in (pacer, other):
        each.settle(each.choose(), 9.0)
    pacer.merge({"log_price": 5.0, "real": 1.0, "published": 1.0, "grants": {}})  # lost
    assert shared_round(pacer, None) == shared_round(other, None)


def test_pacers_that_share_a_ceiling_hold_it_together():
    now = [0.0]
    pacers = [
        Pacer(POINTS, BUDGET, per_minute=100.0, shared=True, clock=lambda: now[0]) for _ in range(3)
    ]
    state, reserved = None, 0.0
    for t in range(300):
        pacer = pacers[t % 3]
        if pacer.lacks_grants:
            state = shared_round(pacer, state)
        reserved += pacer.choose().cap
    assert 99.0 < reserved <= 100.0
    assert all(pacer.metrics()["limited"] for pacer in pacers)
    now[0] = 60.0
    assert pacers[0].lacks_grants
    state = shared_round(pacers[0], state)
    assert pacers[0].choose().cap > 0


def test_a_pacer_that_closes_gives_back_what_it_did_not_spend():
    pacers = [Pacer(POINTS, BUDGET, per_day=100.0, shared=True, clock=lambda: 0.0) for _ in "ab"]
    state = shared_round(pacers[0], None)
    before = state["grants"]["day"][1]
    ticket = pacers[0].choose()
    pacers[0].settle(ticket, 3.0)
    state, _ = pacers[0].merge(state, closing=True)
    assert before > 3.0 and state["grants"]["day"] == [0, 3.0]


def test_a_cap_of_the_case_is_all_that_it_reserves():
    pacer = Pacer(POINTS, BUDGET, per_day=100.0)
    assert pacer.choose(most=2.0).cap == 2.0
    assert pacer.metrics()["committed"]["day"] == 2.0
    assert pacer.metrics()["limited"] == 0


def test_a_case_that_may_go_on_keeps_what_it_has_reserved():
    pacer = Pacer(POINTS, BUDGET, per_day=100.0)
    ticket = pacer.choose(most=9.0)
    pacer.settle(ticket, 2.0, may_go_on=True)
    assert pacer.metrics()["committed"]["day"] == 9.0


def test_a_cancelled_case_leaves_nothing_behind():
    pacer, other = Pacer(POINTS, BUDGET, per_day=100.0), Pacer(POINTS, BUDGET, per_day=100.0)
    pacer.settle(pacer.choose(), 4.0)
    other.settle(other.choose(), 4.0)
    pacer.cancel(pacer.choose())
    assert same_metrics(pacer, other)


def test_a_case_that_ends_elsewhere_counts_with_what_it_spent():
    first, second, alone = (Pacer(POINTS, BUDGET) for _ in range(3))
    ticket = first.choose()
    state = shared_round(first, None)
    shared_round(second, state)
    second.settle(second.ticket(ticket.index), 30.0)
    alone.settle(alone.choose(), 30.0)
    assert second.metrics()["cost_weight"] == pytest.approx(alone.metrics()["cost_weight"])
    assert (second.metrics()["spent"], second.metrics()["open"]) == (30.0, 0)


def test_a_reopened_case_counts_once():
    pacer, alone = Pacer(POINTS, BUDGET), Pacer(POINTS, BUDGET)
    ticket = pacer.choose()
    pacer.settle(ticket, 3.0)
    pacer.reopen(ticket.index, 3.0)
    assert pacer.metrics()["open"] == pacer.metrics()["cases"] == 0
    pacer.settle(pacer.ticket(ticket.index), 8.0)
    alone.settle(alone.choose(), 8.0)
    assert pacer.metrics()["cost_weight"] == pytest.approx(alone.metrics()["cost_weight"], rel=1e-3)
    assert (pacer.metrics()["spent"], pacer.metrics()["cases"]) == (8.0, 1)


def test_a_correction_is_as_if_the_bill_had_been_so():
    late, right = Pacer(POINTS, BUDGET), Pacer(POINTS, BUDGET)
    late.settle(late.choose(), 4.0)
    late.correct(-3.0)
    right.settle(right.choose(), 1.0)
    assert same_metrics(late, right)
    assert late.choose().expected == pytest.approx(right.choose().expected)


@pytest.mark.parametrize(
    "change",
    [
        {"log_price": "high"},
        {"log_price": math.inf},
        {"real": -1.0},
        {"grants": 5},
        {"grants": {"day": [1]}},
        {"grants": {"day": [1, math.nan]}},
        {"more": 1},
    ],
)
def test_a_damaged_state_is_refused(change):
    pacer = Pacer(POINTS, BUDGET, per_day=10.0)
    state, _ = pacer.merge(None)
    with pytest.raises(DataError, match="the state of the pacer"):
        pacer.merge({**state, **change})


def test_all_problems_are_reported_at_once():
    points = [OperatingPoint(-1, 0.5), OperatingPoint(1, math.nan, largest=-2)]
    with pytest.raises(DataError) as caught:
        Pacer(points, budget=math.nan, step=2, per_minute=-1)
    message = str(caught.value)
    for problem in ("points[0]", "quality nan", "largest bill", "budget", "step", "per_minute"):
        assert problem in message


@pytest.mark.parametrize("budget", [0.0, 1.0])
def test_a_budget_below_the_cheapest_point_is_refused(budget):
    with pytest.raises(DataError, match="less than the cheapest point"):
        Pacer([OperatingPoint(2, 0.9)], budget)


def test_no_points_are_refused():
    with pytest.raises(DataError, match="there is none"):
        Pacer([], 1.0)


@pytest.mark.parametrize("spent", [-1.0, math.nan, math.inf, "5"])
def test_a_bill_that_is_none_is_refused(spent):
    pacer = Pacer(POINTS, BUDGET)
    with pytest.raises(DataError, match="spent: "):
        pacer.settle(pacer.choose(), spent)
