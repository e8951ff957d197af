"""A circuit breaker: a source that keeps failing is left alone for a while."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Breaker"]


class Breaker:
    """Counts failures of one source, and says whether it may be asked.

    Parameters
    ----------
    trips_after : int
        Failures in a row after which it opens.
    rests : float
        Seconds for which it stays open; then one request may try.
    clock : function, optional
        Returns seconds.

    Examples
    --------
    >>> from thrifty.serve.sources.breaker import Breaker
    >>> now = 0.0
    >>> breaker = Breaker(trips_after=2, rests=30.0, clock=lambda: now)
    >>> breaker.failed()
    >>> breaker.is_open
    False
    >>> breaker.failed()
    >>> breaker.is_open
    True
    >>> now = 30.0
    >>> breaker.is_open  # one may try
    False
    """

    def __init__(
        self, trips_after: int, rests: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._trips_after, self._rests, self._clock = trips_after, rests, clock
        self._failures = 0
        self._opened_at: float | None = None
        self._tries_since: float | None = None  # when the one that may try was let through

    @property
    def is_open(self) -> bool:
        """Whether the source counts as down."""
        if self._opened_at is None:
            return False
        now = self._clock()
        if now < self._opened_at + self._rests:
            return True
        # One may try; if nobody hears of it again, another one after the same time.
        return self._tries_since is not None and now < self._tries_since + self._rests

    def asked(self) -> None:
        """Note that a request is made."""
        if self._opened_at is not None:
            self._tries_since = self._clock()

    def succeeded(self) -> None:
        """Note that a request was answered."""
        self._failures, self._opened_at, self._tries_since = 0, None, None

    def failed(self) -> None:
        """Note that a request failed."""
        self._failures += 1
        self._tries_since = None
        if self._opened_at is not None or self._failures >= self._trips_after:
            self._opened_at = self._clock()
