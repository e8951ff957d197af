"""Slopes that make decisions log-odds: Platt's method, without an offset.

Without the offset the even odds stay where the decision is 0, so that the most probable class of
two is the one the machine decides for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.model.pairs import pair_classes

__all__ = ["pair_slopes"]

Floats = NDArray[np.float64]
STEPS = 50
# A machine that decides no better than chance still decides.
LEAST, MOST = 1e-3, 1e6


def pair_slopes(
    decisions: Floats, codes: NDArray[np.int64], n_classes: int, weight: Floats | None = None
) -> Floats:
    """Slope of each pair, from the decisions (n, pairs) on rows of known classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.pair_slopes import pair_slopes
    >>> pair_slopes(np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array([0, 0, 1, 1]), 2).round(3)
    array([1.099])
    """
    weight = np.ones(len(codes)) if weight is None else weight
    slopes = np.ones(decisions.shape[1])
    for pair, (first, second) in enumerate(zip(*pair_classes(n_classes), strict=True)):
        own = (codes == first) | (codes == second)
        if own.any():
            slopes[pair] = _slope(decisions[own, pair], codes[own] == first, weight[own])
    return slopes


def _slope(f: Floats, is_first: NDArray[np.bool_], weight: Floats) -> float:
    """The likeliest slope for Platt's targets, which are not quite 0 and 1."""
    ahead, behind = float(weight[is_first].sum()), float(weight[~is_first].sum())
    target = np.where(is_first, (ahead + 1.0) / (ahead + 2.0), 1.0 / (behind + 2.0))
    size = float(np.average(np.abs(f), weights=weight)) or 1.0
    f = f / size
    low, high = LEAST, MOST
    slope = 1.0
    for _ in range(STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(slope * f, -500.0, 500.0)))
        gradient = float((weight * f * (p - target)).sum())
        low, high = (low, slope) if gradient > 0 else (slope, high)
        curve = float((weight * f * f * p * (1.0 - p)).sum())
        step = slope - gradient / curve if curve > 0 else np.inf
        # Newton where it stays between the bounds that are known, else their middle.
        step = step if low < step < high else np.sqrt(low * high)
        if abs(step - slope) <= 1e-10 * slope:
            break
        slope = float(step)
    return slope / size
