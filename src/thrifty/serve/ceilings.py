"""Ceilings: what the cases that begin in one minute, or one day, may spend together at most.

A case reserves all that it may cost when it begins, and gives back what it did not need when it
ends. Where several processes share a ceiling, each gets grants out of it, a part at a time: what
is granted to one is not granted to another, so the ceiling holds for all of them together. What a
process that dies was granted counts as spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thrifty.untrusted import LARGEST, is_count, is_number

__all__ = ["SECONDS", "Ceiling", "Grant", "read_grants"]

SECONDS = {"minute": 60.0, "day": 86_400.0}
"""Lengths of the windows, which begin at whole minutes and days (UTC)."""

GRANT_SHARE = 1 / 16
"""What a process is granted at a time, at least, as a share of the ceiling."""

Grant = tuple[int, float]
"""A window, and what may be spent in it."""


class Ceiling:
    """A limit on what the cases that begin in one window of time spend together.

    Parameters
    ----------
    limit : float
        For each window.
    seconds : float
        Length of a window.
    is_shared : bool
        Whether this process may spend only what it was granted.
    """

    def __init__(self, limit: float, seconds: float, is_shared: bool) -> None:
        self.limit, self.is_shared = limit, is_shared
        self._seconds = seconds
        self.window, self.committed = -1, 0.0
        self._granted = self._ungranted = 0.0

    def left(self, now: float) -> float:
        """Return what may still be spent in the present window by this process."""
        self._roll(int(now // self._seconds))
        return max(self._granted - self.committed, 0.0)

    def lacks(self, amount: float, now: float) -> bool:
        """Return whether a case that may cost so much needs a grant that could be had."""
        return self.is_shared and self.left(now) < amount and self._ungranted > 0

    def request(self, others: Grant | None, amount: float, now: float) -> tuple[Grant, Grant]:
        """Return what is granted to all processes with this one, and to this one, for `amount`.

        Parameters
        ----------
        others : (int, float) or None
            A window, and what was granted in it so far.
        amount : float
            What the next case may cost.
        now : float
        """
        self._roll(max(int(now // self._seconds), -1 if others is None else others[0]))
        granted = others[1] if others is not None and others[0] == self.window else 0.0
        grant = 0.0
        if self.left(now) < amount:
            wanted = max(min(amount, self.limit), GRANT_SHARE * self.limit)
            grant = max(min(wanted, self.limit - granted), 0.0)
        return (self.window, granted + grant), (self.window, grant)

    def take(self, granted: Grant, own: Grant) -> None:
        """Take a grant of `request`, once it is recorded."""
        if own[0] == self.window:
            self._granted += own[1]
            self._ungranted = self.limit - granted[1]

    def give_back(self, others: Grant | None, now: float) -> Grant | None:
        """Return what stays granted to all processes if this one needs nothing any more."""
        left = self.left(now)
        if not self.is_shared or others is None or others[0] != self.window:
            return others
        return (self.window, max(others[1] - left, 0.0))

    def _roll(self, window: int) -> None:
        """Start a new window if it is time; clocks that go back do not matter."""
        if window > self.window:
            self.window, self.committed = window, 0.0
            self._granted = 0.0 if self.is_shared else self.limit
            self._ungranted = self.limit if self.is_shared else 0.0


def read_grants(plain: Any) -> Mapping[str, Grant] | None:
    """Return grants by name that were kept as plain values; None if they are not grants."""
    if not isinstance(plain, dict):
        return None
    for grant in plain.values():
        is_pair = isinstance(grant, Sequence) and len(grant) == 2
        if not is_pair or not is_count(grant[0]) or not is_number(grant[1], 0, LARGEST):
            return None
    return {name: (window, float(amount)) for name, (window, amount) in plain.items()}
