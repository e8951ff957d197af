"""A linear classifier that pays for its inputs: one node of CSTC (Xu 2014, sec. 3.4).

`LinearProblem` is the log-loss plus ``penalty`` times the relaxed cost: each price times the root
of the sum of squares of the weights that cause it (eq. 3.12). `LinearProblem.minimize` replaces the
root by a quadratic function that touches it at the current weights (Lemma 1), and the loss by its
quadratic model; it solves for the minimum of the sum and halves the step until the objective
decreases. `select_and_refit` then sets the smallest weights to 0 and fits the others again without
prices (sec. 3.4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.baselines.ridged_gram import RidgedGram
from thrifty.learn.cost_tree.cost_terms import ROOT_SMOOTHING
from thrifty.learn.cost_tree.objective import LogisticLoss

__all__ = [
    "COLUMN_RIDGE",
    "LOSS",
    "TREE_RIDGE",
    "InputCosts",
    "LinearProblem",
    "LinearWeights",
    "RowObjective",
    "refit",
    "scatter",
    "select_and_refit",
    "weighted_sum",
]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Ridge penalties. They keep weights finite where the classes can be separated; that of trees is
# larger, since trees are overfitted to the rows that they were grown on.
COLUMN_RIDGE = 1e-4
TREE_RIDGE = 1e-2
# Newton steps, relative decrease of the objective at which they end, halvings of each step.
MAX_STEPS = 60
OBJECTIVE_TOL = 1e-7
MAX_HALVINGS = 20
# Inputs are of unit scale: a smaller weight is what the smoothed root leaves of 0.
ZERO_WEIGHT = 20 * ROOT_SMOOTHING

LOSS = LogisticLoss()
# Takes the loss of each row (n,); returns what each row adds to the objective, and the derivative
# of the objective with respect to each loss.
RowObjective = Callable[[Floats], tuple[Floats, Floats]]


def weighted_sum(weight: Floats) -> RowObjective:
    """Return the objective that adds up the losses times the weights of the rows (n,)."""
    return lambda losses: (weight * losses, weight)


class LinearWeights(NamedTuple):
    """Weights (q,) and bias of a linear model."""

    weights: Floats
    bias: float

    def outputs(self, Z: Floats) -> Floats:
        """Return the outputs of rows Z (n, q), (n,)."""
        return np.asarray(Z @ self.weights + self.bias)


@dataclass(frozen=True, eq=False)
class InputCosts:
    """What the weights of q inputs cost.

    Parameters
    ----------
    prices : array of shape (A,)
        Each is paid once if any of its members has a nonzero weight.
    members : array of shape (A, q)
        1 where an input belongs to a price.
    unit : int64 array of shape (q,)
        Inputs with the same number are kept or dropped together: the encoded columns of one
        column, or a single tree.
    ridge : float
        Ridge penalty of all weights.
    """

    prices: Floats
    members: Floats
    unit: NDArray[np.int64]
    ridge: float = COLUMN_RIDGE

    def take(self, inputs: Mask) -> InputCosts:
        """Keep some of the inputs."""
        return replace(self, members=self.members[:, inputs], unit=self.unit[inputs])

    def without_prices(self, inputs: Mask) -> InputCosts:
        """Keep some of the inputs, at no price."""
        free = replace(self, prices=self.prices[:0], members=self.members[:0])
        return free.take(inputs)

    def smooth_norms(self, weights: Floats) -> Floats:
        """Return the smoothed norm of the weights that cause each price, (A,)."""
        return np.sqrt(self.members @ np.square(weights) + ROOT_SMOOTHING**2)

    def selected(self, weights: Floats) -> Mask:
        """Return which inputs belong to a unit of more than negligible weight, (q,)."""
        norms = np.sqrt(np.bincount(self.unit, np.square(weights)))
        return np.asarray(norms[self.unit] > ZERO_WEIGHT)

    def paid(self, weights: Floats) -> Mask:
        """Return which prices some nonzero weight causes, (A,)."""
        return np.asarray(self.members @ (weights != 0) > 0)


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """The objective of one linear classifier.

    Parameters
    ----------
    Z : array of shape (n, q)
        Inputs of the rows.
    y : array of shape (n,)
        Targets, -1 or 1.
    row_objective : RowObjective
        How the losses of the rows enter the objective.
    costs : InputCosts
        What weights cost.
    penalty : float
        Weight of the cost (lambda).
    """

    Z: Floats
    y: Floats
    row_objective: RowObjective
    costs: InputCosts
    penalty: float = 0.0

    @property
    def zeros(self) -> LinearWeights:
        """The model whose weights and bias are 0."""
        return LinearWeights(np.zeros(self.Z.shape[1]), 0.0)

    def objective(self, model: LinearWeights, outputs: Floats) -> float:
        """Return loss, relaxed cost and ridge of a model, given its outputs (n,)."""
        loss = float(np.sum(self.row_objective(LOSS.value(outputs, self.y))[0]))
        cost = float(self.costs.prices @ (self.costs.smooth_norms(model.weights) - ROOT_SMOOTHING))
        squares = float(model.weights @ model.weights)
        return loss + self.penalty * cost + 0.5 * self.costs.ridge * squares

    def minimize(self, start: LinearWeights, max_steps: int = MAX_STEPS) -> LinearWeights:
        """Take Newton steps from `start` until the objective no longer decreases."""
        model, outputs = start, start.outputs(self.Z)
        value = self.objective(model, outputs)
        for _ in range(max_steps):
            step = self.newton_step(model, outputs)
            for halvings in range(MAX_HALVINGS):
                size = 0.5**halvings
                moved = LinearWeights(
                    model.weights + size * step.weights, model.bias + size * step.bias
                )
                outputs = moved.outputs(self.Z)
                new_value = self.objective(moved, outputs)
                if new_value < value:
                    break
            else:
                return model
            model, decrease = moved, value - new_value
            if decrease <= OBJECTIVE_TOL * max(abs(value), 1e-3):
                return model
            value = new_value
        return model

    def newton_step(self, model: LinearWeights, outputs: Floats) -> LinearWeights:
        """Return the step from a model to the minimum of the quadratic model of the objective."""
        first, second = LOSS.derivatives(outputs, self.y)
        factor = self.row_objective(LOSS.value(outputs, self.y))[1]
        slopes = self.penalty * self.costs.prices / self.costs.smooth_norms(model.weights)
        ridges = self.costs.ridge + self.costs.members.T @ slopes
        gradient = self.Z.T @ (factor * first) + ridges * model.weights
        bias_gradient = float(np.sum(factor * first))
        curvature = np.maximum(factor * second, 1e-12)
        # The bias is eliminated first, which centers the inputs.
        mean = curvature @ self.Z / curvature.sum()
        centered = (self.Z - mean) * np.sqrt(curvature)[:, np.newaxis]
        move = RidgedGram(centered, ridges).solve(bias_gradient * mean - gradient)
        return LinearWeights(move, -bias_gradient / float(curvature.sum()) - float(mean @ move))

    def largest_penalty(self, weight: Floats) -> float:
        """Return about the smallest penalty at which no input is worth its price.

        It is 0 if all inputs are free. `weight` (n,) are the weights of the rows.
        """
        share = float(weight @ (self.y > 0)) / float(weight.sum())
        outputs = np.full(len(self.y), np.log(share) - np.log1p(-share))
        gradient = self.Z.T @ (weight * LOSS.derivatives(outputs, self.y)[0])
        members, prices = self.costs.members, self.costs.prices
        if not members.any():
            return 0.0
        # All inputs of a price gain together; of several prices of an input the highest decides.
        rates = np.sqrt(members @ np.square(gradient)) / prices
        highest = np.argmax(members * prices[:, np.newaxis], axis=0)
        return float(np.max(rates[highest[members.any(axis=0)]]))


def select_and_refit(problem: LinearProblem, start: LinearWeights) -> LinearWeights:
    """Select inputs at the penalty of the problem, then fit their weights without prices.

    At penalty 0 it returns `start`, which then has to be the solution already.
    """
    if problem.penalty == 0:
        return start
    found = problem.minimize(start)
    return refit(problem, problem.costs.selected(found.weights), found)


def refit(problem: LinearProblem, inputs: Mask, start: LinearWeights) -> LinearWeights:
    """Fit the weights of some inputs without prices; the weights of all others are 0."""
    free = LinearProblem(
        problem.Z[:, inputs], problem.y, problem.row_objective, problem.costs.without_prices(inputs)
    )
    found = free.minimize(LinearWeights(start.weights[inputs], start.bias))
    return LinearWeights(scatter(found.weights, inputs), found.bias)


def scatter(weights: Floats, inputs: Mask) -> Floats:
    """Return the weights of all inputs (q,) from those of some; the others are 0."""
    full = np.zeros(len(inputs))
    full[inputs] = weights
    return full
