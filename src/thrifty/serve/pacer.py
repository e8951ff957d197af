"""Pacing: hold the mean bill at the budget while the data drift.

Several operating points of one model are at hand. The pacer keeps a price of money (the dual
variable of the budget) and serves each case with the point that is best at that price:
argmax of quality - price * bill. A case that costs more than the budget raises the price, one
that costs less lowers it, by a constant step of its logarithm. The steps add up: over any run of
cases, what was spent beyond the budget is at most (highest - lowest log price) / step budgets.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thrifty.costs.money import money, price_fault
from thrifty.errors import DataError, raise_all

__all__ = ["OperatingPoint", "Pacer", "Ticket"]

MINUTE, DAY = 60.0, 86_400.0
# How fast the ratio of real to published bills forgets: about the last 500 cases count.
MEMORY = 0.998
# Cases at the published bills that the ratio starts from, so that the first bills do not rule it.
PRIOR_CASES = 50


@dataclass(frozen=True)
class OperatingPoint:
    """One of the points that a pacer chooses from.

    Parameters
    ----------
    bill : float
        Its mean bill on validation rows.
    quality : float
        Its quality on validation rows; more is better.
    largest : float
        What one case may cost at most.
    """

    bill: float
    quality: float
    largest: float = math.inf


@dataclass(frozen=True)
class Ticket:
    """What one case may do.

    Parameters
    ----------
    index : int
        The operating point to serve, as an index of the points that the pacer was given.
    cap : float
        What the case may spend at most; 0 if a ceiling is reached, so that only the free answer
        is left.
    """

    index: int
    cap: float
    expected: float = field(repr=False)
    published: float = field(repr=False)
    windows: tuple[int, ...] = field(repr=False)


class _Ceiling:
    """A limit on what is spent within each window of time, counting what is still open."""

    def __init__(self, limit: float, seconds: float) -> None:
        self.limit, self.seconds = limit, seconds
        self.window, self.committed = 0, 0.0

    def left(self, now: float) -> float:
        """Return what may still be spent in the present window."""
        window = int(now // self.seconds)
        if window != self.window:
            self.window, self.committed = window, 0.0
        return max(self.limit - self.committed, 0.0)


class Pacer:
    """Choose the operating point of each case so that the mean bill stays at the budget.

    Parameters
    ----------
    points : sequence of OperatingPoint
        Points below the upper convex hull are never served.
    budget : float
        What a case may cost on average; at least the bill of the cheapest point.
    step : float
        How much the logarithm of the price of money changes after a case that costs one budget
        too much. Larger steps settle faster and lose a little quality.
    per_minute, per_day : float, optional
        Ceilings on what is spent in each minute and each day (UTC). They are never exceeded: a
        case reserves what it may cost at most, and gets a lower `cap` where less is left.
    clock : callable
        Returns the time in seconds.

    Notes
    -----
    Bills may arrive late. Until then a case counts with the bill that is expected of its point:
    the published one times the recent ratio of real to published bills. `settle` corrects it.

    Examples
    --------
    >>> from thrifty.serve import OperatingPoint, Pacer
    >>> points = [OperatingPoint(0, 0.70), OperatingPoint(4, 0.80), OperatingPoint(12, 0.86)]
    >>> pacer = Pacer(points, budget=5)
    >>> for _ in range(2000):  # everything costs a quarter more than it did in training
    ...     ticket = pacer.choose()
    ...     pacer.settle(ticket, 1.25 * points[ticket.index].bill)
    >>> round(pacer.metrics()["mean_spent"], 2)
    5.0
    """

    def __init__(
        self,
        points: Sequence[OperatingPoint],
        budget: float,
        step: float = 0.02,
        per_minute: float | None = None,
        per_day: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        _check(points, budget, step, per_minute, per_day)
        self.points = tuple(points)
        self.budget, self.step = float(budget), float(step)
        self._clock, self._lock = clock, threading.Lock()
        self._hull = _upper_hull(points)
        bills = [points[k].bill for k in self._hull]
        qualities = [points[k].quality for k in self._hull]
        # Quality that one more unit of money buys, from each point of the hull to the next.
        self._slopes = [
            (qualities[k + 1] - qualities[k]) / (bills[k + 1] - bills[k])
            for k in range(len(bills) - 1)
        ]
        # Below it the best point is served anyway; a slack budget does not save up for later.
        self._floor = math.log(self._slopes[-1]) - self.step if self._slopes else 0.0
        affordable = sum(bill <= self.budget for bill in bills) - 1
        is_slack = affordable == len(self._slopes)
        self._log_price = self._floor if is_slack else math.log(self._slopes[affordable])
        self._ceilings = {
            name: _Ceiling(float(limit), seconds)
            for name, limit, seconds in (("minute", per_minute, MINUTE), ("day", per_day, DAY))
            if limit is not None
        }
        self._real = self._published = PRIOR_CASES * self.budget
        self._counts = [0] * len(self.points)
        self._settled = self._limited = 0
        self._spent = self._promised = 0.0

    def choose(self) -> Ticket:
        """Return the point that serves the next case, and what the case may spend at most."""
        with self._lock:
            price = math.exp(min(self._log_price, 700.0))
            index = self._hull[sum(slope > price for slope in self._slopes)]
            point = self.points[index]
            now = self._clock()
            left = min((each.left(now) for each in self._ceilings.values()), default=math.inf)
            cap = min(point.largest, left)
            for ceiling in self._ceilings.values():
                ceiling.committed += cap
            expected = min(point.bill * self._real / self._published, cap)
            self._move(expected)
            self._counts[index] += 1
            self._limited += left < point.largest
            windows = tuple(each.window for each in self._ceilings.values())
            return Ticket(index, cap, expected, point.bill, windows)

    def settle(self, ticket: Ticket, spent: float) -> None:
        """Record what a case has really spent, once; it may be late, and in any order.

        Raises
        ------
        DataError
            If `spent` cannot be a bill.
        """
        if fault := price_fault(spent, "bill"):
            raise DataError(f"spent: {fault}")
        amount = float(spent)
        with self._lock:
            for ceiling, window in zip(self._ceilings.values(), ticket.windows, strict=True):
                if ceiling.window == window:
                    ceiling.committed += amount - ticket.cap
            # What a case adds to the log price in the end is (spent - budget) / budget steps.
            self._move(amount - ticket.expected + self.budget)
            if ticket.cap > 0:  # a stopped case says nothing about the bills of its point
                self._real = MEMORY * self._real + amount
                self._published = MEMORY * self._published + ticket.published
            self._settled += 1
            self._spent += amount
            self._promised += ticket.published

    def metrics(self) -> dict[str, Any]:
        """Return what was spent against what was promised.

        Returns
        -------
        dict
            `cases`, `open` (not settled yet), `limited` (cases with less than their point may
            cost, because of a ceiling), `by_point` (cases), `spent`, `mean_spent`, `budget`,
            `promised` (the published bills of the settled cases), `price_of_money`, and
            `committed` (per ceiling, in the present window).
        """
        with self._lock:
            cases, settled = sum(self._counts), self._settled
            for ceiling in self._ceilings.values():
                ceiling.left(self._clock())  # starts a new window if it is time
            return {
                "cases": cases,
                "open": cases - settled,
                "limited": self._limited,
                "by_point": list(self._counts),
                "spent": self._spent,
                "mean_spent": self._spent / settled if settled else None,
                "budget": self.budget,
                "promised": self._promised,
                "price_of_money": math.exp(min(self._log_price, 700.0)),
                "committed": {name: each.committed for name, each in self._ceilings.items()},
            }

    def state(self) -> dict[str, Any]:
        """Return what `resume` needs after a restart, as plain values."""
        with self._lock:
            return {
                "log_price": self._log_price,
                "real": self._real,
                "published": self._published,
                "windows": {
                    name: [each.window, each.committed] for name, each in self._ceilings.items()
                },
            }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; what was open counts as spent in full.

        Raises
        ------
        DataError
            If it is not what `state` returned.
        """
        try:
            numbers = [float(state[name]) for name in ("log_price", "real", "published")]
            windows = {
                name: (int(state["windows"][name][0]), float(state["windows"][name][1]))
                for name in self._ceilings.keys() & state["windows"].keys()
            }
        except (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError):
            raise DataError("state: this is not what Pacer.state returned") from None
        amounts = [*numbers[1:], *(committed for _, committed in windows.values())]
        if not math.isfinite(numbers[0]) or not all(0 <= amount < math.inf for amount in amounts):
            raise DataError("state: the price of money or an amount is out of range")
        with self._lock:
            self._log_price = max(numbers[0], self._floor)
            self._real, self._published = numbers[1], max(numbers[2], self.budget)
            for name, (window, committed) in windows.items():
                self._ceilings[name].window = window
                self._ceilings[name].committed = committed

    def _move(self, amount: float) -> None:
        """Move the price of money for a case that costs `amount`."""
        excess = amount / self.budget - 1.0
        self._log_price = max(self._log_price + self.step * excess, self._floor)


def _check(
    points: Sequence[OperatingPoint],
    budget: float,
    step: float,
    per_minute: float | None,
    per_day: float | None,
) -> None:
    """Refuse points, a budget or ceilings that cannot be paced, with all problems at once."""
    problems = [] if points else ["points: there is none"]
    for k, point in enumerate(points):
        if fault := price_fault(point.bill, "bill"):
            problems.append(f"points[{k}]: {fault}")
        if not math.isfinite(point.quality):
            problems.append(f"points[{k}]: quality {point.quality!r} is not a finite number")
        if not point.largest >= 0:
            problems.append(f"points[{k}]: largest bill {point.largest!r} is not 0 or more")
    amounts = {"budget": budget, "per_minute": per_minute, "per_day": per_day}
    for name, amount in amounts.items():
        if amount is not None and (fault := price_fault(amount, name)):
            problems.append(f"{name}: {fault}")
    if not 0 < step < 1:
        problems.append(f"step: {step!r} is not between 0 and 1")
    if not problems:
        cheapest = min(point.bill for point in points)
        if budget <= 0 or cheapest > budget:
            problems.append(
                f"budget: {budget!r} is less than the cheapest point costs on average "
                f"({money(cheapest)}), or nothing; raise it, or add a cheaper point"
            )
    raise_all(DataError, "pacer", problems)


def _upper_hull(points: Sequence[OperatingPoint]) -> list[int]:
    """Return the points of the upper convex hull, cheapest first, while quality rises."""
    order = sorted(range(len(points)), key=lambda k: (points[k].bill, -points[k].quality))
    hull: list[int] = []
    for k in order:
        if hull and points[k].quality <= points[hull[-1]].quality:
            continue
        while len(hull) > 1 and _slope(points, hull[-2], hull[-1]) <= _slope(points, hull[-1], k):
            hull.pop()
        hull.append(k)
    return hull


def _slope(points: Sequence[OperatingPoint], i: int, k: int) -> float:
    return (points[k].quality - points[i].quality) / (points[k].bill - points[i].bill)
