"""ADAPT-LSTSQ, and its logistic variant, on the leaves of a small boosted model.

The trees stay as they are (Nan and Saligrama 2017, sec. 7.7). The local model refits the values of
its leaves; the gate has a second value for each leaf, and a weight for the margin of the initial
model. It starts as the confidence rule, minus the margin, or as the greedy gate, which predicts the
errors of the initial model. With the symmetric distance the gate is a least-squares problem (Nan
2018, algorithm 7).

A gate has hundreds of leaf values and learns them from losses on the rows that the trees were grown
on. How much they should be shrunk, and where to start, is chosen on rows that neither trees nor
gate have seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from thrifty.learn.folds import assign_folds
from thrifty.learn.gates.alternation import alternate
from thrifty.learn.gates.assignment import Distance, KLDistance, SymmetricDistance
from thrifty.learn.gates.boosted import BoostedFamily
from thrifty.learn.gates.problem import GateFamily, GatePair, GateProblem
from thrifty.learn.gates.thresholds import Thresholds
from thrifty.model import Forest, Frozen, LeafGate
from thrifty.model.leaf_gate import margin_of

__all__ = ["LeafTrainer", "LeavesFamily", "LeavesPair"]

Floats = NDArray[np.float64]
# What is tried out of fold: ridges, in rows, and gates to start from.
RIDGES, STARTS = (3.0, 30.0, 300.0, 3000.0), ("confidence", "greedy")
# Folds, and rounds of the alternation in each.
N_FOLDS, TRIAL_ROUNDS = 2, 3
# Smaller tables have too few rows in a fold to compare anything on, and take this ridge.
MIN_ROWS_TO_TUNE, DEFAULT_RIDGE = 300, 30.0


@dataclass(frozen=True)
class LeavesFamily(GateFamily):
    """Hyperparameters of the small boosted model whose leaves are refitted.

    Parameters
    ----------
    n_estimators, learning_rate, max_depth, min_samples_leaf
        As in `BoostedFamily`.
    ridge : float, optional
        Weight of the initial value of each leaf, in rows. By default it is chosen out of fold.
    start : {"confidence", "greedy"}, optional
        The gate to start from: the confidence rule, or a logistic regression of the errors of the
        boosted model on its leaves. By default it is chosen out of fold.
    """

    n_estimators: int = 10
    learning_rate: float = 0.5
    max_depth: int = 5
    min_samples_leaf: float = 20
    ridge: float | None = None
    start: str | None = None

    def initial_pairs(
        self, problem: GateProblem, penalty: float, distance: Distance, random: RandomState
    ) -> list[GatePair]:
        """Return the boosted model with the gate to start from."""
        return [self.trainer(problem, penalty, distance, random).initial_pair(self.start)]

    def tuned(
        self,
        problem: GateProblem,
        penalty: float,
        distance: Distance,
        share: float,
        rounds: int,
        random: RandomState,
    ) -> LeavesFamily:
        """Choose ridge and start by the area under the curve of quality over rows sent.

        The rows are divided into folds. Trees and gates are trained without a fold and measured on
        it.
        """
        ridges = RIDGES if self.ridge is None else (self.ridge,)
        starts = STARTS if self.start is None else (self.start,)
        is_small = len(problem.train) < MIN_ROWS_TO_TUNE
        if len(ridges) * len(starts) == 1 or share <= 0 or is_small:
            return self
        areas = dict.fromkeys(product(starts, ridges), 0.0)
        folds = assign_folds(problem.train.y, N_FOLDS, random, problem.train.groups)
        for fold in range(folds.max() + 1):
            part, rest = (
                problem.take(np.flatnonzero(side)) for side in (folds != fold, folds == fold)
            )
            expensive = 1.0 - rest.errors(rest.expensive_scores)
            trainer = self.trainer(part, penalty, distance, random)
            for start, ridge in areas:
                pair = trainer.with_ridge(ridge / len(part.train)).initial_pair(start)
                trial = alternate(pair, part, distance, share, min(rounds, TRIAL_ROUNDS))
                gate, local = trial.pair.freeze()
                kept = 1.0 - rest.errors(local.score(rest.train.X))
                values = gate.score(rest.train.X)
                areas[start, ridge] += Thresholds(values).area(kept, expensive)
        start, ridge = max(areas, key=lambda key: areas[key])
        return replace(self, ridge=ridge, start=start)

    def trainer(
        self, problem: GateProblem, penalty: float, distance: Distance, random: RandomState
    ) -> LeafTrainer:
        """Train the boosted model, and find the leaves of the training rows."""
        boosted = BoostedFamily(
            self.n_estimators, self.learning_rate, self.max_depth, self.min_samples_leaf
        )
        (pair,) = boosted.initial_pairs(problem, penalty, distance, random)
        _, forest = pair.freeze()
        assert isinstance(forest, Forest)
        ridge = DEFAULT_RIDGE if self.ridge is None else self.ridge
        return LeafTrainer.of(problem, distance, forest, ridge / len(problem.train))


@dataclass(frozen=True, eq=False)
class LeafTrainer:
    """A boosted model, as a linear model of the leaves that each row falls into.

    Parameters
    ----------
    problem : GateProblem
    distance : Distance
    forest : Forest
        The initial model, with k outputs.
    ridge : float
        Ridge penalty of a leaf value.
    leaves : int64 array of shape (m,)
        Nodes of the forest that are the leaf of some training row, increasing.
    membership : sparse array of shape (n, m)
        1 where a row falls into a leaf.
    output_of_leaf : bool array of shape (m, k)
        The output that each leaf adds to.
    leaf_values : float64 array of shape (m,)
        Values of the leaves in the initial model.
    design : sparse array of shape (n, m + 2)
        What the gate reads: the leaves, the margin of the initial model, and a constant.
    gate_ridge : float64 array of shape (m + 2,)
        Ridge penalty of each weight of the gate; margin and constant have none.
    """

    problem: GateProblem
    distance: Distance
    forest: Forest
    ridge: float
    leaves: NDArray[np.int64]
    membership: sparse.csr_array
    output_of_leaf: NDArray[np.bool_]
    leaf_values: Floats
    design: sparse.csr_array
    gate_ridge: Floats

    @classmethod
    def of(cls, problem: GateProblem, distance: Distance, forest: Forest, ridge: float) -> Self:
        """Find the leaves of the training rows, and build the matrices of both models."""
        reached = np.ascontiguousarray(forest.leaves(problem.train.X).T)
        leaves = np.unique(reached).astype(np.int64)
        n, trees = reached.shape
        columns = np.searchsorted(leaves, reached).ravel()
        membership = sparse.csr_array(
            (np.ones(n * trees), columns, trees * np.arange(n + 1)), shape=(n, len(leaves))
        )
        tree = np.searchsorted(forest.roots, leaves, side="right") - 1
        output = np.asarray(forest.outputs[tree][:, np.newaxis] == np.arange(len(forest.base)))
        values = np.asarray(forest.values[leaves, 0])
        raw = np.asarray((membership @ (values[:, np.newaxis] * output)).T)
        margin = margin_of((raw + forest.base[:, np.newaxis]).T)
        extra = np.column_stack([margin, np.ones(n)])
        design = sparse.csr_array(sparse.hstack([membership, sparse.csr_array(extra)]))
        gate_ridge = np.append(np.full(len(leaves), ridge), [0.0, 0.0])
        return cls(
            problem, distance, forest, ridge, leaves, membership, output, values, design, gate_ridge
        )  # fmt: skip

    def with_ridge(self, ridge: float) -> LeafTrainer:
        """Return the same leaves with another ridge penalty."""
        gate_ridge = np.where(self.gate_ridge > 0, ridge, 0.0)
        return replace(self, ridge=ridge, gate_ridge=gate_ridge)

    def initial_pair(self, start: str | None) -> LeavesPair:
        """Return the initial model with the confidence rule or the greedy gate."""
        weights = self.confidence_gate
        if start == "greedy":
            wrong = self.problem.local_loss().is_wrong(self.raw(self.leaf_values)).astype(float)
            # With this distance, fitting a gate to 0 and 1 is logistic regression.
            weights = replace(self, distance=KLDistance()).fit_gate(wrong, weights)
        return LeavesPair(self, self.leaf_values, weights)

    @property
    def confidence_gate(self) -> Floats:
        """Weights of the gate that is minus the margin, (m + 2,); 0 if there is no margin."""
        slope = -1.0 if self.problem.loss.has_margin else 0.0
        return np.append(np.zeros(len(self.leaves)), [slope, 0.0])

    def raw(self, values: Floats) -> Floats:
        """Return the outputs (k, n) of the local model with other leaf values."""
        summed = self.membership @ (values[:, np.newaxis] * self.output_of_leaf)
        return np.asarray(summed.T + self.forest.base[:, np.newaxis])

    def local_objective(self, values: Floats, q: Floats) -> tuple[float, Floats]:
        """Return the weighted loss of leaf values plus ridge (OPT7), and its gradient."""
        raw, shares, loss = self.raw(values), self.problem.row_shares, self.problem.local_loss(q)
        by_raw = -loss.derivatives(raw)[0] * shares
        gradient = ((self.membership.T @ by_raw.T) * self.output_of_leaf).sum(axis=1)
        change = values - self.leaf_values
        value = float(shares @ ((1.0 - q) * loss.losses(raw)))
        value += 0.5 * self.ridge * float(change @ change)
        return value, gradient + self.ridge * change

    def gate_objective(self, weights: Floats, q: Floats) -> tuple[float, Floats]:
        """Return the objective of the gate (Nan 2018, OPT6) and its gradient by `weights`.

        It is the mean distance between the gate and `q` (n,), the probability that each row is
        sent, plus half the ridge penalty.
        """
        gate, shares = self.design @ weights, self.problem.row_shares
        ridge = self.gate_ridge * weights
        value = float(shares @ self.distance.value(q, gate)) + 0.5 * float(ridge @ weights)
        negative_gradient = self.distance.derivatives(q, gate)[0]
        return value, ridge - self.design.T @ (shares * negative_gradient)

    def fit_leaf_values(self, q: Floats, start: Floats) -> Floats:
        """Minimize the local objective; return leaf values that are no worse than the start."""
        return _minimize(lambda values: self.local_objective(values, q), start)

    def fit_gate(self, q: Floats, start: Floats) -> Floats:
        """Minimize the gate objective; return weights that are no worse than the start."""
        if not isinstance(self.distance, SymmetricDistance):
            return _minimize(lambda weights: self.gate_objective(weights, q), start)
        # Least squares: the negative gradient at a gate of 0 is twice the log-odds of q.
        target = self.distance.derivatives(q, np.zeros(len(q)))[0]
        normal = self.design.T @ (self.problem.row_shares * target)
        weights = np.asarray(cho_solve(self.gate_factor, normal))
        worse = self.gate_objective(start, q)[0] < self.gate_objective(weights, q)[0]
        return start if worse else weights

    @cached_property
    def gate_factor(self) -> tuple[Floats, bool]:
        """Cholesky factor of the normal equations of OPT6, the same for every q."""
        shares = self.problem.row_shares
        design = self.design.multiply(np.sqrt(2.0 * shares)[:, np.newaxis]).tocsr()
        gram = (design.T @ design).toarray() + np.diag(self.gate_ridge)
        # The leaves of each tree sum to the constant column: keep the matrix positive definite.
        gram[np.diag_indices_from(gram)] += 1e-10 * gram.diagonal().max()
        factor, lower = cho_factor(gram)
        return factor, lower


class LeavesPair(GatePair):
    """Values of the leaves for the local model and for the gate.

    Parameters
    ----------
    trainer : LeafTrainer
    values : float64 array of shape (m,)
        Leaf values of the local model.
    weights : float64 array of shape (m + 2,)
        Weights of the gate: leaves, margin, constant.
    """

    def __init__(self, trainer: LeafTrainer, values: Floats, weights: Floats) -> None:
        self._trainer, self.values, self.weights = trainer, values, weights

    @cached_property
    def gate_values(self) -> Floats:
        """Outputs of the gate, (n,)."""
        return np.asarray(self._trainer.design @ self.weights)

    @cached_property
    def local_loss(self) -> Floats:
        """Loss of each row, (n,)."""
        trainer = self._trainer
        return trainer.problem.local_loss().losses(trainer.raw(self.values))

    @cached_property
    def cost(self) -> float:
        """Ridge penalties; the price of the trees' features never changes."""
        trainer = self._trainer
        change = self.values - trainer.leaf_values
        gate = float((trainer.gate_ridge * self.weights) @ self.weights)
        return 0.5 * (trainer.ridge * float(change @ change) + gate)

    def update(self, q: Floats) -> LeavesPair:
        """Refit the leaf values and the gate, starting from this pair."""
        trainer = self._trainer
        values = trainer.fit_leaf_values(q, self.values)
        return LeavesPair(trainer, values, trainer.fit_gate(q, self.weights))

    def freeze(self) -> tuple[Frozen, Frozen]:
        """Return a gate on the trees, and the forest with its new leaf values."""
        trainer, forest = self._trainer, self._trainer.forest
        values, weights = forest.values.copy(), np.zeros(len(forest.nodes))
        values[trainer.leaves, 0] = self.values
        weights[trainer.leaves] = self.weights[:-2]
        slope, base = self.weights[-2:].tolist()
        return LeafGate.on(forest, weights, base, slope), replace(forest, values=values)


def _minimize(objective: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    """Minimize a function that returns value and gradient; fall back to the start if it fails."""
    options = {"maxiter": 200, "ftol": 1e-10, "gtol": 1e-8}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(result.x) if result.fun <= objective(start)[0] else start
