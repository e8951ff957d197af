"""What the linear rivals weigh: columns of the table or boosted trees, and what each costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.baselines.base import Task
from thrifty.learn.baselines.boosted import Trees, joined
from thrifty.learn.baselines.priced_weights import RIDGE, TREE_RIDGE, Dues
from thrifty.learn.cost_tree.cost_terms import CostTerms
from thrifty.learn.cost_tree.inputs import reads
from thrifty.learn.svm.source import standard_slots
from thrifty.model import Forest, LinearTree
from thrifty.model.encoding import Encoding

__all__ = ["Stage", "StageInputs", "column_inputs", "subset_inputs", "tree_inputs"]

Floats = NDArray[np.float64]


class Stage(NamedTuple):
    """A linear model of the inputs; a row goes on if weights times inputs are above `threshold`."""

    weights: Floats
    bias: float
    threshold: float = 0.0


@dataclass(frozen=True, eq=False)
class StageInputs:
    """Numbers (n, q) of the training rows, all of one scale, and how they are had and paid.

    Parameters
    ----------
    Z : array (n, q)
    scales : array (q,)
        What the frozen model's inputs are divided by.
    dues : Dues
        What weights cost.
    n_features : int
        Columns of the table.
    encoding : Encoding or None
        The slots, if the inputs are columns.
    trees : Forest or None
        The trees, if the inputs are trees.
    """

    Z: Floats
    scales: Floats
    dues: Dues
    n_features: int
    encoding: Encoding | None = None
    trees: Forest | None = None

    def freeze(self, stages: Sequence[Stage], link: str = "sigmoid") -> LinearTree:
        """A cascade of stages, each with an exit for rows that do not go on."""
        kept = [np.flatnonzero(stage.weights) for stage in stages]
        weights = np.concatenate(
            [stage.weights[k] / self.scales[k] for stage, k in zip(stages, kept, strict=True)]
        )
        follows = np.arange(1, len(stages) + 1)
        return LinearTree(
            left=np.full(len(stages), -1),
            right=np.where(follows < len(stages), follows, -1),
            starts=np.concatenate([[0], np.cumsum([len(k) for k in kept])]).astype(np.int64),
            slots=np.concatenate(kept).astype(np.int64),
            route=weights,
            threshold=np.array([stage.threshold for stage in stages]),
            weights=weights[:, np.newaxis],
            bias=np.array([[stage.bias] for stage in stages]),
            link=link,
            n_features=self.n_features,
            encoding=self.encoding,
            base=self.trees,
        )


def column_inputs(task: Task) -> StageInputs:
    """Columns of numbers standardized, a slot for each category."""
    slots = standard_slots(task.schema, task.X, task.weight)
    dues = _dues(CostTerms.of_slots(slots.columns, task.prices), slots.columns, RIDGE)
    ones = np.ones(len(slots.columns))
    return StageInputs(slots.apply(task.X), ones, dues, len(task.schema), encoding=slots)


def tree_inputs(task: Task, trees: Trees) -> StageInputs:
    """Values of boosted trees, each divided by its deviation (Xu 2014, sec. 3.6)."""
    return _of_trees(task, trees.boost(task, trees.binned(task)))


def subset_inputs(
    task: Task, trees: Trees, subsets: Sequence[NDArray[np.int64]]
) -> tuple[StageInputs, NDArray[np.int64]]:
    """Trees boosted on each of some subsets of the features, and the subset of each tree."""
    binned, share = trees.binned(task), -(-trees.n_estimators // len(subsets))
    fewer = replace(trees, n_estimators=share)
    forests = [fewer.boost(task, binned, subset) for subset in subsets]
    part = np.repeat(np.arange(len(forests)), [len(forest.roots) for forest in forests])
    return _of_trees(task, joined(forests, [0.0], "sum")), part


def _of_trees(task: Task, forest: Forest) -> StageInputs:
    Z = forest.values[forest.leaves(task.X).T, 0]
    mean = task.weights @ Z
    scales = np.sqrt(task.weights @ np.square(Z - mean))
    scales[scales == 0] = 1.0
    terms = CostTerms.of_trees(reads(forest), task.prices)
    dues = _dues(terms, np.arange(len(forest.roots)), TREE_RIDGE)
    return StageInputs(Z / scales, scales, dues, len(task.schema), trees=forest)


def _dues(terms: CostTerms, unit: NDArray[np.int64], ridge: float) -> Dues:
    return Dues(terms.prices, terms.members.toarray(), unit, ridge)
