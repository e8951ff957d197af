"""Follow a growing ensemble on the validation set, tree by tree.

The validation rows are binned like the training rows, so each tree is applied by table look-ups at
the moment it is grown, and no tree is visited twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.kernels.binned_descent import follow
from thrifty.learn.boosting.grower import GrownTree
from thrifty.learn.dataset import ValidationSet
from thrifty.learn.losses import Loss
from thrifty.learn.point import MAX_KEPT, ValidationOutputs
from thrifty.model.links import apply_link

__all__ = ["Checkpoint", "ValidationTracker"]


@dataclass(frozen=True)
class Checkpoint:
    """An ensemble after some rounds, as measured on the validation set.

    `penalty` is that of its last tree; `trees` counts the trees of all outputs; `outputs` are kept
    where they are small.
    """

    penalty: float
    trees: int
    bill: float
    loss: float
    quality: float = np.nan
    outputs: ValidationOutputs | None = None


class ValidationTracker:
    """Outputs and bills of the validation rows, and the checkpoints worth keeping.

    Parameters
    ----------
    validation : ValidationSet
    loss : Loss
        Bound to the target of the validation set.
    prices : BoundPrices
    bins : uint8 array of shape (d, n)
        The validation rows in the bins of the training table.
    base : array of shape (k,)
        Outputs of the ensemble without trees.

    Attributes
    ----------
    raw : array of shape (k, n)
        Outputs so far; `add_tree` and `add_constant` update them.
    used : bool array of shape (n, d)
        Which features each row has read so far.
    bills : array of shape (n,)
        Prices of what each row has read so far, without evaluations.
    losses : list of float
        Validation loss at each call of `record`.
    """

    def __init__(
        self,
        validation: ValidationSet,
        loss: Loss,
        prices: BoundPrices,
        bins: NDArray[np.uint8],
        base: NDArray[np.float64],
    ) -> None:
        n = len(validation)
        self.validation, self.loss, self.prices, self.bins = validation, loss, prices, bins
        self.raw = np.repeat(base[:, np.newaxis], n, axis=1)
        self.used = np.zeros((n, len(prices.own)), dtype=bool)
        self.bills = prices.bill(self.used)
        self.losses: list[float] = []
        self._checkpoints: list[Checkpoint] = []
        self._best_raw, self._best_bills = self.raw, self.bills
        # Buffers of `follow`: leaf of each row, features it read as bytes, rows that read new ones.
        self._follow_buffers = (
            np.empty(n, np.int64),
            self.used.view(np.uint8),
            np.empty(n + 1, np.int64),
        )

    @property
    def mean_price(self) -> float:
        """Mean price of what the rows have read so far."""
        return float(self.bills.mean())

    def add_tree(self, tree: GrownTree, values: NDArray[np.float64], output: int) -> None:
        """Send the rows down a grown tree whose nodes add `values` to one output."""
        buffers = self._follow_buffers
        count = follow(self.bins, tree.left, tree.feature, tree.goes_left, *buffers)
        self.raw[output] += values[buffers[0]]
        # Few rows read anything new after the first trees, so only their bills are computed.
        changed = buffers[2][:count]
        if count:
            self.bills[changed] = self.prices.bill(self.used[changed])

    def add_constant(self, output: int, value: float) -> None:
        """Add a tree without splits to one output."""
        self.raw[output] += value

    def record(self, penalty: float, trees: int) -> None:
        """Measure the ensemble of `trees` trees; keep a checkpoint if it has the least loss so far.

        Bills never fall while trees are added, so an ensemble is worth keeping only if its loss
        is the least so far; it replaces a checkpoint with the same bill. The loss decides, not
        the quality: accuracy on few rows jumps from tree to tree, and the best of a hundred
        would be the luckiest.
        """
        loss = self.loss.value(self.raw)
        self.losses.append(loss)
        if self._checkpoints and loss >= self._checkpoints[-1].loss:
            return
        bill = float(np.mean(self.bills + self.prices.evaluation * trees))
        if len(self._checkpoints) > 1 and self._checkpoints[-1].bill == bill:
            self._checkpoints.pop()
        else:
            self._measure_last()
        self._checkpoints.append(Checkpoint(penalty, trees, bill, loss))
        self._best_raw, self._best_bills = self.raw.copy(), self.bills.copy()

    def checkpoints(self) -> list[Checkpoint]:
        """Return the checkpoints, cheapest first: the constant, then each with a smaller loss."""
        self._measure_last()
        return self._checkpoints

    def _measure_last(self) -> None:
        """Add quality and outputs to the last checkpoint, now that nothing will replace it."""
        if not self._checkpoints:
            return
        scores = apply_link(self.loss.link, self._best_raw.T)
        outputs = ValidationOutputs(scores, self._best_bills)
        # A price per evaluation makes the bill another sum, so these bills would not be final.
        too_large = self._best_raw.size + self._best_bills.size > MAX_KEPT
        self._checkpoints[-1] = replace(
            self._checkpoints[-1],
            quality=self.validation.quality(scores),
            outputs=None if self.prices.evaluation or too_large else outputs,
        )
