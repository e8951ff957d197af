"""Grown trees, one after another, becoming a frozen forest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.binning import MISSING
from thrifty.kernels.growth import Growth
from thrifty.learn.binned import Binned
from thrifty.model import Forest
from thrifty.model.nodes import CATEGORICAL, MISSING_LEFT, NODE, empty_nodes

__all__ = ["ForestBuilder"]


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
