"""Sums of prices that are exact whatever the order of the terms.

A matrix product adds its terms in an order that depends on the shape, the BLAS library and the
number of threads, so the bill of a row on its own could differ in the last bit from the bill
of the same row in a batch. To avoid that, each price is first split into parts. The parts in
one column are multiples of one power of two and have so few bits that any subset of them adds
up without rounding. A matrix product with the parts is then exact, and only the last step, the
sum of the few parts of a row, rounds, once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["split", "subset_sums"]

FLOAT64_BITS = 53  # bits of the significand of a float


def split(prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Split prices (m,) into parts (m, k) whose rows add up to the prices exactly.

    Most price lists need one or two parts; each column of parts can be summed in any order
    without rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs.exact import split
    >>> split(np.array([1.0, 2.0, 7.0]))
    array([[1.],
           [2.],
           [7.]])
    """
    ratios = [price.as_integer_ratio() for price in prices.tolist()]
    grid = max((denominator for _, denominator in ratios), default=1)  # a power of two
    steps = [numerator * (grid // denominator) for numerator, denominator in ratios]
    # The sum of m integers of `width` bits has at most 53 bits.
    width = FLOAT64_BITS - len(steps).bit_length()
    n_parts = max(1, math.ceil(max(steps, default=0).bit_length() / width))
    scales = [math.ldexp(1.0, width * k - (grid.bit_length() - 1)) for k in range(n_parts)]
    mask = (1 << width) - 1
    parts = [[(step >> width * k & mask) * scales[k] for k in range(n_parts)] for step in steps]
    return np.array(parts, dtype=np.float64).reshape(len(steps), n_parts)


def subset_sums(chosen: NDArray[np.float64], parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up the chosen prices of each row, correctly rounded.

    Parameters
    ----------
    chosen : ndarray of shape (n, m)
        1 where the row pays the price, else 0.
    parts : ndarray of shape (m, k)
        The prices as returned by `split`.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs.exact import split, subset_sums
    >>> float(np.cumsum(np.full(10, 0.1))[-1])
    0.9999999999999999
    >>> float(subset_sums(np.ones((1, 10)), split(np.full(10, 0.1)))[0])
    1.0
    """
    sums = chosen @ parts
    if sums.shape[1] <= 2:
        return np.asarray(sums.sum(axis=1))  # a single addition rounds once
    return np.array([math.fsum(row) for row in sums.tolist()], dtype=np.float64)
