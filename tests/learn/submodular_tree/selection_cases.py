"""Random rows, and greedy selection computed from the rows, for the tests of this folder."""

from __future__ import annotations

import numpy as np

from thrifty.learn.purchases import Purchases
from thrifty.learn.submodular_tree.forward_selection import Buyer, Explainer


def random_rows(seed, n=60, d=6, targets=1, condition=1.0):
    """Rows with about this condition number, and targets that depend on some columns."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) + rng.normal(size=d)
    if condition > 1:
        left, _, right = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
        Z = left * np.geomspace(1.0, 1.0 / condition, d) @ right
        Z /= Z.std(axis=0)
    Y = Z @ rng.normal(size=(d, targets)) * rng.integers(0, 2, (1, targets)) + 2.0
    return rng, Z, Y + rng.normal(size=(n, targets))


def residual(Z, Y, columns, weight=None):
    """Residual sum of squares of least squares on some columns, by an SVD of the rows."""
    w = np.ones(len(Z)) if weight is None else weight
    A = np.column_stack([np.ones(len(Z)), Z[:, columns]]) * np.sqrt(w)[:, None]
    B = Y * np.sqrt(w)[:, None]
    return np.square(B - A @ np.linalg.lstsq(A, B, rcond=None)[0]).sum()


def r2(Z, Y, columns):
    return 1.0 - residual(Z, Y, list(columns)) / residual(Z, Y, [])


def buyer_of(gram, layout, prices, total_weight=np.inf):
    return Buyer(Explainer.of(gram, layout), Purchases(prices, 0, "model"), total_weight)


def greedy_order(Z, Y, prices, weight=None):
    """Columns by gain per price and the residual after each, computed from the rows every time."""
    order, left = [], [residual(Z, Y, [], weight)]
    while len(order) < Z.shape[1]:
        rest = [j for j in range(Z.shape[1]) if j not in order]
        gains = [(left[-1] - residual(Z, Y, [*order, j], weight)) / prices[j] for j in rest]
        order.append(rest[int(np.argmax(gains))])
        left.append(residual(Z, Y, order, weight))
    return order, left
