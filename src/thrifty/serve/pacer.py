"""Pacing: hold the mean bill at the budget while the data drift.

Several operating points of one model are at hand. The pacer keeps a cost weight (the dual
variable of the budget) and serves each case with the point that is best at that weight:
argmax of quality - weight * bill. A case that costs more than the budget raises the weight, one
that costs less lowers it, by a constant step of its logarithm. The steps add up: over any run of
cases, what was spent beyond the budget is at most (highest - lowest log weight) / step budgets.

Several processes may pace together: each adds its steps to a state that they share (`Pacer.merge`),
and goes on from what all have added (`Pacer.adopt`).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from thrifty.costs.money import money, price_fault
from thrifty.errors import DataError, raise_all
from thrifty.serve.ceilings import SECONDS, Ceiling, Grant, read_grants
from thrifty.untrusted import LARGEST, is_number

__all__ = ["Changes", "OperatingPoint", "Pacer", "Ticket"]

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


@dataclass
class Changes:
    """What a pacer has added since it last adopted a state.

    Parameters
    ----------
    moved : float
        Change of the log price.
    real, published : float
        Sums of real and published bills, of which older ones count less.
    n : int
        How many bills they are sums of.
    grants : dict of str to (int, float)
        By ceiling: what is granted for a window.
    """

    moved: float = 0.0
    real: float = 0.0
    published: float = 0.0
    n: int = 0
    grants: dict[str, Grant] = field(default_factory=dict)

    def add(self, real: float, published: float) -> None:
        """Count one more bill."""
        self.real = MEMORY * self.real + real
        self.published = MEMORY * self.published + published
        self.n += 1

    def without(self, earlier: Changes) -> Changes:
        """Return what came after earlier changes, which are part of these."""
        n = self.n - earlier.n
        return Changes(
            self.moved - earlier.moved,
            self.real - MEMORY**n * earlier.real,
            self.published - MEMORY**n * earlier.published,
            n,
        )


class Pacer:
    """Choose the operating point of each case so that the mean bill stays at the budget.

    Parameters
    ----------
    points : sequence of OperatingPoint
        Points below the upper convex hull are never served.
    budget : float
        What a case may cost on average; at least the bill of the cheapest point.
    step : float
        How much the logarithm of the cost weight changes after a case that costs one budget
        too much. Larger steps settle faster and lose a little quality.
    per_minute, per_day : float, optional
        Ceilings on what the cases that begin in each minute and each day (UTC) spend. They are
        never exceeded: a case reserves what it may cost at most, and gets a lower `cap` where less
        is left.
    shared : bool
        Whether other processes pace with this one, so that it may spend only what it was granted
        of the ceilings: see `merge`.
    clock : callable
        Returns the time in seconds.

    Notes
    -----
    Bills may arrive late, or never. Until then a case counts with the bill that is expected of its
    point: the published one times the recent ratio of real to published bills. `settle` corrects
    it.

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
        shared: bool = False,
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
        self._log_weight = self._floor if is_slack else math.log(self._slopes[affordable])
        self._ceilings = {
            name: Ceiling(float(limit), SECONDS[name], shared)
            for name, limit in (("minute", per_minute), ("day", per_day))
            if limit is not None
        }
        self._since = Changes()
        self._real = self._published = PRIOR_CASES * self.budget
        self._counts = [0] * len(self.points)
        self._settled = self._limited = 0
        self._spent = self._published_total = 0.0

    @property
    def lacks_grants(self) -> bool:
        """Whether the next case would be limited for want of a grant; `merge` asks for one."""
        with self._lock:
            now, largest = self._clock(), self.points[self._next()].largest
            return any(each.lacks(largest, now) for each in self._ceilings.values())

    def choose(self, most: float = math.inf) -> Ticket:
        """Return the point that serves the next case, and what the case may spend at most.

        Parameters
        ----------
        most : float
            What the case may cost at most for other reasons.
        """
        with self._lock:
            index = self._next()
            point = self.points[index]
            now = self._clock()
            left = min((each.left(now) for each in self._ceilings.values()), default=math.inf)
            cap = min(point.largest, most, left)
            for ceiling in self._ceilings.values():
                ceiling.committed += cap
            expected = min(self._expected(index), cap)
            self._move(expected - self.budget)
            self._counts[index] += 1
            self._limited += left < min(point.largest, most)
            windows = tuple(each.window for each in self._ceilings.values())
            return Ticket(index, cap, expected, point.bill, windows)

    def ticket(self, index: int) -> Ticket:
        """Return the ticket of a case that began in another process, or before a restart."""
        with self._lock:
            expected = self._expected(index)
            self._counts[index] += 1  # it is settled here, and `open` is a difference
            return Ticket(index, math.inf, expected, self.points[index].bill, ())

    def settle(self, ticket: Ticket, spent: float, may_go_on: bool = False) -> None:
        """Record what a case has really spent, once; it may be late, and in any order.

        A case that `may_go_on` keeps what it has reserved.

        Raises
        ------
        DataError
            If `spent` cannot be a bill.
        """
        if fault := price_fault(spent, "bill"):
            raise DataError(f"spent: {fault}")
        amount = float(spent)
        with self._lock:
            for ceiling, window in zip(self._ceilings.values(), ticket.windows, strict=False):
                if ceiling.window == window and not may_go_on:
                    ceiling.committed += amount - ticket.cap
            # What a case adds to the log weight in the end is (spent - budget) / budget steps.
            self._move(amount - ticket.expected)
            if ticket.cap > 0:  # a stopped case says nothing about the bills of its point
                self._since.add(amount, ticket.published)
                self._real = MEMORY * self._real + amount
                self._published = MEMORY * self._published + ticket.published
            self._settled += 1
            self._spent += amount
            self._published_total += ticket.published

    def cancel(self, ticket: Ticket) -> None:
        """Take back a ticket whose case was never served."""
        with self._lock:
            for ceiling, window in zip(self._ceilings.values(), ticket.windows, strict=True):
                if ceiling.window == window:
                    ceiling.committed -= ticket.cap
            self._move(self.budget - ticket.expected)
            self._counts[ticket.index] -= 1

    def reopen(self, index: int, spent: float) -> None:
        """Take back that a case was settled with what it has spent: it goes on."""
        with self._lock:
            self._move(self._expected(index) - spent)
            self._counts[index] -= 1  # `ticket` counts it again
            self._settled -= 1
            self._spent -= spent
            self._published_total -= self.points[index].bill

    def correct(self, amount: float) -> None:
        """Record that cases which are settled have cost so much more, or less, after all."""
        with self._lock:
            self._move(amount)
            self._since.real += amount
            self._real = max(self._real + amount, 0.0)
            self._spent += amount

    def metrics(self) -> dict[str, Any]:
        """Return what was spent against what was expected.

        Returns
        -------
        dict
            `cases`, `open` (not settled yet), `limited` (cases with less than their point may
            cost, because of a ceiling), `by_point` (cases), `spent`, `mean_spent`, `budget`,
            `expected` (the published bills of the settled cases), `cost_weight`, and
            `committed` (per ceiling, in the present window) and `ceilings`.
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
                "expected": self._published_total,
                "cost_weight": math.exp(min(self._log_weight, 700.0)),
                "committed": {name: each.committed for name, each in self._ceilings.items()},
                "ceilings": {name: each.limit for name, each in self._ceilings.items()},
            }

    def merge(
        self, shared: Mapping[str, Any] | None, closing: bool = False
    ) -> tuple[dict[str, Any], Changes]:
        """Add what this pacer has done to the state that it shares with others.

        Parameters
        ----------
        shared : mapping, optional
            The state, as plain values; None if there is none.
        closing : bool
            Whether to give back what was granted and not spent.

        Returns
        -------
        state : dict
            To be stored in place of `shared`.
        changes : Changes
            To be passed to `adopt` with the state, once it is stored.

        Raises
        ------
        DataError
            If the state is not one that `merge` returned.
        """
        with self._lock:
            now, since = self._clock(), replace(self._since, grants={})
            if shared is None:
                log_weight, real, published = self._log_weight, self._real, self._published
                grants: dict[str, Grant] = {}
            else:
                log_weight, real, published, grants = _read_state(shared)
                decay = MEMORY**since.n
                log_weight = max(log_weight + since.moved, self._floor)
                real, published = (
                    max(decay * real + since.real, 0.0), decay * published + since.published
                )  # fmt: skip
            for name, ceiling in self._ceilings.items():
                if not ceiling.is_shared:
                    continue
                if closing:
                    kept = ceiling.give_back(grants.get(name), now)
                    grants |= {} if kept is None else {name: kept}
                else:
                    largest = self.points[self._next()].largest
                    found = ceiling.request(grants.get(name), largest, now)
                    grants[name], since.grants[name] = found
            state = {
                "log_price": log_weight,  # its name in existing ledgers
                "real": real,
                "published": published,
                "grants": {name: list(grant) for name, grant in grants.items()},
            }
            return state, since

    def adopt(self, state: Mapping[str, Any], changes: Changes) -> None:
        """Go on from a state of `merge`, which has these changes of this pacer already.

        Raises
        ------
        DataError
            If the state is not one that `merge` returned.
        """
        log_weight, real, published, grants = _read_state(state)
        with self._lock:
            self._since = since = self._since.without(changes)
            decay = MEMORY**since.n
            self._log_weight = max(log_weight + since.moved, self._floor)
            self._real = decay * real + since.real
            self._published = max(decay * published + since.published, self.budget)
            for name, own in changes.grants.items():
                self._ceilings[name].take(grants[name], own)

    def _next(self) -> int:
        """Return the point that is best at the present cost weight."""
        weight = math.exp(min(self._log_weight, 700.0))
        return self._hull[sum(slope > weight for slope in self._slopes)]

    def _expected(self, index: int) -> float:
        """Return the bill that is expected of a point by what bills have been of late."""
        return self.points[index].bill * self._real / self._published

    def _move(self, excess: float) -> None:
        """Move the cost weight for what was spent beyond the budget."""
        before = self._log_weight
        self._log_weight = max(before + self.step * excess / self.budget, self._floor)
        self._since.moved += self._log_weight - before


def _read_state(state: Mapping[str, Any]) -> tuple[float, float, float, dict[str, Grant]]:
    """Return what a state holds, if `merge` could have returned it."""
    fits = isinstance(state, Mapping) and state.keys() == {
        "log_price", "real", "published", "grants"
    }  # fmt: skip
    if fits and is_number(state["log_price"], -LARGEST, LARGEST):
        amounts = state["real"], state["published"]
        grants = read_grants(state["grants"])
        if grants is not None and all(is_number(amount, 0, LARGEST) for amount in amounts):
            return float(state["log_price"]), float(amounts[0]), float(amounts[1]), dict(grants)
    raise DataError("the state of the pacer is not one that Pacer.merge returned")


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
