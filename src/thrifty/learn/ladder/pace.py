"""The pace of a fit: what is left of its time limit, how far it is, and who is told.

A rung takes less time than the one above, as it has fewer features. So the time of one rung tells
about how long those below will take. If they would take too long, the next steps down are larger,
and fewer rungs are fitted: the cheapest features are always reached while there is time for one
more rung.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.ladder.feature_order import price_of, price_ratio

__all__ = ["Descent", "Pace", "Report", "work_below"]

# Is told the share of the work that is done, from 0 to 1.
Report = Callable[[float], None]

# The time of a rung grows with the number of its features to this power: measured on nine tables.
FEATURES_POWER = 0.4


class Pace:
    """The clock of one fit.

    Parameters
    ----------
    time_limit : float or None
        Seconds that the fit may take.
    report : callable or None
        Is called with the share of the work that is done.
    clock : callable
        Returns the time in seconds.

    Examples
    --------
    >>> from thrifty.learn.ladder.pace import Pace
    >>> times = iter([100.0, 103.0])
    >>> Pace(10.0, clock=lambda: next(times)).seconds_left
    7.0
    """

    def __init__(
        self,
        time_limit: float | None = None,
        report: Report | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.clock = clock
        self.start = clock()
        self.time_limit = math.inf if time_limit is None else time_limit
        self._report = report
        self._first, self._last, self._done = 0.0, 1.0, 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the fit began."""
        return self.clock() - self.start

    @property
    def seconds_left(self) -> float:
        """Seconds until the time limit; infinite without one."""
        return self.time_limit - self.elapsed

    @property
    def is_limited(self) -> bool:
        """Whether there is a time limit."""
        return self.time_limit < math.inf

    def begin(self, first: float, last: float) -> None:
        """Begin a step that leads from one share of the whole work to another."""
        self._first, self._last = first, last
        self.advance(0.0)

    def advance(self, share: float) -> None:
        """Report that a share of the present step is done; what is reported never decreases."""
        done = self._first + share * (self._last - self._first)
        if self._report is not None and done >= self._done:
            self._done = done
            self._report(done)


class Descent:
    """Decide rung by rung how far to go down, such that the last one is reached in time.

    Parameters
    ----------
    prices : BoundPrices
    n_rungs : int
        About how many rungs there are if time allows.
    pace : Pace
        Its step is that of these rungs.
    seconds : float
        What the rungs may take.
    """

    def __init__(self, prices: BoundPrices, n_rungs: int, pace: Pace, seconds: float) -> None:
        self.prices, self.pace = prices, pace
        self.ratio = price_ratio(prices, n_rungs)
        self.end = self._before = pace.clock()
        self.end += seconds
        self._work_done = 0.0

    def rungs_below(self, features: NDArray[np.int64], wanted: int | None = None) -> int:
        """Return how many more rungs to fit below the one just fitted; 0 if there is no time.

        `wanted` are wanted; by default, about as many as there are at the usual ratio of prices.
        """
        took, self._before = self.pace.clock() - self._before, self.pace.clock()
        count = self._usual_rungs(features) if wanted is None else wanted
        self._work_done += len(features) ** FEATURES_POWER
        left = work_below(len(features), count) * len(features) ** FEATURES_POWER
        self.pace.advance(self._work_done / max(self._work_done + left, 1.0))
        # In units of the rung that was just fitted.
        affordable = (self.end - self._before) / took if took > 0 else math.inf
        while count and work_below(len(features), count) > affordable:
            count -= 1
        return count

    def ratio_to(self, features: NDArray[np.int64], count: int) -> float:
        """Return the ratio of the next rung's price to that of `features`, if `count` follow."""
        if count >= self._usual_rungs(features):
            return self.ratio
        return float(self._share_of_cheapest(features) ** (1.0 / count))

    def _usual_rungs(self, features: NDArray[np.int64]) -> int:
        """Return about how many more rungs there are at the usual ratio."""
        if price_of(features, self.prices) == 0 or len(features) < 2:
            return 0
        steps = math.log(self._share_of_cheapest(features)) / math.log(self.ratio)
        return min(max(1, round(steps)), len(features) - 1)

    def _share_of_cheapest(self, features: NDArray[np.int64]) -> float:
        """Return the price of the cheapest feature, as a share of the price of all of these."""
        whole = price_of(features, self.prices)
        prices = self.prices
        single = prices.first_prices[features]
        least = float(single[single > 0].min(initial=whole))
        return min(least / whole, 0.99)


def work_below(n_features: int, n_rungs: int) -> float:
    """Return the work of the rungs below one with so many features, in units of its own work.

    Their features are in geometric progression down to a single one.

    Examples
    --------
    >>> from thrifty.learn.ladder.pace import work_below
    >>> round(work_below(32, n_rungs=5), 2)  # with 16, 8, 4, 2 and 1 features
    2.35
    """
    steps = np.arange(1, n_rungs + 1) / max(n_rungs, 1)
    return float(np.sum(n_features ** (-FEATURES_POWER * steps)))
