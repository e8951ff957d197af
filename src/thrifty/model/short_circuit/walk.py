"""One example walking down a forest until its prediction is settled.

It requests one feature at a time: that of the first unfinished tree in the order. A value that
arrives before its request is kept until that tree needs it, so that what is read, and the bill,
depend on the example alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.model.forest.walk import ForestLists, ForestWalk
from thrifty.model.motive import End
from thrifty.model.short_circuit.bounds import Bounds, is_settled

__all__ = ["ShortCircuitWalk"]


class ShortCircuitWalk(ForestWalk):
    """The walk of a `ShortCircuit`.

    Parameters
    ----------
    lists : ForestLists
        The forest; while a tree stands at a node, it contributes the `fills` of the bounds.
    bounds : Bounds
    order : sequence of int
        Positions of the trees: the first unfinished one names the next feature.

    Attributes
    ----------
    _ends : int array (2, k)
        Smallest and largest outputs that are still possible.
    _wanted : int or None
        The feature to buy next; None once the prediction is settled.
    """

    def __init__(self, lists: ForestLists, bounds: Bounds, order: Sequence[int]) -> None:
        super().__init__(lists, price=lambda feature: 0.0)
        self._bounds = bounds
        self._order = order
        self._rule = bounds.rule.tolist()
        self._ends = bounds.start.copy()
        self._current = 0  # trees before this one in the order have reached a leaf
        self._told: dict[int, float] = {}
        self._wanted = self._next_feature()

    @property
    def asks(self) -> tuple[int, ...]:
        """The feature that the first unfinished tree waits for; empty once settled."""
        return () if self._wanted is None else (self._wanted,)

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, requested or not, and move on as far as they allow."""
        self._told.update(values)
        while self._wanted is not None and self._wanted in self._told:
            self._read[self._wanted] = self._told.pop(self._wanted)
            trees = self._waiting.pop(self._wanted)
            before = [self._position[tree] for tree in trees]
            self._move(trees)
            after = [self._position[tree] for tree in trees]
            # Replace the bounds of the nodes that trees have left by those where they stand.
            change = self._bounds.pairs[after] - self._bounds.pairs[before]
            if change.shape[2] == self._ends.shape[1]:
                self._ends += change.sum(axis=0)
            else:
                np.add.at(self._ends.T, self._lists.outputs[trees], change[:, :, 0])
            self._wanted = self._next_feature()

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores from the nodes where the trees stand."""
        if self._lists.link != "sum":
            return super().scores
        stopped = np.array([self._wanted is None and bool(self._waiting)])
        return self._bounds.clip_values(super().scores, self._ends[:, :1].T, stopped)

    @property
    def end(self) -> End:
        """ "settled" while trees still wait for something."""
        return "settled" if self._waiting else "complete"

    def evaluations_after(self, features: Collection[int]) -> int:
        """Return the trees that reach a leaf if all those finish that wait for known values."""
        return super().evaluations_after({*features, *self._told})

    def _next_feature(self) -> int | None:
        """Return the feature to buy now; None when the prediction is settled."""
        if not self._waiting:
            return None
        least, most = self._ends.tolist()
        if is_settled(least, most, self._rule):
            return None
        splits, position, order = self._lists.splits, self._position, self._order
        while (split := splits[position[order[self._current]]]) is None:
            self._current += 1
        return split.feature
