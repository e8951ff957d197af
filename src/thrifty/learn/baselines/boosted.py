"""Boosted trees as the rivals start from them: blind to prices, all at once.

Forests side by side in one forest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from thrifty.learn.baselines.base import Task
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.purchases import Bought
from thrifty.learn.losses import LogLoss
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, empty_nodes

__all__ = ["CONSTRAINTS", "Trees", "joined"]

CONSTRAINTS: dict[str, list[Any]] = {
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "max_depth": [Interval(Integral, 1, 12, closed="both")],
    "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class Trees:
    """How trees are boosted, on the log-loss."""

    n_estimators: int
    learning_rate: float
    max_depth: int
    min_samples_leaf: float
    random_state: Any

    @classmethod
    def of(cls, estimator: Any) -> Trees:
        """The settings of an estimator that has parameters of these names."""
        return cls(*(getattr(estimator, name) for name in CONSTRAINTS))

    def binned(self, task: Task) -> Binned:
        """The table of a task as bytes."""
        categorical = np.array([column.categories is not None for column in task.schema.columns])
        return Binned.of(task.X, categorical, check_random_state(self.random_state))

    def boost(
        self, task: Task, binned: Binned, features: NDArray[np.int64] | None = None
    ) -> Forest:
        """Boosted trees, of some features only where they are given."""
        grower = Grower(
            binned,
            Bought(task.prices, len(task.X), "model"),
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            weight=task.weight,
            features=features,
        )
        loss = LogLoss(task.codes, task.weight, task.n_classes)
        boosting = Boosting(loss, grower, self.learning_rate)
        if features is None or len(features):
            boosting.boost(self.n_estimators)
        return boosting.freeze()


def joined(forests: Sequence[Forest], base: Sequence[float], link: str) -> Forest:
    """All trees of `forests`, which add to the outputs `base`; each tree keeps its output."""
    nodes, subsets, size = [empty_nodes(0)], [np.zeros((0, 4), dtype=np.uint64)], 0
    for forest in forests:
        shifted = forest.nodes.copy()
        shifted["child"] += size
        shifted["threshold"][(shifted["feature"] & CATEGORICAL) != 0] += sum(map(len, subsets))
        nodes.append(shifted)
        subsets.append(forest.subsets)
        size += len(shifted)
    sizes = np.cumsum([0, *(len(part) for part in nodes[1:])])[:-1]
    roots = [forest.roots + start for forest, start in zip(forests, sizes, strict=True)]
    return Forest(
        nodes=np.concatenate(nodes),
        values=np.concatenate([forest.values for forest in forests]),
        roots=np.concatenate(roots).astype(np.int64),
        outputs=np.concatenate([forest.outputs for forest in forests]).astype(np.int64),
        base=np.array(base, dtype=np.float64),
        link=link,
        n_features=forests[0].n_features,
        subsets=np.concatenate(subsets),
    )
