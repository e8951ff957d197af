"""Stage-wise regression with prices: each round fits one tree per output to the gradient.

Grown trees, one after another, becoming a frozen forest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.binning import MISSING
from thrifty.kernels.hist_tree import Growth
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.validation_tracker import Followed
from thrifty.learn.losses import Loss
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, MISSING_LEFT, NODE, empty_nodes

__all__ = ["Boosting", "ForestBuilder"]


class ForestBuilder:
    """Collects trees; `freeze` ends it."""

    def __init__(self, binned: Binned) -> None:
        self.binned = binned
        self.nodes: list[NDArray[np.void]] = []
        self.values: list[NDArray[np.float64]] = []
        self.outputs: list[int] = []
        self.subsets: list[NDArray[np.uint64]] = []
        self.size = 0

    def add(self, growth: Growth, values: NDArray[np.float64], output: int) -> None:
        """Freeze the tree of `growth`, whose nodes are worth `values`, for one output."""
        count = int(growth.count[0])
        nodes = empty_nodes(count)
        nodes["child"] += self.size
        split = np.flatnonzero(growth.left[:count] >= 0)
        feature = growth.feature[split]
        nodes["child"][split] = growth.left[split] + self.size
        nodes["threshold"][split] = self.binned.uppers[feature, growth.cut[split]]
        missing_left = growth.goes_left[split, MISSING] > 0
        nodes["feature"][split] = feature | np.where(missing_left, MISSING_LEFT, 0)
        for node in split[self.binned.categorical[feature]]:
            nodes["feature"][node] |= CATEGORICAL
            nodes["threshold"][node] = len(self.subsets)
            self.subsets.append(_subset(growth.goes_left[node]))
        self.nodes.append(nodes)
        self.values.append(values[:count, np.newaxis])
        self.outputs.append(output)
        self.size += count

    def drop(self, trees: int) -> None:
        """Forget the last `trees` trees."""
        self.size -= sum(len(nodes) for nodes in self.nodes[-trees:])
        for column in (self.nodes, self.values, self.outputs):
            del column[-trees:]

    def freeze(self, base: NDArray[np.float64], link: str) -> Forest:
        """The forest of all trees so far."""
        sizes = [len(nodes) for nodes in self.nodes]
        return Forest(
            nodes=_join(self.nodes),
            values=np.concatenate([np.empty((0, 1)), *self.values]),
            roots=np.cumsum([0, *sizes], dtype=np.int64)[:-1],
            outputs=np.array(self.outputs, dtype=np.int64),
            base=base,
            link=link,
            n_features=len(self.binned.bins),
            subsets=np.array(self.subsets, dtype=np.uint64).reshape(-1, 4),
        )


def _join(nodes: list[NDArray[np.void]]) -> NDArray[np.void]:
    # As plain bytes: NumPy would compare the fields of every record type with every other.
    plain = [part.view(f"V{NODE.itemsize}") for part in (empty_nodes(0), *nodes)]
    return np.concatenate(plain).view(NODE)


def _subset(goes_left: NDArray[np.uint8]) -> NDArray[np.uint64]:
    bits = goes_left.copy()
    bits[MISSING] = 0  # said by MISSING_LEFT
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


class Boosting:
    """An ensemble while it grows (Xu 2014, algorithm 3).

    Parameters
    ----------
    loss : Loss
        What to descend, bound to the training target.
    grower : Grower
        Grows the trees and pays for them.
    learning_rate : float
        Share of each tree that is added (eta).
    followed : Followed, optional
        Rows that go along.
    """

    def __init__(
        self,
        loss: Loss,
        grower: Grower,
        learning_rate: float,
        followed: Followed | None = None,
    ) -> None:
        self.followed = followed
        self.loss, self.grower, self.learning_rate = loss, grower, learning_rate
        binned: Binned = grower.binned
        self.base = loss.start()
        self.raw = np.repeat(self.base[:, np.newaxis], binned.bins.shape[1], axis=1)
        self.builder = ForestBuilder(binned)

    def boost(self, rounds: int) -> bool:
        """Add up to `rounds` trees to each output; say whether a further round could add any.

        A round in which no tree finds a split worth its price would only repeat itself.
        """
        return all(self._round() for _ in range(rounds))

    def _round(self) -> bool:
        gradient, hessian = self.loss.derivatives(self.raw)
        flat: dict[int, float] = {}
        for k in range(self.loss.outputs):
            growth = self.grower.grow(gradient[k])
            curve = None if hessian is None else hessian[k]
            values = self.grower.values(gradient[k], curve, self.loss.damping)
            values *= self.learning_rate
            self.builder.add(growth, values, k)
            if growth.count[0] == 1:
                flat[k] = values[0]
            else:
                self._add(growth, values, k)
        if len(flat) == self.loss.outputs:
            self.builder.drop(self.loss.outputs)
            return False
        for k, value in flat.items():
            self._shift(k, value)
        return True

    def _add(self, growth: Growth, values: NDArray[np.float64], output: int) -> None:
        self.grower.add(values, self.raw[output])
        if self.followed is not None:
            self.followed.add(growth, values, output)

    def _shift(self, output: int, value: float) -> None:
        """Add a tree without a split."""
        self.raw[output] += value
        if self.followed is not None:
            self.followed.raw[output] += value

    def freeze(self) -> Forest:
        """The ensemble so far as a forest."""
        return self.builder.freeze(self.base, self.loss.link)
