"""The update of a leaf, where every row exits: a convex problem, solved by linear systems.

The loss is replaced by its quadratic model, which is exact for squared errors, and the roots of
the penalty by quadratic functions that touch them (Lemma 1 and eq. 3.14 to 3.16 of Xu 2014). The
weights then solve a linear system (eq. 3.17) whose size is the number of inputs, not of rows. If
the loss is not quadratic this is repeated, as in Newton's method; the objective never increases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from thrifty.learn.cost_tree.cost_terms import ROOT_SMOOTHING, smooth_root
from thrifty.learn.cost_tree.objective import SoftObjective

__all__ = ["RELATIVE_RIDGE", "TO_CONVERGENCE", "Effort", "LeafProblem", "solve_leaf"]

Floats = NDArray[np.float64]

# Linear systems solved per Newton step, at most, and the relative change that ends both loops.
MAX_SYSTEMS = 60
CHANGE_TOL = 1e-5
# The line search shortens a Newton step down to 1e-9 of its length.
MAX_HALVINGS = 30
# Ridge of a linear system, relative to the size of its entries: columns may be copies of others.
RELATIVE_RIDGE = 1e-9


class Effort(NamedTuple):
    """How far a leaf is optimized.

    `newton_steps` and `systems`, the linear systems solved in each, are upper limits; `tolerance`
    is the relative change at which both stop.
    """

    newton_steps: int
    systems: int
    tolerance: float


# For the outputs of the final model, which are fitted to the last digits.
TO_CONVERGENCE = Effort(50, 500, 1e-13)


@dataclass(frozen=True, eq=False)
class LeafProblem:
    """Eq. 3.15: loss of the rows that reach a leaf, l1 norm, and cost beyond that of its path.

    Parameters
    ----------
    objective : SoftObjective
        Has the rows, the loss and the prices.
    loss_weight : array of shape (n,)
        Weight of each row's loss in the leaf.
    share : float
        Weight of the cost: the share of the rows that reach the leaf.
    path_squares : array of shape (A,)
        Squared weights of each term on the path to the leaf.
    ridge : float
        Weight of half the sum of the squared weights.
    """

    objective: SoftObjective
    loss_weight: Floats
    share: float
    path_squares: Floats
    ridge: float = 0.0

    def value(self, beta: Floats, bias: float) -> float:
        """Return the part of the objective that depends on the weights (q,) and the bias."""
        on = self.objective
        losses = on.loss.value(on.Z @ beta + bias, on.y)
        loss = float(self.loss_weight @ losses) + 0.5 * on.loss.bias_ridge * bias**2
        squares = np.square(beta)
        norm = on.shrinkage * float(smooth_root(squares).sum())
        norm += 0.5 * self.ridge * float(beta @ beta)
        if on.penalty == 0 or not len(on.terms.prices):
            return loss + norm
        on_path = self.path_squares + on.terms.input_sums @ squares
        return loss + (norm + self.share * float(smooth_root(on_path) @ on.weighted_prices))

    def penalty_curvature(self, beta: Floats) -> Floats:
        """Return the diagonal of Gamma in eq. 3.17: second derivatives of norm and cost, (q,)."""
        on, squares = self.objective, np.square(beta)
        norm = on.shrinkage / np.sqrt(squares + ROOT_SMOOTHING**2)
        if on.penalty == 0 or not len(on.terms.prices):
            return np.asarray(norm + self.ridge)
        roots = np.sqrt(self.path_squares + on.terms.input_sums @ squares + ROOT_SMOOTHING**2)
        cost = on.terms.term_sums @ (on.weighted_prices / roots)
        return np.asarray(norm + self.share * cost + self.ridge)

    def loss_model(self, beta: Floats, bias: float) -> tuple[Floats, Floats]:
        """Return gradient (q + 1,) and Hessian of the loss in the weights and, last, the bias."""
        on = self.objective
        first, second = on.loss.derivatives(on.Z @ beta + bias, on.y)
        first, second = self.loss_weight * first, self.loss_weight * second
        q = len(beta)
        gradient, hessian = np.empty(q + 1), np.empty((q + 1, q + 1))
        gradient[:q], gradient[q] = on.Z.T @ first, first.sum() + on.loss.bias_ridge * bias
        weighted = on.Z * second[:, np.newaxis]
        hessian[:q, :q] = on.Z.T @ weighted
        hessian[q, :q] = hessian[:q, q] = weighted.sum(axis=0)
        hessian[q, q] = second.sum() + on.loss.bias_ridge
        return gradient, hessian


def solve_leaf(
    problem: LeafProblem, beta: Floats, bias: float, effort: Effort | None = None
) -> tuple[Floats, float]:
    """Improve weights (q,) and bias by Newton steps with a line search; return the new ones."""
    effort = effort or Effort(problem.objective.loss.newton_steps, MAX_SYSTEMS, CHANGE_TOL)
    current = problem.value(beta, bias)
    for _ in range(effort.newton_steps):
        target_beta, target_bias = _newton_target(problem, beta, bias, effort)
        step = 1.0
        for _ in range(MAX_HALVINGS):
            new_beta = beta + step * (target_beta - beta)
            new_bias = bias + step * (target_bias - bias)
            value = problem.value(new_beta, new_bias)
            if value <= current:
                break
            step /= 2.0
        else:
            break
        beta, bias = new_beta, new_bias
        converged = current - value <= effort.tolerance * abs(current)
        current = value
        if converged:
            break
    return beta, bias


def _newton_target(
    problem: LeafProblem, beta: Floats, bias: float, effort: Effort
) -> tuple[Floats, float]:
    """Minimize the loss's quadratic model plus the penalty by repeated systems of eq. 3.17."""
    gradient, hessian = problem.loss_model(beta, bias)
    right_hand_side = hessian @ np.append(beta, bias) - gradient
    ridge = RELATIVE_RIDGE * max(float(np.trace(hessian)) / len(hessian), np.finfo(float).tiny)
    solution, size = np.append(beta, bias), len(hessian)
    for _ in range(effort.systems):
        system = hessian.copy()
        diagonal = system.reshape(-1)[:: size + 1]
        diagonal[:-1] += problem.penalty_curvature(solution[:-1])
        diagonal += ridge
        _, found, failed = dposv(system, right_hand_side, lower=1, overwrite_a=1)
        if failed:  # not positive definite: columns are copies of each other, despite the ridge
            break
        last, solution = solution, found
        largest = max(np.abs(solution).max(), CHANGE_TOL)
        if np.abs(solution - last).max() <= effort.tolerance * largest:
            break
    return solution[:-1], float(solution[-1])
