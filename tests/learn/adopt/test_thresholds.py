"""A comparison in single precision and its threshold in double agree for every double."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.learn.adopt.trees import HUGE, at_most, below

# Doubles whose rounding to single precision stays finite, with many that lie on its grid.
MOST = 2.0**127
WIDE = st.floats(-MOST, MOST)
SINGLE = st.floats(-MOST, MOST, width=32)
TIES = st.builds(lambda x: (x + np.nextafter(np.float32(x), np.float32(np.inf), dtype=np.float32)
                            .astype(np.float64)) / 2, SINGLE)  # fmt: skip
NUMBERS = st.one_of(WIDE, SINGLE, TIES, st.floats(-1e-37, 1e-37), st.just(0.0), st.just(-0.0))


def neighbors(x):
    """Doubles around x, and around the singles next to it."""
    single = np.float32(x)
    near = [np.nextafter(single, np.float32(end)).astype(np.float64) for end in (-np.inf, np.inf)]
    spots = [x, float(single), *near, *((float(single) + other) / 2 for other in near)]
    return [y for s in spots for y in (s, np.nextafter(s, -np.inf), np.nextafter(s, np.inf))]


@given(NUMBERS)
def test_a_single_at_most_a_threshold_is_a_double_at_most_its_edge(threshold):
    edge = at_most(np.array([threshold]))[0]
    for x in neighbors(threshold) + neighbors(edge):
        assert (float(np.float32(x)) <= threshold) == (x <= edge), (x, threshold)


@given(NUMBERS.map(np.float32))
def test_a_single_below_a_threshold_is_a_double_at_most_its_edge(threshold):
    edge = below(np.array([threshold]))[0]
    for x in neighbors(float(threshold)) + neighbors(edge):
        assert (np.float32(x) < threshold) == (x <= edge), (x, threshold)


@given(NUMBERS, NUMBERS)
def test_it_holds_far_from_the_threshold_too(x, threshold):
    assert (float(np.float32(x)) <= threshold) == (x <= at_most(np.array([threshold]))[0])
    single = np.float32(threshold)
    assert (np.float32(x) < single) == (x <= below(np.array([single]))[0])


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_largest_singles_have_edges_too(sign):
    last = sign * float(np.finfo(np.float32).max)
    overflow = float.fromhex("0x1.ffffffp+127")  # from here on a double rounds to infinity
    with np.errstate(over="ignore"):
        for x in (last, np.nextafter(last, -np.inf), sign * overflow, -sign * overflow,
                  np.nextafter(overflow, 0.0), -np.nextafter(overflow, 0.0)):  # fmt: skip
            assert (float(np.float32(x)) <= last) == (x <= at_most(np.array([last]))[0])
            assert (float(np.float32(x)) < last) == (x <= below(np.array([last]))[0])


def test_an_infinite_threshold_lets_every_number_left():
    assert at_most(np.array([np.inf])).tolist() == [HUGE]
    assert np.isfinite(below(np.array([np.inf], dtype=np.float32))).all()
