"""Targets and weights as whole numbers, so that sums are exact in any order.

A histogram adds one int64 per row: the target in fixed point above 22 bits of count. With
sample weights, or from 2^22 rows on, target and weight are two int64. Scales are powers of two,
so targets that are dyadic fractions lose nothing.
"""

from __future__ import annotations

import math

import numpy as np

from thrifty.kernels.jit import jit

__all__ = ["COUNT_BITS", "quantize"]

COUNT_BITS = 22
SUM_BITS = 40  # of the packed sum's 42 bits: one for the sign, one for the rounding of each row
WIDE_BITS = 61


def quantize(target, weight=None):
    """Quanta (planes, n) int64 of weight * target [and weight], and what one quantum is worth.

    No subset of rows can sum to more than the total of the absolute values, so that total, not
    the largest value, sets the scale: an outlier costs the other rows no precision.
    """
    if weight is None and len(target) < 1 << COUNT_BITS:
        unit = _unit(np.abs(target).sum(), SUM_BITS)
        packed = np.empty((1, len(target)), dtype=np.int64)
        pack(target, unit, packed[0])
        return packed, np.array([unit, 1.0])
    weight = np.ones(len(target)) if weight is None else weight
    planes, units = [], []
    for values in (weight * target, weight):
        units.append(_unit(np.abs(values).sum(), WIDE_BITS))
        planes.append(np.rint(values / units[-1]).astype(np.int64))
    return np.stack(planes), np.array(units)


@jit
def pack(target, unit, out):
    """Each target in fixed point above a count of one."""
    for i in range(len(target)):
        out[i] = (np.int64(np.rint(target[i] / unit)) << COUNT_BITS) + 1


def _unit(total, bits):
    """Smallest power of two of which `total` holds fewer than 2^bits."""
    if total == 0:
        return 1.0
    # A total so small that its quantum is none makes every quantum zero.
    return math.ldexp(1.0, math.frexp(total)[1] - bits) or 1.0
