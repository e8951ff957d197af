"""The inputs of least squares: a matrix, or rows of a memory map that are encoded when read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thrifty.model.encoding import Encoding

__all__ = ["Inputs", "StoredInputs", "apply_by_rows", "select_inputs"]

Floats = NDArray[np.float64]
# Rows that are encoded at a time; they stay in the processor's cache.
ROWS_PER_BLOCK = 4096


class StoredInputs:
    """Inputs (n, q) of rows that lie in a file; any part of the rows is encoded when it is read.

    Parameters
    ----------
    X : array of shape (m, d)
        Encoded rows of the table, such as a memory map.
    encoding : Encoding
        Turns them into inputs.
    rows : int array of shape (n,), optional
        Some of the rows; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle import Schema
    >>> from thrifty.learn.encoding import standardize_blockwise
    >>> from thrifty.learn.submodular_tree.inputs import StoredInputs
    >>> X = np.array([[1.0], [3.0], [5.0]])
    >>> inputs = StoredInputs(X, standardize_blockwise(Schema.of(X), X, None))
    >>> inputs.shape, inputs[1:2].tolist()
    ((3, 1), [[0.0]])
    """

    def __init__(
        self,
        X: NDArray[np.floating],
        encoding: Encoding,
        rows: NDArray[np.intp] | None = None,
    ) -> None:
        self.X, self.encoding, self.rows = X, encoding, rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of inputs."""
        return len(self.X if self.rows is None else self.rows), len(self.encoding.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, some: slice | NDArray[np.intp]) -> Floats:
        return self.encoding.apply(self.X[some if self.rows is None else self.rows[some]])

    def select(self, rows: NDArray[np.intp] | None, inputs: NDArray[np.intp]) -> StoredInputs:
        """Keep some of the rows of `X`, or all of them, and some of the inputs."""
        return StoredInputs(self.X, self.encoding.keep(inputs), rows)


Inputs = Floats | StoredInputs


def select_inputs(Z: Inputs, rows: NDArray[np.intp] | None, inputs: NDArray[np.intp]) -> Inputs:
    """Return some of the rows (None for all) and of the inputs; stored ones stay where they are."""
    if isinstance(Z, StoredInputs):
        return Z.select(rows, inputs)
    return Z.take(inputs, axis=1) if rows is None else Z[rows[:, np.newaxis], inputs]


def apply_by_rows(function: Callable[[Floats], Floats], Z: Inputs) -> Floats:
    """Return what a function of rows (m, q) gives for all of them; stored ones are read in turn."""
    if not isinstance(Z, StoredInputs):
        return function(Z)
    blocks = range(0, len(Z), ROWS_PER_BLOCK)
    return np.concatenate([function(Z[first : first + ROWS_PER_BLOCK]) for first in blocks])
