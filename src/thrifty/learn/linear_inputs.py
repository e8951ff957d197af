"""What the nodes of a tree weigh: slots of the table, or boosted trees (002 sec. 3.6).

Either gives numbers of unit scale to learn from, the terms of their cost, and the frozen tree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Schema
from thrifty.costs import BoundPrices
from thrifty.learn.base_trees import base_trees, reads
from thrifty.learn.cost_terms import CostTerms
from thrifty.learn.hard_tree import HardTree
from thrifty.learn.machine_source import standard_slots
from thrifty.model import Forest, LinearTree
from thrifty.model.encoding import Encoding

__all__ = ["Inputs", "Scale", "SlotInputs", "TreeInputs"]

Floats = NDArray[np.float64]


class Scale(NamedTuple):
    """How the answers of a learner become those of the model: times `factor`, plus `offset`."""

    factor: float = 1.0
    offset: float = 0.0


class Inputs(ABC):
    """Numbers that a tree weighs."""

    terms: CostTerms
    n_features: int

    @abstractmethod
    def read(self, X: NDArray[np.floating]) -> Floats:
        """The inputs of rows, (n, q)."""

    @abstractmethod
    def freeze(self, tree: HardTree, link: str, scale: Scale) -> LinearTree:
        """The frozen tree."""

    def _frozen(
        self, tree: HardTree, link: str, scale: Scale, place: NDArray[np.int64], **source: Any
    ) -> LinearTree:
        """A frozen tree whose input j is number ``place[j]`` of its source."""
        uses = tree.uses
        nodes, inputs = np.nonzero(uses)
        return LinearTree(
            left=tree.shape.left.astype(np.int64), right=tree.shape.right.astype(np.int64),
            starts=np.concatenate([[0], uses.sum(axis=1).cumsum()]).astype(np.int64),
            slots=place[inputs], route=tree.route[nodes, inputs], threshold=tree.threshold,
            weights=scale.factor * tree.answer[nodes, inputs][:, np.newaxis],
            bias=(scale.factor * tree.bias + scale.offset)[:, np.newaxis],
            link=link, n_features=self.n_features, **source,
        )  # fmt: skip


class SlotInputs(Inputs):
    """Numbers standardized, a slot for each category."""

    def __init__(
        self, schema: Schema, prices: BoundPrices, X: NDArray[np.floating], weight: Floats | None
    ) -> None:
        self.encoding: Encoding = standard_slots(schema, X, weight)
        self.terms = CostTerms.of_slots(self.encoding.columns, prices)
        self.n_features = len(schema)

    def read(self, X: NDArray[np.floating]) -> Floats:
        """The slots of rows."""
        return self.encoding.apply(X)

    def freeze(self, tree: HardTree, link: str, scale: Scale) -> LinearTree:
        """The frozen tree, with the slots that it weighs."""
        kept = np.asarray(tree.uses.any(axis=0))
        place = np.cumsum(kept) - 1
        return self._frozen(tree, link, scale, place, encoding=self.encoding.keep(kept))


class TreeInputs(Inputs):
    """Values of boosted trees, standardized."""

    def __init__(self, forest: Forest, prices: BoundPrices, X: NDArray[np.floating]) -> None:
        self.forest = forest
        self.n_features = forest.n_features
        self.terms = CostTerms.of_trees(reads(forest), prices)
        values = self._values(X)
        self.centers = values.mean(axis=0)
        spread = values.std(axis=0)
        self.scales = np.where(spread > 0, spread, 1.0)

    @classmethod
    def grown(
        cls,
        schema: Schema,
        prices: BoundPrices,
        X: NDArray[np.floating],
        y: Floats,
        weight: Floats | None,
        **settings: Any,
    ) -> TreeInputs:
        """Trees boosted on a target."""
        return cls(base_trees(schema, prices, X, y, weight, **settings), prices, X)

    def read(self, X: NDArray[np.floating]) -> Floats:
        """The values of the trees on rows."""
        return np.asarray((self._values(X) - self.centers) / self.scales)

    def freeze(self, tree: HardTree, link: str, scale: Scale) -> LinearTree:
        """The frozen tree; centers and scales go into thresholds and weights."""
        plain = HardTree(
            tree.shape,
            tree.route / self.scales,
            tree.threshold + (tree.route / self.scales) @ self.centers,
            tree.answer / self.scales,
            tree.bias - (tree.answer / self.scales) @ self.centers,
        )
        place = np.arange(len(self.scales))
        return self._frozen(plain, link, scale, place, base=self.forest)

    def _values(self, X: NDArray[np.floating]) -> Floats:
        leaves = self.forest.leaves(X)
        return np.ascontiguousarray(self.forest.values[:, 0][leaves].T)
