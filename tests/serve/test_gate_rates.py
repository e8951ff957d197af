"""The rates of an online gate are those of the thesis, and balance the regret bound."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.serve.gate_rates import (
    ETA_FACTOR,
    MIN_GAMMA_FACTOR,
    Rates,
    first_horizon,
    regret_bound,
)


def test_rates_are_those_of_the_thesis() -> None:
    plain = Rates.of(10, 1.0, 5000)
    effort = math.log(10) / 5000
    assert plain.eta == pytest.approx(effort ** (2 / 3))
    assert plain.gamma == pytest.approx(plain.eta**0.5)
    cheap = Rates.of(10, 0.25, 5000)
    assert cheap.eta == pytest.approx(0.25 ** (-1 / 3) * effort ** (2 / 3))
    assert cheap.gamma == pytest.approx(0.25 ** (-2 / 3) * effort ** (1 / 3))
    assert Rates.of(10, 0.01, 10).gamma == 1.0


@given(k=st.integers(2, 100), cost=st.floats(0.05, 1), horizon=st.integers(10_000, 10**7))
def test_the_three_parts_of_the_bound_are_equal_at_these_rates(k, cost, horizon) -> None:
    rates = Rates.of(k, cost, horizon)
    parts = [
        math.log(k) / rates.eta,
        rates.eta / rates.gamma * horizon,
        cost * rates.gamma * horizon,
    ]
    assert parts == pytest.approx([regret_bound(k, cost, horizon) / 3] * 3)


@given(k=st.integers(2, 100), cost=st.floats(0.05, 1), horizon=st.integers(2_000, 10**7))
def test_the_default_factors_keep_the_bound_of_the_thesis(k, cost, horizon) -> None:
    """Half of the second-order term of eq. 6.2 is enough, as losses are not negative."""
    eta, gamma, _ = Rates.of(k, cost, horizon, 0, ETA_FACTOR, None)
    bound = math.log(k) / eta + eta * horizon / (2 * gamma) + cost * gamma * horizon
    thesis = Rates.of(k, cost, horizon)
    assert gamma == pytest.approx(thesis.gamma * max(MIN_GAMMA_FACTOR, thesis.gamma))
    assert bound <= regret_bound(k, cost, horizon) * (1 + 1e-9)


def test_a_horizon_that_is_too_short_to_learn_in_is_spent_asking() -> None:
    assert Rates.of(16, 0.05, 1000, 0, ETA_FACTOR, None).gamma == 1.0


@pytest.mark.parametrize(("experts", "cost"), [(2, 0.5), (64, 0.5), (10, 0.1)])
def test_before_the_first_horizon_every_round_would_explore(experts, cost) -> None:
    horizon = first_horizon(experts, cost)
    assert Rates.of(experts, cost, horizon).gamma < 1.0
    assert Rates.of(experts, cost, horizon - 1).gamma == 1.0


def test_more_changes_learn_faster_and_redistribute_weight() -> None:
    steady, drifting = Rates.of(8, 0.5, 5000), Rates.of(8, 0.5, 5000, changes=4)
    assert drifting.eta > steady.eta and drifting.gamma > steady.gamma
    assert (steady.share, drifting.share) == (0.0, 4 / 5000)
    assert regret_bound(8, 0.5, 5000, changes=4) > regret_bound(8, 0.5, 5000)
