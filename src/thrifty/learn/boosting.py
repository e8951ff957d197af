"""Stage-wise regression with prices: each round fits one tree per output to the gradient."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.growth import Growth
from thrifty.learn.binned import Binned
from thrifty.learn.followed import Followed
from thrifty.learn.forest_builder import ForestBuilder
from thrifty.learn.grower import Grower
from thrifty.learn.losses import Loss
from thrifty.model import Forest

__all__ = ["Boosting"]


class Boosting:
    """An ensemble while it grows (002 algorithm 3).

    Parameters
    ----------
    loss : Loss
        What to descend, bound to the training target.
    grower : Grower
        Grows the trees and pays for them.
    learning_rate : float
        Share of each tree that is added (eta).
    followed : Followed, optional
        Rows that go along.
    """

    def __init__(
        self,
        loss: Loss,
        grower: Grower,
        learning_rate: float,
        followed: Followed | None = None,
    ) -> None:
        self.followed = followed
        self.loss, self.grower, self.learning_rate = loss, grower, learning_rate
        binned: Binned = grower.binned
        self.base = loss.start()
        self.raw = np.repeat(self.base[:, np.newaxis], binned.bins.shape[1], axis=1)
        self.builder = ForestBuilder(binned)

    def boost(self, rounds: int) -> bool:
        """Add up to `rounds` trees to each output; say whether a further round could add any.

        A round in which no tree finds a split worth its price would only repeat itself.
        """
        return all(self._round() for _ in range(rounds))

    def _round(self) -> bool:
        gradient, hessian = self.loss.derivatives(self.raw)
        flat: dict[int, float] = {}
        for k in range(self.loss.outputs):
            growth = self.grower.grow(gradient[k])
            curve = None if hessian is None else hessian[k]
            values = self.grower.values(gradient[k], curve, self.loss.damping)
            values *= self.learning_rate
            self.builder.add(growth, values, k)
            if growth.count[0] == 1:
                flat[k] = values[0]
            else:
                self._add(growth, values, k)
        if len(flat) == self.loss.outputs:
            self.builder.drop(self.loss.outputs)
            return False
        for k, value in flat.items():
            self._shift(k, value)
        return True

    def _add(self, growth: Growth, values: NDArray[np.float64], output: int) -> None:
        self.grower.add(values, self.raw[output])
        if self.followed is not None:
            self.followed.add(growth, values, output)

    def _shift(self, output: int, value: float) -> None:
        """Add a tree without a split."""
        self.raw[output] += value
        if self.followed is not None:
            self.followed.raw[output] += value

    def freeze(self) -> Forest:
        """The ensemble so far as a forest."""
        return self.builder.freeze(self.base, self.loss.link)
