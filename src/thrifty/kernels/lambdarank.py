"""Gradients of the LambdaRank loss (Burges et al. 2006).

Every pair of rows of one query with different grades is weighted by how much swapping the two would
change the NDCG of the query.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, fabs, log2

__all__ = ["lambda_gradients", "share_ranks"]

# The exponential of more than this is too large for a double.
MAX_EXPONENT = cython.declare(cython.double, 700.0)


@cython.cclass
class Ranks:
    """Scratch arrays of a query, as long as the longest query.

    Parameters
    ----------
    size : int
        Rows of the longest query.

    Attributes
    ----------
    order : int64 array (size,)
        Rows of the query, the largest score first; equal scores in the order of the table.
    buffer : int64 array (size,)
        Room to merge two sorted parts of `order`, and for the rows of a lower grade.
    discount : float array (size,)
        Mean discount of the ranks that a row shares with those of equal score.
    spread : float array (size,)
        Mean difference of the discounts of two ranks among those that a row shares.
    odds : float array (size,)
        Odds that a row is above each of those with a lower grade.
    """

    order: cython.longlong[::1]
    buffer: cython.longlong[::1]
    discount: cython.double[::1]
    spread: cython.double[::1]
    odds: cython.double[::1]

    def __init__(self, size: cython.Py_ssize_t) -> None:
        self.order = np.empty(size, dtype=np.int64)
        self.buffer = np.empty(size, dtype=np.int64)
        self.discount = np.empty(size)
        self.spread = np.empty(size)
        self.odds = np.empty(size)


def lambda_gradients(
    scores: cython.const[cython.double][::1],
    gains: cython.const[cython.double][::1],
    starts: cython.const[cython.longlong][::1],
    scale: cython.const[cython.double][::1],
    gradient: cython.double[::1],
    hessian: cython.double[::1],
) -> None:
    """Fill gradient and hessian; rows of query q are starts[q]..starts[q + 1] - 1.

    `scale` is one over the ideal discounted gain of each query, 0 where nothing is relevant.
    """
    longest: cython.longlong = 0
    for q in range(starts.shape[0] - 1):
        longest = max(longest, starts[q + 1] - starts[q])
    ranks = Ranks(longest)
    with cython.nogil:
        for row in range(gradient.shape[0]):
            gradient[row] = 0.0
            hessian[row] = 0.0
        for q in range(starts.shape[0] - 1):
            if scale[q] > 0.0:
                find_ranks(scores, starts[q], starts[q + 1], ranks)
                add_pairs(
                    scores, gains, starts[q], starts[q + 1], scale[q],
                    ranks.discount, ranks.spread, ranks.buffer, ranks.odds, gradient, hessian,
                )  # fmt: skip


def share_ranks(scores: cython.const[cython.double][::1]) -> tuple:
    """Return the `discount` and the `spread` of `Ranks` for the scores of one query."""
    ranks = Ranks(scores.shape[0])
    with cython.nogil:
        find_ranks(scores, 0, scores.shape[0], ranks)
    return np.asarray(ranks.discount), np.asarray(ranks.spread)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_pairs(
    scores: cython.const[cython.double][::1],
    gains: cython.const[cython.double][::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    scale: cython.double,
    discount: cython.const[cython.double][::1],
    spread: cython.const[cython.double][::1],
    lower: cython.longlong[::1],
    odds: cython.double[::1],
    gradient: cython.double[::1],
    hessian: cython.double[::1],
) -> cython.void:
    """Add all pairs of one query with different grades."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for i in range(first, last):
        gain = gains[i]
        score = scores[i]
        # Listed first: a branch for each pair would be hard to predict.
        count: cython.Py_ssize_t = 0
        for j in range(first, last):
            lower[count] = j
            count += gains[j] < gain
        for place in range(count):
            ahead = score - scores[lower[place]]
            # Before the first tree all scores are equal: that is no work for `exp`.
            odds[place] = 1.0 if ahead == 0.0 else exp(min(ahead, MAX_EXPONENT))
        # Sums of row i, which no pair below changes as its other row.
        slope: cython.double = gradient[i]
        bend: cython.double = hessian[i]
        for place in range(count):
            j = lower[place]
            apart = fabs(discount[i - first] - discount[j - first])
            if scores[j] == score:
                apart = spread[i - first]
            swap = (gain - gains[j]) * apart * scale
            doubt = 1.0 / (1.0 + odds[place])
            pull = swap * doubt
            curve = pull * (1.0 - doubt)
            slope += pull
            gradient[j] -= pull
            bend += curve
            hessian[j] += curve
        gradient[i] = slope
        hessian[i] = bend


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_ranks(
    scores: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    ranks: Ranks,
) -> cython.void:
    """Fill the discounts and the spreads of one query; rows of equal score share their ranks.

    Before the first tree all scores are equal: the order of the table must not rank them.
    """
    sort_rows(scores, start, stop, ranks.order, ranks.buffer)
    count = stop - start
    first: cython.Py_ssize_t = 0
    while first < count:
        score = scores[start + ranks.order[first]]
        last: cython.Py_ssize_t = first + 1
        while last < count and scores[start + ranks.order[last]] == score:
            last += 1
        size = last - first
        total, apart = 0.0, 0.0
        for k in range(size):
            here = 1.0 / log2(first + k + 2.0)
            total += here
            apart += here * (size - 1 - 2 * k)  # in how many pairs it is the larger, less the rest
        for k in range(first, last):
            row = ranks.order[k]
            ranks.discount[row] = total / size
            ranks.spread[row] = 2.0 * apart / (size * max(size - 1, 1))
        first = last


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_rows(
    scores: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    order: cython.longlong[::1],
    buffer: cython.longlong[::1],
) -> cython.void:
    """Sort the rows of a query by decreasing score; a stable merge sort."""
    count = stop - start
    for k in range(count):
        order[k] = k
    width: cython.Py_ssize_t = 1
    while width < count:
        left: cython.Py_ssize_t = 0
        while left + width < count:
            merge(scores, start, left, left + width, min(left + 2 * width, count), order, buffer)
            left += 2 * width
        width *= 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def merge(
    scores: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    left: cython.Py_ssize_t,
    middle: cython.Py_ssize_t,
    right: cython.Py_ssize_t,
    order: cython.longlong[::1],
    buffer: cython.longlong[::1],
) -> cython.void:
    """Merge order[left:middle] and order[middle:right]; of equal scores, the left ones first."""
    k: cython.Py_ssize_t
    for k in range(left, middle):
        buffer[k] = order[k]
    one: cython.Py_ssize_t = left
    other: cython.Py_ssize_t = middle
    k = left
    while one < middle:
        if other < right and scores[start + order[other]] > scores[start + buffer[one]]:
            order[k] = order[other]
            other += 1
        else:
            order[k] = buffer[one]
            one += 1
        k += 1
