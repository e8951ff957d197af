"""Fit the rungs of a ladder: boosted trees on nested sets of features, from all features down.

The model of a rung shows what each feature gains, and that decides which features the next rung
down goes without (`thrifty.learn.ladder.feature_order`). So the order of the features takes no
extra fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.early_stopping import ValidationMonitor, boost
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower, GrownTree
from thrifty.learn.calibration import fit_inverse_temperature, scale_outputs
from thrifty.learn.ladder.feature_order import drop_features, order_groups, price_of, price_ratio
from thrifty.learn.losses import Loss
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest

__all__ = ["BinnedRows", "OutOfFold", "Rows", "Rung", "RungTrainer"]

# Early stopping of a rung: rounds without improvement.
PATIENCE = 10
# To order groups, small models are fitted on this many rows of one half of the training rows and
# compared on as many of the other half.
MAX_TRIAL_ROWS = 2000
TRIAL_ROUNDS = 10
TRIAL_LEARNING_RATE = 0.3
TRIAL_MAX_DEPTH = 4


@dataclass(frozen=True, eq=False)
class Rows:
    """Encoded rows with target and weights.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Class codes or numbers.
    weight : array of shape (n,) or None
    """

    X: NDArray[np.floating]
    y: NDArray[Any]
    weight: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.X)

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Keep some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Rows(self.X[rows], self.y[rows], weight)

    @property
    def unit_weights(self) -> NDArray[np.float64]:
        """Weights whose mean is 1, (n,)."""
        return np.ones(len(self.X)) if self.weight is None else self.weight / self.weight.mean()


@dataclass(frozen=True, eq=False)
class BinnedRows(Rows):
    """Rows that trees can be grown on: the training rows, or some of them."""

    binned: Binned

    def take(self, rows: NDArray[np.intp]) -> BinnedRows:
        """Keep some of the rows, in the same bins."""
        some = super().take(rows)
        return BinnedRows(some.X, some.y, some.weight, self.binned.take(rows))


@dataclass(frozen=True, eq=False)
class Rung:
    """A fitted rung.

    Parameters
    ----------
    features : int64 array
        The features that it may read.
    forest : Forest
        Its boosted trees.
    gain : array of shape (d,)
        Sum of the gains of each feature, in all rounds that were boosted.
    monitored_raw : array of shape (k, m)
        Outputs of the rows that early stopping has monitored; m is 0 without early stopping.
    """

    features: NDArray[np.int64]
    forest: Forest
    gain: NDArray[np.float64]
    monitored_raw: NDArray[np.float64]

    @property
    def n_rounds(self) -> int:
        """Boosting rounds that were kept."""
        return len(self.forest.roots) // len(self.forest.base)


class OutOfFold(NamedTuple):
    """Training rows on one rung, each scored by trees that have not seen it.

    `raw` (k, n) are the outputs, `used` (n, d) the features that the rows touched.
    """

    raw: NDArray[np.float64]
    used: NDArray[np.bool_]


class GainGrower(Grower):
    """A grower that sums up what each feature gains, tree after tree, in `gain` (d,)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.gain = np.zeros(len(self.binned.bins))

    def grow(self, target: NDArray[np.float64]) -> GrownTree:
        """Grow a tree and add the gains of its splits to `gain`."""
        tree = super().grow(target)
        split = np.flatnonzero(tree.left >= 0)
        feature = tree.feature[split]
        np.add.at(self.gain, feature, tree.gain[split, feature])
        return tree


@dataclass(frozen=True, eq=False)
class RungTrainer:
    """Fit the rungs of a ladder. It has only settings: the rows are given to each method.

    Parameters
    ----------
    prices : BoundPrices
    make_loss : callable
        Binds the loss to a target (n,) and to weights (n,) or None.
    n_rungs : int
        About how many rungs to fit.
    n_estimators : int
        Largest number of boosting rounds of a rung.
    learning_rate : float
    max_depth, max_leaves : int
        Size of a tree.
    min_samples_leaf : float
        Smallest weight of a leaf.
    """

    prices: BoundPrices
    make_loss: Callable[[NDArray[Any], NDArray[np.float64] | None], Loss]
    n_rungs: int
    n_estimators: int
    learning_rate: float
    max_depth: int
    max_leaves: int
    min_samples_leaf: float

    def loss(self, rows: Rows) -> Loss:
        """Bind the loss to the target and the weights of some rows."""
        return self.make_loss(rows.y, rows.weight)

    def fit(
        self,
        binned: Binned,
        loss: Loss,
        features: NDArray[np.int64],
        n_rounds: int,
        monitor: ValidationMonitor | None = None,
    ) -> Rung:
        """Boost up to `n_rounds` rounds on some features; with a monitor, stop early."""
        grower = GainGrower(
            binned,
            Purchases(self.prices, binned.bins.shape[1], "model"),
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_samples_leaf=self.min_samples_leaf,
            weight=loss.weight,
            features=features,
        )
        forest = boost(Boosting(loss, grower, self.learning_rate), n_rounds, monitor)
        raw = np.empty((loss.outputs, 0)) if monitor is None else monitor.best_raw
        return Rung(features, forest, grower.gain, raw)

    def order_groups(self, train: BinnedRows, half: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Order the groups by trial: small models on one half of the rows, compared on the other.

        `half` (n,) is 0 or 1 for each row. Returns nested sets of features, the free ones first.
        """
        fit_rows, test_rows = (
            train.take(np.flatnonzero(half == side)[:MAX_TRIAL_ROWS]) for side in (0, 1)
        )
        small = replace(self, learning_rate=TRIAL_LEARNING_RATE, max_depth=TRIAL_MAX_DEPTH)

        def loss_of(features: NDArray[np.int64]) -> float:
            rung = small.fit(fit_rows.binned, self.loss(fit_rows), features, TRIAL_ROUNDS)
            return self.loss(test_rows).value(rung.forest.raw(test_rows.X).T)

        return order_groups(self.prices, loss_of)

    def fit_rungs(
        self,
        train: BinnedRows,
        monitored: Rows,
        feature_sets: Sequence[NDArray[np.int64]] | None = None,
    ) -> list[Rung]:
        """Fit the rungs from all features down; return them cheapest first.

        Each is stopped early on the rows `monitored`. The features are those of `feature_sets`,
        which are nested and end with all features; without them, what gains least per unit of
        price is dropped from rung to rung. Nothing is fitted below the free features.
        """
        ratio = price_ratio(self.prices, self.n_rungs)
        smaller_sets = list(feature_sets or ())[:-1]
        features, rungs = np.arange(len(self.prices.own)), []
        while len(features):
            monitor = ValidationMonitor(monitored.X, self.loss(monitored), PATIENCE)
            rung = self.fit(train.binned, self.loss(train), features, self.n_estimators, monitor)
            rungs.append(rung)
            if price_of(features, self.prices) == 0:
                break
            if feature_sets is None:
                features = drop_features(features, rung.gain, self.prices, ratio)
            else:
                features = smaller_sets.pop()
        return rungs[::-1]

    def score_out_of_fold(
        self, train: BinnedRows, rungs: Sequence[Rung], fold: NDArray[np.int64]
    ) -> list[OutOfFold]:
        """Refit every rung without each fold, and score the rows of the fold with it.

        `fold` (n,) is the fold of each row. A refit has as many rounds as the rung itself.
        """
        shape = len(rungs[0].forest.base), len(train)
        folded = [OutOfFold(np.empty(shape), np.empty(train.X.shape, dtype=bool)) for _ in rungs]
        for k in range(int(fold.max()) + 1):
            rest, rows = train.take(np.flatnonzero(fold != k)), np.flatnonzero(fold == k)
            for rung, (raw, used) in zip(rungs, folded, strict=True):
                refit = self.fit(rest.binned, self.loss(rest), rung.features, rung.n_rounds)
                raw[:, rows] = refit.forest.raw(train.X[rows]).T
                used[rows] = refit.forest.used(train.X[rows])
        return folded

    def calibrate(
        self,
        train: Rows,
        monitored: Rows,
        rungs: Sequence[Rung],
        folded: Sequence[OutOfFold],
    ) -> tuple[list[Rung], list[OutOfFold]]:
        """Scale the outputs of each rung to the best temperature, and those out of fold alike.

        It is fitted on rows that the trees have not seen: those that early stopping has monitored
        and, if they were scored out of fold, the training rows.
        """
        unseen = [monitored, train] if folded else [monitored]
        loss = self.make_loss(
            np.concatenate([rows.y for rows in unseen]),
            np.concatenate([rows.unit_weights for rows in unseen]),
        )
        scaled_rungs, scaled_folded = [], []
        for r, rung in enumerate(rungs):
            raw = [rung.monitored_raw, folded[r].raw] if folded else [rung.monitored_raw]
            factor = fit_inverse_temperature(np.concatenate(raw, axis=1), loss)
            forest = scale_outputs(rung.forest, factor)
            monitored_raw = factor * rung.monitored_raw
            scaled_rungs.append(replace(rung, forest=forest, monitored_raw=monitored_raw))
            if folded:
                scaled_folded.append(folded[r]._replace(raw=factor * folded[r].raw))
        return scaled_rungs, scaled_folded
