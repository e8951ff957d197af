"""One example in a cascade: the walk of the block where it stands, then, if it stays, the next.

The trees of a block start from the output of the blocks before, so the last score has the bits of
the batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.model.forest_walk import ForestWalk, Outline
from thrifty.model.frozen import Price
from thrifty.model.links import apply_link
from thrifty.model.relay_walk import RelayWalk

__all__ = ["CascadeWalk", "measure"]


def measure(link: str, raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is compared with the limits: the output (n, 1), or the largest of several shares.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.cascade_walk import measure
    >>> measure("sigmoid", np.array([[-3.0]])), measure("softmax", np.zeros((1, 4)))
    (array([-3.]), array([0.25]))
    """
    return raw[:, 0].copy() if raw.shape[1] == 1 else apply_link(link, raw).max(axis=1)


class CascadeWalk(RelayWalk[ForestWalk]):
    """The walk of a `Cascade`."""

    def __init__(
        self,
        outline: Outline,
        ends: Sequence[int],
        low: Sequence[float],
        high: Sequence[float],
        price: Price | None,
    ) -> None:
        self._outline, self._ends, self._low, self._high = outline, ends, low, high
        self._price: Price = price or (lambda feature: 0.0)
        super().__init__(self._block(0, outline.base))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the blocks so far; the trees of the last speak from where they stand."""
        return self._walks[-1].scores

    def _next(self) -> ForestWalk | None:
        block, raw = len(self._walks) - 1, self._walks[-1].raw
        score = float(measure(self._outline.link, raw)[0])
        leaves = score < self._low[block] or score > self._high[block]
        if leaves or block == len(self._ends) - 1:
            return None
        return self._block(block + 1, raw[0])

    def _block(self, block: int, base: NDArray[np.float64]) -> ForestWalk:
        """The walk of the trees of one block, which start from `base`."""
        first = self._ends[block - 1] if block else 0
        trees = slice(first, self._ends[block])
        return ForestWalk(self._outline.part(trees, base), self._price)
