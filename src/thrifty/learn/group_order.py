"""The order of purchases where all that can be bought is a few groups: forward, by trial.

Groups of features often say the same in different ways, one dearly and one cheaply. In a model of
all of them the dear one may gain most, and elimination would keep it. With few groups it is cheap
to try them: the next to buy is the one that lowers the loss most for its price, as a small model
on half of the rows has it on the other half.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices

__all__ = ["group_order", "sold_in_groups"]

# Every group is tried at every place: more would take longer than the ladder itself.
MOST_GROUPS = 12


def sold_in_groups(prices: BoundPrices) -> bool:
    """Whether all that costs anything is a few groups, whose members cost nothing more.

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.group_order import sold_in_groups
    >>> camera = {"lens": [0, 1], "flash": [2, 3]}
    >>> sold_in_groups(Prices([0, 0, 0, 0], groups=camera, shared={"lens": 2, "flash": 5}).bind(4))
    True
    >>> sold_in_groups(Prices().bind(4))
    False
    """
    dear = int(np.sum(prices.shared > 0))
    return not np.any(prices.own > 0) and 1 < dear <= MOST_GROUPS


def group_order(
    prices: BoundPrices, loss_of: Callable[[NDArray[np.int64]], float]
) -> list[NDArray[np.int64]]:
    """Nested sets of features, each one group more than the one before.

    `loss_of` gives the loss of a model on some features. Features free of charge are in all sets.
    """
    members = [np.flatnonzero(prices.group == g) for g in np.flatnonzero(prices.shared > 0)]
    bought = np.setdiff1d(np.arange(len(prices.own)), np.concatenate(members))
    loss, order = loss_of(bought), []
    while members:
        tried = [loss_of(np.union1d(bought, group)) for group in members]
        price = [prices.shared[prices.group[group[0]]] for group in members]
        best = int(np.argmax((loss - np.array(tried)) / price))
        bought, loss = np.union1d(bought, members.pop(best)), tried[best]
        order.append(bought)
    return order
