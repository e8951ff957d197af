"""The area under a curve: mean quality over a range of budgets.

Quality is a step function of the budget, which is given as a share of the full price: at each
budget it is that of the last point within it. On the logarithmic scale every doubling of the budget
weighs the same.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["area", "step"]

SCALES = ("log", "linear")


def area(
    bills: ArrayLike,
    qualities: ArrayLike,
    full: float,
    *,
    scale: str = "log",
    low: float = 0.02,
    high: float = 1.0,
) -> float:
    """Mean quality over the budgets from `low` to `high`, shares of the full price.

    Parameters
    ----------
    bills : array of shape (k,)
        What each point needs as its budget, in increasing order. Below the first the quality is
        that of the first too, so a curve starts with the constant predictor, at bill 0.
    qualities : array of shape (k,)
        Quality from each point up to the next.
    full : float
        The full price; where it is 0 every budget affords the last point.
    scale : {"log", "linear"}
        What the mean is uniform over.
    low, high : float
        The range of budgets, ``0 <= low < high``; above 0 on the logarithmic scale.

    Examples
    --------
    >>> from thrifty.frontier.area import area
    >>> area([0, 50], [0.5, 1.0], full=100, scale="linear", low=0.0)
    0.75
    >>> area([0, 10], [0.5, 1.0], full=100, low=0.01)
    0.75
    """
    if scale not in SCALES:
        raise ValueError(f"scale: {scale!r} is not one of {', '.join(SCALES)}")
    if not (0 < low < high if scale == "log" else 0 <= low < high):
        raise ValueError(f"low, high: {low!r} and {high!r} are not a range on the {scale} scale")
    if full <= 0:
        return float(np.asarray(qualities)[-1])
    edges = np.clip(np.append(np.asarray(bills, dtype=np.float64) / full, high), low, high)
    edges[0] = low
    places = np.log(edges) if scale == "log" else edges
    return float(np.dot(qualities, np.diff(places)) / (places[-1] - places[0]))


def step(bills: ArrayLike, qualities: ArrayLike, budget: float) -> float:
    """Quality of the last point within a budget; NaN where there is none.

    Examples
    --------
    >>> from thrifty.frontier.area import step
    >>> step([0, 10], [0.5, 1.0], 9.99), step([0, 10], [0.5, 1.0], 10)
    (0.5, 1.0)
    """
    within = int(np.searchsorted(np.asarray(bills), budget, side="right"))
    return float(np.asarray(qualities)[within - 1]) if within else math.nan
