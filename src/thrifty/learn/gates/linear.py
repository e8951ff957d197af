"""ADAPT-LIN: gate and local model are linear models that pay for a column together.

For a given q both solve one convex problem (OPT2 of Nan 2018): the weighted loss of the local
model, the distance of the gate, and for each column its price times the norm of all coefficients
that read it. The norm is the convex surrogate of paying for the column once. A group of columns
has a norm of its own, times its shared price. The solver is an accelerated proximal gradient
method, warm-started from the previous q.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.special import expit

from thrifty.costs import BoundPrices
from thrifty.learn.encoding import standardize
from thrifty.learn.gates.assignment import Distance
from thrifty.learn.gates.problem import GateFamily, GatePair, GateProblem
from thrifty.model import Forest, Frozen, LinearTree
from thrifty.model.encoding import Encoding

__all__ = [
    "LinearFamily",
    "LinearPair",
    "LinearTrainer",
    "PricedNorm",
    "SmoothObjective",
    "freeze_linear",
    "minimize_proximal",
]

Floats = NDArray[np.float64]
MAX_PROXIMAL_STEPS = 300
# The solver stops once a step changes the objective by less than this share.
OBJECTIVE_TOL = 1e-7
# Standard deviation of the coefficients of random gates, and the share of the rows that they keep.
INITIAL_SCALE, KEPT_AT_START = 3.0, (0.2, 0.8)
# Price at which no column is worth reading, whatever the loss.
PROHIBITIVE = 1e100


@dataclass(frozen=True, eq=False)
class PricedNorm:
    """Sum of the norms of columns and of groups of columns, weighted by their prices.

    Parameters
    ----------
    column : int64 array of shape (q,)
        Raw column that each encoded column reads.
    group : int64 array of shape (q,)
        Group of that column; the last index of `shared` if it has none.
    own : float64 array of shape (d,)
        Penalty times the price of each raw column.
    shared : float64 array of shape (groups + 1,)
        Penalty times the shared price of each group; the last entry is 0.
    """

    column: NDArray[np.int64]
    group: NDArray[np.int64]
    own: Floats
    shared: Floats

    @classmethod
    def of(cls, columns: NDArray[np.int64], prices: BoundPrices, penalty: float) -> Self:
        """Weight the prices of encoded columns, which read these raw columns, by the penalty."""
        group = np.where(prices.group < 0, len(prices.shared), prices.group)
        shared = np.append(prices.shared, 0.0)
        return cls(columns, group[columns], penalty * prices.own, penalty * shared)

    def value(self, coef: Floats) -> float:
        """Return the weighted sum of the norms of coefficients (q, outputs)."""
        return float(
            self.own @ _norms(coef, self.column, len(self.own))
            + self.shared @ _norms(coef, self.group, len(self.shared))
        )

    def prox(self, coef: Floats, step: float) -> Floats:
        """Return the proximal operator; columns shrink first, then the groups that hold them.

        Examples
        --------
        Two columns with coefficients of norm 5, at prices of 1 and 5:

        >>> import numpy as np
        >>> from thrifty.costs import Prices
        >>> from thrifty.learn.gates.linear import PricedNorm
        >>> norm = PricedNorm.of(np.array([0, 1]), Prices([1.0, 5.0]).bind(2), penalty=1.0)
        >>> norm.prox(np.array([[3.0, 4.0], [3.0, 4.0]]), step=1.0)
        array([[2.4, 3.2],
               [0. , 0. ]])
        """
        for index, price in ((self.column, self.own), (self.group, self.shared)):
            norm = _norms(coef, index, len(price))
            factor = np.maximum(1.0 - step * price / np.maximum(norm, 1e-300), 0.0)
            coef = coef * np.where(price > 0, factor, 1.0)[index][:, np.newaxis]
        return coef


def _norms(coef: Floats, index: NDArray[np.int64], count: int) -> Floats:
    """Return the Euclidean norm of the coefficients that share an index, (count,)."""
    return np.sqrt(np.bincount(index, np.square(coef).sum(axis=1), count))


@dataclass(frozen=True)
class LinearFamily(GateFamily):
    """Hyperparameters of the linear models.

    Parameters
    ----------
    ridge : float
        Half of it times the sum of squared coefficients is added to the loss, so that the
        coefficients stay finite if the classes are separable.
    starts : int
        Number of initial pairs: the logistic regression under prices, the one without prices,
        both with a gate of 0; gate and local model with coefficients of 1; then random gates, each
        with the best local model for what it keeps, which read some of the columns and never any
        other. The alternation has several local minima.
    """

    ridge: float = 1e-4
    starts: int = 24

    def initial_pairs(
        self, problem: GateProblem, penalty: float, distance: Distance, random: RandomState
    ) -> list[GatePair]:
        """Return the initial pairs of Nan 2018, A.2.2 and A.2.3."""
        trainer = LinearTrainer.of(self, problem, penalty, distance)
        constant, none_sent = trainer.constant_pair(), np.zeros(len(problem.train))
        free = PricedNorm.of(trainer.encoding.columns, problem.train.prices, 0.0)
        unpriced = trainer.solve(constant, none_sent, gated=False, norm=free)
        pairs: list[GatePair] = [trainer.solve(unpriced, none_sent, gated=False), unpriced]
        pairs.append(LinearPair(trainer, np.ones_like(constant.coef), constant.intercept))
        columns = random.permutation(np.unique(trainer.encoding.columns))
        for number in range(self.starts - len(pairs)):
            size = random.randint(1, len(columns) + 1)
            some = random.permutation(columns)[:size]
            coef = INITIAL_SCALE * random.normal(size=len(trainer.encoding.columns))
            if number % 2 == 0:
                # Every other pair reads a single column, in one direction and then in the other.
                some = columns[[number // 4 % len(columns)]]
                coef = np.abs(coef) * (1.0 if number % 4 == 0 else -1.0)
            gate = trainer.Z @ np.where(np.isin(trainer.encoding.columns, some), coef, 0.0)
            gate -= np.quantile(gate, random.uniform(*KEPT_AT_START))
            pairs.append(trainer.only(some).solve(constant, expit(gate)))
        return pairs[: self.starts]


@dataclass(frozen=True, eq=False)
class LinearTrainer:
    """The design matrix and the penalties of one search.

    Parameters
    ----------
    problem : GateProblem
    distance : Distance
    encoding : Encoding
        Standardizes the table.
    Z : float64 array of shape (n, q)
        Standardized rows.
    norm : PricedNorm
    ridge : float
    n_outputs : int
        Outputs of the local model: one per class, or 1 for two classes and for values.
    """

    problem: GateProblem
    distance: Distance
    encoding: Encoding
    Z: Floats
    norm: PricedNorm
    ridge: float
    n_outputs: int

    @classmethod
    def of(
        cls, family: LinearFamily, problem: GateProblem, penalty: float, distance: Distance
    ) -> Self:
        """Standardize the table and weight its prices by the penalty."""
        train = problem.train
        encoding = standardize(train.schema, train.X, train.weight)
        norm = PricedNorm.of(encoding.columns, train.prices, penalty)
        n_outputs = problem.local_loss().outputs
        Z = encoding.apply(train.X)
        return cls(problem, distance, encoding, Z, norm, family.ridge, n_outputs)

    def only(self, columns: NDArray[np.int64]) -> LinearTrainer:
        """Return the search that reads no other columns than these."""
        is_open = np.isin(np.arange(len(self.norm.own)), columns)
        own = np.where(is_open, self.norm.own, PROHIBITIVE)
        return replace(self, norm=replace(self.norm, own=own))

    def outputs(self, coef: Floats, intercept: Floats) -> Floats:
        """Return the outputs of the local model and, last, of the gate, (n_outputs + 1, n)."""
        return np.asarray((self.Z @ coef + intercept).T)

    def constant_pair(self) -> LinearPair:
        """Return the pair that reads nothing: the best constant, and a gate of 0."""
        intercept = self.problem.local_loss(weighted=True).start()
        shape = (self.Z.shape[1], self.n_outputs + 1)
        return LinearPair(self, np.zeros(shape), np.append(intercept, 0.0))

    def solve(
        self, start: LinearPair, q: Floats, gated: bool = True, norm: PricedNorm | None = None
    ) -> LinearPair:
        """Solve OPT2 for q, starting from a pair; if not `gated`, for the local model alone."""
        objective = SmoothObjective(self, q, gated)
        norm = self.norm if norm is None else norm
        return LinearPair(self, *minimize_proximal(objective, norm, start.coef, start.intercept))


class SmoothObjective:
    """The smooth part of OPT2 for a given q: losses, distance and ridge, as means over the rows.

    Parameters
    ----------
    trainer : LinearTrainer
    q : float64 array of shape (n,)
    gated : bool
        Whether the distance of the gate counts.
    """

    def __init__(self, trainer: LinearTrainer, q: Floats, gated: bool = True) -> None:
        self.trainer, self.q, self.gated = trainer, q, gated
        self.loss = trainer.problem.local_loss(q)

    def value(self, coef: Floats, raw: Floats) -> float:
        """Return the objective at coefficients whose outputs are `raw`."""
        trainer, q, k = self.trainer, self.q, self.trainer.n_outputs
        value = (1.0 - q) * self.loss.losses(raw[:k])
        if self.gated:
            value = value + trainer.distance.value(q, raw[k])
        mean = float(trainer.problem.row_shares @ value)
        return mean + 0.5 * trainer.ridge * float(np.square(coef).sum())

    def gradient(self, coef: Floats, raw: Floats) -> tuple[Floats, Floats]:
        """Return the gradients by the coefficients and by the intercepts."""
        trainer, k = self.trainer, self.trainer.n_outputs
        by_raw = np.zeros_like(raw)
        by_raw[:k] = -self.loss.derivatives(raw[:k])[0]
        if self.gated:
            by_raw[k] = -trainer.distance.derivatives(self.q, raw[k])[0]
        by_raw *= trainer.problem.row_shares
        return trainer.Z.T @ by_raw.T + trainer.ridge * coef, by_raw.sum(axis=1)


class LinearPair(GatePair):
    """A linear gate and a linear local model on the standardized columns.

    Parameters
    ----------
    trainer : LinearTrainer
    coef : float64 array of shape (q, n_outputs + 1)
        Coefficients of the local model and, in the last column, of the gate.
    intercept : float64 array of shape (n_outputs + 1,)
    """

    def __init__(self, trainer: LinearTrainer, coef: Floats, intercept: Floats) -> None:
        self._trainer, self.coef, self.intercept = trainer, coef, intercept
        self._raw = trainer.outputs(coef, intercept)

    @property
    def gate_values(self) -> Floats:
        """Outputs of the gate, (n,)."""
        return np.asarray(self._raw[-1])

    @cached_property
    def local_loss(self) -> Floats:
        """Loss of each row, (n,)."""
        return self._trainer.problem.local_loss().losses(self._raw[:-1])

    @cached_property
    def cost(self) -> float:
        """Penalty of the objective: norms times penalty and price, plus half the ridge."""
        trainer = self._trainer
        return trainer.norm.value(self.coef) + 0.5 * trainer.ridge * float(
            np.square(self.coef).sum()
        )

    def update(self, q: Floats) -> LinearPair:
        """Solve for q, starting from this pair."""
        return self._trainer.solve(self, q)

    def freeze(self) -> tuple[Frozen, Frozen]:
        """Return two linear models."""
        trainer, d = self._trainer, self._trainer.problem.train.n_features
        link = trainer.problem.local_loss().link
        gate = freeze_linear(trainer.encoding, self.coef[:, -1:], self.intercept[-1:], "sum", d)
        local = freeze_linear(trainer.encoding, self.coef[:, :-1], self.intercept[:-1], link, d)
        return gate, local


def freeze_linear(
    encoding: Encoding, coef: Floats, intercept: Floats, link: str, n_features: int
) -> Frozen:
    """Freeze coefficients (q, outputs) as a model that reads only the columns they use."""
    used = np.asarray(coef.any(axis=1))
    count = int(used.sum())
    if not count:
        return Forest.constant(intercept, link, n_features)
    leaf = np.array([-1])
    return LinearTree(
        left=leaf, right=leaf, starts=np.array([0, count]), inputs=np.arange(count),
        route=np.zeros(count), threshold=np.zeros(1), weights=coef[used],
        bias=intercept[np.newaxis], link=link, n_features=n_features, encoding=encoding.keep(used),
    )  # fmt: skip


def minimize_proximal(
    objective: SmoothObjective, norm: PricedNorm, coef: Floats, intercept: Floats
) -> tuple[Floats, Floats]:
    """Minimize objective plus norm by accelerated proximal gradient steps.

    Steps are backtracked until the quadratic model with the current curvature is an upper bound;
    the momentum restarts whenever the objective rises. The best point seen is returned, so the
    result is never worse than the start.
    """
    outputs = objective.trainer.outputs
    last = objective.value(coef, outputs(coef, intercept)) + norm.value(coef)
    best = (last, coef, intercept)
    at, previous, curvature, momentum = (coef, intercept), (coef, intercept), 1.0, 1.0
    for _ in range(MAX_PROXIMAL_STEPS):
        coef, intercept = at
        raw = outputs(coef, intercept)
        value, (by_coef, by_intercept) = objective.value(coef, raw), objective.gradient(coef, raw)
        while True:
            new_coef = norm.prox(coef - by_coef / curvature, 1.0 / curvature)
            new_intercept = intercept - by_intercept / curvature
            d_coef, d_intercept = new_coef - coef, new_intercept - intercept
            linear = float(np.sum(by_coef * d_coef) + by_intercept @ d_intercept)
            distance = float(np.sum(d_coef * d_coef) + d_intercept @ d_intercept)
            reached = objective.value(new_coef, outputs(new_coef, new_intercept))
            bound = value + linear + 0.5 * curvature * distance
            if reached <= bound + 1e-14 * abs(value):
                break
            curvature *= 2.0
        total = reached + norm.value(new_coef)
        if total < best[0]:
            best = (total, new_coef, new_intercept)
        if abs(last - total) <= OBJECTIVE_TOL * max(abs(total), OBJECTIVE_TOL):
            break
        faster = (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0
        push = 0.0 if total > last else (momentum - 1.0) / faster
        momentum = 1.0 if total > last else faster
        at = (
            new_coef + push * (new_coef - previous[0]),
            new_intercept + push * (new_intercept - previous[1]),
        )
        previous, last, curvature = (new_coef, new_intercept), total, 0.9 * curvature
    return best[1], best[2]
