"""Numbers in fixed point lose nothing, or next to nothing, and add up in any order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from uncompiled import agree

from thrifty.kernels.fixed_point import (
    SUM_BITS,
    WIDE_BITS,
    count_quanta,
    fixed_sum,
    largest_size,
    quantize,
    total_size,
    unit_of,
    wide_quanta,
)
from thrifty.kernels.splits import COUNT_BITS

WHOLE = st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=50)
# Boosting stops long before residuals are too small for a quantum of theirs to be a float.
FLOATS = st.lists(
    st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-200), min_size=1, max_size=50
)


def unpacked(quanta):
    """Target and weight of each row in quanta."""
    if len(quanta) == 2:
        return quanta[0], quanta[1]
    return quanta[0] >> COUNT_BITS, quanta[0] & ((1 << COUNT_BITS) - 1)


@given(WHOLE, st.integers(-200, 200))
def test_dyadic_targets_lose_nothing(numbers, exponent):
    target = np.ldexp(np.array(numbers, dtype=float), exponent)
    quanta, units = quantize(target)
    here, count = unpacked(quanta)
    np.testing.assert_array_equal(here * units[0], target)
    np.testing.assert_array_equal(count, 1)
    assert units[1] == 1.0
    assert quanta.shape == (1, len(target))


@given(WHOLE, st.data())
def test_dyadic_weights_lose_nothing_either(numbers, data):
    weights = data.draw(
        st.lists(st.integers(1, 2**15), min_size=len(numbers), max_size=len(numbers))
    )
    target, weight = np.array(numbers) / 8.0, np.array(weights) / 1024.0
    quanta, units = quantize(target, weight)
    here, heft = unpacked(quanta)
    np.testing.assert_array_equal(here * units[0], target * weight)
    np.testing.assert_array_equal(heft * units[1], weight)
    assert quanta.shape == (2, len(target))


@given(FLOATS)
def test_a_quantum_is_small_against_the_sum(numbers):
    target = np.array(numbers)
    quanta, units = quantize(target)
    total = np.abs(target).sum()
    assert np.all(np.abs(unpacked(quanta)[0] * units[0] - target) <= units[0] / 2)
    if total > 0:
        assert units[0] <= total * 2.0 ** (1 - SUM_BITS)


@given(FLOATS, st.floats(1e-6, 1e6))
def test_a_quantum_of_the_wide_planes_is_smaller_still(numbers, weight):
    target = np.array(numbers)
    _, units = quantize(target, np.full(len(target), weight))
    for unit, values in zip(units, (weight * target, np.full(len(target), weight)), strict=True):
        total = np.abs(values).sum()
        assert unit <= total * 2.0 ** (1 - WIDE_BITS) or total == 0


def test_an_outlier_costs_the_other_rows_little():
    target = np.append(np.linspace(-1, 1, 1000), 1e6)
    quanta, units = quantize(target)
    assert np.abs(unpacked(quanta)[0] * units[0] - target).max() <= 1e6 * 2.0**-SUM_BITS


def test_targets_of_zero_are_zero_quanta():
    quanta, units = quantize(np.zeros(3))
    assert unpacked(quanta)[0].tolist() == [0, 0, 0]
    assert units.tolist() == [1.0, 1.0]
    quanta, _ = quantize(np.zeros(3), np.ones(3))
    assert quanta[0].tolist() == [0, 0, 0]


@given(FLOATS, st.randoms(use_true_random=False))
def test_sums_are_the_same_in_any_order(numbers, random):
    shuffled = random.sample(numbers, len(numbers))
    values, others = np.array(numbers), np.array(shuffled)
    assert fixed_sum(values) == fixed_sum(others)
    assert total_size(values) == total_size(others)
    assert total_size(values, values) == total_size(others, others)
    size, exact = math.fsum(map(abs, numbers)), math.fsum(numbers)
    rounding = len(numbers) * size * 2.0**-WIDE_BITS + abs(exact) * 2.0**-52  # of quanta, of floats
    assert abs(fixed_sum(values) - exact) <= rounding


@given(FLOATS, st.integers(0, 50))
def test_blocks_far_from_each_other_find_the_same_total(numbers, cut):
    values, none = np.array(numbers), np.empty(0)
    parts = [part for part in (values[:cut], values[cut:]) if len(part)]
    unit = unit_of(max(largest_size(part) for part in parts), 62 - len(values).bit_length())
    counted = sum(count_quanta(part, none, unit) for part in parts)
    assert float(counted) * unit == total_size(values)


@pytest.mark.parametrize("tiny", [5e-324, 1e-300])
def test_what_is_too_small_for_quanta_counts_nothing(tiny):
    quanta, unit = wide_quanta(np.array([tiny, -tiny]))
    assert quanta.tolist() == [0, 0] and unit == 1.0


def test_quanta_are_the_nearest():
    values = np.random.default_rng(0).normal(size=100)
    quanta, unit = wide_quanta(values)
    assert all(abs(int(q) - v / unit) <= 0.5 for q, v in zip(quanta, values, strict=True))


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_and_uncompiled_quanta_agree(weighted):
    def run(kernels):
        rng = np.random.default_rng(3)
        values, weight = rng.normal(size=40), rng.uniform(0.5, 2.0, 40)
        quanta, units = kernels.quantize(values, weight if weighted else None)
        totals = kernels.total_size(values), kernels.total_size(values, weight)
        return quanta, units, totals, kernels.fixed_sum(values)

    agree("fixed_point", run)
