"""Sums of products of inputs and targets: all that least squares needs to know about the rows.

The sums of two sets of rows add up, and those of a difference are their difference. Feature
selection works on these sums and never touches a row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.submodular_tree.inputs import Inputs

__all__ = ["ROUNDING_TOL", "Centered", "Gram"]

Floats = NDArray[np.float64]
# Rows that are gathered and weighted at a time, so that they stay in the processor's cache.
ROWS_PER_BLOCK = 4096
# A target whose sum of squares is smaller, relative to the sums that it was computed from, is
# constant up to rounding.
ROUNDING_TOL = 1e-13
# Fields of `Gram` that are sums over rows.
SUMS = ("inputs", "cross", "squares", "input_sums", "target_sums", "total_weight")


class Centered(NamedTuple):
    """Sums of squares and products about the means.

    `inputs` (q, q) are products among the inputs, `cross` (q, t) those of inputs and targets, and
    `targets` (t,) the squares of the targets.
    """

    inputs: Floats
    cross: Floats
    targets: Floats


@dataclass(frozen=True, eq=False)
class Gram:
    """Weighted sums over rows z (q,) and their targets y (t,); w is the weight of a row.

    Parameters
    ----------
    inputs : array of shape (q, q)
        Sum of w z z'.
    cross : array of shape (q, t)
        Sum of w z y'.
    squares : array of shape (t,)
        Sum of w y * y.
    input_sums, target_sums : arrays of shapes (q,) and (t,)
        Sums of w z and w y.
    total_weight : float
        Sum of w.
    scale, target_scale : arrays of shapes (q,) and (t,)
        Largest sums of squares that those of each input and target were computed from: rounding
        errors are relative to these.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.submodular_tree.gram import Gram
    >>> Z, y = np.array([[1.0], [2.0], [4.0]]), np.array([[0.0], [1.0], [1.0]])
    >>> part = Gram.of(Z, y, rows=np.array([0, 1])) + Gram.of(Z, y, rows=np.array([2]))
    >>> part.inputs.item(), part.cross.item(), part.total_weight
    (21.0, 6.0, 3.0)
    """

    inputs: Floats
    cross: Floats
    squares: Floats
    input_sums: Floats
    target_sums: Floats
    total_weight: float
    scale: Floats
    target_scale: Floats

    @classmethod
    def of(
        cls,
        Z: Inputs,
        Y: Floats,
        weight: Floats | None = None,
        rows: NDArray[np.intp] | None = None,
    ) -> Gram:
        """Sum over Z (n, q) and Y (n, t), or over some of their rows; `weight` goes with `rows`."""
        q, t = Z.shape[1], Y.shape[1]
        n = len(Z) if rows is None else len(rows)
        inputs, cross, squares = np.zeros((0, 0)), np.zeros((q, t)), np.zeros(t)
        input_sums, target_sums = np.zeros(q), np.zeros(t)
        for first in range(0, n, ROWS_PER_BLOCK):
            block = slice(first, first + ROWS_PER_BLOCK)
            here = block if rows is None else rows[block]
            z, y, root = Z[here], Y[here], np.ones(1)
            if weight is not None:
                root = np.sqrt(weight[block])
                z, y = z * root[:, np.newaxis], y * root[:, np.newaxis]
            root = np.broadcast_to(root, len(z))
            # No zeros to add the first block to: of a wide table, each such matrix is large.
            inputs = np.add(inputs, z.T @ z, out=inputs) if first else z.T @ z
            cross += z.T @ y
            squares += np.einsum("ij,ij->j", y, y)
            input_sums += root @ z
            target_sums += root @ y
        inputs = inputs if n else np.zeros((q, q))
        total = float(n if weight is None else weight.sum())
        scale = inputs.diagonal().copy()
        return cls(inputs, cross, squares, input_sums, target_sums, total, scale, squares.copy())

    def __add__(self, other: Gram) -> Gram:
        """Return the sums over the rows of both."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in SUMS}
        scale = np.maximum(self.scale, other.scale)
        target_scale = np.maximum(self.target_scale, other.target_scale)
        return replace(self, **sums, scale=scale, target_scale=target_scale)

    def __sub__(self, other: Gram) -> Gram:
        """Return the sums over the rows of this one that are not in `other`."""
        return replace(self, **{name: getattr(self, name) - getattr(other, name) for name in SUMS})

    def products(self, inputs: NDArray[np.intp]) -> Floats:
        """Return the products of a column of ones and some inputs, (1 + k, 1 + k)."""
        sums = self.input_sums[inputs]
        return np.block(
            [
                [np.full((1, 1), self.total_weight), sums[np.newaxis]],
                [sums[:, np.newaxis], self.inputs[np.ix_(inputs, inputs)]],
            ]
        )

    def center(self) -> Centered:
        """Return the sums about the means, as least squares with an intercept needs them."""
        total = max(self.total_weight, np.finfo(float).tiny)
        inputs = np.outer(self.input_sums, self.input_sums)
        inputs /= total
        np.subtract(self.inputs, inputs, out=inputs)
        cross = self.cross - np.outer(self.input_sums, self.target_sums) / total
        targets = self.squares - self.target_sums**2 / total
        varies = targets > ROUNDING_TOL * self.target_scale
        return Centered(inputs, np.where(varies, cross, 0.0), np.where(varies, targets, 0.0))
