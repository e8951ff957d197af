"""Plain boosted trees, trained without regard to prices: what several baselines start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.learn._sklearn import Interval
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.losses import LogLoss
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, empty_nodes

__all__ = ["BOOSTING_CONSTRAINTS", "BoostingSettings", "concatenate_forests"]

# Constraints of the parameters that `BoostingSettings.of` reads, in the order of its fields.
BOOSTING_CONSTRAINTS: dict[str, list[Any]] = {
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "max_depth": [Interval(Integral, 1, 12, closed="both")],
    "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class BoostingSettings:
    """Hyperparameters of gradient boosting on the log-loss.

    Parameters
    ----------
    n_estimators, learning_rate, max_depth, min_samples_leaf, random_state
        As in `GreedyMiserClassifier`.
    """

    n_estimators: int
    learning_rate: float
    max_depth: int
    min_samples_leaf: float
    random_state: Any

    @classmethod
    def of(cls, estimator: Any) -> BoostingSettings:
        """Read the parameters of these names from an estimator."""
        return cls(*(getattr(estimator, name) for name in BOOSTING_CONSTRAINTS))

    def bin(self, train: TrainingSet) -> Binned:
        """Bin the training table."""
        return Binned.of(train.X, train.categorical, check_random_state(self.random_state))

    def boost(
        self, train: TrainingSet, binned: Binned, features: NDArray[np.int64] | None = None
    ) -> Forest:
        """Boost all `n_estimators` trees without a penalty and return them frozen; draws nothing.

        The trees read only `features`, column indices, if given; if it is empty, the forest is a
        constant.
        """
        grower = Grower(
            binned,
            Purchases(train.prices, len(train), "model"),
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            weight=train.weight,
            features=features,
        )
        loss = LogLoss(train.y, train.weight, train.n_classes)
        boosting = Boosting(loss, grower, self.learning_rate)
        if features is None or len(features):
            boosting.boost(self.n_estimators)
        return boosting.freeze()


def concatenate_forests(forests: Sequence[Forest], base: Sequence[float], link: str) -> Forest:
    """Put the trees of all forests into one; each tree adds to the same output as before.

    Parameters
    ----------
    forests : sequence of Forest
        At least one; all read the same columns.
    base : sequence of float
        What the outputs are before any tree is added; those of the forests are ignored.
    link : str
        Turns the outputs of the new forest into scores.
    """
    nodes, roots, n_nodes = [empty_nodes(0)], [], 0
    subsets, n_subsets = [np.zeros((0, 4), dtype=np.uint64)], 0
    for forest in forests:
        shifted = forest.nodes.copy()
        shifted["child"] += n_nodes
        # The threshold of a categorical split is the number of its subset.
        shifted["threshold"][(shifted["feature"] & CATEGORICAL) != 0] += n_subsets
        nodes.append(shifted)
        subsets.append(forest.subsets)
        roots.append(forest.roots + n_nodes)
        n_nodes += len(shifted)
        n_subsets += len(forest.subsets)
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
