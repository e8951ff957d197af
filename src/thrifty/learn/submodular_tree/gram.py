"""Sums of products of inputs and targets: all that least squares needs to know of the rows.

They add up over parts of the rows, and what lies in one part and not in another is their
difference. Selection then works in the space of the inputs and never touches a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Centered", "Gram"]

Floats = NDArray[np.float64]
_Joint = Callable[[Any, Any], Any]
# Rows gathered and weighted at a time, so that they stay near the processor.
ROWS = 4096
# A target that varies less, relative to what it was computed from, is constant up to rounding.
ROUNDING = 1e-13


class Centered(NamedTuple):
    """Sums of squares and products about the means."""

    inputs: Floats
    """(q, q)"""
    cross: Floats
    """(q, t)"""
    targets: Floats
    """(t,)"""


@dataclass(frozen=True, eq=False)
class Gram:
    """Weighted sums over rows z (q,) and their targets y (t,).

    Parameters
    ----------
    inputs : array (q, q)
        Sum of w z z'.
    cross : array (q, t)
        Sum of w z y'.
    squares : array (t,)
        Sum of w y * y.
    input_sums, target_sums : arrays (q,), (t,)
        Sums of w z and w y.
    mass : float
        Sum of w.
    scale, target_scale : arrays (q,), (t,)
        Largest sum of squares that those of each input and target were computed from: rounding
        is relative to it.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.submodular_tree.gram import Gram
    >>> Z, y = np.array([[1.0], [2.0], [4.0]]), np.array([[0.0], [1.0], [1.0]])
    >>> part = Gram.of(Z, y, rows=np.array([0, 1])) + Gram.of(Z, y, rows=np.array([2]))
    >>> part.inputs.item(), part.cross.item(), part.mass
    (21.0, 6.0, 3.0)
    """

    inputs: Floats
    cross: Floats
    squares: Floats
    input_sums: Floats
    target_sums: Floats
    mass: float
    scale: Floats
    target_scale: Floats

    @classmethod
    def of(
        cls,
        Z: Floats,
        Y: Floats,
        weight: Floats | None = None,
        rows: NDArray[np.intp] | None = None,
    ) -> Gram:
        """Sums over some rows of Z (n, q) and Y (n, t), or over all; `weight` goes with `rows`."""
        q, t = Z.shape[1], Y.shape[1]
        n = len(Z) if rows is None else len(rows)
        inputs, cross, squares = np.zeros((q, q)), np.zeros((q, t)), np.zeros(t)
        input_sums, target_sums = np.zeros(q), np.zeros(t)
        for first in range(0, n, ROWS):
            part = slice(first, first + ROWS)
            here = part if rows is None else rows[part]
            z, y, root = Z[here], Y[here], np.ones(1)
            if weight is not None:
                root = np.sqrt(weight[part])
                z, y = z * root[:, np.newaxis], y * root[:, np.newaxis]
            root = np.broadcast_to(root, len(z))
            inputs += z.T @ z
            cross += z.T @ y
            squares += np.einsum("ij,ij->j", y, y)
            input_sums += root @ z
            target_sums += root @ y
        mass = float(n if weight is None else weight.sum())
        scale = inputs.diagonal().copy()
        return cls(inputs, cross, squares, input_sums, target_sums, mass, scale, squares.copy())

    def __add__(self, other: Gram) -> Gram:
        """Sums over the rows of both."""
        return self._join(other, np.add, np.maximum)

    def __sub__(self, other: Gram) -> Gram:
        """Sums over the rows of this one that are not in `other`."""
        return self._join(other, np.subtract, lambda mine, _: mine)

    def _join(self, other: Gram, sums: _Joint, scales: _Joint) -> Gram:
        joined = {
            part.name: (scales if part.name.endswith("scale") else sums)(
                getattr(self, part.name), getattr(other, part.name)
            )
            for part in fields(self)
        }
        return Gram(**joined | {"mass": float(joined["mass"])})

    def products(self, slots: NDArray[np.intp]) -> Floats:
        """Products of a column of ones and some inputs, (1 + k, 1 + k)."""
        sums = self.input_sums[slots]
        return np.block(
            [
                [np.full((1, 1), self.mass), sums[np.newaxis]],
                [sums[:, np.newaxis], self.inputs[np.ix_(slots, slots)]],
            ]
        )

    def center(self) -> Centered:
        """Sums about the means, as least squares with an intercept needs them."""
        mass = max(self.mass, np.finfo(float).tiny)
        inputs = self.inputs - np.outer(self.input_sums, self.input_sums) / mass
        cross = self.cross - np.outer(self.input_sums, self.target_sums) / mass
        targets = self.squares - self.target_sums**2 / mass
        varies = targets > ROUNDING * self.target_scale
        return Centered(inputs, np.where(varies, cross, 0.0), np.where(varies, targets, 0.0))
