"""Sums of prices without rounding, whatever the order of the terms.

A matrix product adds in an order that depends on the shape, the library and the
number of threads, so a row alone could differ from the same row in a batch by a
rounding. Here each price is first split into parts. The parts of one column lie on
one binary grid and are so short that any subset of them adds up exactly in a float.
A product with the parts is then the same in every order, and only the last step, the
sum of a row's few parts, rounds, once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["split", "subset_sums"]


def split(prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Split prices (m,) into parts (m, k): the parts of a price add up to it.

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
    grid = max((below for _, below in ratios), default=1)  # a power of two
    steps = [above * (grid // below) for above, below in ratios]
    # m numbers of `width` bits add up to fewer than 53 bits.
    width = 53 - len(steps).bit_length()
    count = max(1, math.ceil(max(steps, default=0).bit_length() / width))
    scales = [math.ldexp(1.0, width * k - (grid.bit_length() - 1)) for k in range(count)]
    mask = (1 << width) - 1
    parts = [[(s >> width * k & mask) * scales[k] for k in range(count)] for s in steps]
    return np.array(parts, dtype=np.float64).reshape(len(steps), count)


def subset_sums(chosen: NDArray[np.float64], parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up the chosen prices of each row, correctly rounded.

    Parameters
    ----------
    chosen : array of shape (n, m)
        1 where the row pays the price, else 0.
    parts : array of shape (m, k)
        What `split` gives.

    Returns
    -------
    array of shape (n,)

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
        return np.asarray(sums.sum(axis=1))  # one addition rounds once
    return np.array([math.fsum(row) for row in sums.tolist()], dtype=np.float64)
