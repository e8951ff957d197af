"""Keys of a blend: features by which rows are dealt out, bought by every row.

What both models read of every row anyway costs nothing more, nor does what has no price. Rows with
equal keys go the same way, so the keys must tell rows apart; if they do not, the cheapest further
features are added, and paid for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.model.lots import draw_lots

__all__ = ["find_keys"]

# Rows must fall into so many parts of about equal size; then one part more or less moves the
# mean bill by a twentieth of the way from one model to the other.
FEWEST_PARTS = 20


def find_keys(
    X: NDArray[np.floating], always: NDArray[np.bool_], prices: BoundPrices
) -> NDArray[np.int64] | None:
    """Features to deal rows out by, increasing; None if even all of them do not tell rows apart.

    Parameters
    ----------
    X : array of shape (n, d)
        Encoded rows.
    always : bool array of shape (d,)
        Features that every row reads in both models.
    prices : BoundPrices

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs import Prices
    >>> from thrifty.frontier.keys import find_keys
    >>> X = np.column_stack([np.arange(90) % 2, np.arange(90), np.arange(90.0) ** 2])
    >>> find_keys(X, np.array([True, False, False]), Prices([1, 5, 3]).bind(3))
    array([0, 2])
    """
    keys = set(np.flatnonzero(always).tolist())
    left = [j for j in range(X.shape[1]) if j not in keys]
    while True:
        keys |= {j for j in left if prices.marginal(j, keys) == 0}
        if _parts(X[:, sorted(keys)]) >= FEWEST_PARTS:
            return np.array(sorted(keys), dtype=np.int64)
        left = [j for j in left if j not in keys]
        if not left:
            return None
        keys.add(min(left, key=lambda j: (prices.marginal(j, keys), -_parts(X[:, [j]]), j)))


def _parts(values: NDArray[np.floating]) -> float:
    """Into how many equal parts rows fall by their values, or unequal ones that count as much."""
    # Rows that draw the same lot go the same way.
    _, counts = np.unique(draw_lots(values, 0), return_counts=True)
    return float(len(values) ** 2 / np.sum(counts.astype(np.float64) ** 2))
