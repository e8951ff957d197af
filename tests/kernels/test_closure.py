"""Closures: the cut equals all subsets tried, and the path equals the cut at every rate."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from thrifty.kernels.closure.path import all_closures, best_closure
from thrifty.kernels.closure.problem import chains, worthy

SEEDS = range(150)


def draw(seed, worthless=True):
    """Parents, arcs, worth and cost of a random problem of up to 9 splits and 9 pay nodes."""
    rng = np.random.default_rng(seed)
    splits, pays = int(rng.integers(1, 10)), int(rng.integers(0, 10))
    parent = np.array([rng.integers(-1, h) for h in range(splits)], dtype=np.int32)
    need = rng.random((splits, pays)) < 0.35
    first = np.concatenate([[0], np.cumsum(need.sum(axis=1))]).astype(np.int64)
    head = np.nonzero(need)[1].astype(np.int32)
    gain = rng.integers(-3 if worthless else 0, 8, splits).astype(np.int64)
    cost = np.concatenate([rng.integers(0, 3, splits), rng.integers(0, 6, pays)]).astype(np.int64)
    return parent, first, head, gain, cost


def every_closure(parent, first, head):
    """All closed sets of splits, and the pay nodes that each needs."""
    splits = len(parent)
    for chosen in range(1 << splits):
        inside = [h for h in range(splits) if chosen >> h & 1]
        if all(parent[h] < 0 or chosen >> parent[h] & 1 for h in inside):
            needed = {v for h in inside for v in head[first[h] : first[h + 1]].tolist()}
            yield frozenset(inside), needed


def least_best(parent, first, head, weight):
    """The intersection of all closures of largest weight, which is one itself."""
    splits = len(parent)
    values = {
        inside: sum(weight[h] for h in inside) + sum(weight[splits + v] for v in needed)
        for inside, needed in every_closure(parent, first, head)
    }
    best = max(values.values())
    return frozenset.intersection(*[inside for inside, value in values.items() if value == best])


def members(mask):
    return frozenset(np.flatnonzero(mask).tolist())


@pytest.mark.parametrize("rate", [0, 1, 3])
def test_the_cut_is_the_least_best_of_all_closures(rate):
    for seed in SEEDS:
        parent, first, head, gain, cost = draw(seed)
        weight = np.append(gain, np.zeros(len(cost) - len(gain), dtype=np.int64)) - rate * cost
        found = best_closure(parent, first, head, weight)
        assert members(found) == least_best(parent, first, head, weight.tolist()), seed


def reduced(seed):
    """A problem of which all splits are in at rate 0, as `all_closures` wants it."""
    parent, first, head, gain, cost = draw(seed)
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


def test_no_problem_has_no_rates():
    empty = np.zeros(0, dtype=np.int64)
    rates = all_closures(np.zeros(0, np.int32), np.zeros(1, np.int64), empty, empty, empty)
    assert len(rates) == 0


def test_amounts_that_would_overflow_are_refused():
    parent, first, head = np.array([-1, -1], np.int32), np.zeros(3, np.int64), np.zeros(0, np.int32)
    huge = np.full(2, 1 << 61)
    with pytest.raises(OverflowError, match="scale them down"):
        best_closure(parent, first, head, huge)
    with pytest.raises(OverflowError, match="scale them down"):
        all_closures(parent, first, head, np.ones(2, np.int64), huge)


def test_a_cost_beyond_all_worth_does_not_overflow():
    parent, first, head = np.array([-1], np.int32), np.array([0, 1]), np.zeros(1, np.int32)
    weight = np.array([1 << 61, -(1 << 62)])
    assert not best_closure(parent, first, head, weight).any()


def test_a_split_that_is_not_worth_it_alone_goes_with_its_only_kid():
    parent = np.array([-1, 0, 1, 1], dtype=np.int32)
    gain = np.array([0, -1, 3, 2])
    number, above, total = chains(parent, np.ones(4, dtype=bool), gain)
    np.testing.assert_array_equal(number, [0, 0, 1, 2])
    np.testing.assert_array_equal(above, [-1, 0, 0])
    np.testing.assert_array_equal(total, [-1, 3, 2])


def test_a_split_is_worthy_with_its_best_offspring_only():
    parent = np.array([-1, 0, 0, 2], dtype=np.int32)
    np.testing.assert_array_equal(worthy(parent, np.array([-1, 2, -3, 2])), [1, 1, 0, 0])
    np.testing.assert_array_equal(worthy(parent, np.array([-3, 2, 0, 0])), [0, 0, 0, 0])
