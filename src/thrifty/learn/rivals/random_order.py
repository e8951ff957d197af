"""Random order: every row buys the first features of a list that was drawn (000 sec. 2.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.learn.rivals.fixed_order import FixedOrderClassifier
from thrifty.model.neighbors import Neighbors

__all__ = ["RandomOrderClassifier"]


class RandomOrderClassifier(FixedOrderClassifier):
    """A classifier of one term a feature on features drawn at random.

    One order is drawn for all rows, by `random_state`, so that a walk can be repeated; over
    several seeds the mean is that of an order drawn for each row.

    Parameters
    ----------
    prices, base, features, n_neighbors, alpha, C, n_estimators, random_state
        As in `FixedOrderClassifier`; prices only tell the bill.
    """

    def _order(self, model: Neighbors) -> NDArray[np.int64]:
        random: Any = check_random_state(self.random_state)
        return np.asarray(random.permutation(np.sort(model.order)), dtype=np.int64)
