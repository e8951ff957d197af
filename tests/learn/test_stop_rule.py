"""Stopping: dynamic programming finds the limits that brute force finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.learn.ladder.stopping import Evidence

SEEDS = st.integers(0, 2**32 - 1)
MONEY = st.sampled_from([0.0, 0.03, 0.1, 0.3, 2.0])


def draw(seed, rungs, n=12):
    """Few different doubts, so that many rows tie."""
    rng = np.random.default_rng(seed)
    doubt = rng.integers(0, 6, size=(rungs, n)) / 10
    loss = (rng.random((rungs, n)) < doubt).astype(float)
    bill = np.cumsum(rng.integers(0, 4, size=(rungs, n)), axis=0).astype(float)
    return Evidence(doubt, loss, bill, rng.integers(1, 4, size=n).astype(float))


def cost(evidence, limits, money, first=0):
    """Weighted cost of rows that start on rung `first`, row by row."""
    total = 0.0
    for i, weight in enumerate(evidence.weight):
        r = first
        while r < len(limits) - 1 and evidence.doubt[r, i] > limits[r]:
            r += 1
        total += weight * (evidence.loss[r, i] + money * evidence.bill[r, i])
    return total


def candidates(doubt):
    values = np.unique(doubt)
    return [-np.inf, *((values[1:] + values[:-1]) / 2), np.inf]


@given(SEEDS, MONEY)
def test_one_limit_is_the_best_of_all(seed, money):
    evidence = draw(seed, 2)
    found = evidence.limits(money)
    least = min(cost(evidence, [limit, np.inf], money) for limit in candidates(evidence.doubt[0]))
    assert cost(evidence, found, money) == pytest.approx(least)


@given(SEEDS, MONEY)
def test_each_limit_is_the_best_given_the_later_ones(seed, money):
    evidence = draw(seed, 4)
    found = evidence.limits(money)
    for r in range(3):
        tried = [
            cost(evidence, [*found[:r], limit, *found[r + 1 :]], money, first=r)
            for limit in candidates(evidence.doubt[r])
        ]
        assert cost(evidence, found, money, first=r) == pytest.approx(min(tried))


@given(SEEDS)
def test_dear_money_stops_sooner(seed):
    evidence = draw(seed, 2)
    limits = [evidence.limits(money)[0] for money in (0.0, 0.1, 0.5, 10.0)]
    assert limits == sorted(limits)


def test_two_sets_of_rows_count_as_one():
    one, other = draw(1, 3), draw(2, 3)
    both = one + other
    assert both.doubt.shape == (3, 24) and both.weight.shape == (24,)
    np.testing.assert_array_equal(both.loss, np.hstack([one.loss, other.loss]))


def test_rows_of_equal_doubt_stop_together():
    doubt = np.array([[0.3, 0.3, 0.3], [0.0, 0.0, 0.0]])
    loss = np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    bill = np.array([[0.0] * 3, [1.0] * 3])
    assert Evidence(doubt, loss, bill, np.ones(3)).limits(0.5).tolist() == [-np.inf, np.inf]
    assert Evidence(doubt, loss, bill, np.ones(3)).limits(0.8).tolist() == [np.inf, np.inf]


def test_the_last_limit_stops_everyone():
    assert draw(3, 3).limits(0.1)[-1] == np.inf
