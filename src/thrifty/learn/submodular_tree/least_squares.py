"""Weighted least squares with an intercept by QR, one block of rows after the other.

The orthogonal factor comes from Cholesky, taken twice: that works in matrix products, and is as
exact as Householder's up to a condition of 1e8 (Y. Yamamoto et al., 2015). Where columns are nearer
to dependent it is Householder's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

__all__ = ["least_squares"]

Floats = NDArray[np.float64]
ROWS = 4096
# Least part of a column, for Cholesky, that is no combination of those before.
TWICE = 1e-6
# Farthest from the identity that products of columns may be after the first time.
NEARLY = 0.1
# Columns that are closer to a combination of others share their coefficient with them.
NOTHING = 1e-10


def least_squares(
    Z: Floats, Y: Floats, weight: Floats | None = None, products: Floats | None = None
) -> tuple[Floats, Floats]:
    """Coefficients (k, t) and intercepts (t,) of the columns of Z (n, k) for Y (n, t).

    Parameters
    ----------
    Z, Y : arrays (n, k) and (n, t)
    weight : array (n,), optional
        Weights of the rows.
    products : array (1 + k, 1 + k), optional
        Products of a column of ones and the columns of Z, if they are known, if only roughly: what
        comes out is as exact.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.submodular_tree.least_squares import least_squares
    >>> Z = np.random.default_rng(0).normal(size=(50, 2))
    >>> coefficients, intercept = least_squares(Z, 3.0 * Z[:, :1] + 1.0)
    >>> (abs(coefficients.round(6)) + 0.0).tolist(), intercept.round(6).tolist()
    ([[3.0], [0.0]], [1.0])
    """
    products = _products(Z, Y, weight) if products is None else products
    found = _by_cholesky(Z, Y, weight, products)
    if found is None:
        found = _by_householder(Z, Y, weight)
    return found[1:], found[0]


def _by_cholesky(Z: Floats, Y: Floats, weight: Floats | None, products: Floats) -> Floats | None:
    """Intercepts, then coefficients; None where the columns are too nearly dependent."""
    triangle = _triangle(products)
    if triangle is None:
        return None
    k = len(triangle)
    inverse = solve_triangular(triangle, np.eye(k))
    turned_products, cross = np.zeros((k, k)), np.zeros((k, Y.shape[1]))
    for left, right in _blocks(Z, Y, weight):
        turned = left @ inverse
        turned_products += turned.T @ turned
        cross += turned.T @ right
    # Columns that were made orthogonal once: their products are the identity, but for rounding.
    if not np.abs(turned_products - np.eye(k)).max() < NEARLY:
        return None
    return np.asarray(inverse @ cho_solve(cho_factor(turned_products), cross))


def _products(Z: Floats, Y: Floats, weight: Floats | None) -> Floats:
    products = np.zeros((1 + Z.shape[1],) * 2)
    for left, _ in _blocks(Z, Y, weight):
        products += left.T @ left
    return products


def _triangle(products: Floats) -> Floats | None:
    """The triangular factor from the products of the columns."""
    squares = products.diagonal()
    if not np.all(squares > 0.0):
        return None
    scale = np.sqrt(squares)
    try:
        triangle = np.linalg.cholesky(products / np.outer(scale, scale)).T
    except np.linalg.LinAlgError:
        return None
    return triangle * scale if triangle.diagonal().min() > TWICE else None


def _by_householder(Z: Floats, Y: Floats, weight: Floats | None) -> Floats:
    """Intercepts, then coefficients, the smallest ones where columns depend on each other."""
    k = 1 + Z.shape[1]
    triangle = np.zeros((0, k + Y.shape[1]))
    for left, right in _blocks(Z, Y, weight):
        rows = np.concatenate([triangle, np.column_stack([left, right])])
        triangle = np.asarray(np.linalg.qr(rows, mode="r"))
    return np.asarray(np.linalg.lstsq(triangle[:, :k], triangle[:, k:], rcond=NOTHING)[0])


def _blocks(Z: Floats, Y: Floats, weight: Floats | None) -> Iterator[tuple[Floats, Floats]]:
    """Rows with a one in front, and their targets, both times the root of the weight."""
    for first in range(0, len(Z), ROWS):
        rows = slice(first, first + ROWS)
        left, right = np.column_stack([np.ones(len(Y[rows])), Z[rows]]), Y[rows]
        if weight is not None:
            root = np.sqrt(weight[rows])[:, np.newaxis]
            left, right = left * root, right * root
        yield left, right
