"""What a soft tree minimizes: expected loss, l1 norm and expected relaxed cost.

Trees weigh the loss of a node by the probability of coming to it (Xu 2014, eq. 3.13, 3.24), cascades by
that of exiting there (eq. 3.21, 3.25). Weights of rows add up to one; weights of classes count in
the loss and not in the cost.

Losses of one linear output: value and two derivatives for each row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.cost_terms import CostTerms, smooth_root
from thrifty.learn.cost_tree.soft_tree import SoftTree

__all__ = ["HalfSquare", "Logistic", "NodeLoss", "SoftObjective"]

Floats = NDArray[np.float64]


class NodeLoss(ABC):
    """A loss of outputs (n,) or (n, N) on targets that go with their rows."""

    link: ClassVar[str]
    steps: ClassVar[int]
    """Newton steps that a leaf takes at a time; one where the loss is a parabola."""
    curvature: ClassVar[float]
    """Largest second derivative."""
    hold: ClassVar[float]
    """Ridge on the bias: keeps a node finite that has no rows, or rows of one class."""

    @abstractmethod
    def value(self, f: Floats, y: Floats) -> Floats:
        """Loss of each row."""

    @abstractmethod
    def slopes(self, f: Floats, y: Floats) -> tuple[Floats, Floats]:
        """First and second derivative by the output."""


class HalfSquare(NodeLoss):
    """Half the squared error; for two classes, of targets -1 and 1."""

    steps = 1
    curvature = 1.0
    hold = 1e-9

    def __init__(self, link: str) -> None:
        self.link = link  # type: ignore[misc]

    def value(self, f: Floats, y: Floats) -> Floats:
        """Half the square."""
        return np.asarray(0.5 * np.square(f - y))

    def slopes(self, f: Floats, y: Floats) -> tuple[Floats, Floats]:
        """The error, and one."""
        return f - y, np.ones_like(f)


class Logistic(NodeLoss):
    """Log-loss of targets -1 and 1."""

    link = "sigmoid"
    steps = 4
    curvature = 0.25
    hold = 1e-4

    def value(self, f: Floats, y: Floats) -> Floats:
        """The negative logarithm of the probability of the target."""
        return np.asarray(np.logaddexp(0.0, -y * f))

    def slopes(self, f: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Minus target times the probability of the other class, and its variance."""
        small = np.exp(-np.abs(f))
        other = np.where(y * f >= 0, small, 1.0) / (1.0 + small)
        return -y * other, small / np.square(1.0 + small)


@dataclass(frozen=True, eq=False)
class SoftObjective:
    """The objective on given rows.

    Parameters
    ----------
    Z : array (n, q)
        Inputs, each of about unit scale.
    y : array (n,)
        Targets as the loss wants them.
    weight : array (n,)
        Weights of the rows in the cost; they sum to one.
    loss_weight : array (n,)
        Weights of the rows in the loss: those of the rows times those of their classes.
    loss : NodeLoss
    terms : CostTerms
    penalty : float
        Lambda.
    shrinkage : float
        Rho.
    at_exit : bool
        Whether a node's loss counts for the rows that exit there only.
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

    def at(self, penalty: float) -> SoftObjective:
        """The same with another penalty."""
        return replace(self, penalty=penalty)

    def part(self, rows: NDArray[np.intp]) -> SoftObjective:
        """The part that some rows have in it."""
        return replace(
            self, Z=self.Z[rows], y=self.y[rows], weight=self.weight[rows],
            loss_weight=self.loss_weight[rows],
        )  # fmt: skip

    @property
    def tolls(self) -> Floats:
        """Penalty times price of each term."""
        # This product and no other: doubled prices at half the penalty then give the same bits.
        return self.penalty * self.terms.prices

    @property
    def toll(self) -> float:
        """Penalty times price of coming to a node."""
        return self.penalty * self.terms.visit

    def linear(self, tree: SoftTree) -> Floats:
        """Values (n, N) of all nodes, before the bias."""
        return np.asarray(self.Z @ tree.weights.T)

    def value(self, tree: SoftTree) -> float:
        """The objective of a tree."""
        linear = self.linear(tree)
        rightness = tree.rightness(linear)
        reach = tree.reach(rightness)
        leaving = tree.leaving(reach, rightness)
        counted = self.counted(tree, reach, leaving)
        losses = self.loss.value(linear + tree.bias, self.y[:, np.newaxis])
        loss = float(self.loss_weight @ (counted * losses).sum(axis=1))
        cost = float((self.weight @ leaving) @ self.path_costs(tree))
        return loss + self.ridge(tree) + cost

    def counted(self, tree: SoftTree, reach: Floats, leaving: Floats) -> Floats:
        """How much of each row's loss at each node counts, (n, N)."""
        if not self.at_exit:
            return reach
        counted = np.zeros_like(reach)
        for number, found in enumerate(tree.shape.exits):
            counted[:, found.node] = leaving[:, number]
        return counted

    def ridge(self, tree: SoftTree) -> float:
        """The l1 norm, and what holds the bias."""
        norm = self.shrinkage * float(smooth_root(np.square(tree.weights)).sum())
        return norm + 0.5 * self.loss.hold * float(np.square(tree.bias).sum())

    def path_costs(self, tree: SoftTree) -> Floats:
        """Penalty times relaxed cost of the way to each exit, (L,)."""
        squares = self.path_squares(tree)
        lengths = tree.shape.paths.sum(axis=1)
        return np.asarray((smooth_root(squares) * self.tolls).sum(axis=1) + self.toll * lengths)

    def path_squares(self, tree: SoftTree) -> Floats:
        """Sum of squared weights of each term on the way to each exit, (L, A)."""
        nodes = self.terms.squares(np.square(tree.weights))
        return np.asarray(tree.shape.paths.astype(float) @ nodes)
