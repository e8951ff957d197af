"""What the nodes of a tree weigh: slots of the table, or boosted trees (Xu 2014, sec. 3.6).

Either gives numbers of unit scale to learn from, the terms of their cost, and the frozen tree.

Boosted trees as inputs of linear models (the boosting trick, Xu 2014, sec. 3.6).

The penalty on what the trees read falls while they are grown, so the first trees read little and
cheap features and the later ones more: a linear model that must save can weigh the first alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.bundle import Schema
from thrifty.costs import BoundPrices
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.purchases import Bought
from thrifty.learn.cost_tree.cost_terms import CostTerms
from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.losses import SquaredLoss
from thrifty.learn.svm.source import standard_slots
from thrifty.model import Forest, LinearTree
from thrifty.model.encoding import Encoding
from thrifty.model.forest.nodes import INDEX, is_leaf

__all__ = ["Inputs", "Scale", "SlotInputs", "TreeInputs", "base_trees", "reads"]

Floats = NDArray[np.float64]

DEPTH = 4
LEARNING_RATE = 0.1
SMALLEST_LEAF = 20
# Penalties, the last one 0; from one to the next but last they fall to the ratio in all.
LEVELS = 10
RATIO = 1e-3


def base_trees(
    schema: Schema,
    prices: BoundPrices,
    X: NDArray[np.floating],
    y: Floats,
    weight: Floats | None,
    n_estimators: int,
    random_state: int,
) -> Forest:
    """Trees boosted on the squared loss of `y`."""
    categorical = np.array([column.categories is not None for column in schema.columns])
    grower = Grower(
        Binned.of(X, categorical, check_random_state(random_state)),
        Bought(prices, len(X), "model"),
        max_depth=DEPTH,
        min_samples_leaf=min(SMALLEST_LEAF, max(1, len(X) // 8)),
        weight=weight,
    )
    boosting = Boosting(SquaredLoss(y, weight), grower, LEARNING_RATE)
    left = n_estimators
    for level, penalty in enumerate(_penalties(grower, y, weight)):
        rounds = left // (LEVELS - level)
        grower.rate = 2.0 * penalty
        boosting.boost(rounds)
        left = n_estimators - len(boosting.builder.outputs)
    return boosting.freeze()


def reads(forest: Forest) -> NDArray[np.bool_]:
    """Which features each tree may read, (d, T)."""
    table = np.zeros((forest.n_features, len(forest.roots)), dtype=bool)
    splits = np.flatnonzero(~is_leaf(forest.nodes))
    tree = np.searchsorted(forest.roots, splits, side="right") - 1
    table[forest.nodes["feature"][splits] & INDEX, tree] = True
    return table


def _penalties(grower: Grower, y: Floats, weight: Floats | None) -> list[float]:
    """Falling from nine tenths of the largest at which a first split pays."""
    owed = grower.bought.owed(grower.weight)
    gains = grower.gains(y - np.average(y, weights=weight))
    priced = owed > 0
    largest = float((gains[priced] / (2.0 * owed[priced])).max(initial=0.0))
    falling = 0.9 * largest * np.geomspace(1.0, RATIO, LEVELS - 1)
    return [*falling.tolist(), 0.0]


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
