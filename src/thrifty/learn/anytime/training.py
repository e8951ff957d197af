"""The outer loop of AFR (Xu 2014, algorithm 4), and the checkpoints that become its stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.anytime.representation import Representation, RowSplit
from thrifty.learn.anytime.trees import DimensionTrees
from thrifty.learn.boosting.grower import Grower

__all__ = ["Checkpoint", "Checkpoints", "penalty_schedule", "train_representations"]

Floats = NDArray[np.float64]

# The penalty is halved this many times, in four steps each, and is 0 in the end. Smaller steps are
# better: of two features that are both worth their price at the next penalty, the one with the
# larger gain is bought, not the one with the larger gain per price. Every class takes every step,
# so that many classes have to make do with two.
HALVINGS = 13
STEPS_PER_HALVING, STEPS_OF_MANY, MANY_CLASSES = 4, 2, 20
# The first penalty, as a share of the largest at which a first split is worth its price.
FIRST_PENALTY_SHARE = 0.75


def penalty_schedule(
    grower: Grower, split: RowSplit, codes: Sequence[int], first: float | None
) -> list[float]:
    """Return the decreasing penalties (lambda, line 15); the last one is 0.

    Parameters
    ----------
    grower : Grower
        Has bought nothing yet; nothing is bought here.
    split : RowSplit
    codes : sequence of int
        Codes of the classes that have a representation.
    first : float or None
        The first penalty. By default 0.75 times the largest at which a split is worth its price.
    """
    if first is None:
        prices = grower.purchases.total_due(grower.weight)
        priced = prices > 0
        largest = 0.0
        for code in codes:
            sign = np.where(split.rows.y[split.growing] == code, 1.0, -1.0)
            mean = np.average(sign, weights=split.rows.weights[split.growing])
            gain_per_price = grower.gains(sign - mean)[priced] / (2.0 * prices[priced])
            largest = max(largest, float(gain_per_price.max(initial=0.0)))
        first = FIRST_PENALTY_SHARE * largest
    if first <= 0:
        return [0.0]
    per_halving = STEPS_PER_HALVING if len(codes) < MANY_CLASSES else STEPS_OF_MANY
    steps = range(per_halving * HALVINGS + 1)
    return [*(first / 2.0 ** (k / per_halving) for k in steps), 0.0]


def train_representations(
    trees: DimensionTrees,
    representations: Sequence[Representation],
    penalties: Sequence[float],
    max_dimensions: int,
    max_trees: int,
) -> list[Checkpoint]:
    """Run algorithm 4: at each penalty, add dimensions to every representation and refine them.

    Modifies the trees and the representations.

    Parameters
    ----------
    trees : DimensionTrees
    representations : sequence of Representation
        One for each class, or one for two classes; they share `trees`.
    penalties : sequence of float
        Decreasing (lambda).
    max_dimensions : int
        Dimensions that each representation may gain at each penalty (S).
    max_trees : int
        Trees that may be added to each new dimension (T).

    Returns
    -------
    list of Checkpoint
        The first has bought nothing. Each has bought more, and has a smaller early stopping loss,
        than the one before.
    """
    checkpoints = Checkpoints(trees, representations)
    checkpoints.save()
    for penalty in penalties:
        trees.set_penalty(penalty)
        count = trees.count
        for representation in representations:
            first = representation.n_dimensions
            for _ in representation.add_dimensions(max_dimensions):
                checkpoints.save()
            checkpoints.drop_undone()
            for dimension in range(first, representation.n_dimensions):
                for _ in representation.refine(dimension, max_trees):
                    checkpoints.save()
        if trees.count == count and not trees.purchases.due().any():
            break  # everything is bought, so a smaller penalty would change nothing
    return checkpoints.improvements()


class Checkpoint(NamedTuple):
    """The model at one time of the training."""

    trees: int
    """Number of trees so far; later trees do not belong to it."""

    betas: tuple[Floats, ...]
    """Bias and weights of each SVM."""

    outputs: tuple[Floats, ...]
    """Decision values of each SVM for the early stopping rows."""

    bought: NDArray[np.uint8]
    """(d,): 1 for each feature that was bought."""

    loss: float
    """Early stopping loss, summed over the SVMs."""


class Checkpoints:
    """The best checkpoint of each set of bought features, in the order of purchase."""

    def __init__(self, trees: DimensionTrees, representations: Sequence[Representation]) -> None:
        self.trees, self.representations = trees, representations
        self.saved: list[Checkpoint] = []

    def save(self) -> None:
        """Save the present state if it is the first, or the best, with these features."""
        loss = sum(representation.loss for representation in self.representations)
        trees, bought = self.trees.checkpoint()
        if self.saved and np.array_equal(self.saved[-1].bought, bought):
            if self.saved[-1].loss <= loss:
                return
            self.saved.pop()
        betas = tuple(representation.svm.beta for representation in self.representations)
        outputs = tuple(representation.stopping_outputs for representation in self.representations)
        self.saved.append(Checkpoint(trees, betas, outputs, bought, loss))

    def drop_undone(self) -> None:
        """Drop checkpoints with trees that have been undone, and save the present state."""
        while self.saved and self.saved[-1].trees > self.trees.count:
            self.saved.pop()
        self.save()

    def improvements(self) -> list[Checkpoint]:
        """Return the first checkpoint, and each with a smaller loss than all before it."""
        kept = self.saved[:1]
        for checkpoint in self.saved[1:]:
            if checkpoint.loss < kept[-1].loss:
                kept.append(checkpoint)
        return kept
