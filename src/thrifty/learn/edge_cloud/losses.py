"""Losses of the outputs of an edge/cloud model: the log loss and the squared error."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

__all__ = ["Loss", "log_loss", "squared_loss"]

Floats = NDArray[np.float64]
# Takes outputs (n, M); returns the loss of each row (n,) and its gradient (n, M).
Loss = Callable[[Floats], tuple[Floats, Floats]]


def log_loss(codes: NDArray[np.int64]) -> Loss:
    """Return the log loss of class codes (n,), as a function of the outputs."""
    each = np.arange(len(codes))

    def loss(outputs: Floats) -> tuple[Floats, Floats]:
        # The maximum over classes column by column: rows are many, and classes are few.
        shifted = outputs - reduce(np.maximum, outputs.T)[:, np.newaxis]
        powers = np.exp(shifted)
        totals = powers @ np.ones(outputs.shape[1])
        values = np.log(totals) - shifted[each, codes]
        gradient = powers / totals[:, np.newaxis]
        gradient[each, codes] -= 1.0
        return values, gradient

    return loss


def squared_loss(targets: Floats) -> Loss:
    """Return half the squared error of targets (n,), as a function of one output."""

    def loss(outputs: Floats) -> tuple[Floats, Floats]:
        error = outputs - targets[:, np.newaxis]
        return 0.5 * np.square(error[:, 0]), error

    return loss
