"""A range of penalties, from one at which nothing is bought down to none."""

from __future__ import annotations

import numpy as np

__all__ = ["penalties"]

POINTS = 12
SPAN = 1e-3


def penalties(top: float, points: int = POINTS) -> list[float]:
    """Falling penalties below `top`, each the same part of the one before, and 0 at last.

    Examples
    --------
    >>> from thrifty.learn.rivals.penalties import penalties
    >>> len(penalties(2.0)), penalties(2.0)[0], penalties(0.0)
    (13, 2.0, [0.0])
    """
    if top <= 0:
        return [0.0]
    return [*(top * np.geomspace(1.0, SPAN, points)).tolist(), 0.0]
