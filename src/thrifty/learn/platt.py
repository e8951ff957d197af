"""Platt scaling: the outputs of a machine, or of one machine a class, as probabilities.

Two classes: a sigmoid of ``scale * output + offset``, fitted to smoothed targets (Platt 1999). More
classes: its plain extension, a softmax with one scale and an offset for each class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

__all__ = ["Scaling", "platt"]

Floats = NDArray[np.float64]

# A softmax does not change when all offsets do; this chooses one.
RIDGE = 1e-6


class Scaling(NamedTuple):
    """Multiply the outputs, then add: log odds, or log shares up to a constant."""

    scale: float
    offset: Floats


def platt(outputs: Floats, codes: NDArray[np.int64], weight: Floats, classes: int) -> Scaling:
    """Fit a scaling to outputs (n, k); two classes have one output.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.platt import platt
    >>> outputs, codes = np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([0, 0, 1, 1])
    >>> scale, offset = platt(outputs, codes, np.ones(4), classes=2)
    >>> round(scale, 3)  # log odds of the smoothed target, 3 to 1
    1.099
    """
    if outputs.shape[1] < classes:
        outputs = np.column_stack([np.zeros(len(outputs)), outputs])
    targets = _smoothed(codes, weight, classes)
    total = max(float(weight.sum()), 1.0)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        scale, offset = parameters[0], parameters[1:]
        logits = scale * outputs + offset
        logs = logits - logsumexp(logits, axis=1, keepdims=True)
        error = weight[:, np.newaxis] * (np.exp(logs) - targets)
        value = -float(np.sum(weight * np.sum(targets * logs, axis=1))) / total
        slope = np.append(np.sum(error * outputs), error.sum(axis=0)) / total
        slope[1:] += RIDGE * offset
        return value + 0.5 * RIDGE * float(offset @ offset), slope

    bounds = [(0.0, None), *[(None, None)] * classes]
    start = np.append(1.0, np.zeros(classes))
    options = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 500}
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    offset = found[1:] if classes > 2 else found[2:] - found[1]
    return Scaling(float(found[0]), offset)


def _smoothed(codes: NDArray[np.int64], weight: Floats, classes: int) -> Floats:
    """Targets (n, K) short of 0 and 1 as if each class had one more row on either side."""
    mass = np.bincount(codes, weight, minlength=classes)
    doubt = 1.0 / (mass + 2.0)
    # What a class leaves goes to the others, by their size.
    others = np.where(np.eye(classes, dtype=bool), 0.0, mass + 1.0)
    table = doubt[:, np.newaxis] * others / others.sum(axis=1, keepdims=True)
    table += np.diag(1.0 - doubt)
    return np.asarray(table[codes])
