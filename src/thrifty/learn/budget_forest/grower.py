"""Grow the trees of a budgeted forest, each from its own seed, and freeze them.

`TreeGrower.grow` is GreedyTree of Nan et al. 2015, algorithm 1; the search for a split runs in
`thrifty.kernels.deep_tree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.kernels.deep_tree import SplitPrices, SplitRules, grow_tree
from thrifty.kernels.growing_tree import Tree
from thrifty.kernels.minimax import EXPECTED, MINIMAX, STUMPS
from thrifty.kernels.node_rows import HALF, MASK, Table
from thrifty.kernels.threads import run
from thrifty.learn.binned import Binned
from thrifty.learn.budget_forest.impurities import Impurity
from thrifty.learn.budget_forest.reference_tree import ReferenceTree
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, MISSING_LEFT, NODE, empty_nodes

__all__ = ["Rules", "TreeGrower", "freeze_trees"]

SPLITS = {"minimax": MINIMAX, "expected": EXPECTED, "stumps": STUMPS}

# A feature that is on the path counts a little less than its price: it wins ties, which are many
# in small nodes, and no more. At 0.9 the trees of Covertype read one feature over and over.
REUSE = 0.999
# What is free counts this share of a mean price, so that impurity decides among what is free.
FLOOR = 1e-3
# Weights are whole numbers below 2^31 in all, see `kernels.node_rows`.
TOTAL_BITS = 30


@dataclass(frozen=True)
class Rules:
    """How a split is searched: the criterion, among how many features, how deep, on which rows."""

    splits: str
    max_features: int
    max_depth: int
    bootstrap: bool


class TreeGrower:
    """Grow trees on one table (GreedyTree of Nan et al. 2015, algorithm 1).

    Parameters
    ----------
    binned : Binned
        The table.
    prices : BoundPrices
    codes : int64 array of shape (n,)
        Class code of each row.
    classes : int
        Number of classes.
    weight : array of shape (n,) or None
        Weights of the rows.
    rules : Rules
        How to split.
    """

    def __init__(
        self,
        binned: Binned,
        prices: BoundPrices,
        codes: NDArray[np.int64],
        classes: int,
        weight: NDArray[np.float64] | None,
        rules: Rules,
    ) -> None:
        self.codes, self.classes, self.weight, self.rules = codes, classes, weight, rules
        entry = np.append(prices.shared, 0.0)[prices.group]
        mean = float(np.mean(prices.own + entry))
        # What all trees read.
        self._table = Table(
            bins=binned.stored,
            by_row=_by_row(binned),
            edges=binned.uppers,
            width=binned.width,
            categorical=binned.categorical.view(np.uint8),
            word=(codes >> 1).astype(np.uint8),
        )
        # By how many bits the quanta of a row are moved into the half word of its class.
        self._shift = np.where(codes & 1, 0, HALF)
        floor = FLOOR * mean if mean > 0 else 1.0
        self._prices = SplitPrices(prices.own, prices.shared, prices.group, REUSE, floor)
        self._rules = SplitRules(SPLITS[rules.splits], rules.max_features, rules.max_depth)

    def grow(self, impurity: Impurity, seeds: Sequence[int]) -> list[Tree]:
        """Grow one tree for each seed; the result does not depend on the number of threads."""
        trees: list[Any] = [None] * len(seeds)

        def grow_some(first: int, last: int) -> None:
            for k in range(first, last):
                trees[k] = self._grow_tree(impurity, seeds[k])

        run(grow_some, [(k, k + 1) for k in range(len(seeds))])
        return trees

    def _grow_tree(self, impurity: Impurity, seed: int) -> Tree:
        """Draw the rows of a tree, then grow it; impurities without a kernel are grown in NumPy."""
        random = np.random.default_rng(seed)
        counts, unit = self._draw_rows(random)
        rows = np.flatnonzero(counts)
        if self.classes > 2:
            # The kernel counts the rows of one word in one go.
            rows = rows[np.argsort(self.codes[rows] >> 1, kind="stable")]
        packed = counts[rows] << self._shift[rows]
        chosen, start = rows.astype(np.uint32), int(random.integers(1 << 63))
        form = impurity.form(self.classes, unit)
        shared = self._table, self._prices, self._rules
        if form is None:
            return ReferenceTree(*shared, impurity, self.classes, unit).grow(chosen, packed, start)
        return grow_tree(*shared, form, chosen, packed, start)

    def _draw_rows(self, random: np.random.Generator) -> tuple[NDArray[np.int64], float]:
        """Return how often each row counts, and what one count is worth.

        With bootstrap, rows are drawn by their weights; otherwise the weights become whole numbers.
        """
        n, weight = len(self.codes), self.weight
        if self.rules.bootstrap:
            if weight is None:
                return np.bincount(random.integers(n, size=n), minlength=n), 1.0
            ends = np.cumsum(weight)
            drawn = np.searchsorted(ends, random.random(n) * ends[-1], side="right")
            return np.bincount(np.minimum(drawn, n - 1), minlength=n), 1.0
        if weight is None:
            return np.ones(n, dtype=np.int64), 1.0
        # A power of two, so that whole numbers, and halves of them, stay what they are.
        unit = float(np.ldexp(1.0, int(np.frexp(weight.sum())[1]) - TOTAL_BITS))
        return np.rint(weight / unit).astype(np.int64), unit


def _by_row(binned: Binned) -> NDArray[np.uint8]:
    """Return the bins by rows, (n, d); nothing of a table in parts, which may be a long one."""
    if len(binned.stored) > 1:
        return np.empty((0, binned.n_features), dtype=np.uint8)
    return np.ascontiguousarray(binned.stored[0].T)


def freeze_trees(trees: Sequence[Tree], categorical: NDArray[np.bool_], n_classes: int) -> Forest:
    """Freeze trees of `kernels.deep_tree` into a forest that averages their class shares."""
    nodes, values, starts, subsets = [empty_nodes(0)], [], [], 0
    for tree in trees:
        start = sum(map(len, nodes))
        records = empty_nodes(len(tree.left))
        records["child"] += start
        split = np.flatnonzero(tree.left >= 0)
        feature = tree.feature[split]
        by_subset = categorical[feature]
        records["child"][split] = tree.left[split] + start
        records["threshold"][split] = tree.threshold[split] + np.where(by_subset, subsets, 0)
        records["feature"][split] = (
            feature
            | np.where(tree.missing_left[split], MISSING_LEFT, 0)
            | np.where(by_subset, CATEGORICAL, 0)
        )
        # Inner nodes have class shares too: the best guess of a walk that stops there.
        both = np.stack([tree.counts >> HALF, tree.counts & MASK], axis=2)
        counts = both.reshape(len(tree.counts), -1)[:, :n_classes].astype(np.float64)
        nodes.append(records)
        values.append(counts / counts.sum(axis=1, keepdims=True))
        starts.append(start)
        subsets += len(tree.subsets)
    return Forest(
        nodes=np.concatenate(nodes).astype(NODE),
        values=np.concatenate(values),
        roots=np.array(starts, dtype=np.int64),
        outputs=np.zeros(len(trees), dtype=np.int64),
        base=np.zeros(n_classes),
        link="mean",
        n_features=len(categorical),
        subsets=np.concatenate([tree.subsets for tree in trees]),
    )
