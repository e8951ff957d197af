"""The update of an inner node: its weights change its own loss and who reaches the nodes below.

The nodes below are fixed meanwhile, so they enter as two numbers per row: the expected loss and
cost of a row that goes left, and of one that goes right (Xu 2014, eq. 3.18, 3.19). The roots of
the cost are replaced by quadratic functions that touch them (Lemma 1); the rest is minimized by
L-BFGS with exact gradients; and both steps are repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from thrifty.learn.cost_tree.cost_terms import ROOT_SMOOTHING, smooth_root
from thrifty.learn.cost_tree.objective import SoftObjective
from thrifty.learn.cost_tree.soft_tree import SoftTree

__all__ = ["MAX_SLOPE", "MIN_SLOPE", "Branch", "SplitProblem", "solve_split"]

Floats = NDArray[np.float64]

# Quadratic models of the cost per update of a node, and L-BFGS iterations with each.
MAX_ROUNDS = 2
LBFGS_STEPS = 15
# Range of the slope of a sigmoid. At the largest, nearly all rows go one way with certainty.
MIN_SLOPE, MAX_SLOPE = 0.05, 50.0
# Lower bound of a second derivative when parameters are scaled.
MIN_CURVATURE = 1e-8


@dataclass(frozen=True, eq=False)
class Branch:
    """What happens to rows that go to one side of a node.

    Parameters
    ----------
    loss : array of shape (n,)
        Expected weighted loss of each row in the nodes of this branch; 0 at an exit.
    p_exit : array of shape (n, L)
        Probability of each exit of this branch for a row that goes here.
    exits : int array of shape (L,)
        Numbers of these exits in the tree.
    is_exit : bool
        Whether rows exit here and the node itself predicts them.
    """

    loss: Floats
    p_exit: Floats
    exits: NDArray[np.intp]
    is_exit: bool

    @classmethod
    def of(
        cls,
        objective: SoftObjective,
        tree: SoftTree,
        values: Floats,
        p_right: Floats,
        node: int,
        child: int,
    ) -> Self:
        """Describe the branch of `node` that starts with `child`, or the exit if that is -1."""
        all_exits = tree.shape.exits
        if child < 0:
            own = np.array([[found.node for found in all_exits].index(node)])
            return cls(np.zeros(len(values)), np.ones((len(values), 1)), own, True)
        reach = tree.reach_probability(p_right, child)
        p_exit = tree.exit_probability(reach, p_right)
        below = tree.shape.subtree(child)
        shares = objective.loss_shares(tree, reach, p_exit)[:, below]
        outputs = values[:, below] + tree.bias[below]
        losses = objective.loss.value(outputs, objective.y[:, np.newaxis])
        exits = np.array([k for k, found in enumerate(all_exits) if found.node in set(below)])
        loss = objective.loss_weight * (shares * losses).sum(axis=1)
        return cls(loss, p_exit[:, exits], exits, False)


@dataclass(frozen=True, eq=False)
class SplitProblem:
    """The part of the objective that depends on one inner node.

    The parameters of the node are one vector x: weights (q,), bias, threshold, and the logarithm
    of the slope.

    Parameters
    ----------
    objective : SoftObjective
    reach : array of shape (n,)
        Probability that each row reaches the node.
    left, right : Branch
    other_squares : array of shape (L, A)
        Squared weights of each term in the other nodes on the path to each exit.
    visit_costs : array of shape (L,)
        Penalty times the price of the visits on the path to each exit.
    """

    objective: SoftObjective
    reach: Floats
    left: Branch
    right: Branch
    other_squares: Floats
    visit_costs: Floats

    @classmethod
    def of(cls, objective: SoftObjective, values: Floats, tree: SoftTree, node: int) -> Self:
        """Return the problem of a node with the others fixed, given their values (n, N)."""
        p_right = tree.right_probability(values)
        reach = tree.node_probability(values, node)
        children = (int(tree.shape.left[node]), int(tree.shape.right[node]))
        left, right = (
            Branch.of(objective, tree, values, p_right, node, child) for child in children
        )
        exits = np.concatenate([left.exits, right.exits])
        own_squares = objective.terms.sum_squares(np.square(tree.weights[[node]]))
        other_squares = np.maximum(objective.path_squares(tree)[exits] - own_squares, 0.0)
        visits = tree.shape.exit_paths[exits].sum(axis=1)
        return cls(
            objective, reach, left, right, other_squares, objective.weighted_visit_price * visits
        )

    def value(self, x: Floats) -> float:
        """Return this part of the objective, with the roots of norm and cost."""
        beta = x[:-3]
        roots = smooth_root(self._path_squares(beta))
        costs = (roots * self.objective.weighted_prices).sum(axis=1) + self.visit_costs
        norm = self.objective.shrinkage * float(smooth_root(np.square(beta)).sum())
        return self._routed(x, costs)[0] + norm

    def touching_points(self, x: Floats) -> tuple[Floats, Floats]:
        """Return where quadratic functions touch the roots: of the cost (L, A), the norm (q,)."""
        beta = x[:-3]
        eta = np.sqrt(self._path_squares(beta) + ROOT_SMOOTHING**2)
        return eta, np.sqrt(np.square(beta) + ROOT_SMOOTHING**2)

    def model_and_gradient(self, x: Floats, eta: Floats, gamma: Floats) -> tuple[float, Floats]:
        """Return an upper bound of `value`, with quadratic functions as roots, and its gradient.

        `eta` and `gamma` are the points where the functions touch the roots.
        """
        on, beta = self.objective, x[:-3]
        smoothing = ROOT_SMOOTHING
        bounds = 0.5 * ((self._path_squares(beta) + smoothing**2) / eta + eta) - smoothing
        costs = (bounds * on.weighted_prices).sum(axis=1) + self.visit_costs
        value, gradient, shares = self._routed(x, costs)
        curvature = on.terms.term_sums @ (shares @ (on.weighted_prices / eta))
        norm = 0.5 * ((np.square(beta) + smoothing**2) / gamma + gamma) - smoothing
        gradient[:-3] += (curvature + on.shrinkage / gamma) * beta
        return value + on.shrinkage * float(norm.sum()), gradient

    def scales(self, x: Floats) -> Floats:
        """Return approximate inverse roots of the second derivatives, which scale L-BFGS."""
        on = self.objective
        eta, gamma = self.touching_points(x)
        reached = on.weight * self.reach
        shares = np.concatenate([branch.p_exit.T @ reached for branch in (self.left, self.right)])
        penalty_curvature = on.terms.term_sums @ (0.5 * shares @ (on.weighted_prices / eta))
        loss_weight = on.loss_weight * self.reach
        curvature = on.loss.curvature * (loss_weight @ np.square(on.Z)) + (
            penalty_curvature + on.shrinkage / gamma
        )
        rest = max(float(loss_weight.sum()), MIN_CURVATURE)
        curvature = np.append(np.maximum(curvature, MIN_CURVATURE), [rest, rest, rest])
        return np.asarray(1.0 / np.sqrt(curvature))

    def _path_squares(self, beta: Floats) -> Floats:
        """Sum the squared weights of each term over the path to each exit, (L, A)."""
        return np.asarray(self.other_squares + self.objective.terms.input_sums @ np.square(beta))

    def _routed(self, x: Floats, costs: Floats) -> tuple[float, Floats, Floats]:
        """Return loss and cost of the rows that reach the node, given the costs (L,) of the exits.

        Also returns the gradient with the costs fixed, and the share of the rows at each exit.
        """
        on = self.objective
        beta, bias, threshold, slope = x[:-3], x[-3], x[-2], np.exp(x[-1])
        values = on.Z @ beta
        p_right = expit(slope * (values - threshold))
        own_loss = on.loss_weight * on.loss.value(values + bias, on.y)
        loss_gradient = on.loss_weight * on.loss.derivatives(values + bias, on.y)[0]
        n_left = len(self.left.exits)
        if_left = self._expected(self.left, costs[:n_left], own_loss)
        gap = self._expected(self.right, costs[n_left:], own_loss) - if_left
        counted: Floats | float = 1.0
        if on.at_exit:
            counted = self.left.is_exit * (1.0 - p_right) + self.right.is_exit * p_right
        value = float(self.reach @ ((0.0 if on.at_exit else own_loss) + if_left + p_right * gap))
        # Derivatives with respect to the routing margin and to the output.
        by_margin = self.reach * p_right * (1.0 - p_right) * gap
        by_output = self.reach * counted * loss_gradient
        gradient = np.empty_like(x)
        gradient[:-3] = on.Z.T @ (by_output + slope * by_margin)
        gradient[-3] = by_output.sum() + on.loss.bias_ridge * bias
        gradient[-2] = -slope * by_margin.sum()
        gradient[-1] = slope * float(by_margin @ (values - threshold))
        reached = on.weight * self.reach
        shares = np.concatenate(
            [
                self.left.p_exit.T @ (reached * (1.0 - p_right)),
                self.right.p_exit.T @ (reached * p_right),
            ]
        )
        return value + 0.5 * on.loss.bias_ridge * bias**2, gradient, shares

    def _expected(self, branch: Branch, costs: Floats, own_loss: Floats) -> Floats:
        """Return the expected loss and cost of each row if it goes to a branch, (n,)."""
        expected = branch.loss + self.objective.weight * (branch.p_exit @ costs)
        return expected + own_loss if branch.is_exit and self.objective.at_exit else expected


def solve_split(problem: SplitProblem, x: Floats) -> Floats:
    """Improve the parameters x of a node; return those of the least objective that was found."""
    best = problem.value(x)
    for _ in range(MAX_ROUNDS):
        eta, gamma = problem.touching_points(x)
        scale = problem.scales(x)

        def scaled(
            u: Floats, scale: Floats = scale, eta: Floats = eta, gamma: Floats = gamma
        ) -> tuple[float, Floats]:
            value, gradient = problem.model_and_gradient(u * scale, eta, gamma)
            return value, gradient * scale

        bounds = [(None, None)] * (len(x) - 1)
        bounds += [(np.log(MIN_SLOPE) / scale[-1], np.log(MAX_SLOPE) / scale[-1])]
        found = minimize(
            scaled, x / scale, jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": LBFGS_STEPS},
        )  # fmt: skip
        candidate = np.asarray(found.x * scale)
        value = problem.value(candidate)
        if not value < best:
            break
        x, best = candidate, value
    return x
