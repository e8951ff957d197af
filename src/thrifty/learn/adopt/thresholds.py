"""Thresholds of libraries that compare in single precision, for a comparison in double.

scikit-learn's trees and XGBoost round a value to single precision before they compare it. Here
x <= threshold is a comparison of doubles, so each threshold becomes the largest double that,
once rounded (to the nearest, ties to even), still goes left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["HUGE", "at_most", "below"]

HUGE = float(np.finfo(np.float64).max)
"""Every value that a table may hold is at most this."""

# What single precision would have one step above its largest number.
OVERFLOW = 2.0**128


def at_most(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest double x with float32(x) <= threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.adopt.thresholds import at_most
    >>> edge = at_most(np.array([0.1]))
    >>> [float(np.float32(x)) <= 0.1 for x in (edge[0], np.nextafter(edge[0], 1))]
    [True, False]
    """
    threshold = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    above = single.astype(np.float64) > threshold
    return _last_rounded_to(np.where(above, _before(single), single))


def below(threshold: NDArray[np.float32]) -> NDArray[np.float64]:
    """Largest double x with float32(x) < threshold."""
    return _last_rounded_to(_before(np.asarray(threshold, dtype=np.float32)))


def _before(single: NDArray[np.float32]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.nextafter(single, np.float32(-np.inf))


def _last_rounded_to(single: NDArray[np.float32]) -> NDArray[np.float64]:
    """Largest double that rounds to `single` or less."""
    with np.errstate(over="ignore"):
        after = np.nextafter(single, np.float32(np.inf))
    # A number of single precision and its half-way point are doubles, so nothing is rounded here.
    middle = (_wide(single) + _wide(after)) / 2
    even = np.ascontiguousarray(single).view(np.uint32) % 2 == 0
    last = np.where(even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isposinf(single), HUGE, last)


def _wide(single: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = single.astype(np.float64)
    return np.where(np.isinf(wide), np.copysign(OVERFLOW, wide), wide)
