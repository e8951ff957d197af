"""A node that sends rows on: its weights change the loss here and the traffic everywhere below.

What lies below is fixed while this node moves, so it enters as two numbers for each row: what it
comes to on the left and on the right (Xu 2014, eq. 3.18, 3.19). The roots of the cost are replaced by
parabolas (Lemma 1), what remains goes to L-BFGS with exact gradients, and so on in turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from thrifty.learn.cost_tree.cost_terms import ROUND, smooth_root
from thrifty.learn.cost_tree.objective import SoftObjective
from thrifty.learn.cost_tree.soft_tree import SoftTree

__all__ = ["Side", "SplitProblem", "solve_split"]

Floats = NDArray[np.float64]

TURNS = 2
STEPS = 15
# Slopes of the sigmoid; where this steep, all but a few rows are sent one way.
FLATTEST, STEEPEST = 0.05, 50.0


@dataclass(frozen=True, eq=False)
class Side:
    """What waits on one side of a node.

    Parameters
    ----------
    loss : array (n,)
        Expected weighted loss of a row that goes this way; 0 at an exit.
    leaving : array (n, L)
        Probability of each exit of this side, for a row that goes this way.
    exits : int array (L,)
        Numbers of these exits in the tree.
    is_exit : bool
        Whether the node itself answers here.
    """

    loss: Floats
    leaving: Floats
    exits: NDArray[np.intp]
    is_exit: bool


@dataclass(frozen=True, eq=False)
class SplitProblem:
    """The part of the objective that depends on one node.

    Parameters are one vector: weights (q,), bias, threshold, logarithm of the slope.
    """

    objective: SoftObjective
    reach: Floats
    left: Side
    right: Side
    paid: Floats
    """Squared weights of each term of the other nodes on the way to each exit, (L, A)."""
    lengths: Floats
    """Penalty times the price of the visits on the way to each exit, (L,)."""

    @classmethod
    def of(
        cls, objective: SoftObjective, linear: Floats, tree: SoftTree, node: int
    ) -> SplitProblem:
        """The problem of a node, the others as they are; `linear` are their values (n, N)."""
        rightness = tree.rightness(linear)
        reach = tree.coming(linear, node)
        left = _side(objective, tree, linear, rightness, node, int(tree.shape.left[node]))
        right = _side(objective, tree, linear, rightness, node, int(tree.shape.right[node]))
        exits = np.concatenate([left.exits, right.exits])
        own = objective.terms.squares(np.square(tree.weights[[node]]))
        paid = np.maximum(objective.path_squares(tree)[exits] - own, 0.0)
        lengths = objective.toll * tree.shape.paths[exits].sum(axis=1)
        return cls(objective, reach, left, right, paid, lengths)

    def exact(self, x: Floats) -> float:
        """The objective's part with its roots."""
        beta = x[:-3]
        squares = self._squares(beta)
        costs = (smooth_root(squares) * self.objective.tolls).sum(axis=1) + self.lengths
        norm = self.objective.shrinkage * float(smooth_root(np.square(beta)).sum())
        return self._traffic(x, costs)[0] + norm

    def roots(self, x: Floats) -> tuple[Floats, Floats]:
        """Where the parabolas touch: of each exit's terms, and of the norm."""
        beta = x[:-3]
        eta = np.sqrt(self._squares(beta) + ROUND**2)
        return eta, np.sqrt(np.square(beta) + ROUND**2)

    def value_and_slope(self, x: Floats, eta: Floats, gamma: Floats) -> tuple[float, Floats]:
        """The part with parabolas in place of roots, and its gradient."""
        on, beta = self.objective, x[:-3]
        lifted = 0.5 * ((self._squares(beta) + ROUND**2) / eta + eta) - ROUND
        costs = (lifted * on.tolls).sum(axis=1) + self.lengths
        value, slope, share = self._traffic(x, costs)
        stiff = on.terms.terms_of @ (share @ (on.tolls / eta)) + on.shrinkage / gamma
        norm = 0.5 * ((np.square(beta) + ROUND**2) / gamma + gamma) - ROUND
        slope[:-3] += stiff * beta
        return value + on.shrinkage * float(norm.sum()), slope

    def scales(self, x: Floats) -> Floats:
        """Inverse roots of the curvature by each parameter, about."""
        on = self.objective
        eta, gamma = self.roots(x)
        share = np.concatenate([side.leaving.T @ (on.weight * self.reach) for side in self.sides])
        stiff = on.terms.terms_of @ (0.5 * share @ (on.tolls / eta)) + on.shrinkage / gamma
        mass = on.loss_weight * self.reach
        curve = on.loss.curvature * (mass @ np.square(on.Z)) + stiff
        rest = max(float(mass.sum()), 1e-8)
        return np.asarray(1.0 / np.sqrt(np.append(np.maximum(curve, 1e-8), [rest, rest, rest])))

    @property
    def sides(self) -> tuple[Side, Side]:
        """Left and right."""
        return self.left, self.right

    def _squares(self, beta: Floats) -> Floats:
        return np.asarray(self.paid + self.objective.terms.members @ np.square(beta))

    def _traffic(self, x: Floats, costs: Floats) -> tuple[float, Floats, Floats]:
        """Loss and cost of the rows that come here, their gradient, and the share of each exit."""
        on = self.objective
        beta, bias, threshold, slope = x[:-3], x[-3], x[-2], np.exp(x[-1])
        linear = on.Z @ beta
        right = expit(slope * (linear - threshold))
        first = len(self.left.exits)
        own = on.loss_weight * on.loss.value(linear + bias, on.y)
        pull = on.loss_weight * on.loss.slopes(linear + bias, on.y)[0]
        there = self._beyond(self.left, costs[:first], own)
        gap = self._beyond(self.right, costs[first:], own) - there
        counts = self._counts(right)
        value = float(self.reach @ ((0.0 if on.at_exit else own) + there + right * gap))
        turn = self.reach * right * (1.0 - right) * gap
        pulled = self.reach * counts * pull
        gradient = np.empty_like(x)
        gradient[:-3] = on.Z.T @ (pulled + slope * turn)
        gradient[-3] = pulled.sum() + on.loss.hold * bias
        gradient[-2] = -slope * turn.sum()
        gradient[-1] = slope * float(turn @ (linear - threshold))
        went = on.weight * self.reach
        share = np.concatenate(
            [self.left.leaving.T @ (went * (1.0 - right)), self.right.leaving.T @ (went * right)]
        )
        return value + 0.5 * on.loss.hold * bias**2, gradient, share

    def _beyond(self, side: Side, costs: Floats, own: Floats) -> Floats:
        """What a row comes to that goes this way."""
        found = side.loss + self.objective.weight * (side.leaving @ costs)
        return found + own if side.is_exit and self.objective.at_exit else found

    def _counts(self, right: Floats) -> Floats | float:
        """How much of the own loss of a row that comes here counts."""
        if not self.objective.at_exit:
            return 1.0
        return np.asarray(self.left.is_exit * (1.0 - right) + self.right.is_exit * right)


def solve_split(problem: SplitProblem, x: Floats) -> Floats:
    """Parameters from a start, not worse than the start."""
    best = problem.exact(x)
    for _ in range(TURNS):
        eta, gamma = problem.roots(x)
        scale = problem.scales(x)
        found = _descend(problem, x, eta, gamma, scale)
        value = problem.exact(found)
        if not value < best:
            break
        x, best = found, value
    return x


def _descend(problem: SplitProblem, x: Floats, eta: Floats, gamma: Floats, scale: Floats) -> Floats:
    def scaled(u: Floats) -> tuple[float, Floats]:
        value, slope = problem.value_and_slope(u * scale, eta, gamma)
        return value, slope * scale

    bounds = [(None, None)] * (len(x) - 1)
    bounds += [(np.log(FLATTEST) / scale[-1], np.log(STEEPEST) / scale[-1])]
    found = minimize(
        scaled, x / scale, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS}
    )
    return np.asarray(found.x * scale)


def _side(
    objective: SoftObjective,
    tree: SoftTree,
    linear: Floats,
    rightness: Floats,
    node: int,
    child: int,
) -> Side:
    exits = tree.shape.exits
    if child < 0:
        own = np.array([[found.node for found in exits].index(node)])
        return Side(np.zeros(len(linear)), np.ones((len(linear), 1)), own, True)
    reach = tree.reach(rightness, child)
    leaving = tree.leaving(reach, rightness)
    below = tree.shape.below(child)
    counted = objective.counted(tree, reach, leaving)[:, below]
    losses = objective.loss.value(linear[:, below] + tree.bias[below], objective.y[:, np.newaxis])
    numbers = np.array([k for k, found in enumerate(exits) if found.node in set(below)])
    loss = objective.loss_weight * (counted * losses).sum(axis=1)
    return Side(loss, leaving[:, numbers], numbers, False)
