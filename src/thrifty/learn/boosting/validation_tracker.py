"""Validation rows that go along with an ensemble while it grows.

They are binned like the training rows, so a tree is followed by table look-ups at the moment it is
grown; no tree is visited twice.

Validation rows, as a fit or a path uses them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.kernels.descent import follow
from thrifty.kernels.hist_tree import Growth
from thrifty.learn.losses import Loss
from thrifty.learn.point import MOST_KEPT, Heard
from thrifty.model.links import apply_link

__all__ = ["Followed", "HeldOut", "Stop"]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Encoded rows, the loss bound to their target, and the quality of outputs (n, k) on them."""

    X: NDArray[np.floating]
    loss: Loss
    quality: Callable[[NDArray[np.float64]], float]


@dataclass(frozen=True)
class Stop:
    """An ensemble after some rounds: its figures on the validation rows."""

    penalty: float
    trees: int
    bill: float
    loss: float
    quality: float = np.nan
    heard: Heard | None = None


class Followed:
    """Outputs and bills of the validation rows, and the stops worth keeping.

    Parameters
    ----------
    held_out : HeldOut
        The validation rows.
    prices : BoundPrices
        What they pay.
    bins : array (d, n)
        The rows in the bins of the training table.
    base : array (k,)
        Where the outputs start.
    """

    def __init__(
        self,
        held_out: HeldOut,
        prices: BoundPrices,
        bins: NDArray[np.uint8],
        base: NDArray[np.float64],
    ) -> None:
        n = len(held_out.X)
        self.held_out, self.prices, self.bins = held_out, prices, bins
        self.raw = np.repeat(base[:, np.newaxis], n, axis=1)
        self.used = np.zeros((n, len(prices.own)), dtype=bool)
        self.bills = prices.bill(self.used)
        self.losses: list[float] = []
        self._stops: list[Stop] = []
        self._best, self._best_bills = self.raw, self.bills
        self._leaves, self._news = np.empty(n, np.int64), np.empty(n + 1, np.int64)

    @property
    def spent(self) -> float:
        """Mean price of what the rows have read."""
        return float(self.bills.mean())

    def add(self, growth: Growth, values: NDArray[np.float64], output: int) -> None:
        """Send the rows down the tree of `growth`, whose nodes are worth `values`."""
        count = follow(
            self.bins, growth.left, growth.feature, growth.goes_left,
            self._leaves, self.used, self._news,
        )  # fmt: skip
        self.raw[output] += values[self._leaves]
        # Few rows read anything new once the first trees are paid for.
        news = self._news[:count]
        if count:
            self.bills[news] = self.prices.bill(self.used[news])

    def look(self, penalty: float, trees: int) -> None:
        """Note where the ensemble of `trees` trees stands; it is kept if nothing beats it.

        Bills never fall while trees are added, so a stop is worth keeping if its loss is the least
        so far, and of stops with one bill the last of these. The loss decides and not the
        quality: an accuracy on few rows jumps up and down from tree to tree, and the best of a
        hundred would be the luckiest.
        """
        loss = self.held_out.loss.value(self.raw)
        bill = float(np.mean(self.bills + self.prices.evaluation * trees))
        self.losses.append(loss)
        if not self._stops or loss < self._stops[-1].loss:
            self._keep(Stop(penalty, trees, bill, loss))

    def stops(self) -> list[Stop]:
        """The constant, then the stops that no cheaper or equally cheap one beats."""
        if self._stops:
            self._judge()
        return self._stops

    def _keep(self, stop: Stop) -> None:
        if len(self._stops) > 1 and self._stops[-1].bill == stop.bill:
            self._stops.pop()
        elif self._stops:
            self._judge()
        self._stops.append(stop)
        self._best, self._best_bills = self.raw.copy(), self.bills.copy()

    def _judge(self) -> None:
        """Measure the quality of the last stop, now that no other takes its place."""
        quality = self.held_out.quality(self._best.T)
        self._stops[-1] = replace(self._stops[-1], quality=quality, heard=self._heard())

    def _heard(self) -> Heard | None:
        # With a price of evaluations the bill is another sum, rounded once.
        if self.prices.evaluation or self._best.size + self._best_bills.size > MOST_KEPT:
            return None
        return Heard(apply_link(self.held_out.loss.link, self._best.T), self._best_bills)
