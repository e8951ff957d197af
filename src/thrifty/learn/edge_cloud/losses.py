"""Losses of the outputs of an edge/cloud model: the log loss and the squared error."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

__all__ = ["Loss", "log_loss", "squared_loss"]

Floats = NDArray[np.float64]
# Takes outputs (n, M); returns the loss of each row (n,) and its gradient, a new array (n, M).
Loss = Callable[[Floats], tuple[Floats, Floats]]
# Number of classes up to which NumPy takes a maximum faster by columns than by rows.
MAX_NARROW = 16


def log_loss(codes: NDArray[np.int64]) -> Loss:
    """Return the log loss of class codes (n,), as a function of the outputs."""
    each = np.arange(len(codes))

    def loss(outputs: Floats) -> tuple[Floats, Floats]:
        # If there are few classes, the maximum is faster column by column.
        is_narrow = outputs.shape[1] <= MAX_NARROW
        highest = reduce(np.maximum, outputs.T) if is_narrow else outputs.max(axis=1)
        shifted = outputs - highest[:, np.newaxis]
        own = shifted[each, codes]
        # In place: where classes are many, new arrays take as long as the exponential.
        gradient = np.exp(shifted, out=shifted)
        totals = gradient @ np.ones(outputs.shape[1])
        values = np.log(totals) - own
        gradient /= totals[:, np.newaxis]
        gradient[each, codes] -= 1.0
        return values, gradient

    return loss


def squared_loss(targets: Floats) -> Loss:
    """Return half the squared error of targets (n,), as a function of one output."""

    def loss(outputs: Floats) -> tuple[Floats, Floats]:
        error = outputs - targets[:, np.newaxis]
        return 0.5 * np.square(error[:, 0]), error

    return loss
