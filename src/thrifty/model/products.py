"""Products of rows and vectors with the same bits for a row alone and in a batch.

Each has a kernel, used where Numba is installed, and a NumPy version that adds in the same order.
Small batches use the NumPy version anyway, so that a walk never has to load Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import sealed

__all__ = ["dot_products", "squared_distances", "weighted_sums"]

Floats = NDArray[np.float64]
# Up to this many rows, loading and calling the kernel costs more than it saves.
MAX_ROWS_IN_NUMPY = 4


def squared_distances(X: Floats, V: Floats) -> Floats:
    """Return the squared distance of each row of X (n, q) to each vector of V (m, q), as (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.products import squared_distances
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[25.,  1.]])
    """
    out = np.zeros((len(X), len(V)))
    if _prefers_numpy(X):
        return _add_terms(out, lambda j: np.square(X[:, j, np.newaxis] - V.T[j]), X.shape[1])
    from thrifty.kernels import products

    products.squared_distances(sealed(X), sealed(V.T), out)
    return out


def dot_products(X: Floats, V: Floats) -> Floats:
    """Return the inner product of each row of X (n, q) and each vector of V (m, q), as (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.products import dot_products
    >>> dot_products(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[11.,  1.]])
    """
    out = np.zeros((len(X), len(V)))
    if _prefers_numpy(X):
        return _add_terms(out, lambda j: X[:, j, np.newaxis] * V.T[j], X.shape[1])
    from thrifty.kernels import products

    products.dot_products(sealed(X), sealed(V.T), out)
    return out


def weighted_sums(values: Floats, coefficients: Floats, start: Floats) -> Floats:
    """Return ``start + values @ coefficients``, (n, p), added up column by column of `values`.

    Parameters
    ----------
    values : array (n, m)
    coefficients : array (m, p)
    start : array (p,)

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.products import weighted_sums
    >>> weighted_sums(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]), np.array([0.5]))
    array([[11.5]])
    """
    out = np.tile(start, (len(values), 1))
    if _prefers_numpy(values):
        columns = values.shape[1]
        return _add_terms(out, lambda k: values[:, k, np.newaxis] * coefficients[k], columns)
    from thrifty.kernels import products

    products.weighted_sums(sealed(values), sealed(coefficients), out)
    return out


def _prefers_numpy(rows: Floats) -> bool:
    """Return whether to do without the kernel."""
    return len(rows) <= MAX_ROWS_IN_NUMPY or not find_spec("numba")


def _add_terms(out: Floats, term: Callable[[Any], Floats], count: int) -> Floats:
    """Return `out` (n, m) plus the terms 0, ..., count - 1, added in this order.

    `term` returns the term (n, m) of one number, or all terms of one row for a slice of numbers.
    """
    if len(out) != 1:
        for number in range(count):
            out += term(number)
        return out
    # One row: all terms at once, (count, m), then added from first to last as above.
    terms = np.concatenate([out, term(slice(None))[0]])
    return terms.cumsum(axis=0)[-1:]
