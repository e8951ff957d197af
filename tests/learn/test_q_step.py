"""The step over q: optimal by its own conditions, by brute force and by ADMM."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from thrifty.learn.gates.assignment import CONVEX, DISTANCES, KLDistance, SymmetricDistance

SHARES = (0.05, 0.3, 0.7)


def problem(seed, n=30, size=4.0):
    rng = np.random.default_rng(seed)
    return size * rng.normal(size=n), 2.0 * rng.normal(size=n), rng.uniform(0.2, 3.0, size=n)


def objective(distance, q, excess, gate, weight):
    # (1 - q) A + q B without what q does not change.
    return np.average(-q * excess + distance.value(q, gate), weights=weight)


@pytest.mark.parametrize("name", ["kl", "symmetric"])
@given(st.integers(0, 10_000), st.sampled_from(SHARES))
def test_a_step_satisfies_its_optimality_conditions(name, seed, share) -> None:
    distance = DISTANCES[name]
    excess, gate, weight = problem(seed)
    q, multiplier = distance.step(excess, gate, share, weight)
    assert np.average(q, weights=weight) <= share + 1e-9
    assert multiplier >= 0
    # Complementary slackness: a multiplier is paid only where the share binds.
    if multiplier > 0:
        # A row with two valleys jumps from one to the other: the share may miss by that row.
        jumps = name == "symmetric" and np.abs(excess - multiplier).max() > CONVEX
        room = weight.max() / weight.sum() if jumps else 1e-6
        assert np.average(q, weights=weight) >= share - room
    # Stationarity, by differences of the Lagrangian in the log-odds of q.
    s, h = logit(q), 1e-5

    def lagrangian(s):
        p = expit(s)
        return (multiplier - excess) * p + distance.value(p, gate)

    slope = (lagrangian(s + h) - lagrangian(s - h)) / (2 * h)
    np.testing.assert_allclose(slope, 0.0, atol=2e-5)


@pytest.mark.parametrize("name", ["kl", "symmetric"])
@pytest.mark.parametrize("seed", range(5))
def test_no_q_of_a_grid_is_better(name, seed) -> None:
    distance = DISTANCES[name]
    excess, gate, _ = problem(seed, n=3, size=1.5)
    grid = np.linspace(0.002, 0.998, 84)
    every = np.stack(np.meshgrid(grid, grid, grid), axis=-1).reshape(-1, 3)
    for share in SHARES:
        q, multiplier = distance.step(excess, gate, share)
        if name == "symmetric" and np.abs(excess - multiplier).max() > CONVEX:
            continue  # rows with two valleys: one multiplier need not find the best of all
        allowed = every[every.mean(axis=1) <= share]
        values = (-allowed * excess + distance.value(allowed, gate)).mean(axis=1)
        assert objective(distance, q, excess, gate, None) <= values.min() + 1e-12


def admm(excess, gate, share, rounds=400, rho=5.0):
    """Nan 2018, appendix A.1: rows apart, the share as a half-space, and prices that make them agree."""
    n = len(excess)
    z, u = np.full(n, share), np.zeros(n)
    grid = np.linspace(-12.0, 12.0, 4001)[:, np.newaxis]
    values = -expit(grid) * excess + (grid - gate) ** 2
    for _ in range(rounds):
        pulled = values + 0.5 * rho * (expit(grid) - z + u) ** 2
        q = expit(grid[pulled.argmin(axis=0), 0])
        z = q + u
        z = z - max(z.mean() - share, 0.0)
        u = u + q - z
    return q


@pytest.mark.parametrize("seed", [0, 1])
def test_the_symmetric_step_is_that_of_admm(seed) -> None:
    excess, gate, _ = problem(seed, n=12, size=2.0)
    ours = SymmetricDistance().step(excess, gate, 0.3).q
    np.testing.assert_allclose(ours, admm(excess, gate, 0.3), atol=0.002)


def test_rows_with_two_valleys_find_the_deeper_one() -> None:
    # So strong a force against so high a gate: both staying and going are stationary.
    gate = np.array([6.0, 5.0, 7.0, -6.0])
    excess = np.array([-60.0, -30.0, -200.0, 80.0])
    q = SymmetricDistance().chances(excess, gate, 0.0)
    grid = np.linspace(-20, 20, 400_001)[:, np.newaxis]
    least = (-excess * expit(grid) + (grid - gate) ** 2).min(axis=0)
    found = -excess * q + SymmetricDistance().value(q, gate)
    np.testing.assert_allclose(found, least, atol=1e-6)


@pytest.mark.parametrize("name", ["kl", "symmetric"])
def test_pull_and_curve_are_the_differences_of_the_distance(name) -> None:
    distance = DISTANCES[name]
    q, gate = np.array([0.1, 0.5, 0.97]), np.array([-2.0, 0.3, 1.0])
    h = 1e-5
    ahead, behind = distance.value(q, gate + h), distance.value(q, gate - h)
    np.testing.assert_allclose(distance.pull(q, gate), -(ahead - behind) / (2 * h), atol=1e-8)
    bend = (ahead - 2 * distance.value(q, gate) + behind) / h**2
    np.testing.assert_allclose(distance.slopes(q, gate)[1], bend, atol=1e-4)
    weight = np.array([1.0, 2.0, 1.0])
    level = distance.level(q, weight)
    around = [
        np.average(distance.value(q, np.full(3, level + step)), weights=weight)
        for step in (-0.01, 0.0, 0.01)
    ]
    assert around[1] < min(around[0], around[2])


def test_a_share_that_does_not_bind_costs_nothing() -> None:
    q, multiplier = KLDistance().step(np.full(4, -5.0), np.full(4, -5.0), 0.9)
    assert multiplier == 0.0
    np.testing.assert_allclose(q, expit(-10.0))
