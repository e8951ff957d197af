"""The order of purchases: nested sets of features by recursive elimination on gain per price.

A boosted model on the features of a rung says what each of them gains. What gains least for what
it would save is dropped, and the next rung is learnt without it. A feature saves its own price;
where a group has a shared price, its last member takes that along, so the group as a whole may be
the thing to drop.

The order of purchases where all that can be bought is a few groups: forward, by trial.

Groups of features often say the same in different ways, one dearly and one cheaply. In a model of
all of them the dear one may gain most, and elimination would keep it. With few groups it is cheap
to try them: the next to buy is the one that lowers the loss most for its price, as a small model
on half of the rows has it on the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices

__all__ = ["fewer", "group_order", "price_of", "sold_in_groups", "step"]

# Share of the price below which a rung is worth its fit.
FALLEN = 0.9


def fewer(
    features: NDArray[np.int64], gain: NDArray[np.float64], prices: BoundPrices, ratio: float
) -> NDArray[np.int64]:
    """The features of the next rung down: what gains nothing goes, then the least per price.

    Things are dropped until what is left costs at most `ratio` times what `features` cost. Once
    the price has fallen, a thing so dear that dropping it leads far below that is left to the
    next rung, whose gains are fresh. Features free of charge stay while any other is left.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.ladder.feature_order import fewer
    >>> prices = Prices([1.0, 1.0, 8.0]).bind(3)
    >>> fewer(np.arange(3), np.array([5.0, 2.0, 9.0]), prices, 0.5)  # 9 for 8 is the least
    array([0, 1])
    """
    left = features[gain[features] > 0]
    whole = price_of(features, prices)
    while price_of(left, prices) > ratio * whole:
        rest = _without_worst(left, gain, prices)
        fallen = price_of(left, prices) <= FALLEN * whole
        if fallen and price_of(rest, prices) < ratio * ratio * whole:
            break
        left = rest
    return left


def price_of(features: NDArray[np.int64], prices: BoundPrices) -> float:
    """What a row pays that reads all of `features`."""
    used = np.zeros((1, len(prices.own)), dtype=bool)
    used[0, features] = True
    return float(prices.bill(used)[0])


def step(prices: BoundPrices, rungs: int) -> float:
    """Ratio of the prices of neighboring rungs: geometric from the least price to the full."""
    entry = np.append(prices.shared, 0.0)[prices.group]
    single = prices.own + entry
    least = single[single > 0].min(initial=np.inf)
    return float((least / prices.full) ** (1.0 / rungs)) if least < prices.full else 0.5


def _without_worst(
    left: NDArray[np.int64], gain: NDArray[np.float64], prices: BoundPrices
) -> NDArray[np.int64]:
    """Drop the feature or group with the least gain for what it saves."""
    parts = list(_parts(left, prices))
    worth = [gain[part].sum() / saved for part, saved in parts]
    return np.setdiff1d(left, parts[int(np.argmin(worth))][0])


def _parts(
    left: NDArray[np.int64], prices: BoundPrices
) -> Iterator[tuple[NDArray[np.int64], float]]:
    """What can be dropped, and what that saves: features with a price of their own, and groups."""
    for j in left[prices.own[left] > 0]:
        yield np.array([j]), float(prices.own[j])
    for group in np.unique(prices.group[left]):
        if group >= 0 and prices.shared[group] > 0:
            members = left[prices.group[left] == group]
            yield members, float(prices.shared[group] + prices.own[members].sum())


# Every group is tried at every place: more would take longer than the ladder itself.
MOST_GROUPS = 12


def sold_in_groups(prices: BoundPrices) -> bool:
    """Whether all that costs anything is a few groups, whose members cost nothing more.

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.ladder.feature_order import sold_in_groups
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
