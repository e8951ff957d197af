"""ADAPT-LIN: gate and local model are linear, and pay for a column together.

Given q, both solve one convex problem: the weighed log-loss of the local model, the distance of
the gate, and for each column its price times the norm of all coefficients that read it
(000 OPT2). It is solved by accelerated proximal steps from where the last q has left it.

The price of linear models: a norm for each column, and one for each group of columns.

The norm of all coefficients that read a column, times its price, is the convex stand-in for paying
the column once (000 OPT2); that of all columns of a group, times its shared price, for entering
the group. Groups hold columns, so their steps follow one upon the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.gates.assignment import Distance
from thrifty.learn.gates.boosted import constant_value
from thrifty.learn.gates.problem import Family, GateTask, LocalLoss, Pair
from thrifty.learn.svm.source import standard_slots
from thrifty.model import Forest, Frozen, LinearTree
from thrifty.model.encoding import Encoding
from thrifty.model.forest.nodes import empty_nodes

__all__ = ["GroupPrices", "LinearFamily", "Problem", "linear_model", "proximal"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupPrices:
    """Column and group of each slot, and their prices; a slot of no group has the last one."""

    column: NDArray[np.int64]
    group: NDArray[np.int64]
    own: Floats
    shared: Floats

    @classmethod
    def of(cls, columns: NDArray[np.int64], prices: BoundPrices, penalty: float) -> Self:
        """Prices of slots that read these columns, times the penalty."""
        group = np.where(prices.group < 0, len(prices.shared), prices.group)
        shared = np.append(prices.shared, 0.0)
        return cls(columns, group[columns], penalty * prices.own, penalty * shared)

    def cost(self, C: Floats) -> float:
        """Sum of the priced norms of coefficients (slots, outputs)."""
        return float(
            self.own @ _norms(C, self.column, len(self.own))
            + self.shared @ _norms(C, self.group, len(self.shared))
        )

    def shrink(self, C: Floats, length: float) -> Floats:
        """The proximal step: columns first, then the groups that hold them.

        Examples
        --------
        >>> import numpy as np
        >>> from thrifty.costs import Prices
        >>> from thrifty.learn.gates.linear import GroupPrices
        >>> prices = GroupPrices.of(np.array([0, 1]), Prices([1.0, 5.0]).bind(2), penalty=1.0)
        >>> prices.shrink(np.array([[3.0, 4.0], [3.0, 4.0]]), length=1.0)
        array([[2.4, 3.2],
               [0. , 0. ]])
        """
        for place, price in ((self.column, self.own), (self.group, self.shared)):
            norm = _norms(C, place, len(price))
            kept = np.maximum(1.0 - length * price / np.maximum(norm, 1e-300), 0.0)
            C = C * np.where(price > 0, kept, 1.0)[place][:, np.newaxis]
        return C


def _norms(C: Floats, place: NDArray[np.int64], count: int) -> Floats:
    return np.sqrt(np.bincount(place, np.square(C).sum(axis=1), count))


STEPS = 300
SETTLED = 1e-7
# Size of coefficients that are drawn: large enough to send rows somewhere.
DRAWN = 3.0


@dataclass(frozen=True)
class LinearFamily(Family):
    """Settings of the linear models.

    Parameters
    ----------
    ridge : float
        Half of it times the sum of squared coefficients is added to the loss, so that what
        can be told apart without error has an end.
    starts : int
        Pairs to start from: the logistic regression of the priced columns, then that of all
        columns, both with a gate of 0, then pairs that are drawn.
    """

    ridge: float = 1e-4
    starts: int = 8

    def start(
        self, task: GateTask, penalty: float, distance: Distance, random: RandomState
    ) -> list[Pair]:
        """Logistic regression with a gate of 0, and draws (Nan 2018, A.2.2, A.2.3)."""
        bench = Bench.of(self, task, penalty, distance)
        every = bench.logistic(bench.blank())
        first = bench.solved(every, np.zeros(len(task.X)), gated=False)
        draws = [_drawn(bench, random) for _ in range(self.starts - 2)]
        starts: list[Pair] = [first, every, *draws]
        return starts[: self.starts]


@dataclass(frozen=True, eq=False)
class Bench:
    """What all pairs of one search share."""

    task: GateTask
    distance: Distance
    encoding: Encoding
    Z: Floats
    norms: GroupPrices
    ridge: float
    outputs: int

    @classmethod
    def of(cls, family: LinearFamily, task: GateTask, penalty: float, distance: Distance) -> Bench:
        """Standardize the table."""
        encoding = standard_slots(task.schema, task.X, task.weight)
        norms = GroupPrices.of(encoding.columns, task.prices, penalty)
        outputs = 1 if task.n_classes == 2 else task.n_classes
        Z = encoding.apply(task.X)
        return cls(task, distance, encoding, Z, norms, family.ridge, outputs)

    @cached_property
    def share(self) -> Floats:
        """Share of each row in the mean, (n,)."""
        weight = self.task.weight
        n = len(self.Z)
        return np.full(n, 1.0 / n) if weight is None else weight / weight.sum()

    def blank(self) -> LinearPair:
        """Constants only."""
        task = self.task
        start = LocalLoss(task.codes, task.weight, task.n_classes).start()
        shape = (self.Z.shape[1], self.outputs + 1)
        return LinearPair(self, np.zeros(shape), np.append(start, 0.0))

    def logistic(self, pair: LinearPair) -> LinearPair:
        """The local model of all rows and columns, as if they were free."""
        free = replace(self, norms=replace(self.norms, own=0.0 * self.norms.own,
                                           shared=0.0 * self.norms.shared))  # fmt: skip
        found = free.solved(pair, np.zeros(len(self.Z)), gated=False)
        return LinearPair(self, found.C, found.bias)

    def solved(self, pair: LinearPair, q: Floats, gated: bool = True) -> LinearPair:
        """Go on from a pair to the best one for q."""
        C, bias = proximal(Problem(self, q, gated), pair.C, pair.bias, self.norms)
        return LinearPair(self, C, bias)


class Problem:
    """The smooth part of the objective for q: losses, distance and ridge."""

    def __init__(self, bench: Bench, q: Floats, gated: bool = True) -> None:
        task = bench.task
        self._bench, self._q, self._gated = bench, q, gated
        self._loss = LocalLoss(task.codes, None, task.n_classes, 1.0 - q)

    def value(self, C: Floats, bias: Floats) -> float:
        """Mean over the rows."""
        bench = self._bench
        return self._value(C, (bench.Z @ C + bias).T)

    def slopes(self, C: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """The value, and its gradients by C and bias."""
        bench, k = self._bench, self._bench.outputs
        raw = (bench.Z @ C + bias).T
        turn = np.zeros_like(raw)
        turn[:k] = -self._loss.derivatives(raw[:k])[0]
        if self._gated:
            turn[k] = -bench.distance.pull(self._q, raw[k])
        turn *= bench.share
        by_C = bench.Z.T @ turn.T + bench.ridge * C
        return self._value(C, raw), by_C, turn.sum(axis=1)

    def _value(self, C: Floats, raw: Floats) -> float:
        bench, q, k = self._bench, self._q, self._bench.outputs
        value = (1.0 - q) * self._loss.losses(raw[:k])
        if self._gated:
            value = value + bench.distance.value(q, raw[k])
        return float(bench.share @ value) + 0.5 * bench.ridge * float(np.square(C).sum())


class LinearPair(Pair):
    """Coefficients (slots, outputs + 1), the last column the gate's, and their constants."""

    def __init__(self, bench: Bench, C: Floats, bias: Floats) -> None:
        self._bench, self.C, self.bias = bench, C, bias

    @cached_property
    def _raw(self) -> Floats:
        return np.asarray((self._bench.Z @ self.C + self.bias).T)

    @property
    def gate(self) -> Floats:
        """Of the standardized rows."""
        return np.asarray(self._raw[-1])

    @cached_property
    def loss(self) -> Floats:
        """Log-losses."""
        task = self._bench.task
        return LocalLoss(task.codes, None, task.n_classes).losses(self._raw[:-1])

    @cached_property
    def cost(self) -> float:
        """Priced norms and the ridge."""
        bench = self._bench
        return bench.norms.cost(self.C) + 0.5 * bench.ridge * float(np.square(self.C).sum())

    def step(self, q: Floats) -> LinearPair:
        """Solve for q, from here."""
        return self._bench.solved(self, q)

    def freeze(self) -> tuple[Frozen, Frozen]:
        """Two linear models."""
        bench, d = self._bench, len(self._bench.task.schema)
        link = "sigmoid" if bench.outputs == 1 else "softmax"
        gate = linear_model(bench.encoding, self.C[:, -1:], self.bias[-1:], "sum", d)
        local = linear_model(bench.encoding, self.C[:, :-1], self.bias[:-1], link, d)
        return gate, local


def _drawn(bench: Bench, random: RandomState) -> LinearPair:
    """A pair with coefficients for some columns, drawn: how many, which, and how large."""
    blank, columns = bench.blank(), np.unique(bench.encoding.columns)
    chosen = random.permutation(columns)[: random.randint(1, len(columns) + 1)]
    C = DRAWN * random.normal(size=blank.C.shape)
    C[~np.isin(bench.encoding.columns, chosen)] = 0.0
    return LinearPair(bench, C, blank.bias)


def linear_model(encoding: Encoding, C: Floats, bias: Floats, link: str, n_features: int) -> Frozen:
    """Coefficients (slots, outputs) as a frozen model that reads only what they weigh."""
    read = np.asarray(C.any(axis=1))
    count = int(read.sum())
    if not count:
        none = np.zeros(0, dtype=np.int64)
        values = np.zeros((0, 1))
        if link == "sum":
            return constant_value(float(bias[0]), n_features)
        return Forest(empty_nodes(0), values, none, none, bias, link, n_features)
    outside = np.array([-1])
    return LinearTree(
        left=outside, right=outside, starts=np.array([0, count]), slots=np.arange(count),
        route=np.zeros(count), threshold=np.zeros(1), weights=C[read], bias=bias[np.newaxis],
        link=link, n_features=n_features, encoding=encoding.keep(read),
    )  # fmt: skip


def proximal(
    problem: Problem, C: Floats, bias: Floats, norms: GroupPrices
) -> tuple[Floats, Floats]:
    """Accelerated proximal gradient with backtracking and restarts; never ends above its start."""
    best = (problem.value(C, bias) + norms.cost(C), C, bias)
    ahead, before, bend, speed = (C, bias), (C, bias), 1.0, 1.0
    last = best[0]
    for _ in range(STEPS):
        new_C, new_bias, total, bend = _stride(problem, *ahead, norms, bend)
        if total < best[0]:
            best = (total, new_C, new_bias)
        if abs(last - total) <= SETTLED * max(abs(total), SETTLED):
            break
        faster = (1.0 + np.sqrt(1.0 + 4.0 * speed * speed)) / 2.0
        push = 0.0 if total > last else (speed - 1.0) / faster
        speed = 1.0 if total > last else faster
        ahead = (new_C + push * (new_C - before[0]), new_bias + push * (new_bias - before[1]))
        before, last, bend = (new_C, new_bias), total, 0.9 * bend
    return best[1], best[2]


def _stride(
    problem: Problem, C: Floats, bias: Floats, norms: GroupPrices, bend: float
) -> tuple[Floats, Floats, float, float]:
    """One proximal step, as long as the curvature `bend` allows; the objective, and the bend."""
    value, by_C, by_bias = problem.slopes(C, bias)
    while True:
        new_C = norms.shrink(C - by_C / bend, 1.0 / bend)
        new_bias = bias - by_bias / bend
        to_C, to_bias = new_C - C, new_bias - bias
        rise = float(np.sum(by_C * to_C) + by_bias @ to_bias)
        far = float(np.sum(to_C * to_C) + to_bias @ to_bias)
        reached = problem.value(new_C, new_bias)
        if reached <= value + rise + 0.5 * bend * far + 1e-14 * abs(value):
            return new_C, new_bias, reached + norms.cost(new_C), bend
        bend *= 2.0
