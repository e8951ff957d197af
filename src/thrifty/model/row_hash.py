"""Hashes of table rows: pseudorandom numbers that depend on a row's values and a seed only.

The mixing function is one round of SplitMix64 (Steele, Lea and Flood 2014). Equal rows have equal
hashes on every machine: all missing values count as one value, and so do 0.0 and -0.0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["hash_rows", "splitmix64", "uniform_hash"]

# The increment of SplitMix64, 2^64 divided by the golden ratio, and its two multipliers.
INCREMENT = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def splitmix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the output of SplitMix64 from each state in `x`; a bijection of 64-bit numbers."""
    first, second = MULTIPLIERS
    x = x + INCREMENT
    x = (x ^ (x >> np.uint64(30))) * first
    x = (x ^ (x >> np.uint64(27))) * second
    return x ^ (x >> np.uint64(31))


def hash_rows(X: NDArray[np.floating], seed: int) -> NDArray[np.uint64]:
    """Hash each row of X (n, d) to 64 bits; without columns, the hash is the seed itself.

    Parameters
    ----------
    X : array (n, d) of float32 or float64
        A float32 value has the hash of the same float64 value.
    seed : int
        From 0 to 2**64 - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.row_hash import hash_rows
    >>> hash_rows(np.array([[0.0, np.nan], [-0.0, -np.nan], [1.0, np.nan]]), seed=0) >> 48
    array([  499,   499, 15963], dtype=uint64)

    The first two rows are equal, so their hashes are.
    """
    state = np.full(len(X), seed, dtype=np.uint64)
    for column in X.T:
        # Adding +0.0 turns -0.0 into 0.0. One bit pattern then stands for all missing values.
        values = np.where(np.isnan(column), np.nan, column.astype(np.float64) + 0.0)
        state = splitmix64(state ^ values.view(np.uint64))
    return state


def uniform_hash(X: NDArray[np.floating], seed: int) -> NDArray[np.float64]:
    """Hash each row of X (n, d) to a number in [0, 1), evenly distributed over distinct rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.row_hash import uniform_hash
    >>> uniform_hash(np.array([[0.0, np.nan], [-0.0, -np.nan], [1.0, np.nan]]), seed=0).round(3)
    array([0.1  , 0.1  , 0.279])
    """
    # Small seeds differ in few bits, so they are mixed before the rows are.
    start = splitmix64(np.array([seed], dtype=np.uint64) + INCREMENT)
    hashes = splitmix64(hash_rows(X, int(start[0])))
    return np.asarray((hashes >> np.uint64(11)) * 2.0**-53, dtype=np.float64)
