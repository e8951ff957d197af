"""What the linear baselines weigh: columns of the table or boosted trees, and what each costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.baselines.base import normalized_weights
from thrifty.learn.baselines.boosted import BoostingSettings, concatenate_forests
from thrifty.learn.baselines.priced_weights import COLUMN_RIDGE, TREE_RIDGE, InputCosts
from thrifty.learn.cost_tree.cost_terms import CostTerms
from thrifty.learn.cost_tree.inputs import features_read
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.encoding import standardize
from thrifty.model import Forest, LinearTree
from thrifty.model.encoding import Encoding

__all__ = ["Stage", "StageInputs", "column_inputs", "subset_inputs", "tree_inputs"]

Floats = NDArray[np.float64]


class Stage(NamedTuple):
    """A linear model, the stage of a cascade.

    A row goes on to the next stage if ``weights @ inputs`` is above `threshold`; otherwise
    ``weights @ inputs + bias`` is its output.
    """

    weights: Floats
    bias: float
    threshold: float = 0.0


@dataclass(frozen=True, eq=False)
class StageInputs:
    """The inputs of linear stages on the training rows, and how a frozen model computes them.

    Parameters
    ----------
    Z : array of shape (n, q)
        The inputs, each of unit scale.
    scales : array of shape (q,)
        What the frozen model's inputs have to be divided by.
    costs : InputCosts
        What weights cost.
    n_features : int
        Number of columns of the table.
    encoding : Encoding or None
        Makes the inputs if they are columns.
    trees : Forest or None
        Makes the inputs if they are trees.
    """

    Z: Floats
    scales: Floats
    costs: InputCosts
    n_features: int
    encoding: Encoding | None = None
    trees: Forest | None = None

    def freeze(self, stages: Sequence[Stage], link: str = "sigmoid") -> LinearTree:
        """Make a cascade of the stages; a row that does not go on exits."""
        kept = [np.flatnonzero(stage.weights) for stage in stages]
        weights = np.concatenate(
            [stage.weights[k] / self.scales[k] for stage, k in zip(stages, kept, strict=True)]
        )
        following = np.arange(1, len(stages) + 1)
        return LinearTree(
            left=np.full(len(stages), -1),
            right=np.where(following < len(stages), following, -1),
            starts=np.concatenate([[0], np.cumsum([len(k) for k in kept])]).astype(np.int64),
            inputs=np.concatenate(kept).astype(np.int64),
            route=weights,
            threshold=np.array([stage.threshold for stage in stages]),
            weights=weights[:, np.newaxis],
            bias=np.array([[stage.bias] for stage in stages]),
            link=link,
            n_features=self.n_features,
            encoding=self.encoding,
            base=self.trees,
        )


def column_inputs(train: TrainingSet) -> StageInputs:
    """Standardize numbers, and make an indicator of each category."""
    encoding = standardize(train.schema, train.X, train.weight)
    terms = CostTerms.of_columns(encoding.columns, train.prices)
    costs = InputCosts(terms.prices, terms.members.toarray(), encoding.columns, COLUMN_RIDGE)
    scales = np.ones(len(encoding.columns))
    Z = encoding.apply(train.X)
    return StageInputs(Z, scales, costs, train.n_features, encoding=encoding)


def tree_inputs(train: TrainingSet, forest: Forest) -> StageInputs:
    """Take the values of boosted trees, each divided by its deviation (Xu 2014, sec. 3.6)."""
    Z = forest.values[forest.leaves(train.X).T, 0]
    weight = normalized_weights(train)
    scales = np.sqrt(weight @ np.square(Z - weight @ Z))
    scales[scales == 0] = 1.0
    terms = CostTerms.of_trees(features_read(forest), train.prices)
    trees = np.arange(len(forest.roots))
    costs = InputCosts(terms.prices, terms.members.toarray(), trees, TREE_RIDGE)
    return StageInputs(Z / scales, scales, costs, train.n_features, trees=forest)


def subset_inputs(
    train: TrainingSet, settings: BoostingSettings, subsets: Sequence[NDArray[np.int64]]
) -> tuple[StageInputs, NDArray[np.int64]]:
    """Boost trees on each of some subsets of the features.

    Each subset gets an equal share of `settings.n_estimators`. Returns the inputs and the number
    of the subset that each tree was boosted on, (q,).
    """
    binned = settings.bin(train)
    share = replace(settings, n_estimators=-(-settings.n_estimators // len(subsets)))
    forests = [share.boost(train, binned, subset) for subset in subsets]
    subset_of_tree = np.repeat(np.arange(len(forests)), [len(forest.roots) for forest in forests])
    return tree_inputs(train, concatenate_forests(forests, [0.0], "sum")), subset_of_tree
