"""One against one: pairs of classes, and how the decisions of the pairs become probabilities.

The pairs are (0, 1), (0, 2), ..., (1, 2), ...; a positive decision speaks for the first class of
its pair. The decision times a slope is the log-odds of the first class against the second.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["couple", "pair_classes"]

Floats = NDArray[np.float64]
# e to this is large, and a sum of such is still finite.
STEEPEST = 500.0


def pair_classes(n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First and second class of each pair.

    Examples
    --------
    >>> from thrifty.model.pairwise import pair_classes
    >>> [classes.tolist() for classes in pair_classes(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    first, second = np.triu_indices(n_classes, 1)
    return first, second


def couple(logits: Floats, n_classes: int) -> Floats:
    """Class probabilities (n, K) of the log-odds (n, pairs) of the pairs.

    ``1 / (1 + sum over the other classes of the odds for them)``, scaled to a sum of one: exact
    where the pairs agree on one distribution (Price, Knerr, Personnaz and Dreyfus 1995), and the
    sigmoid for two classes.

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
    np.exp(np.clip(logits, -STEEPEST, STEEPEST), out=odds[:, pairs:])
    np.divide(1.0, odds[:, pairs:], out=odds[:, :pairs])
    against = odds.take(_rivals(n_classes).ravel(), axis=1)
    shares = 1.0 / (1.0 + against.reshape(len(logits), n_classes, -1).sum(axis=2))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@cache
def _rivals(n_classes: int) -> NDArray[np.intp]:
    """Where the odds for each other class against a class lie, (K, K - 1).

    The odds for the second class of each pair come first, then those for the first class.
    """
    first, second = pair_classes(n_classes)
    return np.array(
        [
            np.concatenate([np.flatnonzero(first == k), len(first) + np.flatnonzero(second == k)])
            for k in range(n_classes)
        ]
    )
