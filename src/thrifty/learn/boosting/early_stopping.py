"""Early stopping: boost until the validation loss has stopped improving."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.losses import Loss
from thrifty.model import Forest

__all__ = ["PATIENCE", "ValidationMonitor", "boost"]

# Stop after this many rounds without improvement.
PATIENCE = 20
# Score the validation rows once for this many rounds: trees are applied together.
ROUNDS_PER_UPDATE = 10


class ValidationMonitor:
    """Track the validation loss of a growing ensemble, round by round.

    Parameters
    ----------
    X : array of shape (n, d)
        The encoded validation rows.
    loss : Loss
        Bound to their target.
    patience : int
        Stop after this many rounds without improvement.

    Attributes
    ----------
    losses : list of float
        Validation loss after 0, 1, 2, ... rounds.
    best_raw : array of shape (k, n)
        Outputs after the best round.
    """

    def __init__(self, X: NDArray[np.floating], loss: Loss, patience: int = PATIENCE) -> None:
        self.X, self.loss, self.patience = X, loss, patience
        self.losses: list[float] = []
        self.best_raw = np.empty((0, len(X)))
        self._raw: NDArray[np.float64] | None = None

    def update(self, forest: Forest) -> None:
        """Score the rounds that `forest` has gained since the last call."""
        if self._raw is None:
            self._raw = np.repeat(forest.base[:, np.newaxis], len(self.X), axis=1)
            self._record(self._raw)
        k = self.loss.outputs
        first = (len(self.losses) - 1) * k
        for tree, leaf in enumerate(forest.leaves(self.X, first), start=first):
            self._raw[forest.outputs[tree]] += forest.values[leaf, 0]
            if (tree + 1) % k == 0:
                self._record(self._raw)

    @property
    def best_round(self) -> int:
        """Number of rounds with the least validation loss; 0 is the constant."""
        return int(np.argmin(self.losses))

    @property
    def should_stop(self) -> bool:
        """Whether the loss has not improved for `patience` rounds."""
        return len(self.losses) - 1 - self.best_round >= self.patience

    def _record(self, raw: NDArray[np.float64]) -> None:
        """Append the loss of the outputs `raw` (k, n); keep a copy if it is the least so far."""
        self.losses.append(self.loss.value(raw))
        if self.best_round == len(self.losses) - 1:
            self.best_raw = raw.copy()


def boost(boosting: Boosting, rounds: int, monitor: ValidationMonitor | None = None) -> Forest:
    """Run up to `rounds` rounds; with a monitor, stop early and keep the best round."""
    if monitor is None:
        boosting.boost(rounds)
        return boosting.freeze()
    for done in range(0, rounds, ROUNDS_PER_UPDATE):
        can_go_on = boosting.boost(min(ROUNDS_PER_UPDATE, rounds - done))
        monitor.update(boosting.freeze())
        if monitor.should_stop or not can_go_on:
            break
    return boosting.freeze().prefix(monitor.best_round * boosting.loss.outputs)
