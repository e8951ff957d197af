"""One rung of a ladder: boosted trees on the features that it may read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.kernels.growth import Growth
from thrifty.learn.binned import Binned
from thrifty.learn.boosting import Boosting
from thrifty.learn.bought import Bought
from thrifty.learn.grower import Grower
from thrifty.learn.losses import Loss
from thrifty.learn.watch import Watch, boost
from thrifty.model import Forest

__all__ = ["Rung", "RungFitter"]


@dataclass(frozen=True, eq=False)
class Rung:
    """A fitted rung: what it may read, its trees, and what each feature gained in them."""

    features: NDArray[np.int64]
    forest: Forest
    gain: NDArray[np.float64]

    @property
    def rounds(self) -> int:
        """Rounds of boosting that were kept."""
        return len(self.forest.roots) // len(self.forest.base)


@dataclass(frozen=True, eq=False)
class RungFitter:
    """Fits rungs on one table; how strong they are."""

    prices: BoundPrices
    learning_rate: float
    max_depth: int
    max_leaves: int
    min_samples_leaf: float

    def fit(
        self,
        binned: Binned,
        loss: Loss,
        features: NDArray[np.int64],
        rounds: int,
        watch: Watch | None = None,
    ) -> Rung:
        """Boost up to `rounds` rounds on `features`, or as long as `watch` sees the loss fall."""
        grower = _GainGrower(
            binned,
            Bought(self.prices, binned.bins.shape[1], "model"),
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_samples_leaf=self.min_samples_leaf,
            weight=loss.weight,
            features=features,
        )
        forest = boost(Boosting(loss, grower, self.learning_rate), rounds, watch)
        return Rung(features, forest, grower.gained)


class _GainGrower(Grower):
    """A grower that keeps account of what each feature has gained."""

    @cached_property
    def gained(self) -> NDArray[np.float64]:
        """Sum of the gains of each feature so far, (d,)."""
        return np.zeros(len(self.binned.bins))

    def grow(self, target: NDArray[np.float64]) -> Growth:
        """Grow a tree and note the gains of its splits."""
        growth = super().grow(target)
        split = np.flatnonzero(growth.left[: growth.count[0]] >= 0)
        feature = growth.feature[split]
        np.add.at(self.gained, feature, growth.gain[split, feature])
        return growth
