"""Products of rows with vectors, summed in a fixed order.

BLAS adds in an order that depends on the number of rows, so a row alone could get another result
than the same row in a batch. Here sums over features run in the order of the features. The inner
loop runs over the vectors, which are the columns of `across`, so that the compiler can vectorize
it.
"""

from __future__ import annotations

from thrifty.kernels.jit import jit

__all__ = ["dot_products", "squared_distances", "weighted_sums"]


@jit
def squared_distances(X, across, out):
    """out[i, k] += the squared distance of row i and vector k, feature by feature."""
    n, q = X.shape
    m = across.shape[1]
    for i in range(n):
        for j in range(q):
            x = X[i, j]
            for k in range(m):
                apart = x - across[j, k]
                out[i, k] += apart * apart


@jit
def dot_products(X, across, out):
    """out[i, k] += the inner product of row i and vector k, feature by feature."""
    n, q = X.shape
    m = across.shape[1]
    for i in range(n):
        for j in range(q):
            x = X[i, j]
            for k in range(m):
                out[i, k] += x * across[j, k]


@jit
def weighted_sums(values, coefficients, out):
    """out[i, p] += the sum of values[i, k] * coefficients[k, p], vector by vector."""
    n, m = values.shape
    outputs = coefficients.shape[1]
    for i in range(n):
        for k in range(m):
            x = values[i, k]
            for p in range(outputs):
                out[i, p] += x * coefficients[k, p]
