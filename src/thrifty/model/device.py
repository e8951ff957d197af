"""One device of a mixture: what it senses, whether it speaks, and what it says."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.model.activations import ACTIVATIONS
from thrifty.model.encoding import Encoding
from thrifty.model.products import weighted_sums

__all__ = ["Device", "Heard"]

Floats = NDArray[np.float64]


class Heard(NamedTuple):
    """Which rows (n,) a device transmits for, and its answers (n, K) to all rows."""

    opens: NDArray[np.bool_]
    answers: Floats


class Device(NamedTuple):
    """Columns, how they become slots, and the weights of slots for the gate and for the answer."""

    columns: NDArray[np.int64]
    encoding: Encoding
    weights: Floats
    start: Floats
    activation: str
    limit: float

    def hear(self, X: NDArray[np.floating]) -> Heard:
        """What the device does with rows of the table; one that senses nothing stays closed."""
        found = weighted_sums(self.encoding.apply(X), self.weights, self.start)
        values = found[:, 0]
        silent = np.isnan(X[:, self.columns]).all(axis=1)
        act = ACTIVATIONS[self.activation](values)
        return Heard((values > self.limit) & ~silent, act[:, np.newaxis] * found[:, 1:])
