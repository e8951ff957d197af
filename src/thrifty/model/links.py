"""Links: how the summed outputs of a model become scores.

Activations: how much a device whose gate has a value makes its answer count.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["ACTIVATIONS", "LINKS", "apply_link", "sigmoid"]

Floats = NDArray[np.float64]


def _sum(raw: Floats) -> Floats:
    return raw[:, 0].copy()


def _sigmoid(raw: Floats) -> Floats:
    # exp of a negative number only, so nothing overflows.
    small = np.exp(-np.abs(raw[:, 0]))
    positive = np.where(raw[:, 0] >= 0, 1.0, small) / (1.0 + small)
    return np.column_stack([1.0 - positive, positive])


def _hinge(raw: Floats) -> Floats:
    # The squared hinge is least at 2p - 1, so this is its probability, one class against the rest.
    positive = (np.clip(raw, -1.0, 1.0) + 1.0) / 2.0
    if raw.shape[1] == 1:
        return np.hstack([1.0 - positive, positive])
    total = positive.sum(axis=1, keepdims=True)
    even = np.full_like(positive, 1.0 / raw.shape[1])
    return np.asarray(np.divide(positive, total, out=even, where=total > 0))


def _softmax(raw: Floats) -> Floats:
    powers = np.exp(raw - raw.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _shares(raw: Floats) -> Floats:
    return raw


# `mean` and `vote` are averages over the trees already, see Forest.
LINKS: dict[str, Callable[[Floats], Floats]] = {
    "sum": _sum,
    "sigmoid": _sigmoid,
    "hinge": _hinge,
    "softmax": _softmax,
    "mean": _shares,
    "vote": _shares,
}


def apply_link(link: str, raw: Floats) -> Floats:
    """Scores of the outputs `raw` (n, k): (n,) for "sum", else probabilities (n, K)."""
    return LINKS[link](np.ascontiguousarray(raw))


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + exp(-value)), without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.links import sigmoid
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
