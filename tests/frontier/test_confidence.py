"""The promise: bounds with the values that they must have, and kept as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.frontier.confidence import bernstein_bound, keeps, observations, upper_bound

MIXTURES = {
    "two values": ([1.0, 9.0], [0.7, 0.3]),
    "a rare dear row": ([0.5, 10.0], [0.97, 0.03]),
    "near the ceiling": ([7.0, 10.0], [0.1, 0.9]),
    "narrow": ([4.0, 4.5, 5.0], [0.3, 0.4, 0.3]),
}


def plain_bound(bills, confidence, ceiling):
    """The betting bound, one bet after the other, over a fine grid of means."""
    order = np.random.default_rng(0).permutation(len(bills))
    shares = [bills[i] / ceiling for i in order]
    n, goal = len(shares), 1 / (1 - confidence)
    for mean in np.linspace(1.0, 0.0, 4001)[1:]:
        wealth, reached = 1.0, False
        total, squares, variance = 0.5, 0.25, 0.25
        for t, x in enumerate(shares, start=1):
            stake = math.sqrt(2 * math.log(goal) / (n * variance))
            wealth *= 1 - min(stake, 0.9 / (1 - mean)) * (x - mean)
            reached |= wealth >= goal
            total += x
            squares += (x - total / (t + 1)) ** 2
            variance = squares / (t + 1)
        if not reached:
            return mean * ceiling
    return 0.0


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_the_bound_is_that_of_the_plain_computation(name, confidence) -> None:
    values, chances = MIXTURES[name]
    bills = np.random.default_rng(1).choice(values, p=chances, size=60)
    found = upper_bound(bills, confidence, 10.0)
    assert found == pytest.approx(plain_bound(bills, confidence, 10.0), abs=10 / 3000)


def test_the_bernstein_bound_has_its_published_form() -> None:
    bills = np.array([0.0, 2.0, 4.0, 2.0] * 50)
    n, log = 200, math.log(2 / 0.05)
    variance = 2.0 * n / (n - 1)
    due = 2.0 + math.sqrt(2 * variance * log / n) + 7 * 10 * log / (3 * (n - 1))
    assert bernstein_bound(bills, 0.95, 10.0) == pytest.approx(due)
    assert bernstein_bound(bills[:1], 0.95, 10.0) == 10.0


@pytest.mark.parametrize("bound", [upper_bound, bernstein_bound])
@pytest.mark.parametrize("name", MIXTURES)
def test_the_mean_exceeds_the_bound_no_more_often_than_said(bound, name) -> None:
    values, chances = MIXTURES[name]
    mean = float(np.dot(values, chances))
    rng = np.random.default_rng(0)
    draws = 600
    for n in (20, 150):
        broken = sum(
            bound(rng.choice(values, p=chances, size=n), 0.9, 10.0) < mean for _ in range(draws)
        )
        # Four standard errors above one in ten.
        assert broken / draws <= 0.1 + 4 * math.sqrt(0.1 * 0.9 / draws)


@pytest.mark.parametrize("name", MIXTURES)
def test_the_bet_bounds_closer_than_bernstein(name) -> None:
    values, chances = MIXTURES[name]
    bills = np.random.default_rng(3).choice(values, p=chances, size=300)
    assert bills.mean() < upper_bound(bills, 0.95, 10.0) < bernstein_bound(bills, 0.95, 10.0)


bills_of = st.lists(st.floats(0, 10), min_size=1, max_size=40).map(np.array)


@given(bills_of, st.sampled_from([0.5, 0.9, 0.99]))
def test_a_bound_lies_between_the_mean_and_the_ceiling(bills, confidence) -> None:
    bound = upper_bound(bills, confidence, 10.0)
    assert bills.mean() - 1e-9 <= bound <= 10.0
    assert upper_bound(bills, confidence, 20.0) >= bound - 1e-9
    assert upper_bound(2 * bills, confidence, 20.0) == pytest.approx(2 * bound, abs=1e-9)


@given(bills_of, st.floats(0.1, 12), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_budget_is_kept_when_the_bound_is_within_it(bills, budget, confidence) -> None:
    bound = upper_bound(bills, confidence, 10.0)
    if abs(bound - budget) > 1e-6:
        assert keeps(bills, budget, confidence, 10.0) == (bound <= budget)


def test_what_cannot_cost_more_needs_no_rows() -> None:
    assert keeps(np.array([2.0]), 2.0, 0.999, ceiling=2.0)
    assert upper_bound(np.array([0.0, 0.0]), 0.95, ceiling=0.0) == 0.0
    assert not keeps(np.zeros(50), 0.0, 0.95, ceiling=1.0)


def test_the_order_of_the_rows_is_shuffled_the_same_way_each_time() -> None:
    bills = np.sort(np.random.default_rng(0).choice([1.0, 9.0], size=200))
    assert upper_bound(bills, 0.95, 10.0) == upper_bound(bills.copy(), 0.95, 10.0)
    # A sorted table is no easier or harder than its reverse, but for the luck of the shuffle.
    assert upper_bound(bills[::-1], 0.95, 10.0) == pytest.approx(
        upper_bound(bills, 0.95, 10.0), rel=0.1
    )


def test_clusters_are_observed_by_their_means() -> None:
    bills, clusters = np.array([1.0, 3.0, 7.0]), np.array([0, 0, 1])
    assert observations(bills, clusters).tolist() == [2.0, 7.0]
    assert observations(bills, None) is bills


@pytest.mark.parametrize("confidence", [0, 1, -0.5, math.nan])
@pytest.mark.parametrize("ask", [upper_bound, bernstein_bound])
def test_a_confidence_is_between_0_and_1(ask, confidence) -> None:
    with pytest.raises(ValueError, match="confidence"):
        ask(np.ones(5), confidence, 1.0)
