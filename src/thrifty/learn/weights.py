"""Read sample weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError
from thrifty.learn._sklearn import check_sample_weight
from thrifty.untrusted import LARGEST

__all__ = ["comparable_weights", "least_weight", "read_weights"]

Floats = NDArray[np.float64]
# A weight below this share of the largest one is lost in the rounding of every sum.
NEGLIGIBLE = 1e-30


def read_weights(sample_weight: Any, X: NDArray[Any]) -> Floats | None:
    """Check sample weights: one for each row, none negative, not all zero.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.weights import read_weights
    >>> read_weights([1, 2], np.zeros((2, 3)))
    array([1., 2.])
    """
    if sample_weight is None:
        return None
    try:
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    except TypeError as error:
        raise DataError(f"sample_weight: give a number for each row ({error})") from None
    if not np.any(weight > 0):
        raise DataError("sample_weight: every weight is zero; give a row a positive one")
    return comparable_weights("sample_weight", np.asarray(weight))


def comparable_weights(what: str, weight: Floats) -> Floats:
    """Return weights; those that no sum with the largest one would show become 0.

    Raises
    ------
    DataError
        If sums or squares of the weights would overflow, or be 0.
    """
    row = int(weight.argmax())
    least = least_weight(what, float(weight[row]), f" in row {row}")
    return np.where(weight < least, 0.0, weight)


def least_weight(what: str, largest: float, where: str = "") -> float:
    """Return the smallest weight that a sum with the largest one would show.

    Raises
    ------
    DataError
        If sums or squares of the weights would overflow, or be 0.
    """
    if not 1.0 / LARGEST <= largest <= LARGEST:
        raise DataError(
            f"{what}: the largest weight, {largest:g}{where}, is not between "
            f"{1.0 / LARGEST:g} and {LARGEST:g}; divide all weights by it, as only ratios count"
        )
    return NEGLIGIBLE * largest
