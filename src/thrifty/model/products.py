"""Products of rows with vectors that give a row the same bits alone and in a batch.

Each has a kernel, used where Numba is installed, and a plain twin with the same order of
additions. A few rows go to the twin anyway: a walk never pays for loading Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["dot_products", "squared_distances", "weighted_sums"]

Floats = NDArray[np.float64]
FEW = 4


def squared_distances(X: Floats, V: Floats) -> Floats:
    """Squared distance of each row of X (n, q) and each vector of V (m, q), as (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.products import squared_distances
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[25.,  1.]])
    """
    out = np.zeros((len(X), len(V)))
    if _is_plain(X):
        return _added(out, lambda j: np.square(X[:, j, np.newaxis] - V.T[j]), X.shape[1])
    from thrifty.kernels import products as vectors

    vectors.squared_distances(_sealed(X), _sealed(V.T), out)
    return out


def dot_products(X: Floats, V: Floats) -> Floats:
    """Inner product of each row of X (n, q) and each vector of V (m, q), as (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.products import dot_products
    >>> dot_products(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[11.,  1.]])
    """
    out = np.zeros((len(X), len(V)))
    if _is_plain(X):
        return _added(out, lambda j: X[:, j, np.newaxis] * V.T[j], X.shape[1])
    from thrifty.kernels import products as vectors

    vectors.dot_products(_sealed(X), _sealed(V.T), out)
    return out


def weighted_sums(values: Floats, coefficients: Floats, start: Floats) -> Floats:
    """``start + values @ coefficients``, (n, P), added up vector by vector.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.products import weighted_sums
    >>> weighted_sums(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]), np.array([0.5]))
    array([[11.5]])
    """
    out = np.tile(start, (len(values), 1))
    if _is_plain(values):
        return _added(out, lambda k: values[:, k, np.newaxis] * coefficients[k], values.shape[1])
    from thrifty.kernels import products as vectors

    vectors.weighted_sums(_sealed(values), _sealed(coefficients), out)
    return out


def _added(out: Floats, term: Callable[[Any], Floats], count: int) -> Floats:
    """`out` plus the terms 0, 1, ..., one after the other; `term` also takes a slice of numbers."""
    if len(out) != 1:
        for number in range(count):
            out += term(number)
        return out
    # One row: all terms at once, (count, m), added from the first to the last as above.
    terms = np.concatenate([out, term(slice(None))[0]])
    return terms.cumsum(axis=0)[-1:]


def _is_plain(rows: Floats) -> bool:
    return len(rows) <= FEW or not find_spec("numba")


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous read-only view: one compiled kernel serves all arrays."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view
