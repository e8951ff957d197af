"""One-vs-one classification: the pairs of classes, and class probabilities from their log-odds.

The pairs of K classes are (0, 1), (0, 2), ..., (1, 2), ...; a positive decision of a pair is for
its first class.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["couple", "pair_classes"]

Floats = NDArray[np.float64]
# Log-odds are clipped to this absolute value: a sum of their exponentials stays finite.
MAX_LOG_ODDS = 500.0


def pair_classes(n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the second class of each pair, two arrays (pairs,).

    Examples
    --------
    >>> from thrifty.model.pairwise import pair_classes
    >>> [classes.tolist() for classes in pair_classes(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    first, second = np.triu_indices(n_classes, 1)
    return first, second


def couple(logits: Floats, n_classes: int) -> Floats:
    """Return class probabilities (n, K) from the log-odds (n, pairs) of the pairs.

    The probability of a class is ``1 / (1 + sum of the odds of the other classes against it)``,
    normalized to a sum of one (Price et al. 1995). It is exact where the pairs agree on one
    distribution, and the sigmoid for two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.pairwise import couple, pair_classes
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> first, second = pair_classes(3)
    >>> couple(np.log(p[first] / p[second])[np.newaxis], 3).round(6)
    array([[0.5, 0.3, 0.2]])
    """
    pairs = logits.shape[1]
    odds = np.empty((len(logits), 2 * pairs))
    np.exp(np.clip(logits, -MAX_LOG_ODDS, MAX_LOG_ODDS), out=odds[:, pairs:])
    np.divide(1.0, odds[:, pairs:], out=odds[:, :pairs])
    against = odds.take(_odds_against(n_classes).ravel(), axis=1)
    unscaled = 1.0 / (1.0 + against.reshape(len(logits), n_classes, -1).sum(axis=2))
    return np.asarray(unscaled / unscaled.sum(axis=1, keepdims=True))


@lru_cache(maxsize=4)
def _odds_against(n_classes: int) -> NDArray[np.intp]:
    """Return where `couple` stores the odds of each other class against a class, (K, K - 1).

    It stores the odds for the second class of all pairs first, then those for the first class.
    Cached, as a walk couples one row at a time.
    """
    first, second = pair_classes(n_classes)
    pair = np.arange(len(first))
    place = np.empty((n_classes, n_classes), dtype=np.intp)
    place[first, second] = pair
    place[second, first] = len(first) + pair
    # For each class, the pairs that it is the first of precede those that it is the second of.
    others = np.arange(n_classes)
    order = np.argsort(others <= others[:, np.newaxis], axis=1, kind="stable")
    return np.take_along_axis(place, order, axis=1)[:, :-1]
