"""ADAPT-LSTSQ and its logistic sister on the leaves of a small boosted model (Nan and Saligrama 2017, sec. 7.1, 7.7).

The trees stay as they are. The local model relearns what its leaves are worth, the gate has a
weight of its own for each leaf and one for the margin of the first model. It starts as the
confidence rule: minus the margin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from thrifty.learn.gates.assignment import Distance, SymmetricDistance
from thrifty.learn.gates.boosted import BoostedFamily, boosted_local
from thrifty.learn.gates.problem import Family, GateTask, LocalLoss, Pair
from thrifty.model import Forest, Frozen, LeafGate
from thrifty.model.leaf_gate import margin_of

__all__ = ["LeafBench", "LeavesFamily", "LeavesPair"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LeavesFamily(Family):
    """Settings of the small boosted model whose leaves are relearnt.

    Parameters
    ----------
    n_estimators, learning_rate, max_depth, min_samples_leaf
        As in `BoostedFamily`.
    ridge : float
        How many rows' worth of curvature hold a weight where it started.
    """

    n_estimators: int = 10
    learning_rate: float = 0.5
    max_depth: int = 5
    min_samples_leaf: float = 20
    ridge: float = 1.0

    def start(
        self, task: GateTask, penalty: float, distance: Distance, random: RandomState
    ) -> list[Pair]:
        """The boosted model, and minus its margin as the gate."""
        bench = self.bench(task, penalty, distance, random)
        return [LeavesPair(bench, bench.worth, bench.confidence)]

    def bench(
        self, task: GateTask, penalty: float, distance: Distance, random: RandomState
    ) -> LeafBench:
        """Train the trees and find the leaves of the rows."""
        trees = BoostedFamily(
            self.n_estimators, self.learning_rate, self.max_depth, self.min_samples_leaf
        )
        forest = boosted_local(trees, task, penalty, distance, random)
        return LeafBench(task, distance, forest, self.ridge / len(task.X), penalty)


@dataclass(frozen=True, eq=False)
class LeafBench:
    """Trees, and which of their leaves each row comes to."""

    task: GateTask
    distance: Distance
    forest: Forest
    ridge: float
    penalty: float

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """Nodes that are leaves of some row, increasing."""
        return np.unique(self._reached).astype(np.int64)

    @cached_property
    def phi(self) -> sparse.csr_array:
        """1 where a row comes to a leaf, (n, leaves)."""
        place = np.searchsorted(self.leaves, self._reached)
        n, trees = place.shape
        starts = trees * np.arange(n + 1)
        return sparse.csr_array((np.ones(n * trees), place.ravel(), starts),
                                shape=(n, len(self.leaves)))  # fmt: skip

    @cached_property
    def owner(self) -> NDArray[np.bool_]:
        """Output that each leaf adds to, (leaves, k)."""
        forest = self.forest
        tree = np.searchsorted(forest.roots, self.leaves, side="right") - 1
        return np.asarray(forest.outputs[tree][:, np.newaxis] == np.arange(len(forest.base)))

    @cached_property
    def worth(self) -> Floats:
        """What the leaves of the first model add."""
        return np.asarray(self.forest.values[self.leaves, 0])

    @cached_property
    def margin(self) -> Floats:
        """Of the first model, (n,)."""
        return margin_of(self.raw(self.worth).T)

    @property
    def confidence(self) -> Floats:
        """Weights of the gate that is minus the margin: leaves, margin, constant."""
        return np.append(np.zeros(len(self.leaves)), [-1.0, 0.0])

    @cached_property
    def share(self) -> Floats:
        """Share of each row in the mean, (n,)."""
        weight = self.task.weight
        n = len(self.task.X)
        return np.full(n, 1.0 / n) if weight is None else weight / weight.sum()

    @cached_property
    def design(self) -> sparse.csr_array:
        """Leaves, margin and constant, (n, leaves + 2)."""
        extra = np.column_stack([self.margin, np.ones(len(self.margin))])
        return sparse.csr_array(sparse.hstack([self.phi, sparse.csr_array(extra)]))

    def raw(self, worth: Floats) -> Floats:
        """Outputs (k, n) of the local model with other leaves."""
        found = self.phi @ (worth[:, np.newaxis] * self.owner)
        return np.asarray(found.T + self.forest.base[:, np.newaxis])

    def local_slopes(self, worth: Floats, q: Floats) -> tuple[float, Floats]:
        """Weighed log-loss and ridge, and the gradient (000 OPT7)."""
        task, raw = self.task, self.raw(worth)
        loss = LocalLoss(task.codes, None, task.n_classes, 1.0 - q)
        turn = -loss.derivatives(raw)[0] * self.share
        slope = ((self.phi.T @ turn.T) * self.owner).sum(axis=1)
        away = worth - self.worth
        value = float(self.share @ ((1.0 - q) * loss.losses(raw)))
        return value + 0.5 * self.ridge * float(away @ away), slope + self.ridge * away

    def gate_slopes(self, weights: Floats, q: Floats) -> tuple[float, Floats]:
        """Distance and ridge, and the gradient."""
        gate = self.design @ weights
        held = self.held * weights
        value = float(self.share @ self.distance.value(q, gate)) + 0.5 * float(held @ weights)
        return value, held - self.design.T @ (self.share * self.distance.pull(q, gate))

    def gate_for(self, q: Floats, start: Floats) -> Floats:
        """The weights of the gate that is nearest to q; not further from it than the start."""
        if not isinstance(self.distance, SymmetricDistance):
            return _descended(lambda weights: self.gate_slopes(weights, q), start)
        # Least squares; the pull of a gate of 0 is twice the log-odds of q.
        pull = self.distance.pull(q, np.zeros(len(q)))
        found = cho_solve(self.normal, self.design.T @ (self.share * pull))
        kept = self.gate_slopes(start, q)[0] < self.gate_slopes(found, q)[0]
        return start if kept else np.asarray(found)

    @cached_property
    def held(self) -> Floats:
        """Ridge of each weight of the gate; margin and constant are free."""
        return np.append(np.full(len(self.leaves), self.ridge), [0.0, 0.0])

    @cached_property
    def normal(self) -> tuple[Floats, bool]:
        """Factor of the normal equations of the gate (000 OPT6), the same for every q."""
        design = self.design.multiply(np.sqrt(2.0 * self.share)[:, np.newaxis]).tocsr()
        gram = (design.T @ design).toarray() + np.diag(self.held)
        # The leaves of each tree sum to the constant: the ridge tells them apart, barely.
        gram[np.diag_indices_from(gram)] += 1e-10 * gram.diagonal().max()
        factor, lower = cho_factor(gram)
        return factor, lower

    @cached_property
    def _reached(self) -> NDArray[np.int32]:
        return np.ascontiguousarray(self.forest.leaves(self.task.X).T)


class LeavesPair(Pair):
    """What the leaves are worth to the local model, and to the gate."""

    def __init__(self, bench: LeafBench, worth: Floats, weights: Floats) -> None:
        self._bench, self.worth, self.weights = bench, worth, weights

    @cached_property
    def gate(self) -> Floats:
        """Leaves, margin and constant."""
        return np.asarray(self._bench.design @ self.weights)

    @cached_property
    def loss(self) -> Floats:
        """Log-losses."""
        task = self._bench.task
        return LocalLoss(task.codes, None, task.n_classes).losses(self._bench.raw(self.worth))

    @cached_property
    def cost(self) -> float:
        """Both ridges; what the trees buy does not change."""
        bench = self._bench
        away = self.worth - bench.worth
        held = float((bench.held * self.weights) @ self.weights)
        return 0.5 * (bench.ridge * float(away @ away) + held)

    def step(self, q: Floats) -> LeavesPair:
        """Relearn both; neither ends above its start."""
        bench = self._bench
        worth = _descended(lambda v: bench.local_slopes(v, q), self.worth)
        weights = bench.gate_for(q, self.weights)
        return LeavesPair(bench, worth, weights)

    def freeze(self) -> tuple[Frozen, Frozen]:
        """A gate on the leaves, and the forest with other leaves."""
        bench, forest = self._bench, self._bench.forest
        values = forest.values.copy()
        values[bench.leaves, 0] = self.worth
        own = np.zeros(len(forest.nodes))
        own[bench.leaves] = self.weights[:-2]
        slope, level = self.weights[-2:].tolist()
        return LeafGate.on(forest, own, level, slope), replace(forest, values=values)


def _descended(slopes: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    options = {"maxiter": 200, "ftol": 1e-10, "gtol": 1e-8}
    found = minimize(slopes, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x) if found.fun <= slopes(start)[0] else start
