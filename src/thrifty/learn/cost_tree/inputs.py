"""The inputs of the nodes: columns of the table, or boosted trees (Xu 2014, sec. 3.6).

Either kind computes inputs of unit scale, has the cost terms of these inputs, and freezes a tree
that was learned on them.

Boosted trees are grown first, by the loss of the nodes, with a penalty on what they read that
decreases from tree to tree: the first trees read few, cheap features, so a node that must save
money can use those alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.learn.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.cost_tree.cost_terms import CostTerms
from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.encoding import standardize
from thrifty.learn.losses import Loss
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest, LinearTree
from thrifty.model.encoding import Encoding
from thrifty.model.forest.nodes import INDEX, is_leaf

__all__ = [
    "ColumnInputs",
    "Inputs",
    "OutputScale",
    "TreeInputs",
    "features_read",
    "grow_base_trees",
]

Floats = NDArray[np.float64]

# Base trees are small and many, as in the thesis.
MAX_DEPTH = 4
LEARNING_RATE = 0.1
MIN_SAMPLES_LEAF = 20
# Base trees are grown in stages. At each, the penalty is this share of the largest at which a split
# on a feature that has not been bought pays, so that features are bought one or a few at a time.
N_STAGES = 20
PAYING_SHARE = 0.9
# The penalty is 0 in this share of the stages, the last ones. Before, it falls at least as fast as
# the geometric sequence that ends at this share of the first penalty.
FREE_SHARE = 0.25
LAST_PENALTY_SHARE = 1e-3


def grow_base_trees(train: TrainingSet, loss: Loss, n_estimators: int, random_state: int) -> Forest:
    """Boost trees on a loss, with a decreasing penalty on what they read."""
    n = len(train)
    grower = Grower(
        Binned.of(train.X, train.categorical, check_random_state(random_state)),
        Purchases(train.prices, n, "model"),
        max_depth=MAX_DEPTH,
        min_samples_leaf=min(MIN_SAMPLES_LEAF, max(1, n // 8)),
        weight=loss.weight,
    )
    boosting = Boosting(loss, grower, LEARNING_RATE)
    stages = min(N_STAGES, n_estimators)
    free = max(1, int(FREE_SHARE * stages))
    falling = np.geomspace(1.0, LAST_PENALTY_SHARE, stages - free)
    limits = [*(_paying_penalty(boosting) * falling).tolist(), *[0.0] * free]
    for stage, limit in enumerate(limits):
        grower.penalty = min(limit, _paying_penalty(boosting))
        boosting.boost((n_estimators - boosting.n_trees) // (stages - stage))
    return boosting.freeze()


def _paying_penalty(boosting: Boosting) -> float:
    """Return the penalty at which a split of all rows on one more feature would pay."""
    grower = boosting.grower
    due = grower.purchases.total_due(grower.weight)
    (gains,) = boosting.gains()
    priced = due > 0
    return PAYING_SHARE * float((gains[priced] / (2.0 * due[priced])).max(initial=0.0))


def features_read(forest: Forest) -> NDArray[np.bool_]:
    """Return which features each tree may read, (d, T)."""
    table = np.zeros((forest.n_features, len(forest.roots)), dtype=bool)
    splits = np.flatnonzero(~is_leaf(forest.nodes))
    tree = np.searchsorted(forest.roots, splits, side="right") - 1
    table[forest.nodes["feature"][splits] & INDEX, tree] = True
    return table


class OutputScale(NamedTuple):
    """How outputs of a tree become those of the model: times `factor`, plus `offset`."""

    factor: float = 1.0
    offset: float = 0.0


class Inputs(ABC):
    """The q inputs that the nodes of a tree weigh.

    Attributes
    ----------
    terms : CostTerms
        Prices of the inputs.
    n_features : int
        Number of columns of the table.
    """

    terms: CostTerms
    n_features: int

    @abstractmethod
    def transform(self, X: NDArray[np.floating]) -> Floats:
        """Return the inputs of some rows (n, d), (n, q)."""

    @abstractmethod
    def freeze(self, tree: HardTree, link: str, scale: OutputScale) -> LinearTree:
        """Return the frozen model of a tree."""

    def _frozen(
        self,
        tree: HardTree,
        link: str,
        scale: OutputScale,
        number: NDArray[np.int64],
        **source: Any,
    ) -> LinearTree:
        """Return a frozen tree whose input j has number ``number[j]`` in its source."""
        uses = tree.uses
        nodes, inputs = np.nonzero(uses)
        return LinearTree(
            left=tree.shape.left.astype(np.int64), right=tree.shape.right.astype(np.int64),
            starts=np.concatenate([[0], uses.sum(axis=1).cumsum()]).astype(np.int64),
            inputs=number[inputs], route=tree.route[nodes, inputs], threshold=tree.threshold,
            weights=scale.factor * tree.weights[nodes, inputs][:, np.newaxis],
            bias=(scale.factor * tree.bias + scale.offset)[:, np.newaxis],
            link=link, n_features=self.n_features, **source,
        )  # fmt: skip


class ColumnInputs(Inputs):
    """Columns of the table: numbers are standardized, categories have an indicator per label."""

    def __init__(self, train: TrainingSet) -> None:
        self.encoding: Encoding = standardize(train.schema, train.X, train.weight)
        self.terms = CostTerms.of_columns(self.encoding.columns, train.prices)
        self.n_features = train.n_features

    def transform(self, X: NDArray[np.floating]) -> Floats:
        """Return the encoded columns of some rows."""
        return self.encoding.apply(X)

    def freeze(self, tree: HardTree, link: str, scale: OutputScale) -> LinearTree:
        """Return the frozen tree, with the encoded columns that it uses."""
        kept = np.asarray(tree.uses.any(axis=0))
        number = np.cumsum(kept) - 1
        return self._frozen(tree, link, scale, number, encoding=self.encoding.keep(kept))


class TreeInputs(Inputs):
    """Outputs of boosted trees, standardized.

    Attributes
    ----------
    forest : Forest
    centers, scales : arrays of shape (q,)
        Mean and deviation of the output of each tree.
    offsets : array of shape (q,)
        Added to the sum of the first trees, each input times its scale, these give the score of
        the boosted model after so many trees.
    """

    def __init__(self, forest: Forest, train: TrainingSet) -> None:
        self.forest = forest
        self.n_features = forest.n_features
        self.terms = CostTerms.of_trees(features_read(forest), train.prices)
        outputs = self._tree_outputs(train.X)
        # Weighted, so that a row of weight 2 counts as two rows.
        self.centers = np.average(outputs, axis=0, weights=train.weights)
        squares = np.average(np.square(outputs - self.centers), axis=0, weights=train.weights)
        deviation = np.sqrt(squares)
        self.scales = np.where(deviation > 0, deviation, 1.0)
        self.offsets = forest.base[0] + np.cumsum(self.centers)

    def transform(self, X: NDArray[np.floating]) -> Floats:
        """Return the standardized outputs of the trees on some rows."""
        return np.asarray((self._tree_outputs(X) - self.centers) / self.scales)

    def freeze(self, tree: HardTree, link: str, scale: OutputScale) -> LinearTree:
        """Return the frozen tree, with centers and scales moved into thresholds and weights."""
        plain = HardTree(
            tree.shape,
            tree.route / self.scales,
            tree.threshold + (tree.route / self.scales) @ self.centers,
            tree.weights / self.scales,
            tree.bias - (tree.weights / self.scales) @ self.centers,
        )
        return self._frozen(plain, link, scale, np.arange(len(self.scales)), base=self.forest)

    def _tree_outputs(self, X: NDArray[np.floating]) -> Floats:
        leaves = self.forest.leaves(X)
        return np.ascontiguousarray(self.forest.values[:, 0][leaves].T)
