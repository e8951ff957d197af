"""Quantiles of rows that have weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["weighted_quantile"]

# Weights are summed in some order: what is this close to a share has reached it.
ROUNDING = 1e-9


def weighted_quantile(
    values: NDArray[np.float64], weight: NDArray[np.float64], share: float
) -> float:
    """The least value such that the rows up to it have a `share` of the weight.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.rivals.quantiles import weighted_quantile
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 0.75)
    2.0
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    place = np.searchsorted(reached, (share - ROUNDING) * reached[-1])
    return float(values[order][min(place, len(values) - 1)])
