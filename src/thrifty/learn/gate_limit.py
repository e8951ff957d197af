"""Where the gate opens: the limit that meets a share, a bill or a quality on given rows.

Rows are taken in the order of their gate values, the highest first; rows of the same value go the
same way. So there are as many choices as distinct values, and one pass looks at them all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BudgetError, DataError

__all__ = ["Choices", "at_bill", "at_quality", "read_target"]

Floats = NDArray[np.float64]
AIMS = ("share", "bill", "quality")
ROUNDING = 1e-9


def read_target(target: Mapping[str, float] | None, share: float) -> tuple[str, float]:
    """What to aim at, and the number; without a target, the share.

    Examples
    --------
    >>> from thrifty.learn.gate_limit import read_target
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
    >>> from thrifty.learn.gate_limit import Choices
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
