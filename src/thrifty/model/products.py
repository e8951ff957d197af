"""Products of rows and vectors with the same bits for a row alone and in a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.processor import fastest

__all__ = ["dot_products", "squared_distances", "weighted_sums"]

Floats = NDArray[np.float64]
kernels = fastest("products")


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
    kernels.add_squared_distances(_as_table(X), _as_table(V.T), out)
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
    kernels.add_products(_as_table(X), _as_table(V.T), out)
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
    kernels.add_products(_as_table(values), _as_table(coefficients), out)
    return out


def _as_table(values: NDArray[np.floating]) -> Floats:
    """Return the array as the kernels read it, copied only where it is stored in another way."""
    return np.ascontiguousarray(values, dtype=np.float64)
