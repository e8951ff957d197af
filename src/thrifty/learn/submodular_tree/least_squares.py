"""Weighted least squares with an intercept, block by block of rows.

The orthogonal factor of a QR decomposition comes from two Cholesky decompositions. That needs only
matrix products, and is as accurate as Householder's method up to a condition number of 1e8
(Yamamoto et al. 2015). If the columns are closer to dependent, Householder's method is used.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from thrifty.learn.submodular_tree.inputs import Inputs

__all__ = ["least_squares"]

Floats = NDArray[np.float64]
# Blocks of this many rows stay in the processor's cache.
ROWS_PER_BLOCK = 4096
# Cholesky is used if every column of unit length has at least this distance from the span of those
# before it.
MIN_DISTANCE = 1e-6
# The products of the columns may differ by this much from the identity after the first round.
MAX_DEVIATION = 0.1
# Relative singular value below which columns count as dependent and share their coefficient.
RANK_TOL = 1e-10


def least_squares(
    Z: Inputs, Y: Floats, weight: Floats | None = None, products: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return coefficients (k, t) and intercepts (t,) of the columns of Z for the targets Y.

    Parameters
    ----------
    Z, Y : arrays of shapes (n, k) and (n, t)
    weight : array of shape (n,), optional
        Weights of the rows.
    products : array of shape (1 + k, 1 + k), optional
        Weighted products of a column of ones and the columns of Z, if they are known. They may be
        inexact: the result is as accurate.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.submodular_tree.least_squares import least_squares
    >>> Z = np.random.default_rng(0).normal(size=(50, 2))
    >>> coefficients, intercept = least_squares(Z, 3.0 * Z[:, :1] + 1.0)
    >>> (abs(coefficients.round(6)) + 0.0).tolist(), intercept.round(6).tolist()
    ([[3.0], [0.0]], [1.0])
    """
    if products is None:
        products = np.zeros((1 + Z.shape[1],) * 2)
        for left, _ in _blocks(Z, Y, weight):
            products += left.T @ left
    solution = _by_cholesky(Z, Y, weight, products)
    if solution is None:
        # Householder's method; of all solutions it returns the smallest.
        k = 1 + Z.shape[1]
        triangle = np.zeros((0, k + Y.shape[1]))
        for left, right in _blocks(Z, Y, weight):
            rows = np.concatenate([triangle, np.column_stack([left, right])])
            triangle = np.asarray(np.linalg.qr(rows, mode="r"))
        solution = np.asarray(np.linalg.lstsq(triangle[:, :k], triangle[:, k:], rcond=RANK_TOL)[0])
    return solution[1:], solution[0]


def _by_cholesky(Z: Inputs, Y: Floats, weight: Floats | None, products: Floats) -> Floats | None:
    """Return the intercepts, then the coefficients; None if the columns are nearly dependent."""
    squares = products.diagonal()
    if not np.all(squares > 0.0):
        return None
    scale = np.sqrt(squares)
    try:
        triangle = np.linalg.cholesky(products / np.outer(scale, scale)).T
    except np.linalg.LinAlgError:
        return None
    if not triangle.diagonal().min() > MIN_DISTANCE:
        return None
    k = len(triangle)
    inverse = solve_triangular(triangle * scale, np.eye(k))
    orthogonal_products, cross = np.zeros((k, k)), np.zeros((k, Y.shape[1]))
    for left, right in _blocks(Z, Y, weight):
        orthogonal = left @ inverse
        orthogonal_products += orthogonal.T @ orthogonal
        cross += orthogonal.T @ right
    # These columns are orthogonal but for rounding errors, which the second Cholesky removes.
    if not np.abs(orthogonal_products - np.eye(k)).max() < MAX_DEVIATION:
        return None
    return np.asarray(inverse @ cho_solve(cho_factor(orthogonal_products), cross))


def _blocks(Z: Inputs, Y: Floats, weight: Floats | None) -> Iterator[tuple[Floats, Floats]]:
    """Yield rows with a one in front, and their targets, both times the root of the weight."""
    for first in range(0, len(Z), ROWS_PER_BLOCK):
        rows = slice(first, first + ROWS_PER_BLOCK)
        left, right = np.column_stack([np.ones(len(Y[rows])), Z[rows]]), Y[rows]
        if weight is not None:
            root = np.sqrt(weight[rows])[:, np.newaxis]
            left, right = left * root, right * root
        yield left, right
