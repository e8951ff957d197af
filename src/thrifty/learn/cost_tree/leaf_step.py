"""A node from which every row exits: a convex problem, solved in closed form step by step.

The loss is replaced by its parabola, exact for squared errors; the roots of the penalty by
parabolas as Lemma 1 of 002 has it (eq. 3.14 to 3.16). The weights are then a linear system
(eq. 3.17), of the size of the inputs and not of the rows. Where the loss is no parabola this is
repeated, as Newton's method does, never uphill.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from thrifty.learn.cost_tree.cost_terms import ROUND, smooth_root
from thrifty.learn.cost_tree.objective import SoftObjective

__all__ = ["THOROUGH", "Effort", "LeafProblem", "solve_leaf"]

Floats = NDArray[np.float64]

ROUNDS = 60
SETTLED = 1e-5
HALVINGS = 30
# What a linear system is held up by, relative to its size: columns may be copies of each other.
PROP = 1e-9


class Effort(NamedTuple):
    """Newton steps, rounds of parabolas within each, and what counts as no change."""

    steps: int
    rounds: int
    settled: float


# To the last digits, for answers that are given out.
THOROUGH = Effort(50, 500, 1e-13)


@dataclass(frozen=True, eq=False)
class LeafProblem:
    """Eq. 3.15: loss of the rows that come here, norm, and cost beyond what the way here pays.

    Parameters
    ----------
    objective : SoftObjective
    mass : array (n,)
        Weight of each row's loss.
    share : float
        Weight of the cost: the share of the rows that come here.
    paid : array (A,)
        Squared weights of each term on the way here.
    """

    objective: SoftObjective
    mass: Floats
    share: float
    paid: Floats

    def value(self, beta: Floats, bias: float) -> float:
        """What depends on this node."""
        return self.loss(beta, bias) + self.extra(beta)

    def loss(self, beta: Floats, bias: float) -> float:
        """Weighted loss and what holds the bias."""
        on = self.objective
        losses = on.loss.value(on.Z @ beta + bias, on.y)
        return float(self.mass @ losses) + 0.5 * on.loss.hold * bias**2

    def extra(self, beta: Floats) -> float:
        """Norm and relaxed cost."""
        on = self.objective
        squares = self.paid + on.terms.members @ np.square(beta)
        norm = on.shrinkage * float(smooth_root(np.square(beta)).sum())
        return norm + self.share * float(smooth_root(squares) @ on.tolls)

    def stiffness(self, beta: Floats) -> Floats:
        """Diagonal of Gamma in eq. 3.17: curvature of the parabolas over the roots."""
        on = self.objective
        squares = self.paid + on.terms.members @ np.square(beta)
        roots = np.sqrt(squares + ROUND**2)
        norm = on.shrinkage / np.sqrt(np.square(beta) + ROUND**2)
        return np.asarray(norm + self.share * (on.terms.terms_of @ (on.tolls / roots)))

    def parabola(self, beta: Floats, bias: float) -> tuple[Floats, Floats]:
        """Gradient and hessian of the loss by the weights and the bias, the last."""
        on = self.objective
        slope, curve = on.loss.slopes(on.Z @ beta + bias, on.y)
        slope, curve = self.mass * slope, self.mass * curve
        q = len(beta)
        gradient, hessian = np.empty(q + 1), np.empty((q + 1, q + 1))
        gradient[:q], gradient[q] = on.Z.T @ slope, slope.sum() + on.loss.hold * bias
        bent = on.Z * curve[:, np.newaxis]
        hessian[:q, :q] = on.Z.T @ bent
        hessian[q, :q] = hessian[:q, q] = bent.sum(axis=0)
        hessian[q, q] = curve.sum() + on.loss.hold
        return gradient, hessian


def solve_leaf(
    problem: LeafProblem, beta: Floats, bias: float, effort: Effort | None = None
) -> tuple[Floats, float]:
    """Weights and bias from a start, not worse than the start."""
    effort = effort or Effort(problem.objective.loss.steps, ROUNDS, SETTLED)
    here = problem.value(beta, bias)
    for _ in range(effort.steps):
        found = _downhill(problem, here, (beta, bias), _target(problem, beta, bias, effort))
        if found is None:
            break
        beta, bias, value = found
        done = here - value <= effort.settled * abs(here)
        here = value
        if done:
            break
    return beta, bias


def _target(
    problem: LeafProblem, beta: Floats, bias: float, effort: Effort
) -> tuple[Floats, float]:
    """Least point of the loss's parabola plus the penalty, by eq. 3.17 again and again."""
    gradient, hessian = problem.parabola(beta, bias)
    goal = hessian @ np.append(beta, bias) - gradient
    prop = PROP * max(float(np.trace(hessian)) / len(hessian), np.finfo(float).tiny)
    found, diagonal = np.append(beta, bias), np.arange(len(hessian))
    for _ in range(effort.rounds):
        system = hessian.copy()
        system[diagonal[:-1], diagonal[:-1]] += problem.stiffness(found[:-1])
        system[diagonal, diagonal] += prop
        _, solution, failed = dposv(system, goal, lower=1, overwrite_a=1)
        if failed:  # not positive: the columns are copies of each other beyond what rounding bears
            break
        last, found = found, solution
        if np.abs(found - last).max() <= effort.settled * max(np.abs(found).max(), SETTLED):
            break
    return found[:-1], float(found[-1])


def _downhill(
    problem: LeafProblem, here: float, start: tuple[Floats, float], goal: tuple[Floats, float]
) -> tuple[Floats, float, float] | None:
    """The farthest of a few steps towards the goal that is not uphill."""
    step = 1.0
    for _ in range(HALVINGS):
        beta = start[0] + step * (goal[0] - start[0])
        bias = start[1] + step * (goal[1] - start[1])
        value = problem.value(beta, bias)
        if value <= here:
            return beta, bias, value
        step /= 2.0
    return None
