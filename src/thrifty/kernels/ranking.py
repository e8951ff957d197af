"""Gradients of the lambda loss for ranking: pairs of one query, weighted by what a swap changes.

C. Burges, R. Ragno, Q. Le: Learning to rank with nonsmooth cost functions, 2006.
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
    order = np.argsort(-scores, kind="mergesort")
    discount = np.empty(len(scores))
    for rank in range(len(order)):
        discount[order[rank]] = 1.0 / np.log2(rank + 2.0)
    for i in range(len(scores)):
        for j in range(len(scores)):
            if gains[i] > gains[j]:
                swap = (gains[i] - gains[j]) * abs(discount[i] - discount[j]) * scale
                doubt = 1.0 / (1.0 + np.exp(min(scores[i] - scores[j], 700.0)))
                gradient[i] += swap * doubt
                gradient[j] -= swap * doubt
                curve = swap * doubt * (1.0 - doubt)
                hessian[i] += curve
                hessian[j] += curve
