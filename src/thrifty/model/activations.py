"""Activations: how much a device whose gate has a value makes its answer count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["ACTIVATIONS", "sigmoid"]

Floats = NDArray[np.float64]


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + exp(-value)), without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.activations import sigmoid
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    small = np.exp(-np.abs(values))
    return np.asarray(np.where(values >= 0, 1.0, small) / (1.0 + small))


def _relu(values: Floats) -> Floats:
    return np.maximum(values, 0.0)


# What the answer of an open gate is multiplied by; a closed gate sends nothing.
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "step": np.ones_like,
    "sigmoid": sigmoid,
    "relu": _relu,
}
