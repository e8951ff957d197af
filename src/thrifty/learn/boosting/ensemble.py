"""Gradient boosting with prices: each round fits one tree per output to the gradient."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.binning import MISSING
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.grower import Grower, GrownTree
from thrifty.learn.boosting.validation_tracker import ValidationTracker
from thrifty.learn.losses import Loss
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, MISSING_LEFT, NODE, empty_nodes

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
    tracker : ValidationTracker, optional
        Is updated with each tree.

    Attributes
    ----------
    raw : array of shape (k, n)
        Outputs of the training rows so far.
    """

    def __init__(
        self,
        loss: Loss,
        grower: Grower,
        learning_rate: float,
        tracker: ValidationTracker | None = None,
    ) -> None:
        self.loss, self.grower, self.learning_rate = loss, grower, learning_rate
        self.tracker = tracker
        self.base = loss.start()
        self.raw = np.repeat(self.base[:, np.newaxis], grower.binned.bins.shape[1], axis=1)
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

    def _round(self) -> bool:
        """Add one tree to each output; undo the round and return False if none has a split."""
        gradient, hessian = self.loss.derivatives(self.raw)
        without_split: dict[int, float] = {}
        for k in range(self.loss.outputs):
            tree = self.grower.grow(gradient[k])
            curvature = None if hessian is None else hessian[k]
            values = self.grower.values(gradient[k], curvature, self.loss.damping)
            values *= self.learning_rate
            self.builder.add(tree, values, k)
            if len(tree.left) == 1:
                without_split[k] = values[0]
                continue
            self.grower.add(values, self.raw[k])
            if self.tracker is not None:
                self.tracker.add_tree(tree, values, k)
        if len(without_split) == self.loss.outputs:
            self.builder.drop(self.loss.outputs)
            return False
        for k, value in without_split.items():
            self.raw[k] += value
            if self.tracker is not None:
                self.tracker.add_constant(k, value)
        return True


class ForestBuilder:
    """Collect grown trees and freeze them into a forest.

    Parameters
    ----------
    binned : Binned
        The table that the trees are grown on; it turns bins back into thresholds.
    """

    def __init__(self, binned: Binned) -> None:
        self.binned = binned
        self.nodes: list[NDArray[np.void]] = []
        self.values: list[NDArray[np.float64]] = []
        self.outputs: list[int] = []
        self.subsets: list[NDArray[np.uint64]] = []
        self.size = 0

    def add(self, tree: GrownTree, values: NDArray[np.float64], output: int) -> None:
        """Copy a grown tree whose nodes add `values` to one output, or (nodes, k) to each."""
        count = len(tree.left)
        nodes = empty_nodes(count)
        nodes["child"] += self.size
        split = np.flatnonzero(tree.left >= 0)
        feature = tree.feature[split]
        nodes["child"][split] = tree.left[split] + self.size
        nodes["threshold"][split] = self.binned.uppers[feature, tree.cut[split]]
        missing_left = tree.goes_left[split, MISSING] > 0
        nodes["feature"][split] = feature | np.where(missing_left, MISSING_LEFT, 0)
        for node in split[self.binned.categorical[feature]]:
            nodes["feature"][node] |= CATEGORICAL
            nodes["threshold"][node] = len(self.subsets)
            codes = tree.goes_left[node].copy()
            codes[MISSING] = 0  # MISSING_LEFT says where missing values go
            packed = np.packbits(codes, bitorder="little").view("<u8")
            self.subsets.append(packed.astype(np.uint64))
        self.nodes.append(nodes)
        self.values.append(values[:count].reshape(count, -1))
        self.outputs.append(output)
        self.size += count

    def drop(self, trees: int) -> None:
        """Remove the last `trees` trees."""
        self.size -= sum(len(nodes) for nodes in self.nodes[-trees:])
        for column in (self.nodes, self.values, self.outputs):
            del column[-trees:]

    def freeze(self, base: NDArray[np.float64], link: str) -> Forest:
        """Return the forest of all trees so far; `base` (k,) is where the outputs start."""
        sizes = [len(nodes) for nodes in self.nodes]
        # Joined as plain bytes: NumPy would compare the fields of every record type.
        plain = [part.view(f"V{NODE.itemsize}") for part in (empty_nodes(0), *self.nodes)]
        return Forest(
            nodes=np.concatenate(plain).view(NODE),
            values=np.concatenate(self.values) if self.values else np.empty((0, 1)),
            roots=np.cumsum([0, *sizes], dtype=np.int64)[:-1],
            outputs=np.array(self.outputs, dtype=np.int64),
            base=base,
            link=link,
            n_features=len(self.binned.bins),
            subsets=np.array(self.subsets, dtype=np.uint64).reshape(-1, 4),
        )
