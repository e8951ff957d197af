"""ADAPT-GBRT: gate and local model are boosted trees that share one set of purchased features.

For a given q both ensembles are grown from scratch, one tree of the local model and one of the
gate in turn, so a feature bought by either is free for the other (Nan 2018, algorithm 5). If no
row is sent, this is GreedyMiser.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from thrifty.learn.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.folds import assign_folds
from thrifty.learn.gates.assignment import Distance
from thrifty.learn.gates.losses import DistanceLoss, LocalLogLoss, LocalSquaredLoss
from thrifty.learn.gates.problem import GateFamily, GatePair, GateProblem
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest, Frozen

__all__ = ["BoostedFamily", "BoostedPair", "PairBooster"]

Floats = NDArray[np.float64]
# With more columns, all but those that GreedyMiser buys are left out after the first pair.
MAX_COLUMNS = 2000


@dataclass(frozen=True)
class BoostedFamily(GateFamily):
    """Hyperparameters of the boosted trees, the same for gate and local model.

    Of a table with more than 2,000 columns, both read only those that GreedyMiser buys at the same
    penalty: it has compared all of them, and to do so in every alternation would take too long.

    Parameters
    ----------
    n_estimators : int
        Boosting rounds; each adds a tree to the gate, and one tree, or one per class, to the local
        model.
    learning_rate : float
        Share of each tree that is added.
    max_depth : int
        Largest number of splits on the way to a leaf, at most 12.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, in a leaf.
    """

    refit_rounds: ClassVar[int] = 1

    n_estimators: int = 100
    learning_rate: float = 0.1
    max_depth: int = 4
    min_samples_leaf: float = 20

    def initial_pairs(
        self, problem: GateProblem, penalty: float, distance: Distance, random: RandomState
    ) -> list[GatePair]:
        """Return GreedyMiser with a gate of 0."""
        train = problem.train
        binned = Binned.of(train.X, train.categorical, random)
        halves = assign_folds(train.y, 2, random, train.groups)
        booster = PairBooster(self, problem, penalty, distance, binned, halves)
        pair = booster.boost(None)
        if train.n_features > MAX_COLUMNS and len(pair.features):
            booster = replace(booster, columns=pair.features)
            pair = BoostedPair(booster, pair.local, None)
        return [pair]


@dataclass(frozen=True, eq=False)
class PairBooster:
    """Grows pairs of ensembles on one binned table.

    Parameters
    ----------
    family : BoostedFamily
    problem : GateProblem
    penalty : float
        Mean loss that one unit of price must save.
    distance : Distance
    binned : Binned
        The training rows.
    halves : int64 array of shape (n,)
        Half of the rows, 0 or 1, that each row belongs to.
    columns : int64 array or None
        The features that trees may read; None for all.
    """

    family: BoostedFamily
    problem: GateProblem
    penalty: float
    distance: Distance
    binned: Binned
    halves: NDArray[np.int64]
    columns: NDArray[np.int64] | None = None

    def boost(self, q: Floats | None, features: NDArray[np.int64] | None = None) -> BoostedPair:
        """Grow local model and gate for q; None sends no row and leaves the gate at 0.

        If `features` are given, trees read these only, and nothing is charged.
        """
        train, rate = self.problem.train, self.family.learning_rate
        grower = self._grower(train, self.binned, features)
        local = Boosting(self.problem.local_loss(q, weighted=True), grower, rate)
        gate = None
        if q is not None:
            gate = Boosting(DistanceLoss(q, train.weight, self.distance), grower, rate)
        for _ in range(self.family.n_estimators):
            improved = local.boost(1)
            if gate is not None:
                improved = gate.boost(1) or improved
            if not improved:
                break
        return BoostedPair(self, local, gate)

    def out_of_fold_loss(self, q: Floats, features: NDArray[np.int64]) -> Floats:
        """Return losses (n,) of local models that were trained on the other half of the rows."""
        loss = np.empty(len(q))
        for half in (0, 1):
            is_inside = self.halves == half
            inside, outside = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
            part, rest = self.problem.take(inside), self.problem.take(outside)
            grower = self._grower(part.train, self.binned.take(inside), features)
            bound = part.local_loss(q[inside], weighted=True)
            local = Boosting(bound, grower, self.family.learning_rate)
            local.boost(self.family.n_estimators)
            loss[outside] = rest.local_loss().losses(local.freeze().raw(rest.train.X).T)
        return loss

    def _grower(
        self, train: TrainingSet, binned: Binned, features: NDArray[np.int64] | None
    ) -> Grower:
        """Return a grower that has bought nothing yet; without penalty if features are given."""
        return Grower(
            binned,
            Purchases(train.prices, len(train), "model"),
            penalty=self.penalty if features is None else 0.0,
            max_depth=self.family.max_depth,
            min_samples_leaf=self.family.min_samples_leaf,
            weight=train.weight,
            features=self.columns if features is None else features,
        )


class BoostedPair(GatePair):
    """Two ensembles that share their purchases.

    Parameters
    ----------
    booster : PairBooster
    local : Boosting
    gate : Boosting or None
        None for a gate of 0.

    Attributes
    ----------
    local : Boosting
    features : int64 array
        What both have bought.
    """

    def __init__(self, booster: PairBooster, local: Boosting, gate: Boosting | None) -> None:
        self._booster, self.local, self._gate = booster, local, gate
        bought = local.grower.purchases.features > 0
        self.features = np.flatnonzero(bought)
        bill = float(booster.problem.train.prices.bill(bought[np.newaxis])[0])
        self._cost = booster.penalty * bill

    @property
    def gate_values(self) -> Floats:
        """Sum of the gate's trees, (n,)."""
        n = len(self._booster.problem.train)
        return np.zeros(n) if self._gate is None else self._gate.raw[0]

    @cached_property
    def local_loss(self) -> Floats:
        """Loss of each row, (n,)."""
        loss = self.local.loss
        assert isinstance(loss, LocalLogLoss | LocalSquaredLoss)
        return loss.losses(self.local.raw)

    @property
    def cost(self) -> float:
        """Penalty times the price of every feature and group that was bought."""
        return self._cost

    def update(self, q: Floats) -> BoostedPair:
        """Grow both ensembles from scratch."""
        return self._booster.boost(q)

    def refit(self, q: Floats, share: float) -> BoostedPair:
        """Grow both once more on the purchased features, for a q of out-of-fold losses.

        Trees overfit the rows they were grown on, so by the training losses hardly any row would
        need the expensive model. (The alternation itself uses training losses, as Nan 2018 does.)
        """
        booster, problem, features = self._booster, self._booster.problem, self.features
        if not len(features):
            return self
        excess = booster.out_of_fold_loss(q, features) - problem.expensive_loss
        zero = np.zeros(len(q))
        q = booster.distance.assign(excess, zero, share, problem.train.weight).q
        return booster.boost(q, features)

    def freeze(self) -> tuple[Frozen, Frozen]:
        """Return two forests."""
        local = self.local.freeze()
        if self._gate is None:
            return Forest.constant([0.0], "sum", local.n_features), local
        return self._gate.freeze(), local
