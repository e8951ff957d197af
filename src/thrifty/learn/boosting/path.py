"""Boosting runs that are followed on validation rows: one whose penalty falls, one where it stays.

The trees grown at a larger penalty are kept when it falls, so what is bought is nested and every
prefix of the one ensemble is a candidate. A level is a penalty and the rounds that are spent on it.
Bills are compared on a logarithmic scale, so a level that takes the bill from a to b gets rounds
in proportion to (b - a) / b, next to log(full price / b) for all that is still to be bought.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from thrifty.learn.boosting.early_stopping import PATIENCE
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.validation_tracker import Followed

__all__ = ["Continuation"]

# The next penalty as a share of the largest at which a split of all rows would be bought.
STEP = 0.9
# The rounds of a level are few: while the penalty falls, steps are longer by this factor, and there
# are as many times fewer of them.
LONG_STEP = 2.0
# Below this share of the first penalty it falls no further.
SMALLEST_PENALTY = 1e-4
# A bill of this share of the full price: nothing is left to be bought.
EVERYTHING = 0.99


class Continuation:
    """An ensemble that is taken from penalty to penalty.

    Parameters
    ----------
    boosting : Boosting
        The ensemble; nothing is grown yet.
    followed : Followed
        The validation rows that follow it.
    rounds : int
        Largest number of rounds.
    """

    def __init__(self, boosting: Boosting, followed: Followed, rounds: int) -> None:
        self.boosting, self.followed, self.rounds = boosting, followed, rounds
        self.grower = boosting.grower
        self._full = followed.prices.full

    def fall(self, penalties: Iterable[float] | None = None) -> None:
        """Go through the penalties; without any, through those at which something is bought."""
        self.boosting.learning_rate *= LONG_STEP
        left = math.ceil(self.rounds / LONG_STEP)
        for penalty in self._falling() if penalties is None else penalties:
            left -= self._level(penalty, left)
            if left == 0:
                break

    def stay(self, penalty: float) -> None:
        """Boost at one penalty until the loss has not fallen for a long time."""
        for _ in range(self.rounds):
            if not self._round(penalty):
                break
            losses = self.followed.losses
            if len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE:
                break

    def _falling(self) -> Iterator[float]:
        """Penalties just below the largest at which the next tree buys something new."""
        penalty = first = STEP * self._critical()
        while penalty > SMALLEST_PENALTY * first and self.followed.spent < EVERYTHING * self._full:
            yield penalty
            penalty = STEP * min(penalty, self._critical())

    def _level(self, penalty: float, left: int) -> int:
        """Rounds spent at a penalty, of the `left` ones."""
        before = self.followed.spent
        for done in range(1, left + 1):
            if not self._round(penalty) or done >= self._due(before, left):
                return done
        return left

    def _due(self, before: float, left: int) -> float:
        """Rounds, of `left`, for a level that has taken the bill up from `before`."""
        spent = self.followed.spent
        if spent <= before or spent >= EVERYTHING * self._full:
            return 0.0
        share = 1.0 - before / spent
        return float(left * share / (share + np.log(self._full / spent)))

    def _round(self, penalty: float) -> bool:
        if not self.followed.losses:
            self.followed.look(penalty, 0)
        self.grower.rate = 2.0 * penalty
        if not self.boosting.boost(1):
            return False
        self.followed.look(penalty, len(self.boosting.builder.outputs))
        return True

    def _critical(self) -> float:
        """The largest penalty at which a split of all rows on something unpaid would pay."""
        prices = self.grower.bought.owed(self.grower.weight)
        unpaid = prices > 0
        largest = 0.0
        for target in self.boosting.loss.derivatives(self.boosting.raw)[0]:
            worth = self.grower.gains(target)[unpaid] / (2.0 * prices[unpaid])
            largest = max(largest, float(worth.max(initial=0.0)))
        return largest
