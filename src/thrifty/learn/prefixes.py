"""Every prefix of an ensemble as an operating point, from one pass over its trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.model import Forest

__all__ = ["Quality", "useful_prefixes"]

# Quality of the outputs (n, k) that a forest gives the validation rows.
Quality = Callable[[NDArray[np.float64]], float]
# Number of trees, mean bill, quality.
Prefix = tuple[int, float, float]


def useful_prefixes(
    forest: Forest, X: NDArray[np.floating], prices: BoundPrices, quality: Quality
) -> Iterator[Prefix]:
    """The empty prefix, then those that no cheaper one equals, cheapest first.

    A prefix holds whole rounds, one tree for each output.
    """
    constant, *prefixes = _all_prefixes(forest, X, prices, quality)
    yield constant
    best = constant[2]
    for trees, bill, reached in _best_of_each_bill(prefixes):
        if reached > best:
            best = reached
            yield trees, bill, reached


def _best_of_each_bill(prefixes: list[Prefix]) -> Iterator[Prefix]:
    """Of the prefixes that cost the same, the best; of those, the longest."""
    ordered = sorted(prefixes, key=lambda prefix: (prefix[1], prefix[2], prefix[0]))
    for _, same in groupby(ordered, key=lambda prefix: prefix[1]):
        yield list(same)[-1]


def _all_prefixes(
    forest: Forest, X: NDArray[np.floating], prices: BoundPrices, quality: Quality
) -> Iterator[Prefix]:
    raw = np.tile(forest.base, (len(X), 1))
    words = np.zeros((len(X), forest.paths.shape[1]), dtype=np.uint64)
    bills = prices.bill(forest.spread(words))
    yield 0, float(bills.mean()), quality(raw)
    for tree, leaf in enumerate(forest.leaves(X)):
        output, path = forest.outputs[tree], forest.paths[leaf]
        raw[:, output] += forest.values[leaf, 0]
        # Few rows read anything new once the first trees are paid for.
        news = np.flatnonzero((path & ~words).any(axis=1))
        words[news] |= path[news]
        bills[news] = prices.bill(forest.spread(words[news]))
        if output == len(forest.base) - 1:
            total = bills + prices.evaluation * (tree + 1)
            yield tree + 1, float(total.mean()), quality(raw)
