"""A pair of gate and local model on held-out rows, before every limit at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.gate_limit import Choices, at_bill, at_quality
from thrifty.model import Frozen, Gate

__all__ = ["Trial"]

Floats = NDArray[np.float64]


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
