"""Rows that are alike become one row that weighs as much as all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["merge_rows"]


def merge_rows(
    X: NDArray[np.floating], codes: NDArray[np.int64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.floating], NDArray[np.int64], NDArray[np.float64]]:
    """Distinct rows with their classes and weights, in an order that the rows alone decide.

    So a row of weight two is two rows, to the last bit of what is learnt from them.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.merged_rows import merge_rows
    >>> X, codes, weight = merge_rows(np.array([[2.0], [1.0], [2.0]]), np.array([1, 0, 1]), None)
    >>> sorted(zip(X.ravel().tolist(), codes.tolist(), weight.tolist()))
    [(1.0, 0, 1.0), (2.0, 1, 2.0)]
    """
    keys = np.column_stack([X.astype(np.float64), codes.astype(np.float64)])
    whole = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.itemsize * keys.shape[1])))
    _, first, place = np.unique(whole.ravel(), return_index=True, return_inverse=True)
    mass = np.bincount(place, weight, len(first)).astype(np.float64)
    return X[first], codes[first], mass
