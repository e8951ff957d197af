"""Boosted trees as inputs of linear models (the boosting trick, 002 sec. 3.6).

The penalty on what the trees read falls while they are grown, so the first trees read little and
cheap features and the later ones more: a linear model that must save can weigh the first alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.bundle import Schema
from thrifty.costs import BoundPrices
from thrifty.learn.binned import Binned
from thrifty.learn.boosting import Boosting
from thrifty.learn.bought import Bought
from thrifty.learn.grower import Grower
from thrifty.learn.losses import SquaredLoss
from thrifty.model import Forest
from thrifty.model.nodes import INDEX, is_leaf

__all__ = ["base_trees", "reads"]

Floats = NDArray[np.float64]

DEPTH = 4
LEARNING_RATE = 0.1
SMALLEST_LEAF = 20
# Penalties, the last one 0; from one to the next but last they fall to the ratio in all.
LEVELS = 10
RATIO = 1e-3


def base_trees(
    schema: Schema,
    prices: BoundPrices,
    X: NDArray[np.floating],
    y: Floats,
    weight: Floats | None,
    n_estimators: int,
    random_state: int,
) -> Forest:
    """Trees boosted on the squared loss of `y`."""
    categorical = np.array([column.categories is not None for column in schema.columns])
    grower = Grower(
        Binned.of(X, categorical, check_random_state(random_state)),
        Bought(prices, len(X), "model"),
        max_depth=DEPTH,
        min_samples_leaf=min(SMALLEST_LEAF, max(1, len(X) // 8)),
        weight=weight,
    )
    boosting = Boosting(SquaredLoss(y, weight), grower, LEARNING_RATE)
    left = n_estimators
    for level, penalty in enumerate(_penalties(grower, y, weight)):
        rounds = left // (LEVELS - level)
        grower.rate = 2.0 * penalty
        boosting.boost(rounds)
        left = n_estimators - len(boosting.builder.outputs)
    return boosting.freeze()


def reads(forest: Forest) -> NDArray[np.bool_]:
    """Which features each tree may read, (d, T)."""
    table = np.zeros((forest.n_features, len(forest.roots)), dtype=bool)
    splits = np.flatnonzero(~is_leaf(forest.nodes))
    tree = np.searchsorted(forest.roots, splits, side="right") - 1
    table[forest.nodes["feature"][splits] & INDEX, tree] = True
    return table


def _penalties(grower: Grower, y: Floats, weight: Floats | None) -> list[float]:
    """Falling from nine tenths of the largest at which a first split pays."""
    owed = grower.bought.owed(grower.weight)
    gains = grower.gains(y - np.average(y, weights=weight))
    priced = owed > 0
    largest = float((gains[priced] / (2.0 * owed[priced])).max(initial=0.0))
    falling = 0.9 * largest * np.geomspace(1.0, RATIO, LEVELS - 1)
    return [*falling.tolist(), 0.0]
