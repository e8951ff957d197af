"""Lots: a number in [0, 1) for each row, from nothing but its values and a seed.

The mixing steps are those of SplitMix64 (Steele, Lea and Flood, 2014). Equal values draw equal
lots on every machine: a missing value is one value whatever its bits, and so is zero whatever
its sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["draw_lots"]

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
MASK = (1 << 64) - 1


def draw_lots(values: NDArray[np.floating], seed: int) -> NDArray[np.float64]:
    """Draw the lot of each row of `values` (n, k); without columns all rows draw the same.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.lots import draw_lots
    >>> draw_lots(np.array([[0.0, np.nan], [-0.0, -np.nan], [1.0, np.nan]]), seed=0).round(3)
    array([0.1  , 0.1  , 0.279])
    """
    # A sum with +0.0 turns -0.0 to 0.0; float32 values are exact in float64.
    columns = np.asarray(values, dtype=np.float64).T + 0.0
    columns[np.isnan(columns)] = np.nan
    lots = np.full(values.shape[0], (seed + int(STEP)) & MASK, dtype=np.uint64)
    for column in np.ascontiguousarray(columns).view(np.uint64):
        lots = _mix(lots) ^ column
    return np.asarray((_mix(_mix(lots)) >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = z + STEP
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))
