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

from thrifty.kernels.bagged_rows import Bag, Bagging, BagTable, NodeRows
from thrifty.kernels.extra_tree import ExtraTree, add_leaves, fill_values, grow_extra_tree
from thrifty.kernels.random_cuts import CutRules
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

    >>> grown.importance.round(2)
    array([0.74, 0.13, 0.12])

    Trees answer for rows that they have not seen about as well as for new ones:

    >>> round(float(np.mean(grown.out_of_bag.argmax(axis=1) == y)), 3)
    0.97
    >>> new = random.normal(size=(1000, 3))
    >>> round(float(np.mean(grown.forest.score(new).argmax(axis=1) == (new[:, 0] > 0))), 3)
    0.975
    """

    def __init__(
        self,
        binned: Binned,
        y: NDArray[Any],
        n_classes: int,
        weight: NDArray[np.float64] | None = None,
        groups: NDArray[np.int64] | None = None,
    ) -> None:
        self.binned, self.n_classes = binned, n_classes
        # Sorted by target, see `thrifty.kernels.bagged_rows`.
        self._order = np.argsort(y, kind="stable")
        y, none = y[self._order], np.empty(0)
        bins = np.ascontiguousarray(binned.bins[:, self._order])
        self._table = BagTable(
            bins=bins,
            by_row=np.ascontiguousarray(bins.T),
            positions=_bin_positions(binned),
            categorical=binned.categorical.view(np.uint8),
            codes=(y if n_classes else none).astype(np.int32),
            targets=none if n_classes else np.asarray(y, dtype=np.float64),
            n_classes=n_classes,
        )
        self._quanta = _quantize_weights(len(y), None if weight is None else weight[self._order])
        self._moments = none.astype(np.int64) if n_classes else _quantize_moments(self._quanta, y)
        groups = np.arange(len(y)) if groups is None else groups[self._order]
        self._unit, self._n_units = _units(groups, self._quanta > 0)

    def fit(
        self,
        features: NDArray[np.int64],
        n_trees: int,
        seed: int,
        max_features: int | None = None,
        bag: int | None = None,
        min_samples_leaf: int = 1,
    ) -> GrownTrees:
        """Grow trees that read some features.

        Parameters
        ----------
        features : int64 array
            The features that may be read. Draws go by their order here: in the order of their
            names, the order of the columns decides nothing.
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
        rules = CutRules(
            np.asarray(features, dtype=np.int64), max(max_features, 1), min_samples_leaf
        )
        draws = max(1, round(self._n_units * (n if bag is None else bag) / n))
        bagging = Bagging(self._unit, self._quanta, self._moments, self._n_units, draws)
        seeds = np.random.default_rng(seed).integers(1 << 63, size=n_trees).tolist()
        leaves = np.empty((n_trees, n), dtype=np.int32)
        trees: list[Any] = [None] * n_trees
        n_units = int(self._unit.max()) + 1

        def grow_some(first: int, last: int) -> None:
            bag, rows = Bag(self._table, n_units), NodeRows(self._table)
            for k in range(first, last):
                trees[k] = grow_extra_tree(
                    self._table, bagging, rules, bag, rows, seeds[k], leaves[k]
                )

        run(grow_some, blocks(n_trees, TREES_PER_TASK))
        answers = np.empty((n, max(self.n_classes, 1)))
        answers[self._order] = _average_out_of_bag(trees, leaves, answers.shape[1])
        return GrownTrees(
            trees,
            self.binned,
            self.n_classes,
            answers if self.n_classes else answers[:, 0],
            _importance(trees),
        )


@dataclass(frozen=True, eq=False)
class GrownTrees:
    """A forest of extra-trees, and what its training rows tell about it.

    Parameters
    ----------
    trees : sequence of ExtraTree
    binned : Binned
        The table that they were grown on.
    n_classes : int
        Number of classes, or 0 for values.
    out_of_bag : float64 array of shape (n, K), or (n,) for values
        Mean answer of the trees whose bag lacks the row; NaN where all bags have it.
    importance : float64 array of shape (d,)
        Share of each feature in the decrease of impurity; 0 for all if nothing was split.
    """

    trees: Sequence[ExtraTree]
    binned: Binned
    n_classes: int
    out_of_bag: NDArray[np.float64]
    importance: NDArray[np.float64]

    @cached_property
    def forest(self) -> Forest:
        """The frozen forest, which averages over the trees; made when it is first asked for."""
        trees, uppers, categorical = self.trees, self.binned.uppers, self.binned.categorical
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
        values = np.empty((len(left), max(self.n_classes, 1)))
        for tree, root in zip(trees, roots, strict=True):
            fill_values(tree, values[root : root + len(tree.left)])
        if not self.n_classes:
            # No link averages values: each tree adds its share of the mean.
            values /= len(trees)
        return Forest(
            nodes=nodes,
            values=values,
            roots=roots,
            outputs=np.zeros(len(trees), dtype=np.int64),
            base=np.zeros(values.shape[1]),
            link="mean" if self.n_classes else "sum",
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


def _units(
    groups: NDArray[np.int64], has_weight: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], int]:
    """Number the groups so that those with a row of some weight come first; return how many do."""
    may_draw = np.zeros(int(groups.max()) + 1, dtype=bool)
    may_draw[groups[has_weight]] = True
    number = np.empty(len(may_draw), dtype=np.int32)
    number[np.argsort(~may_draw, kind="stable")] = np.arange(len(may_draw))
    return number[groups], int(may_draw.sum())


def _average_out_of_bag(
    trees: Sequence[ExtraTree], leaves: NDArray[np.int32], n_outputs: int
) -> NDArray[np.float64]:
    """Return the mean of the leaves that each row reaches, (n, k); NaN where it reaches none."""
    n = leaves.shape[1]
    sums, counts = np.zeros((n, n_outputs)), np.zeros(n)

    def add_some(first: int, last: int) -> None:
        # Trees in their order, whatever the threads: the sums are rounded in one way.
        for tree, reached in zip(trees, leaves, strict=True):
            add_leaves(tree, reached[first:last], sums[first:last], counts[first:last])

    run(add_some, blocks(n, ROWS_PER_BLOCK))
    with np.errstate(invalid="ignore"):
        sums /= counts[:, None]
    return sums


def _importance(trees: Sequence[ExtraTree]) -> NDArray[np.float64]:
    """Return the shares of the features in the decrease of impurity, averaged over the trees."""
    decrease = np.array([tree.decrease for tree in trees])
    total = decrease.sum(axis=1, keepdims=True)
    shares = np.divide(decrease, total, out=np.zeros_like(decrease), where=total > 0)
    importance: NDArray[np.float64] = shares.sum(axis=0)
    whole = importance.sum()
    return importance / whole if whole > 0 else importance
