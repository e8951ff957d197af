"""The walk of one example down a `LinearTree`, node by node.

A node reads all its inputs at once, so the walk asks for everything that the node lacks at once.
The scores so far are those of the last node that was completed; before that, of the root's bias.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import Price, Walk
from thrifty.model.linear_tree.node import LinearNode
from thrifty.model.links import apply_link

__all__ = ["LinearTreeWalk"]

ONLY_ROW = np.zeros(1, dtype=np.intp)


class LinearTreeWalk(Walk):
    """The walk of a `LinearTree`.

    Parameters
    ----------
    nodes : sequence of LinearNode
        Node 0 is the root.
    exit_evaluations : sequence of int
        Evaluations of an example that has completed each node.
    link : str
        Maps outputs to scores.
    n_features : int
        Number of columns of the table.
    price : callable
        What a feature would cost now.
    """

    def __init__(
        self,
        nodes: Sequence[LinearNode],
        exit_evaluations: Sequence[int],
        link: str,
        n_features: int,
        price: Price,
    ) -> None:
        self._nodes, self._exit_evaluations, self._link = nodes, exit_evaluations, link
        self._price = price
        self._values: dict[int, float] = {}
        self._row = np.full((1, n_features), np.nan)
        self._read: dict[int, None] = {}
        self._outputs = nodes[0].bias[np.newaxis]
        self._evaluations = 0
        self._node = 0
        self._request = nodes[0].inputs.start(price)
        self._descend()

    @property
    def asks(self) -> tuple[int, ...]:
        """Features that the current node lacks; empty once the example has left the tree."""
        return self._request.asks

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, requested or not, and go down as far as they allow."""
        self._values.update(values)
        if self._node >= 0:
            self._request.tell(values)
            self._descend()

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of first reading."""
        return tuple(dict.fromkeys([*self._read, *self._request.touched]))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the last node that was completed."""
        return np.atleast_1d(apply_link(self._link, self._outputs)[0])

    @property
    def evaluations(self) -> int:
        """Evaluations of the nodes completed so far."""
        return self._evaluations

    def _descend(self) -> None:
        """Evaluate node after node, as long as the values at hand suffice."""
        while not self._request.asks:
            node = self._nodes[self._node]
            for feature in self._request.touched:
                self._row[0, feature] = self._values[feature]
            Z = node.inputs.read(self._row, ONLY_ROW)
            self._outputs = node.outputs(Z)
            self._evaluations = self._exit_evaluations[self._node]
            if node.is_leaf:
                self._node = -1
            else:
                self._node = node.right if node.goes_right(Z)[0] else node.left
            if self._node < 0:
                return
            self._read.update(dict.fromkeys(self._request.touched))
            self._request = self._nodes[self._node].inputs.start(self._price)
            self._request.tell(self._values)
