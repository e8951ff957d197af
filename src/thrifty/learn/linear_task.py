"""One target learnt by a tree of linear models, at one penalty or at many.

The relaxed cost of a weight below 1 is less than its price, so a soft tree learnt at the penalty
itself may not be thrifty enough to start from, and the objective has many valleys. So it is learnt
at multiples of the penalty too, and of the hard trees that come of these the one with the least
exact objective is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.answers import polish
from thrifty.learn.hard_tree import HardTree
from thrifty.learn.hardening import harden
from thrifty.learn.linear_inputs import Inputs, Scale
from thrifty.learn.soft_descent import initial_tree, sweeps
from thrifty.learn.soft_objective import SoftObjective
from thrifty.learn.soft_tree import Shape, SoftTree
from thrifty.model import Frozen

__all__ = ["LinearTask"]

Floats = NDArray[np.float64]

# Multiples of the penalty that soft trees are learnt at; one that was learnt at about the same
# penalty before will do.
STRENGTHS = (10.0, 3.0, 1.0)
ABOUT = 0.7
# Sweeps at those above 1: the next one goes on from there.
FEW = 3


@dataclass(frozen=True, eq=False)
class LinearTask:
    """What one tree is learnt from.

    Parameters
    ----------
    inputs : Inputs
    objective : SoftObjective
        On the rows to learn from, at any penalty.
    held_out : SoftObjective or None
        On the rows that say which branches are cut.
    shape : Shape
        The tree before it is cut.
    max_sweeps : int
    scale : Scale
        The penalty is in units of the model's loss, the objective's in those of the learner.
    constant : Frozen
        The model that reads nothing.
    """

    inputs: Inputs
    objective: SoftObjective
    held_out: SoftObjective | None
    shape: Shape
    max_sweeps: int
    scale: Scale
    constant: Frozen

    def models(self, penalties: Sequence[float]) -> Iterator[Frozen]:
        """Models at falling penalties, each from what was learnt at the one before."""
        if not self.objective.Z.shape[1]:  # no split of the table paid, so there are no trees
            yield from [self.constant] * len(penalties)
            return
        soft: list[SoftTree] = []
        last = np.inf
        for penalty in penalties:
            on = self.objective.at(penalty / self.scale.factor**2)
            for strength in STRENGTHS if penalty > 0 else STRENGTHS[-1:]:
                if strength * on.penalty < ABOUT * last:
                    last = strength * on.penalty
                    limit = self.max_sweeps if strength == 1.0 else min(FEW, self.max_sweeps)
                    soft.append(self._learn(on.at(last), soft[-1] if soft else None, limit))
            judge = on if self.held_out is None else self.held_out.at(on.penalty)
            trees = [self._hard(on, tree) for tree in soft[-len(STRENGTHS) :]]
            best = min(trees, key=lambda tree: tree.value(judge))
            polish(on, best)
            yield self._freeze(best)

    @property
    def dearest(self) -> float:
        """The largest penalty at which a single input pays, by the parabola of the loss."""
        on = self.objective
        prices = np.array([self._price(j) for j in range(on.Z.shape[1])])
        mean = np.average(on.y, weights=on.loss_weight)
        slope = on.Z.T @ (on.loss_weight * (on.y - mean))
        spread = on.loss_weight @ np.square(on.Z - on.loss_weight @ on.Z / on.loss_weight.sum())
        gain = 0.5 * np.square(slope) / np.maximum(spread, np.finfo(float).tiny)
        worth = np.divide(gain, prices, out=np.zeros_like(gain), where=prices > 0)
        return float(worth.max(initial=0.0)) * self.scale.factor**2

    def _price(self, j: int) -> float:
        terms = self.objective.terms
        return float(terms.prices @ terms.members[:, [j]].toarray()[:, 0])

    def _learn(self, objective: SoftObjective, warm: SoftTree | None, limit: int) -> SoftTree:
        """From the top down, or from a tree of another penalty if that is ahead."""
        tree = initial_tree(objective, self.shape)
        if warm is not None and objective.value(warm) < objective.value(tree):
            tree = warm.copy()
        sweeps(objective, tree, limit)
        return tree

    def _hard(self, objective: SoftObjective, tree: SoftTree) -> HardTree:
        held_out = None if self.held_out is None else self.held_out.at(objective.penalty)
        return harden(objective, tree, held_out)

    def _freeze(self, tree: HardTree) -> Frozen:
        if len(tree.shape) == 1 and not tree.uses.any():
            return self.constant
        return self.inputs.freeze(tree, self.objective.loss.link, self.scale)
