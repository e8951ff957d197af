"""The Hessian of a linear model: ``A.T @ A`` plus a diagonal, in the smaller of two forms.

Tables with more columns than rows never need the matrix itself: its products, its largest
eigenvalue and its linear systems follow from ``A @ A.T`` (Sherman-Morrison-Woodbury).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["RidgedGram"]

Floats = NDArray[np.float64]


class RidgedGram:
    """``A.T @ A + diag(ridges)``.

    Parameters
    ----------
    A : array of shape (n, q)
    ridges : array of shape (q,)
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines.ridged_gram import RidgedGram
    >>> gram = RidgedGram(np.array([[1.0, 2.0, 0.0]]), ridges=np.ones(3))
    >>> gram @ np.array([1.0, 1.0, 1.0])
    array([4., 7., 1.])
    >>> gram.solve(np.array([4.0, 7.0, 1.0])).round(6)
    array([1., 1., 1.])
    """

    def __init__(self, A: Floats, ridges: Floats) -> None:
        self._A, self._ridges = A, ridges
        n, q = A.shape
        self._matrix: Floats | None = None
        if q <= n:
            self._matrix = A.T @ A
            self._matrix[np.diag_indices(q)] += ridges

    def __matmul__(self, b: Floats) -> Floats:
        if self._matrix is not None:
            return np.asarray(self._matrix @ b)
        return np.asarray(self._A.T @ (self._A @ b) + self._ridges * b)

    def largest_eigenvalue(self) -> float:
        """Return the largest eigenvalue, or with more columns than rows a bound close to it."""
        if self._matrix is not None:
            return float(np.linalg.eigvalsh(self._matrix)[-1])
        return float(np.linalg.eigvalsh(self._A @ self._A.T)[-1] + self._ridges.max())

    def solve(self, right: Floats, columns: NDArray[np.intp] | None = None) -> Floats:
        """Solve the linear system of all columns, or of some of them, for the right side."""
        if self._matrix is not None:
            some = self._matrix if columns is None else self._matrix[np.ix_(columns, columns)]
            return np.asarray(np.linalg.solve(some, right), dtype=np.float64)
        A = self._A if columns is None else self._A[:, columns]
        ridges = self._ridges if columns is None else self._ridges[columns]
        if A.shape[1] <= len(A):
            return RidgedGram(A, ridges).solve(right)
        scaled = A / ridges
        inner = scaled @ A.T
        inner[np.diag_indices(len(A))] += 1.0
        return np.asarray(right / ridges - scaled.T @ np.linalg.solve(inner, scaled @ right))
