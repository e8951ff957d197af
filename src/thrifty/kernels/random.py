"""Random numbers inside kernels: a stream of 64-bit numbers that depends on its seed alone.

The generator is SplitMix64 (Steele et al. 2014). Its state is one number, so every tree can have
its own, and the numbers do not depend on the number of threads.
"""

from __future__ import annotations

import cython

__all__ = ["Stream", "draw", "draw_below", "draw_share"]

STEP = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
FIRST = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)
SECOND = cython.declare(cython.ulonglong, 0x94D049BB133111EB)
# Uncompiled, numbers have more bits: this wraps them around as C does.
WRAP = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


@cython.cclass
class Stream:
    """A stream of random numbers.

    Attributes
    ----------
    state : uint64
        The seed plus a constant for every number drawn so far.
    """

    def __init__(self, seed: cython.ulonglong) -> None:
        self.state = seed


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def draw(stream: Stream) -> cython.ulonglong:
    """Next 64 bits of the stream."""
    stream.state = (stream.state + STEP) & WRAP
    z = stream.state
    z = ((z ^ (z >> 30)) * FIRST) & WRAP
    z = ((z ^ (z >> 27)) * SECOND) & WRAP
    return z ^ (z >> 31)


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def draw_below(stream: Stream, n: cython.longlong) -> cython.longlong:
    """A number from 0 to n - 1; n is far below 2^31, so the remainder is even enough."""
    return cython.cast(cython.longlong, draw(stream) >> 33) % n


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def draw_share(stream: Stream) -> cython.double:
    """A number from [0, 1)."""
    return cython.cast(cython.double, draw(stream) >> 11) * 2.0**-53
