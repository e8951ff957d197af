"""Where the gate opens: the limit that meets a share, a bill or a quality on given rows.

Rows are taken in the order of their gate values, the highest first; rows of the same value go the
same way. So there are as many choices as distinct values, and one pass looks at them all.

A pair of gate and local model on held-out rows, before every limit at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.errors import BudgetError, DataError
from thrifty.model import Frozen, Gate

__all__ = ["Choices", "Trial", "at_bill", "at_quality", "read_target"]

Floats = NDArray[np.float64]
AIMS = ("share", "bill", "quality")
ROUNDING = 1e-9


def read_target(target: Mapping[str, float] | None, share: float) -> tuple[str, float]:
    """What to aim at, and the number; without a target, the share.

    Examples
    --------
    >>> from thrifty.learn.gates.threshold import read_target
    >>> read_target({"bill": 3}, 0.5), read_target(None, 0.5)
    (('bill', 3.0), ('share', 0.5))
    """
    if target is None:
        return "share", float(share)
    if len(target) != 1 or not set(target) <= set(AIMS):
        raise DataError(f"target: give one of {', '.join(AIMS)} and its number, got {target!r}")
    ((aim, number),) = target.items()
    if isinstance(number, bool) or not isinstance(number, int | float) or not number >= 0:
        raise DataError(f"target: the {aim} {number!r} is not a number from 0 up")
    return aim, float(number)


class Choices:
    """Every limit that makes a difference on some rows, from none sent to all.

    Parameters
    ----------
    values : array (n,)
        Gate values.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.gates.threshold import Choices
    >>> choices = Choices(np.array([0.0, 4.0, 4.0, 2.0]))
    >>> choices.counts  # rows that each choice sends
    array([0, 2, 3, 4])
    >>> choices.limit(choices.at_share(0.6))
    3.0
    """

    def __init__(self, values: Floats) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        self.order = np.argsort(-self.values, kind="stable")
        ranked = self.values[self.order]
        ends = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True)) + 1
        self.counts = np.append(0, ends)

    def limit(self, choice: int) -> float:
        """The limit that sends `counts[choice]` rows: halfway to the next value."""
        count = int(self.counts[choice])
        if count == 0:
            return math.inf
        if count == len(self.values):
            return -math.inf
        above, below = self.values[self.order[count - 1]], self.values[self.order[count]]
        middle = float(below + (above - below) / 2.0)
        # Neighbors among the floats have no middle: the lower one sends the same rows.
        return middle if below <= middle < above else float(below)

    def sent(self, choice: int) -> NDArray[np.bool_]:
        """Which rows a choice sends, (n,)."""
        sent = np.zeros(len(self.values), dtype=bool)
        sent[self.order[: int(self.counts[choice])]] = True
        return sent

    def means(self, local: Floats, sent: Floats) -> Floats:
        """Mean over the rows at each choice, of one number where a row stays, another where not."""
        gained = np.cumsum((sent - local)[self.order])
        sums = local.sum() + np.append(0.0, gained)[self.counts]
        return np.asarray(sums / len(self.values))

    def at_share(self, share: float) -> int:
        """The most rows that are no more than the share."""
        fits = self.counts <= share * len(self.values) + ROUNDING
        return int(np.flatnonzero(fits)[-1])


def at_bill(means: Floats, bill: float) -> int:
    """The choice that sends the most rows at which the mean bill is kept."""
    fits = np.flatnonzero(means <= bill * (1.0 + ROUNDING))
    if not len(fits):
        raise BudgetError(
            f"target: no limit keeps a mean bill of {bill:g}; the least is {means.min():g}"
        )
    return int(fits[-1])


def at_quality(means: Floats, quality: float) -> int:
    """The choice that sends the fewest rows at which the quality is reached."""
    fits = np.flatnonzero(means >= quality - ROUNDING)
    if not len(fits):
        raise BudgetError(
            f"target: no limit reaches a quality of {quality:g}; the best is {means.max():g}"
        )
    return int(fits[0])


@dataclass(frozen=True, eq=False)
class Trial:
    """What each row pays and whether it is right, if it stays and if it is sent.

    Parameters
    ----------
    gate, local, expensive : Frozen
    prices : BoundPrices
    X : array (n, d)
        Rows with the answers of calls, if there are any.
    codes : array (n,) or None
        Class numbers; None where only shares and bills are asked for.
    """

    gate: Frozen
    local: Frozen
    expensive: Frozen
    prices: BoundPrices
    X: NDArray[np.floating]
    codes: NDArray[np.int64] | None = None

    @cached_property
    def choices(self) -> Choices:
        """All limits that make a difference."""
        return Choices(self.gate.score(self.X))

    @cached_property
    def bills(self) -> tuple[Floats, Floats]:
        """Of rows that stay, and of rows that are sent, past the gate."""
        whole = Gate.of(self.gate, self.local, self.expensive, 0.0)
        read, count = self.gate.used(self.X), self.gate.evaluations(self.X)
        here = 0 if whole.shares_trees else self.local.evaluations(self.X)
        there = self.expensive.evaluations(self.X)
        return (
            self.prices.bill(read | self.local.used(self.X), count + here),
            self.prices.bill(read | self.expensive.used(self.X), count + there),
        )

    @cached_property
    def right(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether rows are answered right that stay, and that are sent."""
        here, there = (
            model.score(self.X).argmax(axis=1) == self.codes
            for model in (self.local, self.expensive)
        )
        return here, there

    @cached_property
    def mean_bills(self) -> Floats:
        """Mean bill at each choice; where all rows go one way, the gate is not read."""
        means = self.choices.means(*self.bills)
        for end, model in ((0, self.local), (-1, self.expensive)):
            alone = self.prices.bill(model.used(self.X), model.evaluations(self.X))
            means[end] = alone.mean()
        return means

    @cached_property
    def accuracies(self) -> Floats:
        """Accuracy at each choice."""
        here, there = (np.asarray(right, dtype=np.float64) for right in self.right)
        return self.choices.means(here, there)

    def choose(self, aim: str, number: float) -> int:
        """The choice that meets a share, a bill or a quality."""
        if aim == "share":
            return self.choices.at_share(number)
        if aim == "bill":
            return at_bill(self.mean_bills, number)
        return at_quality(self.accuracies, number)

    def model(self, choice: int) -> Gate:
        """The frozen model of a choice."""
        return Gate.of(self.gate, self.local, self.expensive, self.choices.limit(choice))

    def measured(self, choice: int) -> tuple[float, float]:
        """Mean bill and accuracy of `model`, to the bit of what it tells itself."""
        sent = self.choices.sent(choice)
        right = float(np.where(sent, self.right[1], self.right[0]).mean())
        if sent.all() or not sent.any():
            return float(self.mean_bills[-1 if sent.all() else 0]), right
        return float(np.where(sent, self.bills[1], self.bills[0]).mean()), right
