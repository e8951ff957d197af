"""The rungs of a ladder: fitted from the top down, calibrated, and met by held-out rows.

The model of a rung says what each feature gains, and that says what the next rung down does
without (`thrifty.learn.ladder.feature_order`): the order of purchases costs no fit of its own.

One rung of a ladder: boosted trees on the features that it may read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.kernels.hist_tree import Growth
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.boosting.early_stopping import Watch, boost
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.purchases import Bought
from thrifty.learn.boosting.validation_tracker import HeldOut
from thrifty.learn.calibration import factor_of, scaled
from thrifty.learn.folds import deal
from thrifty.learn.ladder.feature_order import fewer, group_order, price_of, sold_in_groups, step
from thrifty.learn.losses import Loss
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes

__all__ = ["LadderRungs", "Lesson", "Rows", "Rung", "RungFitter"]


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


# Early stopping: rounds without progress, and rows that are looked at.
PATIENCE = 10
WATCHED = 2000
# Trials of groups: rows to learn from and to be tried on, and rounds.
TRIED = 2000
TRIAL_ROUNDS = 10


@dataclass(frozen=True, eq=False)
class Rows:
    """Encoded rows with target and weights."""

    X: NDArray[np.floating]
    target: NDArray[Any]
    weight: NDArray[np.float64] | None = None

    def part(self, rows: NDArray[np.intp]) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Rows(self.X[rows], self.target[rows], weight)

    @property
    def even(self) -> NDArray[np.float64]:
        """Weights whose mean is one."""
        weight = self.weight
        return np.ones(len(self.X)) if weight is None else weight / weight.mean()


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows to learn from, and their bins."""

    rows: Rows
    binned: Binned

    def part(self, rows: NDArray[np.intp]) -> Lesson:
        """Some of the rows."""
        return Lesson(self.rows.part(rows), self.binned.part(rows))


@dataclass(frozen=True, eq=False)
class LadderRungs:
    """Fits the rungs of one ladder.

    Parameters
    ----------
    fitter : RungFitter
        How strong a rung is.
    make_loss : callable
        The loss bound to a target and weights.
    lesson : Lesson
        The training rows.
    held : Rows
        Rows to stop boosting on.
    rounds : int
        Most rounds of boosting of a rung.
    count : int
        About how many rungs.
    folds : int
        Parts for predictions out of fold; 0 for none.
    random : RandomState
    """

    fitter: RungFitter
    make_loss: Callable[[NDArray[Any], NDArray[np.float64] | None], Loss]
    lesson: Lesson
    held: Rows
    rounds: int
    count: int
    folds: int
    random: np.random.RandomState

    @cached_property
    def fitted(self) -> list[Rung]:
        """The rungs from the cheapest to that of all features, before calibration."""
        return [rung for rung, _ in self._descent]

    @cached_property
    def folded(self) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Outputs (k, n) and used features (n, d) of the training rows on each rung.

        Each row has them from trees that have not seen it. Empty without folds.
        """
        if not self.folds:
            return []
        X, outputs = self.lesson.rows.X, self._loss(self.lesson.rows).outputs
        fold = deal(self.lesson.rows.target, self.folds, self.random)
        found = [(np.empty((outputs, len(X))), np.empty(X.shape, dtype=bool)) for _ in self.fitted]
        for k in range(self.folds):
            inside, rows = self.lesson.part(np.flatnonzero(fold != k)), np.flatnonzero(fold == k)
            for rung, (raw, used) in zip(self.fitted, found, strict=True):
                forest = self._fit(inside, rung.features, rung.rounds, None).forest
                raw[:, rows] = forest.raw(X[rows]).T
                used[rows] = forest.used(X[rows])
        return found

    @cached_property
    def factors(self) -> list[float]:
        """The calibrating factor of each rung, from rows that its trees have not seen."""
        if self._loss(self.held).link == "sum":
            return [1.0] * len(self.fitted)
        seen = [self._watched_rows, self.lesson.rows] if self.folds else [self._watched_rows]
        loss = self.make_loss(
            np.concatenate([rows.target for rows in seen]),
            np.concatenate([rows.even for rows in seen]),
        )
        factors = []
        for r, (_, raw) in enumerate(self._descent):
            outputs = [raw, self.folded[r][0]] if self.folds else [raw]
            factors.append(factor_of(np.concatenate(outputs, axis=1), loss))
        return factors

    @cached_property
    def forests(self) -> list[Forest]:
        """The rungs as they are frozen: the constant, then the calibrated forests."""
        parts = zip(self.fitted, self.factors, strict=True)
        return [self._constant(), *(scaled(rung.forest, factor) for rung, factor in parts)]

    @cached_property
    def _descent(self) -> list[tuple[Rung, NDArray[np.float64]]]:
        """Rungs, cheapest first, and the outputs of the watched rows on each."""
        features = np.arange(len(self.fitter.prices.own))
        found: list[tuple[Rung, NDArray[np.float64]]] = []
        while len(features):
            watch = Watch(self._watched, PATIENCE)
            rung = self._fit(self.lesson, features, self.rounds, watch)
            found.append((rung, watch.best_raw))
            features = self._below(rung)
        return found[::-1]

    def _below(self, rung: Rung) -> NDArray[np.int64]:
        """The features of the next rung down; none below those that are free of charge."""
        prices = self.fitter.prices
        if price_of(rung.features, prices) == 0:
            return np.empty(0, dtype=np.int64)
        if not self._groups:
            return fewer(rung.features, rung.gain, prices, step(prices, self.count))
        return next(some for some in reversed(self._groups) if len(some) < len(rung.features))

    @cached_property
    def _groups(self) -> list[NDArray[np.int64]]:
        """Nested sets of features where they are sold in groups, what is free first; else none."""
        prices = self.fitter.prices
        if not sold_in_groups(prices):
            return []
        half = deal(self.lesson.rows.target, 2, self.random)
        some, others = (np.flatnonzero(half == k)[:TRIED] for k in (0, 1))
        lesson, rows = self.lesson.part(some), self.lesson.rows.part(others)
        fitter = replace(self.fitter, learning_rate=0.3, max_depth=4)

        def loss_of(features: NDArray[np.int64]) -> float:
            rung = fitter.fit(lesson.binned, self._loss(lesson.rows), features, TRIAL_ROUNDS)
            return self._loss(rows).value(rung.forest.raw(rows.X).T)

        return [self._free, *group_order(prices, loss_of)]

    @property
    def _free(self) -> NDArray[np.int64]:
        prices = self.fitter.prices
        entry = np.append(prices.shared, 0.0)[prices.group]
        return np.flatnonzero(prices.own + entry == 0)

    def _fit(
        self, lesson: Lesson, features: NDArray[np.int64], rounds: int, watch: Watch | None
    ) -> Rung:
        return self.fitter.fit(lesson.binned, self._loss(lesson.rows), features, rounds, watch)

    def _loss(self, rows: Rows) -> Loss:
        return self.make_loss(rows.target, rows.weight)

    @cached_property
    def _watched(self) -> HeldOut:
        loss = self._loss(self._watched_rows)
        return HeldOut(self._watched_rows.X, loss, lambda raw: -loss.value(raw.T))

    @cached_property
    def _watched_rows(self) -> Rows:
        """Some of the held-out rows: enough to see when the loss no longer falls."""
        return self.held.part(np.sort(self.random.permutation(len(self.held.X))[:WATCHED]))

    def _constant(self) -> Forest:
        loss, none = self._loss(self.lesson.rows), np.zeros(0, dtype=np.int64)
        d = self.lesson.rows.X.shape[1]
        return Forest(empty_nodes(0), np.zeros((0, 1)), none, none, loss.start(), loss.link, d)
