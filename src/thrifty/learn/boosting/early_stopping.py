"""Early stopping: following a growing ensemble on validation rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.validation_tracker import HeldOut
from thrifty.model import Forest

__all__ = ["Watch", "boost"]

PATIENCE = 20
ROUNDS_A_LOOK = 10


class Watch:
    """Validation loss after every round.

    Parameters
    ----------
    held_out : HeldOut
        The validation rows.
    patience : int
        Rounds without a smaller loss after which it is tired.
    """

    def __init__(self, held_out: HeldOut, patience: int = PATIENCE) -> None:
        self.X, self.loss, self.patience = held_out.X, held_out.loss, patience
        self.losses: list[float] = []
        self.best_raw = np.empty((0, len(held_out.X)))
        self._raw: NDArray[np.float64] | None = None

    def look(self, forest: Forest) -> None:
        """Catch up with the rounds that `forest` has gained."""
        if self._raw is None:
            self._raw = np.repeat(forest.base[:, np.newaxis], len(self.X), axis=1)
            self._note(self._raw)
        k = self.loss.outputs
        first = (len(self.losses) - 1) * k
        leaves = forest.leaves(self.X, first)
        for tree, leaf in enumerate(leaves, start=first):
            self._raw[forest.outputs[tree]] += forest.values[leaf, 0]
            if (tree + 1) % k == 0:
                self._note(self._raw)

    def _note(self, raw: NDArray[np.float64]) -> None:
        """Keep the loss, and the outputs (k, n) where it is the least."""
        self.losses.append(self.loss.value(raw))
        if self.best == len(self.losses) - 1:
            self.best_raw = raw.copy()

    @property
    def best(self) -> int:
        """Number of rounds with the least validation loss; 0 is the constant."""
        return int(np.argmin(self.losses))

    @property
    def tired(self) -> bool:
        """Whether the loss has not fallen for a long time."""
        return len(self.losses) - 1 - self.best >= self.patience


def boost(boosting: Boosting, rounds: int, watch: Watch | None) -> Forest:
    """Run up to `rounds` rounds; with a watch, stop when it is tired and keep the best."""
    if watch is None:
        boosting.boost(rounds)
        return boosting.freeze()
    for done in range(0, rounds, ROUNDS_A_LOOK):
        going_on = boosting.boost(min(ROUNDS_A_LOOK, rounds - done))
        watch.look(boosting.freeze())
        if watch.tired or not going_on:
            break
    return boosting.freeze().prefix(watch.best * boosting.loss.outputs)
