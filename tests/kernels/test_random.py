"""The stream is SplitMix64, and its numbers lie where they should."""

from __future__ import annotations

import numpy as np

from thrifty.kernels.jit import jit
from thrifty.kernels.random import draw, draw_below, draw_share


@jit
def draw_many(state, bits, below, n, shares):
    """Fill three arrays, so that the inlined kernels run compiled."""
    for i in range(len(bits)):
        bits[i] = draw(state)
    for i in range(len(below)):
        below[i] = draw_below(state, n)
    for i in range(len(shares)):
        shares[i] = draw_share(state)


def sample(seed, n_bits=0, n_below=0, n=1, n_shares=0):
    bits = np.empty(n_bits, dtype=np.uint64)
    below = np.empty(n_below, dtype=np.int64)
    shares = np.empty(n_shares)
    draw_many(np.array([seed], dtype=np.uint64), bits, below, n, shares)
    return bits, below, shares


def test_the_stream_is_that_of_the_published_generator():
    # The first numbers of the reference implementation for the seed 0.
    bits, _, _ = sample(0, n_bits=3)
    assert bits.tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_a_seed_decides_the_stream():
    assert sample(7, n_bits=5)[0].tolist() == sample(7, n_bits=5)[0].tolist()
    assert sample(7, n_bits=5)[0].tolist() != sample(8, n_bits=5)[0].tolist()


def test_numbers_below_n_are_evenly_spread():
    _, below, _ = sample(1, n_below=60_000, n=6)
    counts = np.bincount(below)
    assert len(counts) == 6
    assert np.abs(counts - 10_000).max() < 500


def test_shares_lie_in_the_unit_interval_and_have_53_bits():
    bits, _, _ = sample(2, n_bits=1000)
    _, _, shares = sample(2, n_shares=1000)
    np.testing.assert_array_equal(shares, (bits >> np.uint64(11)) * 2.0**-53)
    assert shares.min() >= 0.0 and shares.max() < 1.0
    assert shares.mean() == np.clip(shares.mean(), 0.47, 0.53)
