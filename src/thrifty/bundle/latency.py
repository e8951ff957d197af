"""How long rows wait for their features: round after round, as long as the slowest of each round.

What a walk asks for at once is one round. What is required comes in an earlier round than what
requires it. Batch and walk agree for every row: where a model knows its rounds in batch
(`Frozen.rounds`), they are added up for all rows together; elsewhere every row is walked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from thrifty.costs.bound import BoundPrices
from thrifty.errors import DataError
from thrifty.model.base import Frozen, Walk
from thrifty.model.rounds import Round

__all__ = ["Quotes", "largest_latency", "latencies", "next_round", "walk_rounds"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def latencies(model: Frozen, prices: BoundPrices, X: NDArray[np.floating]) -> Floats:
    """Return how long each row of an encoded table waits, (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle.latency import latencies
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Average, Forest
    >>> constant = Forest.constant([0.0], "sum", n_features=3)
    >>> model = Average.of([constant], [0.0], reads=np.array([True, False, True]))
    >>> prices = Prices([1, 1, 1], delays={0: 2, 1: 5, 2: 30}).bind(3)
    >>> latencies(model, prices, np.zeros((1, 3)))  # both at once
    array([30.])
    >>> prices = Prices([1, 1, 1], delays={0: 2, 1: 5, 2: 30}, requires={2: [1]}).bind(3)
    >>> latencies(model, prices, np.zeros((1, 3)))  # 1 is required before 2
    array([35.])
    """
    delays = _delays(prices)
    rounds = model.rounds(X)
    if rounds is None:
        found = []
        for row in np.asarray(X, dtype=np.float64).tolist():
            asked = walk_rounds(model, prices, dict(enumerate(row)))
            found.append(sum(max(delays[j] for j in now) for now in asked))
        return np.array(found, dtype=np.float64)
    return _add_up(rounds, prices, len(X))


def largest_latency(model: Frozen, prices: BoundPrices) -> float:
    """Return how long any row can wait: on the slowest path, or for one feature after the other."""
    paths = model.longest_paths()
    if paths is None:
        everything = model.support[np.newaxis]
        if prices.structure is not None:
            everything = prices.structure.bought(everything)
        return float(_delays(prices)[everything[0]].sum())
    row = np.arange(1)
    return max(
        (float(_add_up((Round(row, wanted) for wanted in path), prices, 1)[0]) for path in paths),
        default=0.0,
    )


def walk_rounds(
    model: Frozen,
    prices: BoundPrices,
    values: Mapping[int, float],
    free: Collection[int] = (),
) -> Iterator[tuple[int, ...]]:
    """Yield what one example buys in each round, as far as its values go.

    Parameters
    ----------
    model : Frozen
    prices : BoundPrices
    values : mapping of int to float
        Values that the example has, or will have when it asks for them.
    free : collection of int
        Those of them that are known beforehand.
    """
    paid: set[int] = set()
    at_hand = set(free)
    quotes = Quotes(prices, paid, free)
    walk = model.walk(quotes.__getitem__)
    walk.tell({j: values[j] for j in free})
    while True:
        now = tuple(j for j in next_round(prices, walk, at_hand, free) if j in values)
        if not now:
            return
        yield now
        paid.update(now)
        at_hand.update(now)
        quotes.expire(now)
        walk.tell({j: values[j] for j in now})


def next_round(
    prices: BoundPrices, walk: Walk, at_hand: Collection[int], free: Collection[int]
) -> tuple[int, ...]:
    """Return what to ask for now: what a walk asks for, and what that requires, as far as possible.

    Parameters
    ----------
    prices : BoundPrices
    walk : Walk
    at_hand : collection of int
        Features whose values were passed.
    free : collection of int
        Those of them that were not bought: known beforehand, or skipped.
    """
    if prices.structure is None:
        return walk.asks
    # A value may arrive unasked: what it requires is bought all the same.
    bought = (j for j in walk.touched if j not in free)
    return prices.structure.next_round((*walk.asks, *bought), at_hand, free)


class Quotes(dict[int, float]):
    """What each feature would cost now, computed when first looked up.

    The walk of a model looks up all prices after every value, but few purchases change any of them.

    Parameters
    ----------
    prices : BoundPrices
    paid : collection of int
        Features bought so far; the owner adds to it.
    free : collection of int
        Features that need not be bought.
    """

    def __init__(self, prices: BoundPrices, paid: Collection[int], free: Collection[int]) -> None:
        self._prices, self._paid, self._free = prices, paid, free
        self._grouped = prices.grouped

    def __missing__(self, index: int) -> float:
        quote = self[index] = self._prices.marginal(index, self._paid, self._free)
        return quote

    def expire(self, bought: Collection[int]) -> None:
        """Discard all quotes if one of the features bought changes the price of others."""
        if not self._grouped.isdisjoint(bought):
            self.clear()


def _add_up(rounds: Iterator[Round], prices: BoundPrices, n: int) -> Floats:
    """Return how long n rows wait in these rounds, with what they require in rounds before."""
    delays, structure = _delays(prices), prices.structure
    at_hand = np.zeros((n, len(delays)), dtype=bool)
    waited = np.zeros(n)
    for rows, wanted in rounds:
        missing = np.broadcast_to(wanted, (len(rows), len(delays)))
        missing = (missing if structure is None else structure.bought(missing)) & ~at_hand[rows]
        while missing.any():
            ready = missing if structure is None else structure.ready(missing)
            waited[rows] += np.where(ready, delays, 0.0).max(axis=1)
            at_hand[rows] |= ready
            missing = missing & ~ready
    return waited


def _delays(prices: BoundPrices) -> Floats:
    """Return the delays of all features, (d,)."""
    if prices.delays is None:
        raise DataError("latency: the price list has no delays; add them, Prices(delays={...})")
    return prices.delays
