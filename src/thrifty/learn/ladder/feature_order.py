"""Order the features of a ladder: nested sets of features from all of them down to the cheapest.

Backward, the usual way (`drop_features`): a boosted model on the features of one rung shows what
each of them gains. What gains least per unit of price is dropped, and the next rung is fitted
without it. A feature saves its own price. A group with a shared price saves that only if all its
members go, so the group as a whole is a candidate too. What comes along with a feature, because it
is required or in the same panel, is bought in any case: so a rung reads it, and what is dropped
takes along all that cannot be had without it.

Forward, if everything for sale is a few groups (`order_groups`). Groups often carry the same
information at different prices. In a model on all of them the expensive group may have the larger
gain, so backward elimination would keep it. With few groups we can afford to try each of them: the
next one to buy is the one that lowers the loss most per unit of price.

Both, for rankings: backward down to a dozen features, and these are ordered by trial
(`order_features`). A feature that only helps others, such as one that is the same for all rows of a
query, has gain in every model; by itself it ranks nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices

__all__ = [
    "drop_features",
    "order_features",
    "order_groups",
    "price_of",
    "price_ratio",
    "sold_in_groups",
    "thin_sets",
]

# A rung is worth fitting if it costs at most this share of the one above.
CLEARLY_CHEAPER = 0.9
# The order of g groups takes about g^2 / 2 trials: beyond this they take longer than the ladder.
MAX_GROUPS = 12
# What is free once its group is bought still needs a price to divide by.
TINY_PRICE = 1e-9


def price_of(features: NDArray[np.int64], prices: BoundPrices) -> float:
    """Return the bill of a row that reads all of `features`."""
    used = np.zeros((1, len(prices.own)), dtype=bool)
    used[0, features] = True
    return float(prices.bill(used)[0])


def price_ratio(prices: BoundPrices, n_rungs: int) -> float:
    """Return the ratio of the prices of neighboring rungs.

    It is chosen such that `n_rungs` steps lead from all features down to the cheapest one.

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.ladder.feature_order import price_ratio
    >>> price_ratio(Prices([1.0, 3.0, 12.0]).bind(3), n_rungs=4)  # 16, 8, 4, 2, 1
    0.5
    """
    least = prices.first_prices[prices.first_prices > 0].min(initial=np.inf)
    return float((least / prices.full) ** (1.0 / n_rungs)) if least < prices.full else 0.5


def drop_features(
    features: NDArray[np.int64], gain: NDArray[np.float64], prices: BoundPrices, ratio: float
) -> NDArray[np.int64]:
    """Return the features of the next rung down.

    Features without gain are dropped at once. Then the feature or group with the least gain per
    unit of price goes, until the rest costs at most `ratio` times as much as `features`. If the
    rest is clearly cheaper already, and the next drop would lead far below that, it is left to the
    next rung, which has fresh gains. Free features are never candidates, so they stay longest.

    Parameters
    ----------
    features : int64 array
        The features of a rung.
    gain : array of shape (d,)
        What each feature has gained there.
    prices : BoundPrices
    ratio : float
        Between 0 and 1; see `price_ratio`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.ladder.feature_order import drop_features
    >>> prices = Prices([1.0, 1.0, 8.0]).bind(3)
    >>> drop_features(np.arange(3), np.array([5.0, 2.0, 9.0]), prices, 0.5)  # 9 / 8 is the least
    array([0, 1])
    """
    left = prices.closure(features[gain[features] > 0])
    full_price = price_of(features, prices)
    while (price := price_of(left, prices)) > ratio * full_price:
        worst = _least_worth(left, gain, prices)
        rest = left[~np.isin(left, worst)]
        is_cheaper = price <= CLEARLY_CHEAPER * full_price
        if is_cheaper and price_of(rest, prices) < ratio * ratio * full_price:
            break
        left = rest
    return left


def _least_worth(
    left: NDArray[np.int64], gain: NDArray[np.float64], prices: BoundPrices
) -> NDArray[np.int64]:
    """Return the feature with all that depends on it, or the group, that gains least per price."""
    priced = left[prices.own[left] > 0]
    if prices.structure is None:  # all at once, as a table may have thousands of columns
        worth = gain[priced] / prices.own[priced]
    else:
        alone = [_dependents(left, np.array([j]), prices) for j in priced]
        worth = np.array([gain[each].sum() / prices.own[each].sum() for each in alone])
    groups = []
    for group in np.unique(prices.group[left]):
        if group >= 0 and prices.shared[group] > 0:
            dropped = _dependents(left, left[prices.group[left] == group], prices)
            saved = float(prices.shared[group] + prices.own[dropped].sum())
            groups.append(dropped)
            worth = np.append(worth, gain[dropped].sum() / saved)
    place = int(np.argmin(worth))
    if place >= len(priced):
        return groups[place - len(priced)]
    return _dependents(left, priced[[place]], prices)


def sold_in_groups(prices: BoundPrices) -> bool:
    """Return whether everything for sale is a few groups whose members have no price of their own.

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
    n_priced = int(np.sum(prices.shared > 0))
    return not np.any(prices.own > 0) and 1 < n_priced <= MAX_GROUPS


def order_groups(
    prices: BoundPrices, loss_of: Callable[[NDArray[np.int64]], float]
) -> list[NDArray[np.int64]]:
    """Buy group after group: at each step, the one that lowers the loss most per unit of price.

    Parameters
    ----------
    prices : BoundPrices
        For which `sold_in_groups` holds.
    loss_of : callable
        Returns the loss of a model on some features.

    Returns
    -------
    list of int64 arrays
        Nested sets of features: the free ones, and then one more group each.

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.ladder.feature_order import order_groups
    >>> camera = {"lens": [0, 1], "flash": [2]}
    >>> prices = Prices([0, 0, 0], groups=camera, shared={"lens": 2, "flash": 5}).bind(3)
    >>> order_groups(prices, lambda features: 9.0 - 4.0 * (2 in features))  # only flash helps
    [array([], dtype=int64), array([2]), array([0, 1, 2])]
    """
    members = [np.flatnonzero(prices.group == g) for g in np.flatnonzero(prices.shared > 0)]
    free = np.setdiff1d(np.arange(len(prices.own)), np.concatenate(members))
    return _buy_in_turn(free, members, prices, loss_of)


def order_features(
    features: NDArray[np.int64],
    prices: BoundPrices,
    loss_of: Callable[[NDArray[np.int64]], float],
) -> list[NDArray[np.int64]]:
    """Buy feature after feature: at each step, the one that lowers the loss most per unit of price.

    Parameters
    ----------
    features : int64 array
        The features to order.
    prices : BoundPrices
    loss_of : callable
        Returns the loss of a model on some features.

    Returns
    -------
    list of int64 arrays
        Nested sets of features: the free ones, and then one more feature each.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.ladder.feature_order import order_features
    >>> worth = np.array([1.0, 5.0, 3.0])
    >>> order_features(np.arange(3), Prices().bind(3), lambda features: -worth[features].sum())
    [array([], dtype=int64), array([1]), array([1, 2]), array([0, 1, 2])]
    """
    is_free = np.array([price_of(features[[i]], prices) == 0 for i in range(len(features))])
    candidates = [np.array([feature]) for feature in features[~is_free]]
    return _buy_in_turn(features[is_free], candidates, prices, loss_of)


def thin_sets(
    sets: list[NDArray[np.int64]], prices: BoundPrices, ratio: float
) -> list[NDArray[np.int64]]:
    """Return nested sets, without the last, such that each costs about `ratio` times the next.

    The first, the cheapest one, is always kept.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs import Prices
    >>> from thrifty.learn.ladder.feature_order import thin_sets
    >>> sets = [np.arange(size) for size in range(9)]
    >>> [len(each) for each in thin_sets(sets, Prices().bind(8), ratio=0.6)]  # of 8 features
    [0, 1, 2, 3, 5]
    """
    kept: list[NDArray[np.int64]] = []
    above = price_of(sets[-1], prices)
    for place in range(len(sets) - 2, 0, -1):
        # The next one down may be nearer to the aim: then this one is left out.
        if price_of(sets[place - 1], prices) < ratio * above:
            kept.append(sets[place])
            above = price_of(sets[place], prices)
    return [sets[0], *kept[::-1]]


def _dependents(
    features: NDArray[np.int64], dropped: NDArray[np.int64], prices: BoundPrices
) -> NDArray[np.int64]:
    """Return those of `features` that are dropped, or cannot be had without what is dropped."""
    if prices.structure is None:
        return dropped
    lost = sorted(prices.structure.dependents(dropped.tolist()))
    return np.intersect1d(features, np.array(lost, dtype=np.int64))


def _buy_in_turn(
    bought: NDArray[np.int64],
    candidates: list[NDArray[np.int64]],
    prices: BoundPrices,
    loss_of: Callable[[NDArray[np.int64]], float],
) -> list[NDArray[np.int64]]:
    """Buy the best candidate for its price, again and again; return what is bought each time.

    What a candidate requires is bought with it.
    """
    loss, order = loss_of(bought), [bought]
    while candidates:
        sets = [prices.closure(np.union1d(bought, each)) for each in candidates]
        losses = [loss_of(each) for each in sets]
        added = [price_of(each, prices) - price_of(bought, prices) for each in sets]
        best = int(np.argmax((loss - np.array(losses)) / np.maximum(added, TINY_PRICE)))
        bought, loss = sets[best], losses[best]
        order.append(bought)
        candidates = [each for each in candidates if not np.isin(each, bought).all()]
    return order
