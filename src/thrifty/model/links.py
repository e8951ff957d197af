"""Links and activations: how sums of outputs become scores.

A *link* turns the outputs of a model into class probabilities or values. An *activation* turns the
value of an open gate into the factor of a device's contribution (`thrifty.model.edge_cloud`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["ACTIVATIONS", "LINKS", "MIN_PROBABILITY", "apply_link", "apply_temperature", "sigmoid"]

Floats = NDArray[np.float64]

# Outputs are sums over trees, but averages over trees for "mean" and "vote", see `Forest`.
LINKS = ("sum", "sigmoid", "hinge", "softmax", "mean", "vote")
# Probabilities are clipped here before their logarithm is taken.
MIN_PROBABILITY = 1e-6


def apply_link(link: str, raw: Floats) -> Floats:
    """Return the scores of outputs `raw` (n, k): values (n,) for "sum", else probabilities (n, K).

    One output of "sigmoid" or "hinge" gives two columns. Outputs of "mean" and "vote" are
    probabilities already: `raw` itself is returned, not a copy.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.links import apply_link
    >>> apply_link("hinge", np.array([[0.5], [-7.0]]))
    array([[0.25, 0.75],
           [1.  , 0.  ]])
    """
    raw = np.ascontiguousarray(raw)
    if link == "sum":
        return raw[:, 0].copy()
    if link == "sigmoid":
        positive = sigmoid(raw[:, 0])
        return np.column_stack([1.0 - positive, positive])
    if link == "softmax":
        powers = np.exp(raw - raw.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))
    if link == "hinge":
        # The squared hinge is smallest at 2p - 1, so p is the probability of a class, one-vs-rest.
        positive = (np.clip(raw, -1.0, 1.0) + 1.0) / 2.0
        if raw.shape[1] == 1:
            return np.hstack([1.0 - positive, positive])
        total = positive.sum(axis=1, keepdims=True)
        uniform = np.full_like(positive, 1.0 / raw.shape[1])
        return np.asarray(np.divide(positive, total, out=uniform, where=total > 0))
    if link in ("mean", "vote"):
        return raw
    raise ValueError(f"unknown link {link!r}; the links are {', '.join(LINKS)}")


def apply_temperature(probabilities: Floats, factor: float) -> Floats:
    """Return class probabilities (n, K) to the power of `factor`, divided by their sum.

    The factor is an inverse temperature: above 1 it makes a model surer, below 1 less sure. A
    factor of 1 changes nothing: `probabilities` itself is returned.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.links import apply_temperature
    >>> apply_temperature(np.array([[0.2, 0.8]]), 2.0).round(3)  # odds of 4 become odds of 16
    array([[0.059, 0.941]])
    """
    if factor == 1.0:
        return probabilities
    logs = np.log(np.clip(probabilities, MIN_PROBABILITY, 1.0))
    return apply_link("softmax", factor * logs)


def sigmoid(values: Floats) -> Floats:
    """Return 1 / (1 + exp(-value)) without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.links import sigmoid
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    small = np.exp(-np.abs(values))
    return np.asarray(np.where(values >= 0, 1.0, small) / (1.0 + small))


# By what an open gate of a given value multiplies its device's contribution.
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "step": np.ones_like,
    "sigmoid": sigmoid,
    "relu": lambda values: np.maximum(values, 0.0),
}
