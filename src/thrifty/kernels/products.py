"""Products of rows with vectors, row by row in one order of additions.

BLAS adds in an order that depends on how many rows it is given, so a row alone could differ from
the same row in a batch. Here the sums over features run in the order of the features, and the
loop over vectors, which are the columns of `across`, is the inner one that the compiler makes wide.
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
