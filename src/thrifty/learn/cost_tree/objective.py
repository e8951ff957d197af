"""The objective of a soft tree: expected loss, l1 norm and expected relaxed cost.

In a tree the loss of a node is weighted by the probability of reaching it (Xu 2014, eq. 3.13,
3.24), in a cascade by the probability of exiting there (eq. 3.21, 3.25). The weights of the rows
add up to one. Class weights multiply the loss but not the cost.

The losses take one output per row and have two derivatives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.cost_terms import CostTerms, smooth_root
from thrifty.learn.cost_tree.soft_tree import SoftTree

__all__ = ["HalfSquaredError", "LogisticLoss", "NodeLoss", "SoftObjective"]

Floats = NDArray[np.float64]


class NodeLoss(ABC):
    """A loss of outputs f, (n,) or (n, N), whose targets y broadcast with them.

    Attributes
    ----------
    link : str
        Turns outputs of the frozen tree into scores.
    newton_steps : int
        Newton steps that a leaf takes at a time; 1 if the loss is quadratic.
    curvature : float
        Upper bound of the second derivative.
    bias_ridge : float
        Ridge penalty on the bias. It keeps the bias of a node finite that has no rows, or rows of
        one class only.
    """

    link: ClassVar[str]
    newton_steps: ClassVar[int]
    curvature: ClassVar[float]
    bias_ridge: ClassVar[float]

    @abstractmethod
    def value(self, f: Floats, y: Floats) -> Floats:
        """Return the loss of each output."""

    @abstractmethod
    def derivatives(self, f: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return the first and second derivative with respect to the output."""


class HalfSquaredError(NodeLoss):
    """Half the squared error; for two classes, the targets are -1 and 1."""

    newton_steps = 1
    curvature = 1.0
    bias_ridge = 1e-9

    def __init__(self, link: str) -> None:
        self.link = link  # type: ignore[misc]

    def value(self, f: Floats, y: Floats) -> Floats:
        """Return half the square of ``f - y``."""
        return np.asarray(0.5 * np.square(f - y))

    def derivatives(self, f: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return the error, and ones."""
        return f - y, np.ones_like(f)


class LogisticLoss(NodeLoss):
    """Log-loss of targets -1 and 1."""

    link = "sigmoid"
    newton_steps = 4
    curvature = 0.25
    bias_ridge = 1e-4

    def value(self, f: Floats, y: Floats) -> Floats:
        """Return minus the logarithm of the probability of the target."""
        margin = y * f  # twice as fast as np.logaddexp
        return np.asarray(np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(margin))))

    def derivatives(self, f: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return ``-y * (1 - p)`` and ``p * (1 - p)``, where p is the target's probability."""
        small = np.exp(-np.abs(f))
        other = np.where(y * f >= 0, small, 1.0) / (1.0 + small)
        return -y * other, small / np.square(1.0 + small)


@dataclass(frozen=True, eq=False)
class SoftObjective:
    """The objective of soft trees on some rows.

    Parameters
    ----------
    Z : array of shape (n, q)
        Inputs of the rows, each of about unit scale.
    y : array of shape (n,)
        Targets as the loss expects them.
    weight : array of shape (n,)
        Weight of each row's cost; over all training rows they add up to one.
    loss_weight : array of shape (n,)
        Weight of each row's loss: `weight` times that of the row's class.
    loss : NodeLoss
    terms : CostTerms
        Prices of the inputs.
    penalty : float
        Lambda, the weight of the cost.
    shrinkage : float
        Rho, the weight of the l1 norm.
    at_exit : bool
        Whether the loss of a node counts only for the rows that exit there, as in a cascade.
    output_ridge : float
        Weight of half the squared weights when the outputs of a hard tree are fitted by log-loss.
        It keeps probabilities away from 0 and 1 in a leaf whose rows can be separated. One over
        the number of rows is the default of scikit-learn's LogisticRegression.
    """

    Z: Floats
    y: Floats
    weight: Floats
    loss_weight: Floats
    loss: NodeLoss
    terms: CostTerms
    penalty: float
    shrinkage: float
    at_exit: bool = False
    output_ridge: float = 0.0

    def at(self, penalty: float) -> SoftObjective:
        """Return the objective with another penalty."""
        return replace(self, penalty=penalty)

    def take(self, rows: NDArray[np.intp]) -> SoftObjective:
        """Return the part of the objective that comes from some rows."""
        return replace(
            self, Z=self.Z[rows], y=self.y[rows], weight=self.weight[rows],
            loss_weight=self.loss_weight[rows],
        )  # fmt: skip

    @property
    def weighted_prices(self) -> Floats:
        """Penalty times the price of each term, (A,)."""
        # Always computed by this product, so that doubled prices at half the penalty give the same
        # bits.
        return self.penalty * self.terms.prices

    @property
    def weighted_visit_price(self) -> float:
        """Penalty times the price of visiting a node."""
        return self.penalty * self.terms.visit_price

    def node_values(self, tree: SoftTree) -> Floats:
        """Return the values of all nodes before the bias is added, (n, N)."""
        return np.asarray(self.Z @ tree.weights.T)

    def value(self, tree: SoftTree) -> float:
        """Return the objective of a tree (eq. 3.13, or eq. 3.21 for a cascade)."""
        values = self.node_values(tree)
        p_right = tree.right_probability(values)
        reach = tree.reach_probability(p_right)
        p_exit = tree.exit_probability(reach, p_right)
        losses = self.loss.value(values + tree.bias, self.y[:, np.newaxis])
        shares = self.loss_shares(tree, reach, p_exit)
        loss = float(self.loss_weight @ (shares * losses).sum(axis=1))
        norm = self.shrinkage * float(smooth_root(np.square(tree.weights)).sum())
        norm += 0.5 * self.loss.bias_ridge * float(np.square(tree.bias).sum())
        relaxed = (smooth_root(self.path_squares(tree)) * self.weighted_prices).sum(axis=1)
        path_costs = relaxed + self.weighted_visit_price * tree.shape.exit_paths.sum(axis=1)
        return loss + norm + float((self.weight @ p_exit) @ path_costs)

    def loss_shares(self, tree: SoftTree, reach: Floats, p_exit: Floats) -> Floats:
        """Return the factor of each row's loss at each node, (n, N)."""
        if not self.at_exit:
            return reach
        shares = np.zeros_like(reach)
        for number, found in enumerate(tree.shape.exits):
            shares[:, found.node] = p_exit[:, number]
        return shares

    def path_squares(self, tree: SoftTree) -> Floats:
        """Sum the squared weights of each term over the path to each exit, (L, A)."""
        nodes = self.terms.sum_squares(np.square(tree.weights))
        return np.asarray(tree.shape.exit_paths.astype(float) @ nodes)
