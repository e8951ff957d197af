"""Random numbers inside kernels: a stream of 64-bit numbers that depends on its seed alone.

The generator is SplitMix64 (Steele et al. 2014). Numba's own generator has one state per thread, so
its numbers would depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.jit import tiny

__all__ = ["draw", "draw_below", "draw_share"]

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


@tiny
def draw(state):
    """Next 64 bits of the stream whose state is state[0]."""
    state[0] += STEP
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


@tiny
def draw_below(state, n):
    """A number from 0 to n - 1; n is far below 2^31, so the remainder is even enough."""
    return np.int64(draw(state) >> np.uint64(33)) % n


@tiny
def draw_share(state):
    """A number from [0, 1)."""
    return np.float64(draw(state) >> np.uint64(11)) * 2.0**-53
