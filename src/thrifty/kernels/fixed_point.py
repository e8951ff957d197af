"""Numbers in fixed point: sums of integers, which are the same in any order and in any blocks.

A number is counted in quanta of a unit, a power of two, so dyadic fractions lose nothing. The unit
is set by the sum of the absolute values of all rows: no subset of rows can sum to more, and an
outlier costs the other rows no precision. With `WIDE_BITS` that sum has 61 of the 63 bits of an
int64, with `SUM_BITS` 40 of the 42 above the packed count of `histogram`; one bit is for the sign,
and one for rounding.

The sum itself is found without floats in the order of the rows: the largest value, which is the
same in any order, gives a first unit in which all rows together stay below 2^62. Blocks of rows
far from each other take the same steps: the largest of all blocks, the sum of their counts.
"""

from __future__ import annotations

import math

import cython
import numpy as np
from cython.cimports.thrifty.kernels.splits import COUNT_BITS

__all__ = [
    "count_quanta",
    "fixed_sum",
    "largest_size",
    "pack",
    "quantize",
    "round_values",
    "total_size",
    "unit_of",
    "wide_quanta",
]

SUM_BITS = 40
WIDE_BITS = 61
SMALLEST_UNIT = 2.0**-1000

# Adding and then subtracting this rounds a number below 2^51 to an integer, ties to even.
_ROUND = cython.declare(cython.double, 1.5 * 2.0**52)

_NONE = np.empty(0)


def quantize(target, weight=None):
    """Quanta (planes, n) int64 of weight * target [and weight], and what one quantum is worth."""
    if weight is None:
        unit = unit_of(total_size(target), SUM_BITS)
        packed = np.empty((1, len(target)), dtype=np.int64)
        pack(target, unit, packed[0])
        return packed, np.array([unit, 1.0])
    planes, units = zip(wide_quanta(weight * target), wide_quanta(weight), strict=True)
    return np.stack(planes), np.array(units)


def wide_quanta(values):
    """Quanta (n,) int64 of some values, of 61 bits, and what one quantum is worth."""
    unit = unit_of(total_size(values), WIDE_BITS)
    quanta = np.empty(len(values), dtype=np.int64)
    round_values(values, unit, quanta)
    return quanta, unit


def fixed_sum(values):
    """Sum of some values, the same in any order."""
    quanta, unit = wide_quanta(np.ascontiguousarray(values, dtype=np.float64))
    return float(quanta.sum()) * unit


def total_size(values, factor=_NONE):
    """Sum of the absolute values [times those of a factor], the same in any order."""
    bound = largest_size(values)
    if len(factor):
        bound *= bound if factor is values else largest_size(factor)
    unit = unit_of(bound, 62 - len(values).bit_length())
    return float(count_quanta(values, factor, unit)) * unit


def largest_size(values):
    """Largest absolute value."""
    return max(float(values.max()), -float(values.min())) if len(values) else 0.0


def unit_of(total, bits):
    """Smallest power of two of which `total` holds fewer than 2^bits."""
    if total == 0:
        return 1.0
    unit = math.ldexp(1.0, math.frexp(total)[1] - bits)
    # With a total so small that parts of its unit underflow, every quantum is zero.
    return unit if unit >= SMALLEST_UNIT else 1.0


def count_quanta(
    values: cython.const[cython.double][::1],
    factor: cython.const[cython.double][::1],
    unit: cython.double,
):
    """Sum of the absolute values [times `factor`] in quanta, each one rounded down."""
    total: cython.longlong = 0
    scale = 1.0 / unit  # exact, and faster than to divide
    with cython.nogil:
        if factor.shape[0] == 0:
            for i in range(values.shape[0]):
                total += cython.cast(cython.longlong, abs(values[i]) * scale)
        else:
            for i in range(values.shape[0]):
                total += cython.cast(cython.longlong, abs(values[i] * factor[i]) * scale)
    return total


def pack(target: cython.const[cython.double][::1], unit: cython.double, out: cython.longlong[::1]):
    """Each target in fixed point above a count of one."""
    scale = 1.0 / unit
    with cython.nogil:
        for i in range(target.shape[0]):
            rounded = (target[i] * scale + _ROUND) - _ROUND
            out[i] = cython.cast(cython.longlong, rounded) * (1 << COUNT_BITS) + 1


def round_values(
    values: cython.const[cython.double][::1], unit: cython.double, out: cython.longlong[::1]
):
    """Each value in quanta, the nearest whole number of them."""
    scale = 2.0 / unit
    with cython.nogil:
        for i in range(values.shape[0]):
            # In halves toward 0, then away from 0: no branch on the sign to mispredict.
            halves = cython.cast(cython.longlong, values[i] * scale)
            out[i] = (halves + 1 + (halves >> 63)) >> 1
