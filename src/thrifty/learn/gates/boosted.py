"""ADAPT-GBRT: gate and local model are boosted trees that share what they have bought.

Given q, both are grown anew, tree by tree in turn: first one of the local model, then one of the
gate, from one purse (Nan 2018, algorithm 5). Without any row that is sent this is GreedyMiser.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from thrifty.learn.boosting.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.purchases import Bought
from thrifty.learn.folds import deal
from thrifty.learn.gates.assignment import Distance
from thrifty.learn.gates.problem import DistanceLoss, Family, GateTask, LocalLoss, Pair
from thrifty.model import Forest, Frozen
from thrifty.model.forest.nodes import empty_nodes

__all__ = ["BoostedFamily", "boosted_local", "constant_value"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BoostedFamily(Family):
    """Settings of the boosted trees; the gate and the local model have as many each.

    Parameters
    ----------
    n_estimators : int
        Rounds of boosting; each adds a tree to the gate, and one or one per class to the local
        model.
    learning_rate : float
        Share of each tree that is added.
    max_depth : int
        Largest number of questions on the way to a leaf, at most 12.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, in a leaf.
    """

    last_rounds: ClassVar[int] = 1

    n_estimators: int = 100
    learning_rate: float = 0.1
    max_depth: int = 4
    min_samples_leaf: float = 20

    def start(
        self, task: GateTask, penalty: float, distance: Distance, random: RandomState
    ) -> list[Pair]:
        """GreedyMiser, and a gate that is 0."""
        binned = Binned.of(task.X, task.categorical, random)
        half = deal(task.codes, 2, random)
        bench = Bench(self, task, penalty, distance, binned, half)
        return [bench.grown(None)]


@dataclass(frozen=True, eq=False)
class Bench:
    """What all pairs of one search share."""

    family: BoostedFamily
    task: GateTask
    penalty: float
    distance: Distance
    binned: Binned
    half: NDArray[np.int64]

    def grower(self, features: NDArray[np.int64] | None) -> Grower:
        """A new purse; where the features are chosen already, nothing is charged."""
        family, task = self.family, self.task
        return Grower(
            self.binned,
            Bought(task.prices, len(task.X), "model"),
            penalty=self.penalty if features is None else 0.0,
            max_depth=family.max_depth,
            min_samples_leaf=family.min_samples_leaf,
            weight=task.weight,
            features=features,
        )

    def grown(self, q: Floats | None, features: NDArray[np.int64] | None = None) -> BoostedPair:
        """Local model and gate for q; without it no row is sent, and the gate is 0."""
        task, rate, grower = self.task, self.family.learning_rate, self.grower(features)
        local, gate = Boosting(self.local_loss(q), grower, rate), None
        if q is not None:
            gate = Boosting(DistanceLoss(q, task.weight, self.distance), grower, rate)
        for _ in range(self.family.n_estimators):
            going = local.boost(1)
            if gate is not None:
                going = gate.boost(1) or going
            if not going:
                break
        return BoostedPair(self, local, gate)

    def unseen_losses(self, q: Floats, features: NDArray[np.int64]) -> Floats:
        """Losses of local models on the half of the rows that each has not seen, (n,)."""
        losses = np.empty(len(q))
        for half in (0, 1):
            into, out = np.flatnonzero(self.half == half), np.flatnonzero(self.half != half)
            part = replace(self, task=self.task.part(into), binned=self.binned.part(into))
            local = Boosting(part.local_loss(q[into]), part.grower(features),
                             self.family.learning_rate)  # fmt: skip
            local.boost(self.family.n_estimators)
            rest = replace(self, task=self.task.part(out))
            losses[out] = rest.local_loss(None).losses(local.freeze().raw(rest.task.X).T)
        return losses

    def local_loss(self, q: Floats | None) -> LocalLoss:
        """Loss of the local model for q; without it all rows stay."""
        task, stays = self.task, None if q is None else 1.0 - q
        return LocalLoss(task.codes, task.weight, task.n_classes, stays)


class BoostedPair(Pair):
    """Two ensembles that grew from one purse."""

    def __init__(self, bench: Bench, local: Boosting, gate: Boosting | None) -> None:
        self._bench, self._local, self._gate = bench, local, gate
        bought = local.grower.bought.features > 0
        self._spent = float(bench.task.prices.bill(bought[np.newaxis])[0])

    @property
    def gate(self) -> Floats:
        """Summed trees; 0 before there are any."""
        return np.zeros(len(self._bench.task.X)) if self._gate is None else self._gate.raw[0]

    @cached_property
    def loss(self) -> Floats:
        """Log-losses."""
        loss = self._local.loss
        assert isinstance(loss, LocalLoss)
        return loss.losses(self._local.raw)

    @property
    def cost(self) -> float:
        """Every feature and group that was bought, once."""
        return self._bench.penalty * self._spent

    def step(self, q: Floats) -> BoostedPair:
        """Grow both anew."""
        return self._bench.grown(q)

    def settled(self, q: Floats, share: float) -> BoostedPair:
        """Grow both once more on what they have bought, for losses on rows not learnt from.

        Trees know the rows that they were grown on too well: by their losses there no row would
        need the expensive model. (The search itself is by those losses, as in 000.)
        """
        bench, features = self._bench, np.flatnonzero(self._local.grower.bought.features)
        if not len(features):
            return self
        excess = bench.unseen_losses(q, features) - bench.task.loss0
        found = bench.distance.step(excess, np.zeros(len(q)), share, bench.task.weight).q
        return bench.grown(found, features)

    def freeze(self) -> tuple[Frozen, Frozen]:
        """Two forests."""
        local = self._local.freeze()
        gate = self._gate.freeze() if self._gate else constant_value(0.0, local.n_features)
        return gate, local


def boosted_local(
    family: BoostedFamily, task: GateTask, penalty: float, distance: Distance, random: RandomState
) -> Forest:
    """The local model alone: GreedyMiser."""
    (pair,) = family.start(task, penalty, distance, random)
    local = pair.freeze()[1]
    assert isinstance(local, Forest)
    return local


def constant_value(value: float, n_features: int) -> Forest:
    """The model of values that says the same of every row and reads nothing."""
    none = np.zeros(0, dtype=np.int64)
    base = np.array([value])
    return Forest(empty_nodes(0), np.zeros((0, 1)), none, none, base, "sum", n_features)
