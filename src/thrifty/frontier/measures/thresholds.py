"""Choose the decision threshold of two classes on rows that the model has not seen.

A metric of labels, such as F1, is seldom best where the more probable class is predicted. The
threshold is the one with the best value on the validation rows; of equal ones, that closest to one
half. It lies in the middle between the probabilities of two rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Decision

__all__ = ["best_threshold", "candidate_thresholds", "tables_by_threshold"]

Floats = NDArray[np.float64]

HALF = 0.5


def candidate_thresholds(positive: Floats, most: int = 1000) -> Floats:
    """Return one half, and thresholds between the probabilities of the rows, increasing.

    Where there are more than `most` distinct probabilities, quantiles of them are taken.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.measures.thresholds import candidate_thresholds
    >>> candidate_thresholds(np.array([0.9, 0.2, 0.4, 0.2]))
    array([0.3 , 0.5 , 0.65])
    """
    values = np.unique(np.clip(positive, 0.0, 1.0))
    middles = (values[1:] + values[:-1]) / 2
    if len(middles) > most:
        middles = np.unique(np.quantile(middles, np.linspace(0, 1, most), method="nearest"))
    return np.unique(np.append(middles, HALF))


def tables_by_threshold(y: NDArray[np.int64], positive: Floats, thresholds: Floats) -> Floats:
    """Return the confusion matrix at each threshold, (t, 2, 2).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.measures.thresholds import tables_by_threshold
    >>> tables_by_threshold(np.array([0, 1]), np.array([0.3, 0.6]), np.array([0.2, 0.5]))
    array([[[0., 1.],
            [0., 1.]],
    <BLANKLINE>
           [[1., 0.],
            [0., 1.]]])
    """
    tables = np.empty((len(thresholds), 2, 2))
    for true in (0, 1):
        ranked = np.sort(positive[y == true])
        below = np.searchsorted(ranked, thresholds, side="right")
        tables[:, true, 0], tables[:, true, 1] = below, len(ranked) - below
    return tables


def best_threshold(
    value: Callable[[Floats], Floats], y: NDArray[np.int64], scores: Floats
) -> Decision:
    """Return the threshold at which a function of the confusion matrix is largest."""
    thresholds = candidate_thresholds(scores[:, 1])
    values = value(tables_by_threshold(y, scores[:, 1], thresholds))
    return pick(thresholds, values)


def pick(thresholds: Floats, values: Floats) -> Decision:
    """Return the decision at the threshold with the largest value, the closest to one half."""
    # Sums of counts differ in the last bits between equal values.
    best = thresholds[values >= values.max() - 1e-12]
    return Decision.at_threshold(float(best[np.argmin(np.abs(best - HALF))]))
