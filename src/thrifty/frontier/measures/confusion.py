"""Metrics of predicted labels, as functions of the confusion matrix.

Each takes counts or shares ``[..., true, said]`` of two or more classes. For two classes,
precision, recall and F1 are those of the second one, which scikit-learn calls positive; for more,
the mean over the classes. Where a ratio is 0 / 0 it counts as 0, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "accuracy",
    "balanced_accuracy",
    "confusion",
    "f1",
    "influence",
    "matthews_corrcoef",
    "precision",
    "recall",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# Weight of the row that is added to find its influence.
STEP = 1e-6


def confusion(y: Codes, predicted: Codes, n_classes: int) -> Floats:
    """Count the rows by true and predicted class, (K, K).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.measures.confusion import confusion
    >>> confusion(np.array([0, 1, 1]), np.array([0, 0, 1]), 2)
    array([[1., 0.],
           [1., 1.]])
    """
    counts = np.bincount(y * n_classes + predicted, minlength=n_classes**2)
    return counts.reshape(n_classes, n_classes).astype(np.float64)


def accuracy(table: Floats) -> Floats:
    """Return the share of correct labels."""
    return _ratio(np.trace(table, axis1=-2, axis2=-1), table.sum(axis=(-2, -1)))


def balanced_accuracy(table: Floats) -> Floats:
    """Return the mean recall of the classes that occur."""
    rows = table.sum(axis=-1)
    recalls = _ratio(_diagonal(table), rows)
    return _ratio(recalls.sum(axis=-1), (rows > 0).sum(axis=-1))


def precision(table: Floats) -> Floats:
    """Return the share of a class among the rows that are predicted to be of it."""
    return _positive(_ratio(_diagonal(table), table.sum(axis=-2)))


def recall(table: Floats) -> Floats:
    """Return the share of the rows of a class that are predicted to be of it."""
    return _positive(_ratio(_diagonal(table), table.sum(axis=-1)))


def f1(table: Floats) -> Floats:
    """Return the harmonic mean of precision and recall.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.measures.confusion import f1
    >>> f1(np.array([[6.0, 1.0], [1.0, 2.0]])).round(3).item()
    0.667
    """
    hits = _diagonal(table)
    return _positive(_ratio(2 * hits, table.sum(axis=-1) + table.sum(axis=-2)))


def matthews_corrcoef(table: Floats) -> Floats:
    """Return the correlation of true and predicted classes, as Matthews defined it."""
    total, true, said = table.sum(axis=(-2, -1)), table.sum(axis=-1), table.sum(axis=-2)
    hits = np.trace(table, axis1=-2, axis2=-1)
    covariance = hits * total - (true * said).sum(axis=-1)
    spread = np.sqrt((total**2 - (true**2).sum(axis=-1)) * (total**2 - (said**2).sum(axis=-1)))
    return _ratio(covariance, spread)


def influence(metric: Callable[[Floats], Floats], y: Codes, predicted: Codes, k: int) -> Floats:
    """Return the metric plus what each row contributes to it, to the first order, (n,).

    The mean is the metric. Rows of one cell of the confusion matrix contribute the same.
    """
    shares = confusion(y, predicted, k) / len(y)
    value = metric(shares)
    cell = y * k + predicted
    seen = np.unique(cell)
    added = (1 - STEP) * shares + STEP * np.eye(k * k)[seen].reshape(-1, k, k)
    slopes = np.zeros(k * k)
    slopes[seen] = (metric(added) - value) / STEP
    each = slopes[cell]
    return np.asarray(value + each - each.mean())


def _diagonal(table: Floats) -> Floats:
    return np.diagonal(table, axis1=-2, axis2=-1)


def _positive(by_class: Floats) -> Floats:
    """Return the figure of the second of two classes; for more classes, the mean."""
    return by_class[..., 1] if by_class.shape[-1] == 2 else by_class.mean(axis=-1)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Divide; 0 / 0 is 0."""
    some = below > 0
    return np.asarray(np.where(some, above / np.where(some, below, 1.0), 0.0))
