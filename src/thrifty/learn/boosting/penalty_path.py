"""Boost along a path of penalties: one run with decreasing penalties, one with a fixed penalty.

Trees grown at a larger penalty are kept when the penalty decreases, so the purchases are nested
and every prefix of the one ensemble is a candidate. A level is a penalty and the rounds spent at
it. Bills are compared on a logarithmic scale: a level that raises the mean bill from a to b gets
rounds in proportion to (b - a) / b, against log(full price / b) for everything not bought yet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from thrifty.learn.boosting.early_stopping import PATIENCE
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.validation_tracker import ValidationTracker

__all__ = ["PenaltyPath"]

# The next penalty as a share of the largest at which a split of all rows would be bought.
STEP = 0.9
# A level has few rounds: while the penalty decreases, the learning rate is larger by this factor,
# and there are as many times fewer rounds.
RATE_FACTOR = 2.0
# The penalty does not decrease below this share of the first one.
SMALLEST_PENALTY = 1e-4
# With a mean bill of this share of the full price, everything counts as bought.
EVERYTHING = 0.99


class PenaltyPath:
    """An ensemble that grows at one penalty after another.

    Parameters
    ----------
    boosting : Boosting
        The ensemble; nothing has been grown yet.
    tracker : ValidationTracker
        Follows the ensemble on the validation set and keeps the checkpoints.
    rounds : int
        Largest number of rounds.
    """

    def __init__(self, boosting: Boosting, tracker: ValidationTracker, rounds: int) -> None:
        self.boosting, self.tracker, self.rounds = boosting, tracker, rounds

    def decrease(self, penalties: Iterable[float] | None = None) -> None:
        """Boost at decreasing penalties; without any, at those where the next tree buys something.

        Changes the learning rate of the ensemble.
        """
        self.boosting.learning_rate *= RATE_FACTOR
        rounds_left = math.ceil(self.rounds / RATE_FACTOR)
        for penalty in self._buying_penalties() if penalties is None else penalties:
            rounds_left -= self._level(penalty, rounds_left)
            if rounds_left == 0:
                break

    def hold(self, penalty: float) -> None:
        """Boost at one penalty until the validation loss has stopped improving."""
        for _ in range(self.rounds):
            if not self._round(penalty):
                break
            losses = self.tracker.losses
            if len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE:
                break

    def _buying_penalties(self) -> Iterator[float]:
        """Yield decreasing penalties, each computed from the ensemble as it is when it is needed.

        Each is `STEP` times the largest at which a split of all rows on something unpaid would pay.
        Ends when nearly everything is bought, or the penalty is negligible.
        """
        full = self.tracker.prices.full
        penalty = first = STEP * self._critical_penalty()
        while penalty > SMALLEST_PENALTY * first and self.tracker.mean_price < EVERYTHING * full:
            yield penalty
            penalty = STEP * min(penalty, self._critical_penalty())

    def _level(self, penalty: float, rounds_left: int) -> int:
        """Boost at one penalty until the level has had its rounds; return how many were spent."""
        before, full = self.tracker.mean_price, self.tracker.prices.full
        for done in range(1, rounds_left + 1):
            if not self._round(penalty):
                return done
            price = self.tracker.mean_price
            if price <= before or price >= EVERYTHING * full:
                return done
            share = 1.0 - before / price
            if done >= rounds_left * share / (share + np.log(full / price)):
                return done
        return rounds_left

    def _round(self, penalty: float) -> bool:
        """Add one tree to each output; return False if no tree finds a split worth its price."""
        if not self.tracker.losses:
            self.tracker.record(penalty, 0)
        self.boosting.head.penalty = penalty
        if not self.boosting.boost(1):
            return False
        self.tracker.record(penalty, self.boosting.n_trees)
        return True

    def _critical_penalty(self) -> float:
        """Return the largest penalty at which a split of all rows on something unpaid would pay.

        Overwrites the arrays of the grower's last tree.
        """
        prices = self.boosting.head.total_due()
        unpaid = prices > 0
        largest = 0.0
        for gains in self.boosting.gains():
            gain_per_price = gains[unpaid] / (2.0 * prices[unpaid])
            largest = max(largest, float(gain_per_price.max(initial=0.0)))
        return largest
