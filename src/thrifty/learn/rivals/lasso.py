"""Least loss plus a price on the size of each weight, solved to the end (proximal Newton).

The loss is replaced by its parabola. The parabola plus the prices is solved in the space of the
weights, which touches no row: accelerated proximal gradients find which weights are not 0, and of
what sign; given these it is a linear system. The step is halved until the objective falls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.node_losses import NodeLoss

__all__ = ["Solution", "lasso", "smallest_rate"]

Floats = NDArray[np.float64]
# Keeps weights that cost nothing finite where classes can be separated.
RIDGE = 1e-7
STEPS, INNER, HALVINGS = 60, 5000, 30
# Steps after which it is tried whether the signs are those of the solution.
TRIAL = 25
TOLERANCE = 1e-10


class Solution(NamedTuple):
    """Weights (q,) and bias."""

    weights: Floats
    bias: float


class _Problem(NamedTuple):
    """Rows with a last column of ones for the bias, which costs nothing."""

    Z: Floats
    y: Floats
    weight: Floats
    loss: NodeLoss
    costs: Floats

    def value(self, b: Floats) -> float:
        """The objective at weights and bias `b` (q + 1,)."""
        loss = float(self.weight @ self.loss.value(self.Z @ b, self.y))
        return loss + float(self.costs @ np.abs(b)) + 0.5 * RIDGE * float(b @ b)

    def parabola(self, b: Floats) -> tuple[Floats, Floats]:
        """Slope and curvature of the loss and the ridge at `b`."""
        first, second = self.loss.slopes(self.Z @ b, self.y)
        hessian = self.Z.T @ (self.Z * (self.weight * second)[:, np.newaxis])
        hessian[np.diag_indices(len(b))] += RIDGE
        return self.Z.T @ (self.weight * first) + RIDGE * b, hessian


def lasso(
    Z: Floats, y: Floats, weight: Floats, loss: NodeLoss, costs: Floats, start: Solution
) -> Solution:
    """The weights of least weighted loss plus ``costs @ abs(weights)``."""
    ones = np.column_stack([Z, np.ones(len(Z))])
    problem = _Problem(ones, y, weight, loss, np.append(costs, 0.0))
    b = np.append(start.weights, start.bias)
    value = problem.value(b)
    for _ in range(STEPS):
        step = _least(*problem.parabola(b), problem.costs, b) - b
        for halvings in range(HALVINGS):
            new = problem.value(b + 0.5**halvings * step)
            if new < value:
                break
        else:
            break
        b = b + 0.5**halvings * step
        done = value - new <= TOLERANCE * abs(value)
        value = new
        if done:
            break
    return Solution(b[:-1], float(b[-1]))


def _least(slope: Floats, hessian: Floats, costs: Floats, start: Floats) -> Floats:
    """Where the parabola through `start` plus the costs is least (FISTA with restarts)."""
    pace = 1.0 / max(float(np.linalg.eigvalsh(hessian)[-1]), 1e-300)
    offset = slope - hessian @ start
    b, ahead, momentum = start, start, 1.0
    for number in range(1, INNER + 1):
        moved = ahead - pace * (hessian @ ahead + offset)
        new = np.sign(moved) * np.maximum(np.abs(moved) - pace * costs, 0.0)
        change = new - b
        if (ahead - new) @ change > 0:
            momentum = 1.0
        later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = new + ((momentum - 1.0) / later) * change
        b, momentum = new, later
        if number % TRIAL == 0 and (exact := _solved(offset, hessian, costs, b)) is not None:
            return exact
    return b


def _solved(offset: Floats, hessian: Floats, costs: Floats, b: Floats) -> Floats | None:
    """The least with the signs of `b`, if it is the least of all."""
    on = np.flatnonzero((b != 0) | (costs == 0))
    sign = np.sign(b[on])
    found = np.zeros_like(b)
    found[on] = np.linalg.solve(hessian[np.ix_(on, on)], -offset[on] - costs[on] * sign)
    if np.any((found[on] * sign < 0) & (costs[on] > 0)):
        return None
    slope = np.abs(hessian @ found + offset)
    slope[on] = 0.0
    return found if np.all(slope <= costs * (1.0 + 1e-9) + 1e-12) else None


def smallest_rate(
    Z: Floats, y: Floats, weight: Floats, loss: NodeLoss, bias: float, tolls: Floats
) -> float:
    """The smallest factor of the tolls at which no weight is worth its price."""
    slopes = np.abs(Z.T @ (weight * loss.slopes(np.full(len(y), bias), y)[0]))
    priced = tolls > 0
    return float(np.max(slopes[priced] / tolls[priced], initial=0.0))
