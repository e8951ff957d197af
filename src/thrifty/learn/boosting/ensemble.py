"""Gradient boosting with prices: each round fits one tree per output to the gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.binning import MISSING
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.grower import Grower, GrownTree
from thrifty.learn.boosting.tree_head import TreeHead
from thrifty.learn.boosting.validation_tracker import ValidationTracker
from thrifty.learn.losses import Loss
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, MISSING_LEFT, empty_nodes

__all__ = ["Boosting", "ForestBuilder"]


class Boosting:
    """An ensemble while it grows (Xu 2014, algorithm 3).

    Parameters
    ----------
    loss : Loss
        Bound to the training target.
    grower : Grower
        Grows the trees and pays for them.
    learning_rate : float
        Factor for each tree (eta).

    Attributes
    ----------
    head : TreeHead
        The grower: what decides the splits.
    tracker : ValidationTracker or None
        Is updated with each tree.
    raw : array of shape (k, n)
        Outputs of the training rows so far.
    """

    tracker: ValidationTracker | None

    def __init__(self, loss: Loss, grower: Grower, learning_rate: float) -> None:
        self.loss, self.learning_rate, self.tracker = loss, learning_rate, None
        self.head: TreeHead = grower
        self.grower = grower
        self.base = loss.start()
        self.raw = np.repeat(self.base[:, np.newaxis], grower.binned.n_rows, axis=1)
        self.builder = ForestBuilder(grower.binned)

    @property
    def n_trees(self) -> int:
        """Number of trees so far, of all outputs."""
        return len(self.builder.outputs)

    def boost(self, rounds: int) -> bool:
        """Add up to `rounds` trees to each output; return whether another round could add any.

        A round in which no tree finds a split worth its price would only repeat itself.
        """
        return all(self._round() for _ in range(rounds))

    def freeze(self) -> Forest:
        """Return the ensemble so far as a forest."""
        return self.builder.freeze(self.base, self.loss.link)

    def gains(self) -> list[NDArray[np.float64]]:
        """Return, for each output, the gain of the best split of all rows on each feature, (d,).

        Nothing is bought; overwrites the arrays of the last tree.
        """
        return [self.grower.gains(target) for target in self.loss.derivatives(self.raw)[0]]

    def _round(self) -> bool:
        """Add one tree to each output; undo the round and return False if none has a split."""
        self._derive()
        without_split: dict[int, float] = {}
        for k in range(self.loss.outputs):
            tree, values = self._grow(k)
            values *= self.learning_rate
            self.builder.add(tree, values, k)
            if len(tree.left) == 1:
                without_split[k] = values[0]
                continue
            self._add(k, values)
            if self.tracker is not None:
                self.tracker.add_tree(tree, values, k)
        if len(without_split) == self.loss.outputs:
            self.builder.drop(self.loss.outputs)
            return False
        for k, value in without_split.items():
            self._add_constant(k, value)
            if self.tracker is not None:
                self.tracker.add_constant(k, value)
        return True

    # What a round does with the rows; `cluster.ClusterBoosting` has them elsewhere.

    def _derive(self) -> None:
        """Compute gradient and Hessian of all rows."""
        self._gradient, self._hessian = self.loss.derivatives(self.raw)

    def _grow(self, k: int) -> tuple[GrownTree, NDArray[np.float64]]:
        """Grow a tree for one output; return it with the values of its nodes."""
        target = self._gradient[k]
        tree = self.grower.grow(target)
        curvature = None if self._hessian is None else self._hessian[k]
        return tree, self.grower.values(target, curvature, self.loss.damping)

    def _add(self, k: int, values: NDArray[np.float64]) -> None:
        """Add the values of the last tree to one output of the rows."""
        self.grower.add(values, self.raw[k])

    def _add_constant(self, k: int, value: float) -> None:
        """Add a number to one output of all rows."""
        self.raw[k] += value


class _KeptTree(NamedTuple):
    """A tree as it was grown, by node: see `GrownTree`.

    `missing_left` (nodes,) says where missing values go, `subsets` (categorical splits, 256) which
    codes go left, and `values` (nodes, 1) or (nodes, k) what a node adds to its output, or to each.
    """

    left: NDArray[np.int32]
    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    subsets: NDArray[np.uint8]
    values: NDArray[np.float64]


class ForestBuilder:
    """Collect grown trees and freeze them into a forest.

    Parameters
    ----------
    binned : Binned
        The table that the trees are grown on; it turns bins back into thresholds.
    """

    def __init__(self, binned: Binned) -> None:
        self.binned = binned
        self.trees: list[_KeptTree] = []
        self.outputs: list[int] = []
        self._has_categories = bool(binned.categorical.any())

    def add(self, tree: GrownTree, values: NDArray[np.float64], output: int) -> None:
        """Copy a grown tree whose nodes add `values` to one output, or (nodes, k) to each."""
        subsets = tree.goes_left[:0]
        if self._has_categories:
            (split,) = (tree.left >= 0).nonzero()
            subsets = tree.goes_left[split[self.binned.categorical[tree.feature[split]]]]
        # Small copies: nodes are made when all trees are there, as on small tables a few calls of
        # NumPy take longer than it takes to grow a tree.
        kept = _KeptTree(
            tree.left.copy(), tree.feature.copy(), tree.cut.copy(),
            tree.goes_left[:, MISSING].copy(), subsets, values.reshape(len(values), -1),
        )  # fmt: skip
        self.trees.append(kept)
        self.outputs.append(output)

    def drop(self, trees: int) -> None:
        """Remove the last `trees` trees."""
        del self.trees[-trees:], self.outputs[-trees:]

    def freeze(self, base: NDArray[np.float64], link: str) -> Forest:
        """Return the forest of all trees so far; `base` (k,) is where the outputs start."""
        none = np.empty(0, np.int32)
        width = self.trees[0].values.shape[1] if self.trees else 1
        empty = _KeptTree(
            none, none, none, np.empty(0, np.uint8), np.empty((0, 256), np.uint8),
            np.empty((0, width)),
        )  # fmt: skip
        left, feature, cut, missing_left, subsets, values = (
            np.concatenate(part) for part in zip(empty, *self.trees, strict=True)
        )
        sizes = np.array([len(tree.left) for tree in self.trees], dtype=np.int64)
        roots = np.cumsum(sizes) - sizes
        split = np.flatnonzero(left >= 0)
        feature = feature[split]
        by_subset = self.binned.categorical[feature]
        nodes = empty_nodes(len(left))
        nodes["child"][split] = (left + np.repeat(roots, sizes))[split]
        threshold = self.binned.uppers[feature, cut[split]]
        threshold[by_subset] = np.arange(len(subsets))
        nodes["threshold"][split] = threshold
        nodes["feature"][split] = (
            feature
            | np.where(missing_left[split] > 0, MISSING_LEFT, 0)
            | np.where(by_subset, CATEGORICAL, 0)
        )
        subsets[:, MISSING] = 0  # MISSING_LEFT says where missing values go
        return Forest(
            nodes=nodes,
            values=values,
            roots=roots,
            outputs=np.array(self.outputs, dtype=np.int64),
            base=base,
            link=link,
            n_features=self.binned.n_features,
            subsets=np.packbits(subsets, axis=1, bitorder="little").view("<u8").astype(np.uint64),
        )
