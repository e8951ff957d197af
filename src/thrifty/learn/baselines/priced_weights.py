"""Weights of a linear model that pays for its inputs: one node of CSTC (Xu 2014, sec. 3.4).

Log-loss plus ``penalty`` times the relaxed price: each price times the root of the sum of squares
of the weights that cause it (eq. 3.12). The root is replaced by a parabola that touches it where
the weights are (Lemma 1), the loss by one too; the sum is solved for and the step halved until
the objective falls. What is left of the smallest weights is then set to 0, and the others are
fitted again without prices (sec. 3.4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.objective import Logistic

__all__ = [
    "LOSS",
    "RIDGE",
    "TREE_RIDGE",
    "Dues",
    "Goal",
    "Node",
    "Weights",
    "plain_goal",
    "refit",
    "settle",
    "spread",
]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Keeps weights finite where classes can be separated.
RIDGE = 1e-4
# Of trees, which know the rows that they were grown on.
TREE_RIDGE = 1e-2
STEPS = 60
TOLERANCE = 1e-7
HALVINGS = 20
# The root is rounded off at 0 by this much, so that a weight of 0 can come back.
ROUND = 1e-4
# Inputs are of one scale: a weight below this is what the rounded root leaves of none.
NONE = 20 * ROUND

LOSS = Logistic()
# From the loss of each row, what the row adds to the objective, and the derivative by the loss.
Goal = Callable[[Floats], tuple[Floats, Floats]]


class Weights(NamedTuple):
    """Weights (q,) and bias of a linear model."""

    weights: Floats
    bias: float

    def outputs(self, Z: Floats) -> Floats:
        """Outputs of rows, (n,)."""
        return np.asarray(Z @ self.weights + self.bias)


@dataclass(frozen=True, eq=False)
class Dues:
    """What weights cost: prices (A,), and the inputs (A, q) that each is due for, once.

    `unit` (q,) numbers the inputs that stand or fall together: the slots of a column, or a tree.
    All weights pay a `ridge` too.
    """

    prices: Floats
    members: Floats
    unit: NDArray[np.int64]
    ridge: float = RIDGE

    def some(self, inputs: Mask) -> Dues:
        """The dues of some inputs."""
        members, unit = self.members[:, inputs], self.unit[inputs]
        return replace(self, members=members, unit=unit)

    def none(self, inputs: Mask) -> Dues:
        """Some inputs, at no price."""
        return replace(self.some(inputs), prices=self.prices[:0], members=self.members[:0, inputs])

    def roots(self, weights: Floats) -> Floats:
        """Root of the sum of squares of the weights that cause each price, rounded off at 0."""
        return np.sqrt(self.members @ np.square(weights) + ROUND**2)

    def chosen(self, weights: Floats) -> Mask:
        """Inputs whose unit has more than next to no weight."""
        size = np.sqrt(np.bincount(self.unit, np.square(weights)))
        return np.asarray(size[self.unit] > NONE)

    def touched(self, weights: Floats) -> Mask:
        """Prices that some weight causes, (A,)."""
        return np.asarray(self.members @ (weights != 0) > 0)


def plain_goal(weight: Floats) -> Goal:
    """The weighted sum of the losses."""
    return lambda losses: (weight * losses, weight)


@dataclass(frozen=True, eq=False)
class Node:
    """One linear classifier to be learnt: rows (n, q), targets -1 or 1, what counts, and prices."""

    Z: Floats
    y: Floats
    goal: Goal
    dues: Dues
    penalty: float = 0.0

    @property
    def nothing(self) -> Weights:
        """No weights at all."""
        return Weights(np.zeros(self.Z.shape[1]), 0.0)

    def descend(self, start: Weights, steps: int = STEPS) -> Weights:
        """Descend from `start` until the objective falls no more."""
        state, f = start, start.outputs(self.Z)
        value = self.objective(state, f)
        for _ in range(steps):
            moved = self._halved(state, self._step(state, f), value)
            if moved is None:
                return state
            state, f, new = moved
            if value - new <= TOLERANCE * max(abs(value), 1e-3):
                return state
            value = new
        return state

    def objective(self, state: Weights, f: Floats) -> float:
        """Loss, relaxed price and ridge, given the outputs `f`."""
        value = float(np.sum(self.goal(LOSS.value(f, self.y))[0]))
        cost = float(self.dues.prices @ (self.dues.roots(state.weights) - ROUND))
        squares = float(state.weights @ state.weights)
        return value + self.penalty * cost + 0.5 * self.dues.ridge * squares

    def top(self, weight: Floats) -> float:
        """About the smallest penalty at which nothing is worth its price; 0 if all is free."""
        share = float(weight @ (self.y > 0)) / float(weight.sum())
        f = np.full(len(self.y), np.log(share) - np.log1p(-share))
        slopes = self.Z.T @ (weight * LOSS.slopes(f, self.y)[0])
        if not self.dues.members.any():
            return 0.0
        # All inputs that cause a price gain together; of several prices the largest decides.
        rates = np.sqrt(self.dues.members @ np.square(slopes)) / self.dues.prices
        largest = np.argmax(self.dues.members * self.dues.prices[:, np.newaxis], axis=0)
        return float(np.max(rates[largest[self.dues.members.any(axis=0)]]))

    def _step(self, state: Weights, f: Floats) -> Weights:
        """The way to where the parabolas are least."""
        first, second = LOSS.slopes(f, self.y)
        factor = self.goal(LOSS.value(f, self.y))[1]
        due = self.penalty * self.dues.prices / self.dues.roots(state.weights)
        curve = self.dues.ridge + self.dues.members.T @ due
        slope = self.Z.T @ (factor * first) + curve * state.weights
        bend = np.maximum(factor * second, 1e-12)
        # The bias is solved for first: what is left is centered.
        mean = bend @ self.Z / bend.sum()
        centered = (self.Z - mean) * np.sqrt(bend)[:, np.newaxis]
        lean = float(np.sum(factor * first))
        hessian = centered.T @ centered
        hessian[np.diag_indices(len(curve))] += curve
        move = np.linalg.solve(hessian, lean * mean - slope)
        return Weights(move, -lean / float(bend.sum()) - float(mean @ move))

    def _halved(
        self, state: Weights, step: Weights, value: float
    ) -> tuple[Weights, Floats, float] | None:
        """The first of ever smaller steps that lowers the objective."""
        for halvings in range(HALVINGS):
            share = 0.5**halvings
            moved = Weights(state.weights + share * step.weights, state.bias + share * step.bias)
            f = moved.outputs(self.Z)
            new = self.objective(moved, f)
            if new < value:
                return moved, f, new
        return None


def settle(node: Node, start: Weights) -> Weights:
    """Choose inputs at the penalty, then fit the weights of those chosen without prices."""
    if node.penalty == 0:
        return start
    found = node.descend(start)
    return refit(node, node.dues.chosen(found.weights), found)


def refit(node: Node, kept: Mask, start: Weights, steps: int = STEPS) -> Weights:
    """Weights of some inputs without prices; the others have none."""
    fine = Node(node.Z[:, kept], node.y, node.goal, node.dues.none(kept))
    found = fine.descend(Weights(start.weights[kept], start.bias), steps)
    return Weights(spread(found.weights, kept), found.bias)


def spread(weights: Floats, inputs: Mask) -> Floats:
    """Weights of some inputs among all, the others 0."""
    among = np.zeros(len(inputs))
    among[inputs] = weights
    return among
