"""One example walking down a tree of linear models, node by node.

A node weighs all its numbers at once, so all that it misses is asked for at once. The answer so
far is that of the last node that was completed; before the root is, its bias.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import Price, Walk
from thrifty.model.linear_tree.node import LinearNode
from thrifty.model.links import apply_link

__all__ = ["LinearTreeWalk"]

ALONE = np.zeros(1, dtype=np.intp)


class LinearTreeWalk(Walk):
    """The walk of a `LinearTree`.

    Parameters
    ----------
    nodes : sequence of LinearNode
        Node 0 is the root.
    spent : sequence of int
        Evaluations of an example that has completed each node.
    link : str
        How answers become scores.
    n_features : int
        Columns of the table.
    price : callable
        What a feature would cost now.
    """

    def __init__(
        self,
        nodes: Sequence[LinearNode],
        spent: Sequence[int],
        link: str,
        n_features: int,
        price: Price,
    ) -> None:
        self._nodes, self._spent, self._link = nodes, spent, link
        self._price = price
        self._told: dict[int, float] = {}
        self._row = np.full((1, n_features), np.nan)
        self._read: dict[int, None] = {}
        self._raw = nodes[0].bias[np.newaxis]
        self._evaluations = 0
        self._node = 0
        self._errand = nodes[0].slots.start(price)
        self._go()

    @property
    def asks(self) -> tuple[int, ...]:
        """What the node where it stands misses; nothing once the example has left the tree."""
        return self._errand.asks

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, and go down as far as they allow."""
        self._told.update(values)
        if self._node >= 0:
            self._errand.tell(values)
            self._go()

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of first reading."""
        return tuple(dict.fromkeys([*self._read, *self._errand.touched]))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the last node that was completed."""
        return np.atleast_1d(apply_link(self._link, self._raw)[0])

    @property
    def evaluations(self) -> int:
        """Evaluations of the nodes completed so far."""
        return self._evaluations

    def _go(self) -> None:
        """Pass from node to node as long as nothing is missing."""
        while not self._errand.asks:
            follows = self._complete(self._nodes[self._node])
            self._evaluations = self._spent[self._node]
            self._node = follows
            if follows < 0:
                return
            self._read.update(dict.fromkeys(self._errand.touched))
            self._errand = self._nodes[follows].slots.start(self._price)
            self._errand.tell(self._told)

    def _complete(self, node: LinearNode) -> int:
        """Answer at `node`; where the example goes from there."""
        for feature in self._errand.touched:
            self._row[0, feature] = self._told[feature]
        Z = node.slots.read(self._row, ALONE)
        self._raw = node.answer(Z)
        if node.is_leaf:
            return -1
        return node.right if node.goes_right(Z)[0] else node.left
