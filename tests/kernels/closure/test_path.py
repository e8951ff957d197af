"""The cut equals the best of all subsets, and the path equals the cut at every rate."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from plain_closure import draw, least_best, members
from uncompiled import agree, uncompiled

from thrifty.kernels.closure import all_closures, best_closure, path
from thrifty.kernels.closure.problem import worthy

SEEDS = range(150)


@pytest.mark.parametrize("rate", [0, 1, 3])
def test_the_cut_is_the_least_best_of_all_closures(rate):
    for seed in SEEDS:
        parent, first, head, gain, cost = draw(seed)
        weight = np.append(gain, np.zeros(len(cost) - len(gain), dtype=np.int64)) - rate * cost
        found = best_closure(parent, first, head, weight)
        assert members(found) == least_best(parent, first, head, weight.tolist()), seed


def reduced(seed, most=9):
    """A problem of which all splits are in at rate 0, as `all_closures` wants it."""
    parent, first, head, gain, cost = draw(seed, most=most)
    keep = worthy(parent, gain)
    number = np.where(keep, np.cumsum(keep) - 1, -1)
    rows = [head[first[h] : first[h + 1]] for h in np.flatnonzero(keep)]
    used = np.unique(np.concatenate([np.zeros(0, np.int32), *rows]))
    up = np.where(parent[keep] >= 0, number[parent[keep]], -1).astype(np.int32)
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    to = np.searchsorted(used, np.concatenate([np.zeros(0, np.int32), *rows])).astype(np.int32)
    worth = np.append(gain[keep], np.zeros(len(used), dtype=np.int64))
    return up, start, to, worth, np.append(cost[: len(gain)][keep], cost[len(gain) + used])


def test_the_path_is_the_cut_at_every_rate_in_between():
    seen = 0
    for seed in range(300):
        parent, first, head, worth, cost = reduced(seed)
        rates = all_closures(parent, first, head, worth, cost)[: len(parent)]
        finite = sorted({Fraction(float(r)).limit_denominator(10_000) for r in rates if r < np.inf})
        seen += len(finite)
        ends = [Fraction(0), *finite, (finite[-1] if finite else 0) + 1]
        for low, high in pairwise(ends):
            for rate in (low, (low + high) / 2):
                weight = worth * rate.denominator - cost * rate.numerator
                exact = best_closure(parent, first, head, weight.astype(np.int64))
                assert members(rates > float(rate) * (1 + 1e-9)) == members(exact), (seed, rate)
    assert seen > 300


def test_a_breakpoint_is_a_ratio_of_whole_numbers():
    parent = np.array([-1, 0], dtype=np.int32)
    first, head = np.array([0, 1, 2]), np.array([0, 1], dtype=np.int32)
    worth, cost = np.array([6, 2, 0, 0]), np.array([0, 0, 2, 7])
    np.testing.assert_array_equal(
        all_closures(parent, first, head, worth, cost), [3, 2 / 7, 3, 2 / 7]
    )


def test_what_costs_nothing_stays_at_any_rate():
    rates = all_closures(
        np.array([-1, 0], dtype=np.int32), np.array([0, 0, 1]), np.zeros(1, dtype=np.int32),
        np.array([1, 4, 0]), np.array([0, 0, 2]),
    )  # fmt: skip
    np.testing.assert_array_equal(rates, [np.inf, 2, 2])


def test_no_problem_has_no_rates_uncompiled_either():
    empty, no_arcs = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for kernels in (path, uncompiled("closure.path")):
        rates = kernels.all_closures(
            np.zeros(0, np.int32), no_arcs, np.zeros(0, np.int32), empty, empty
        )
        assert len(rates) == 0


def test_amounts_that_would_overflow_are_refused_uncompiled_too():
    parent, first, head = np.array([-1, -1], np.int32), np.zeros(3, np.int64), np.zeros(0, np.int32)
    huge = np.full(2, 1 << 61)
    for kernels in (path, uncompiled("closure.path")):
        with pytest.raises(OverflowError, match="scale them down"):
            kernels.best_closure(parent, first, head, huge)
        with pytest.raises(OverflowError, match="scale them down"):
            kernels.all_closures(parent, first, head, np.ones(2, np.int64), huge)


def test_a_cost_beyond_all_worth_does_not_overflow():
    parent, first, head = np.array([-1], np.int32), np.array([0, 1]), np.zeros(1, np.int32)
    weight = np.array([1 << 61, -(1 << 62)])
    assert not best_closure(parent, first, head, weight).any()


def test_compiled_and_uncompiled_they_find_the_same_closures():
    def run(kernels):
        found = []
        for seed in range(100):
            parent, first, head, worth, cost = reduced(seed, most=30)
            found.append(kernels.all_closures(parent, first, head, worth, cost))
            found.append(kernels.best_closure(parent, first, head, worth - cost))
        return found

    agree("closure.path", run)
