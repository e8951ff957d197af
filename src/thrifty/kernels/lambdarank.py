"""Gradients of the LambdaRank loss (Burges et al. 2006).

Every pair of rows of one query with different grades is weighted by how much swapping the two would
change the NDCG of the query.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.jit import jit

__all__ = ["lambda_gradients"]


@jit
def lambda_gradients(scores, gains, starts, scale, gradient, hessian):
    """Fill gradient and hessian; rows of query q are starts[q]..starts[q + 1] - 1.

    `scale` is one over the ideal discounted gain of each query, 0 where nothing is relevant.
    """
    gradient[:] = 0.0
    hessian[:] = 0.0
    for q in range(len(starts) - 1):
        rows = slice(starts[q], starts[q + 1])
        if scale[q] > 0.0:
            add_query(scores[rows], gains[rows], scale[q], gradient[rows], hessian[rows])


@jit
def add_query(scores, gains, scale, gradient, hessian):
    """All pairs of one query with different grades."""
    discount, spread = share_ranks(scores)
    for i in range(len(scores)):
        for j in range(len(scores)):
            if gains[i] > gains[j]:
                apart = spread[i] if scores[i] == scores[j] else abs(discount[i] - discount[j])
                swap = (gains[i] - gains[j]) * apart * scale
                doubt = 1.0 / (1.0 + np.exp(min(scores[i] - scores[j], 700.0)))
                gradient[i] += swap * doubt
                gradient[j] -= swap * doubt
                curve = swap * doubt * (1.0 - doubt)
                hessian[i] += curve
                hessian[j] += curve


@jit
def share_ranks(scores):
    """Mean discount of the ranks that rows of equal score share, and how far two of them differ.

    Before the first tree all scores are equal: the order of the table must not rank them.
    """
    order = np.argsort(-scores, kind="mergesort")
    discount, spread = np.empty(len(scores)), np.zeros(len(scores))
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and scores[order[last]] == scores[order[first]]:
            last += 1
        size = last - first
        total, apart = 0.0, 0.0
        for k in range(size):
            here = 1.0 / np.log2(first + k + 2.0)
            total += here
            apart += here * (size - 1 - 2 * k)  # in how many pairs it is the larger, less the rest
        for row in order[first:last]:
            discount[row] = total / size
            spread[row] = 2.0 * apart / (size * max(size - 1, 1))
        first = last
    return discount, spread
