"""Extra-trees (Geurts et al. 2006) on a binned table, with out-of-bag answers.

`ExtraTrees` holds what all forests on a table share; `fit` draws a seed for each tree, grows the
trees in threads (`thrifty.kernels.extra_tree`), and averages for each row the answers of the trees
that have not seen it. So all rows both teach and choose, without folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.binned_descent import add_leaves
from thrifty.kernels.extra_tree import (
    Bagging,
    ExtraTable,
    ExtraTree,
    TryRules,
    Workspace,
    grow_extra_tree,
)
from thrifty.kernels.threads import blocks, run
from thrifty.learn.binned import Binned
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, MISSING_LEFT, empty_nodes

__all__ = ["ExtraTrees", "GrownTrees"]

# Trees that share a workspace: few enough to keep all threads busy.
TREES_PER_TASK = 4
# Rows whose sums stay in the processor's cache while all trees pass over them.
ROWS_PER_BLOCK = 4096
# Weights become whole numbers: the sum of all rows of a bag fits into a float64 without rounding.
WEIGHT_BITS = 52
# Weights times targets become whole numbers, too: their sum must fit into an int64.
MOMENT_BITS = 61


class ExtraTrees:
    """Grow forests of extra-trees on one table.

    Parameters
    ----------
    binned : Binned
        The table.
    y : int64 or float64 array of shape (n,)
        Class codes, or values.
    n_classes : int
        Number of classes, or 0 if `y` has values.
    weight : array of shape (n,) or None
        Weights of the rows; rows of weight 0 are in no bag.
    groups : int64 array of shape (n,) or None
        Group codes, from 0 on. Rows of a group, such as the visits of one patient, are in a bag
        together or out of it together.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.binned import Binned
    >>> from thrifty.learn.extra_trees import ExtraTrees
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(400, 3))
    >>> y = (X[:, 0] > 0).astype(np.int64)
    >>> binned = Binned.of(X, np.zeros(3, dtype=bool), np.random.RandomState(0))
    >>> grown = ExtraTrees(binned, y, n_classes=2).fit(np.array([0, 1, 2]), n_trees=50, seed=0)

    The target depends on the first feature alone, and most of the importance is its:

    >>> grown.importance.round(1)
    array([0.8, 0.1, 0.1])

    Trees answer for rows that they have not seen about as well as for new ones:

    >>> round(float(np.mean(grown.out_of_bag.argmax(axis=1) == y)), 2)
    0.98
    >>> new = random.normal(size=(1000, 3))
    >>> round(float(np.mean(grown.forest.score(new).argmax(axis=1) == (new[:, 0] > 0))), 2)
    0.98
    """

    def __init__(
        self,
        binned: Binned,
        y: NDArray[Any],
        n_classes: int,
        weight: NDArray[np.float64] | None = None,
        groups: NDArray[np.int64] | None = None,
    ) -> None:
        n, none = len(y), np.empty(0)
        self.binned, self.n_classes = binned, n_classes
        self._table = ExtraTable(
            bins=binned.bins,
            by_row=np.ascontiguousarray(binned.bins.T),
            positions=_bin_positions(binned),
            categorical=binned.categorical.view(np.uint8),
            codes=(y if n_classes else none).astype(np.int32),
            values=none if n_classes else np.asarray(y, dtype=np.float64),
            n_classes=n_classes,
        )
        self._quanta = _quantize_weights(n, weight)
        self._moments = np.empty(0, dtype=np.int64)
        if not n_classes:
            self._moments = _quantize_moments(self._quanta, y)
        weighty = np.flatnonzero(self._quanta)
        order = weighty[np.argsort(y[weighty], kind="stable")] if n_classes else weighty
        self._order = order.astype(np.uint32)
        self._unit, self._n_units = _units(weighty, np.arange(n) if groups is None else groups)

    def fit(
        self,
        features: NDArray[np.int64],
        n_trees: int,
        seed: int,
        max_features: int | None = None,
        bag: int | None = None,
        min_samples_leaf: int = 1,
        by_value: bool = False,
    ) -> GrownTrees:
        """Grow trees that read some features.

        Parameters
        ----------
        features : int64 array
            The features that may be read.
        n_trees : int
            More trees with the same seed begin with the same trees.
        seed : int
            The result depends on it and on the table, not on the number of threads.
        max_features : int or None
            How many features are tried at a node, among those that can split it. By default, as in
            Geurts et al. 2006, the square root of their number for classes and all for values.
        bag : int or None
            How many rows are drawn for each tree, with replacement; n by default. Where rows have
            groups, as many groups are drawn as have so many rows on average.
        min_samples_leaf : int
            How many rows of the bag a leaf has at least, each counted once.

        Returns
        -------
        GrownTrees
        """
        n = self._table.by_row.shape[0]
        if max_features is None:
            max_features = int(np.sqrt(len(features))) if self.n_classes else len(features)
        rules = TryRules(
            np.asarray(features, dtype=np.int64), max(max_features, 1), min_samples_leaf, by_value
        )
        draws = max(1, round(self._n_units * (n if bag is None else bag) / n))
        bagging = Bagging(
            self._order, self._unit, self._quanta, self._moments, self._n_units, draws
        )
        seeds = np.random.default_rng(seed).integers(1 << 63, size=n_trees).tolist()
        leaves = np.empty((n_trees, n), dtype=np.int32)
        trees: list[Any] = [None] * n_trees
        n_units = int(self._unit.max()) + 1

        def grow_some(first: int, last: int) -> None:
            work = Workspace(self._table, n_units, len(features))
            for k in range(first, last):
                trees[k] = grow_extra_tree(self._table, bagging, rules, work, seeds[k], leaves[k])

        run(grow_some, blocks(n_trees, TREES_PER_TASK))
        answers = _average_out_of_bag(trees, leaves)
        return GrownTrees(
            trees, self.binned, answers if self.n_classes else answers[:, 0], _importance(trees)
        )


@dataclass(frozen=True, eq=False)
class GrownTrees:
    """A forest of extra-trees, and what its training rows tell about it.

    Parameters
    ----------
    trees : sequence of ExtraTree
    binned : Binned
        The table that they were grown on.
    out_of_bag : float64 array of shape (n, K), or (n,) for values
        Mean answer of the trees whose bag lacks the row; NaN where all bags have it.
    importance : float64 array of shape (d,)
        Share of each feature in the decrease of impurity; 0 for all if nothing was split.
    """

    trees: Sequence[ExtraTree]
    binned: Binned
    out_of_bag: NDArray[np.float64]
    importance: NDArray[np.float64]

    @cached_property
    def forest(self) -> Forest:
        """The frozen forest, which averages over the trees; made when it is first asked for."""
        trees, uppers, categorical = self.trees, self.binned.uppers, self.binned.categorical
        n_values = self.trees[0].values.shape[1]
        sizes = np.array([len(tree.left) for tree in trees])
        roots = np.cumsum(sizes) - sizes
        left, feature, place, missing_left = (
            np.concatenate([tree[part] for tree in trees]) for part in range(4)
        )
        n_subsets = np.array([len(tree.subsets) for tree in trees])
        split = np.flatnonzero(left >= 0)
        of_tree = np.repeat(np.arange(len(trees)), sizes)[split]
        feature, place = feature[split], place[split]
        by_subset = categorical[feature]
        nodes = empty_nodes(len(left))
        nodes["child"][split] = left[split] + roots[of_tree]
        nodes["threshold"][split] = np.where(
            by_subset,
            place + (np.cumsum(n_subsets) - n_subsets)[of_tree],
            uppers[feature, np.where(by_subset, 0, place)],
        )
        nodes["feature"][split] = (
            feature
            | np.where(missing_left[split], MISSING_LEFT, 0)
            | np.where(by_subset, CATEGORICAL, 0)
        )
        values = np.concatenate([tree.values for tree in trees])
        if n_values == 1:
            # A sum of shares, as values have no link that averages.
            values /= len(trees)
        return Forest(
            nodes=nodes,
            values=values,
            roots=roots,
            outputs=np.zeros(len(trees), dtype=np.int64),
            base=np.zeros(n_values),
            link="mean" if n_values > 1 else "sum",
            n_features=len(categorical),
            subsets=np.concatenate([tree.subsets for tree in trees]),
        )


def _bin_positions(binned: Binned) -> NDArray[np.float64]:
    """Return where bins lie, (d, 256): in the middle of their edges; the outer ones as far out."""
    positions = np.zeros(binned.uppers.shape)
    for row, edges in zip(positions, binned.edges, strict=True):
        if len(edges):
            scaled = edges / np.maximum(np.abs(edges).max(), np.finfo(np.float64).tiny)
            middles = (scaled[:-1] + scaled[1:]) / 2
            inner = middles if len(middles) else scaled + 1.0
            low = 2 * scaled[0] - inner[0]
            high = 2 * scaled[-1] - (inner[-1] if len(middles) else low)
            row[: len(edges) + 1] = [low, *middles, high]
    return positions


def _quantize_weights(n: int, weight: NDArray[np.float64] | None) -> NDArray[np.int64]:
    """Return weights as whole numbers; 1 for all without weights."""
    if weight is None:
        return np.ones(n, dtype=np.int64)
    # A power of two, so that whole numbers, and halves of them, stay what they are.
    exponent = int(np.frexp(n * weight.max())[1])
    return np.rint(np.ldexp(weight, WEIGHT_BITS - exponent)).astype(np.int64)


def _quantize_moments(quanta: NDArray[np.int64], y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return weights times targets as whole numbers, of targets around 0."""
    moments = quanta * (y - np.average(y, weights=quanta))
    exponent = int(np.frexp(len(y) * np.abs(moments).max())[1])
    return np.rint(np.ldexp(moments, MOMENT_BITS - exponent)).astype(np.int64)


def _units(weighty: NDArray[np.intp], groups: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]:
    """Number the groups so that those with a row of some weight come first; return how many do."""
    has_weight = np.zeros(int(groups.max()) + 1, dtype=bool)
    has_weight[groups[weighty]] = True
    number = np.empty(len(has_weight), dtype=np.int32)
    number[np.argsort(~has_weight, kind="stable")] = np.arange(len(has_weight))
    return number[groups], int(has_weight.sum())


def _average_out_of_bag(
    trees: Sequence[ExtraTree], leaves: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the mean of the leaves that each row reaches, (n, k); NaN where it reaches none."""
    n = leaves.shape[1]
    sums, counts = np.zeros((n, trees[0].values.shape[1])), np.zeros(n)

    def add_some(first: int, last: int) -> None:
        # Trees in their order, whatever the threads: the sums are rounded in one way.
        for tree, reached in zip(trees, leaves, strict=True):
            add_leaves(tree.values, reached[first:last], sums[first:last], counts[first:last])

    run(add_some, blocks(n, ROWS_PER_BLOCK))
    with np.errstate(invalid="ignore"):
        sums /= counts[:, None]
    return sums


def _importance(trees: Sequence[ExtraTree]) -> NDArray[np.float64]:
    """Return the shares of the features in the decrease of impurity, averaged over the trees."""
    decrease = np.array([tree.decrease for tree in trees])
    total = decrease.sum(axis=1, keepdims=True)
    shares = np.divide(decrease, total, out=np.zeros_like(decrease), where=total > 0)
    importance = shares.sum(axis=0)
    whole = importance.sum()
    return importance / whole if whole > 0 else importance
