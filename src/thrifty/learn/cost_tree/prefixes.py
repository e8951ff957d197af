"""Hard trees made of the boosted model itself: its first base trees, with and without an exit.

A feature is read by many base trees and has a small weight in each, so the relaxed cost hardly
tells which of them to drop together. Boosting has found good sets already, because it buys features
one after the other: the first trees. So their sums are candidates, with the weights that boosting
gave them. Trees with one exit are candidates, too. All rows are scored by the first trees. A row
exits with that score if it is far from 0, or, where only one side exits, if it is low; the others
are scored by more trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.cost_tree.inputs import TreeInputs
from thrifty.learn.cost_tree.objective import SoftObjective
from thrifty.learn.cost_tree.soft_tree import TreeShape

__all__ = [
    "CASCADE_EXIT",
    "EXIT_BOTH_SIDES",
    "EXIT_IF_LOW",
    "ExitShape",
    "JudgedTree",
    "Prefixes",
    "undominated",
]

Floats = NDArray[np.float64]

# Most numbers of base trees that are tried, spread evenly over the logarithm of the bill, from this
# share of the largest bill on.
MAX_PREFIXES = 20
MIN_BILL_SHARE = 0.005
# Shares of the rows that do not exit after the first trees.
GOING_ON = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class ExitShape(NamedTuple):
    """A tree in which rows exit by the score of the first trees.

    Parameters
    ----------
    shape : TreeShape
    last : int
        The node that predicts the rows that do not exit; all others know the first trees only.
    signs : mapping from int to float
        For each node with a decision, its threshold as a multiple of the largest distance at which
        a row does not exit.
    """

    shape: TreeShape
    last: int
    signs: Mapping[int, float]

    def distance(self, scores: Floats) -> Floats:
        """Return how far scores are from going on: their size, or how low they are."""
        return np.abs(scores) if len(self.signs) == 2 else -scores


# Rows of a low score exit: at the left leaf of a tree, or at the first stage of a cascade.
EXIT_IF_LOW = ExitShape(TreeShape.full(1), 2, {0: -1.0})
CASCADE_EXIT = ExitShape(TreeShape.chain(2), 1, {0: -1.0})
# Rows of a low score exit at node 1, those of a high score at node 4.
EXIT_BOTH_SIDES = ExitShape(
    TreeShape(np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1])), 3, {0: -1.0, 2: 1.0}
)


class JudgedTree(NamedTuple):
    """A hard tree with its mean loss and mean bill on the rows that judge it."""

    tree: HardTree
    loss: float
    bill: float


@dataclass(frozen=True, eq=False)
class Prefixes:
    """The sums of the first base trees.

    Parameters
    ----------
    inputs : TreeInputs
    judge : SoftObjective
        On the rows that judge trees, with a penalty of 1.
    """

    inputs: TreeInputs
    judge: SoftObjective

    def trees(self, exits: ExitShape | None) -> Iterator[JudgedTree]:
        """Yield the trees that no other beats in both loss and bill, cheapest first."""
        on, ends = self.judge, self._ends()
        scores, bills = self._scores(ends), self._bills()[ends - 1]
        losses = on.loss_weight * on.loss.value(scores, on.y)  # (E, n)
        # Each row is a tree: its loss and bill, how many base trees come before an exit and in all,
        # and the largest distance at which a row does not exit.
        tried = [np.column_stack([losses.sum(axis=1), bills, ends, ends, np.zeros(len(ends))])]
        if exits is not None:
            for k in range(len(ends) - 1):
                distance = exits.distance(scores[k])
                limits = _between_values(distance)
                goes_on = (distance < limits[:, np.newaxis]).astype(float)  # (S, n)
                loss = losses[k].sum() + goes_on @ (losses[k + 1 :] - losses[k]).T
                bill = bills[k] + np.outer(goes_on @ on.weight, bills[k + 1 :] - bills[k])
                limit, last = np.meshgrid(limits, ends[k + 1 :], indexing="ij")
                first = np.full(loss.shape, ends[k])
                tried.append(np.stack([loss, bill, first, last, limit], axis=-1).reshape(-1, 5))
        table = np.vstack(tried)
        for loss, bill, first, last, limit in table[undominated(table[:, 1], table[:, 0])].tolist():
            tree = self._sum(int(last))
            if exits is not None and first < last:
                tree = self._exit(exits, int(first), int(last), limit)
            yield JudgedTree(tree, loss, bill)

    def _bills(self) -> Floats:
        """Return the mean bill of the first 1, 2, ... base trees, (T,)."""
        terms = self.judge.terms
        reads = terms.members.toarray() > 0
        return np.asarray(terms.prices @ np.maximum.accumulate(reads, axis=1))

    def _ends(self) -> NDArray[np.int64]:
        """Return the numbers of base trees to try: of those with the same bill, the largest."""
        bills = self._bills()
        ends = np.append(np.flatnonzero(np.diff(bills) > 0), len(bills) - 1)
        if len(ends) > MAX_PREFIXES:
            least = max(bills[ends[0]], MIN_BILL_SHARE * bills[-1])
            wanted = np.geomspace(least, bills[-1], MAX_PREFIXES)
            distances = np.abs(bills[ends] - wanted[:, np.newaxis])
            ends = ends[np.unique(distances.argmin(axis=1))]
        return np.asarray(ends + 1, dtype=np.int64)

    def _scores(self, ends: NDArray[np.int64]) -> Floats:
        """Return the sum of the first trees of the judging rows, for some numbers of trees."""
        sums = np.cumsum(self.judge.Z * self.inputs.scales, axis=1)[:, ends - 1].T
        return np.asarray(sums + self.inputs.offsets[ends - 1, np.newaxis])

    def _weights(self, trees: int) -> Floats:
        """Return the weights of the inputs in the sum of the first trees, (q,)."""
        weights = self.inputs.scales.copy()
        weights[trees:] = 0.0
        return weights

    def _sum(self, trees: int) -> HardTree:
        """Return the sum of the first trees as a tree that is only a leaf."""
        weights = self._weights(trees)[np.newaxis]
        bias = self.inputs.offsets[[trees - 1]]
        return HardTree(TreeShape.full(0), np.zeros_like(weights), np.zeros(1), weights, bias)

    def _exit(self, exits: ExitShape, first: int, last: int, limit: float) -> HardTree:
        """Return a tree in which rows exit by the first trees if they are beyond a distance."""
        n, q = len(exits.shape), len(self.inputs.scales)
        offsets = self.inputs.offsets
        route, threshold, weights = np.zeros((n, q)), np.zeros(n), np.zeros((n, q))
        for node, sign in exits.signs.items():
            route[node] = self._weights(first)
            threshold[node] = sign * limit - offsets[first - 1]
        weights[:] = self._weights(first)
        weights[exits.last] = self._weights(last)
        bias = np.full(n, offsets[first - 1])
        bias[exits.last] = offsets[last - 1]
        return HardTree(exits.shape, route, threshold, weights, bias)


def undominated(bill: Floats, loss: Floats) -> NDArray[np.intp]:
    """Return those that no other beats in both bill and loss, cheapest first.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.cost_tree.prefixes import undominated
    >>> undominated(np.array([1.0, 3.0, 2.0, 2.0]), np.array([5.0, 4.0, 4.0, 6.0])).tolist()
    [0, 2]
    """
    order = np.lexsort((loss, bill))
    least = np.minimum.accumulate(np.append(np.inf, loss[order]))
    return np.asarray(order[least[1:] < least[:-1]])


def _between_values(distance: Floats) -> Floats:
    """Return limits midway between two values, below which about `GOING_ON` of the rows are."""
    values = np.unique(distance)
    if len(values) < 2:
        return np.empty(0)
    above = np.searchsorted(values, np.quantile(distance, GOING_ON)).clip(1, len(values) - 1)
    return np.unique(0.5 * (values[above - 1] + values[above]))
