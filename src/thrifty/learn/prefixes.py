"""Every prefix of an ensemble as an operating point, from one pass over its trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thrifty.costs import BoundPrices
from thrifty.learn.held_out import HeldOut
from thrifty.model import Forest

__all__ = ["Prefix", "useful_prefixes"]


@dataclass(frozen=True)
class Prefix:
    """The first `trees` trees and their figures on the validation rows."""

    trees: int
    bill: float
    loss: float
    quality: float


def useful_prefixes(forest: Forest, held_out: HeldOut, prices: BoundPrices) -> Iterator[Prefix]:
    """The empty prefix, then those with less loss than all cheaper ones, cheapest first.

    The loss decides and not the quality: an accuracy on few rows jumps up and down from tree to
    tree, and the best of a hundred would be the luckiest.
    """
    constant, *prefixes = _all_prefixes(forest, held_out, prices)
    yield constant
    least = constant.loss
    for prefix in sorted(prefixes, key=lambda prefix: (prefix.bill, prefix.loss)):
        if prefix.loss < least:
            least = prefix.loss
            yield prefix


def _all_prefixes(forest: Forest, held_out: HeldOut, prices: BoundPrices) -> Iterator[Prefix]:
    """After each round, one tree for each output."""
    raw = np.tile(forest.base, (len(held_out.X), 1))
    words = np.zeros((len(raw), forest.paths.shape[1]), dtype=np.uint64)
    bills = prices.bill(forest.spread(words))
    yield Prefix(0, float(bills.mean()), held_out.loss.value(raw.T), held_out.quality(raw))
    for tree, leaf in enumerate(forest.leaves(held_out.X)):
        output, path = forest.outputs[tree], forest.paths[leaf]
        raw[:, output] += forest.values[leaf, 0]
        # Few rows read anything new once the first trees are paid for.
        news = np.flatnonzero((path & ~words).any(axis=1))
        words[news] |= path[news]
        bills[news] = prices.bill(forest.spread(words[news]))
        if output == len(forest.base) - 1:
            bill = float(np.mean(bills + prices.evaluation * (tree + 1)))
            yield Prefix(tree + 1, bill, held_out.loss.value(raw.T), held_out.quality(raw))
