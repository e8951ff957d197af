"""The assignment step is optimal: by its conditions, by brute force, and by ADMM."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from thrifty.learn.gates.assignment import (
    DISTANCES,
    MAX_CONVEX_FORCE,
    KLDistance,
    SymmetricDistance,
)

SHARES = (0.05, 0.3, 0.7)


def draw_problem(seed, n=30, size=4.0):
    rng = np.random.default_rng(seed)
    return size * rng.normal(size=n), 2.0 * rng.normal(size=n), rng.uniform(0.2, 3.0, size=n)


def objective(distance, q, excess, gate, weight):
    # (1 - q) A + q B, without the terms that do not depend on q.
    return np.average(-q * excess + distance.value(q, gate), weights=weight)


@pytest.mark.parametrize("name", ["kl", "symmetric"])
@given(st.integers(0, 10_000), st.sampled_from(SHARES))
def test_an_assignment_satisfies_its_optimality_conditions(name, seed, share) -> None:
    distance = DISTANCES[name]
    excess, gate, weight = draw_problem(seed)
    q, multiplier = distance.assign(excess, gate, share, weight)
    assert np.average(q, weights=weight) <= share + 1e-9
    assert multiplier >= 0
    # Complementary slackness: the multiplier is positive only if the constraint is active.
    if multiplier > 0:
        # A row with two minima jumps from one to the other: the share may miss by that row.
        jumps = name == "symmetric" and np.abs(excess - multiplier).max() > MAX_CONVEX_FORCE
        slack = weight.max() / weight.sum() if jumps else 1e-6
        assert np.average(q, weights=weight) >= share - slack
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
    excess, gate, _ = draw_problem(seed, n=3, size=1.5)
    grid = np.linspace(0.002, 0.998, 84)
    every = np.stack(np.meshgrid(grid, grid, grid), axis=-1).reshape(-1, 3)
    for share in SHARES:
        q, multiplier = distance.assign(excess, gate, share)
        if name == "symmetric" and np.abs(excess - multiplier).max() > MAX_CONVEX_FORCE:
            continue  # rows with two minima: one multiplier need not find the global one
        allowed = every[every.mean(axis=1) <= share]
        values = (-allowed * excess + distance.value(allowed, gate)).mean(axis=1)
        assert objective(distance, q, excess, gate, None) <= values.min() + 1e-12


def admm(excess, gate, share, rounds=400, rho=5.0):
    """Solve OPT5 as Nan 2018, appendix A.1, does: rows apart, and the share as a half-space."""
    n = len(excess)
    z, u = np.full(n, share), np.zeros(n)
    grid = np.linspace(-12.0, 12.0, 4001)[:, np.newaxis]
    values = -expit(grid) * excess + (grid - gate) ** 2
    for _ in range(rounds):
        augmented = values + 0.5 * rho * (expit(grid) - z + u) ** 2
        q = expit(grid[augmented.argmin(axis=0), 0])
        z = q + u
        z = z - max(z.mean() - share, 0.0)
        u = u + q - z
    return q


@pytest.mark.parametrize("seed", [0, 1])
def test_the_symmetric_assignment_is_that_of_admm(seed) -> None:
    excess, gate, _ = draw_problem(seed, n=12, size=2.0)
    q = SymmetricDistance().assign(excess, gate, 0.3).q
    np.testing.assert_allclose(q, admm(excess, gate, 0.3), atol=0.002)


def test_rows_with_two_minima_find_the_lower_one() -> None:
    # The force is so strong against so high a gate that both staying and going are stationary.
    gate = np.array([6.0, 5.0, 7.0, -6.0])
    excess = np.array([-60.0, -30.0, -200.0, 80.0])
    q = SymmetricDistance().best_q(excess, gate, 0.0)
    grid = np.linspace(-20, 20, 400_001)[:, np.newaxis]
    lowest = (-excess * expit(grid) + (grid - gate) ** 2).min(axis=0)
    reached = -excess * q + SymmetricDistance().value(q, gate)
    np.testing.assert_allclose(reached, lowest, atol=1e-6)


@pytest.mark.parametrize("name", ["kl", "symmetric"])
def test_derivatives_are_finite_differences(name) -> None:
    distance = DISTANCES[name]
    q, gate = np.array([0.1, 0.5, 0.97]), np.array([-2.0, 0.3, 1.0])
    h = 1e-5
    ahead, behind = distance.value(q, gate + h), distance.value(q, gate - h)
    negative_gradient, hessian = distance.derivatives(q, gate)
    np.testing.assert_allclose(negative_gradient, -(ahead - behind) / (2 * h), atol=1e-8)
    second = (ahead - 2 * distance.value(q, gate) + behind) / h**2
    np.testing.assert_allclose(hessian, second, atol=1e-4)


@pytest.mark.parametrize("name", ["kl", "symmetric"])
def test_no_other_constant_gate_is_nearer(name) -> None:
    distance = DISTANCES[name]
    q, weight = np.array([0.1, 0.5, 0.97]), np.array([1.0, 2.0, 1.0])
    best = distance.best_constant(q, weight)
    around = [
        np.average(distance.value(q, np.full(3, best + step)), weights=weight)
        for step in (-0.01, 0.0, 0.01)
    ]
    assert around[1] < min(around[0], around[2])


def test_an_inactive_constraint_has_no_multiplier() -> None:
    q, multiplier = KLDistance().assign(np.full(4, -5.0), np.full(4, -5.0), 0.9)
    assert multiplier == 0.0
    np.testing.assert_allclose(q, expit(-10.0))
