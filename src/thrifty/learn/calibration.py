"""Calibration: one factor for the outputs of a boosted model, chosen on held-out rows.

The factor is folded into the trees, so that a calibrated model is a forest like any other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from thrifty.learn.losses import Loss
from thrifty.model import Forest

__all__ = ["factor_of", "scaled"]

# Natural logarithm of the largest factor, and minus that of the smallest.
WIDEST = 2.0
# Few rows say little about the factor: so many rows' worth of loss pull it to 1.
PULL = 10.0


def factor_of(raw: NDArray[np.float64], loss: Loss) -> float:
    """The factor at which the outputs `raw` (k, n) have the least loss.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.calibration import factor_of
    >>> from thrifty.learn.losses import LogLoss
    >>> y = np.arange(1000) % 4 // 3  # a quarter is of class 1
    >>> raw = np.full((1, 1000), 2 * np.log(1 / 3))  # and a tenth is said to be
    >>> round(factor_of(raw, LogLoss(y, None, 2)), 1)
    0.5
    """
    pull = PULL / raw.shape[1]

    def cost(exponent: float) -> float:
        return loss.value(np.exp(exponent) * raw) + float(pull * exponent * exponent)

    return float(np.exp(minimize_scalar(cost, bounds=(-WIDEST, WIDEST), method="bounded").x))


def scaled(forest: Forest, factor: float) -> Forest:
    """The forest with all outputs times `factor`."""
    return replace(forest, values=factor * forest.values, base=factor * forest.base)
