"""Boosted trees as the rivals start from them: blind to prices, all at once."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from thrifty.learn.binned import Binned
from thrifty.learn.boosting import Boosting
from thrifty.learn.bought import Bought
from thrifty.learn.grower import Grower
from thrifty.learn.losses import LogLoss
from thrifty.learn.rivals.rival import Task
from thrifty.model import Forest

__all__ = ["CONSTRAINTS", "Trees"]

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
