"""The stream is SplitMix64, and its numbers lie where they should."""

from __future__ import annotations

import numpy as np
from uncompiled import agree

from thrifty.kernels.random import Stream, draw, draw_below, draw_share


def bits_of(seed, count):
    stream = Stream(seed)
    return [draw(stream) for _ in range(count)]


def test_the_stream_is_that_of_the_published_generator():
    # The first numbers of the reference implementation for the seed 0.
    assert bits_of(0, 3) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_a_seed_decides_the_stream():
    assert bits_of(7, 5) == bits_of(7, 5)
    assert bits_of(7, 5) != bits_of(8, 5)


def test_numbers_below_n_are_evenly_spread():
    stream = Stream(1)
    counts = np.bincount([draw_below(stream, 6) for _ in range(60_000)])
    assert len(counts) == 6
    assert np.abs(counts - 10_000).max() < 500


def test_shares_lie_in_the_unit_interval_and_have_53_bits():
    stream = Stream(2)
    shares = np.array([draw_share(stream) for _ in range(1000)])
    bits = np.array(bits_of(2, 1000), dtype=np.uint64)
    np.testing.assert_array_equal(shares, (bits >> np.uint64(11)) * 2.0**-53)
    assert shares.min() >= 0.0 and shares.max() < 1.0
    assert shares.mean() == np.clip(shares.mean(), 0.47, 0.53)


def test_compiled_and_uncompiled_agree():
    def run(random):
        # The largest seed: the first step wraps around.
        stream = random.Stream(2**64 - 1)
        draws = [
            (random.draw(stream), random.draw_below(stream, 7), random.draw_share(stream))
            for _ in range(50)
        ]
        return [np.array(column) for column in zip(*draws, strict=True)], stream.state

    agree("random", run)
