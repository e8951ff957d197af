"""Greedy forward selection in the space of the inputs (004 eq. 7 and 11).

The paper keeps a QR decomposition of the n rows. The same gains come from the Gram matrix: with
the columns S chosen, a column j explains ``r_j^2 / g_j`` more, where r and g are the products with
the target and the sums of squares of what S leaves of each column. A Cholesky step updates both
without a look at the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.gram import ROUNDING, Centered, Gram

__all__ = ["Explainer", "Layout"]

Floats = NDArray[np.float64]
# What is left of a column, relative to what it was, below which it is a combination of others.
# A condition of 1e5 leaves 1e-10; rounding about 1e-15.
NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Layout:
    """Which inputs belong to which column of the table: a category has several.

    Parameters
    ----------
    columns : int array (q,)
        Column of each input, increasing.
    n_columns : int
        Columns of the table; one may have no input (it never varies).
    """

    columns: NDArray[np.int64]
    n_columns: int

    @cached_property
    def members(self) -> list[NDArray[np.intp]]:
        """Inputs of each column."""
        starts = np.searchsorted(self.columns, np.arange(self.n_columns + 1))
        return [np.arange(a, b) for a, b in pairwise(starts)]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of inputs of each column."""
        return np.bincount(self.columns, minlength=self.n_columns)

    @cached_property
    def wide(self) -> list[int]:
        """Columns of more than one input."""
        return np.flatnonzero(self.sizes > 1).tolist()


class Explainer:
    """Least squares that grows by one column at a time.

    Parameters
    ----------
    sums : Centered
        Sums over the rows that are explained; `of` takes them from a `Gram`.
    least : array (q,)
        Sum of squares of each input that counts as nothing.
    layout : Layout
        Columns of the inputs.
    scale : float
        Sum of squares of the targets that rounding is relative to.

    Attributes
    ----------
    chosen : list of int
        Inputs so far, in the order in which they came.
    left : array (t,)
        Sum of squares of each target that is not explained.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.gram import Gram
    >>> from thrifty.learn.gram_selection import Explainer, Layout
    >>> Z = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> explainer = Explainer.of(Gram.of(Z, Z @ [[3.0], [1.0]]), Layout(np.arange(2), 2))
    >>> explainer.gains()
    array([18.,  2.])
    >>> explainer.add(0)
    >>> explainer.chosen, explainer.left
    ([0], array([2.]))
    """

    def __init__(self, sums: Centered, least: Floats, layout: Layout, scale: float) -> None:
        self.layout, self.scale = layout, scale
        self._inputs, self._cross, self.left = sums
        self._squares = self._inputs.diagonal().copy()
        self.total = float(self.left.sum())
        self._least = least
        self._steps = np.empty((8, len(least)))
        self.chosen: list[int] = []

    @classmethod
    def of(cls, gram: Gram, layout: Layout) -> Self:
        """Nothing is chosen yet."""
        least = NOTHING * np.maximum(gram.scale, np.finfo(float).tiny)
        return cls(gram.center(), least, layout, float(gram.target_scale.sum()))

    def part(self, columns: NDArray[np.intp]) -> Explainer:
        """What is left, with no inputs but those of some columns, in increasing order."""
        inputs = np.flatnonzero(np.isin(self.layout.columns, columns))
        sums = Centered(*self.remainder(inputs), self.left)
        layout = Layout(np.searchsorted(columns, self.layout.columns[inputs]), len(columns))
        return Explainer(sums, self._least[inputs], layout, self.scale)

    @property
    def explained(self) -> float:
        """Share of the squares of the targets that is explained, R2."""
        return 1.0 - float(self.left.sum()) / self.total if self.total > 0 else 0.0

    @property
    def is_done(self) -> bool:
        """Whether nothing but rounding is left to be explained."""
        return float(self.left.sum()) <= ROUNDING * self.scale

    def gains(self) -> Floats:
        """What each column of the table would explain more, (d,); 0 if it can add nothing."""
        live = self._squares > self._least
        each = np.zeros(len(live))
        each[live] = np.square(self._cross[live]).sum(axis=1) / self._squares[live]
        gains = np.zeros(self.layout.n_columns)
        gains[self.layout.columns] = each
        for column in self.layout.wide:
            gains[column] = self._joint_gain(self.layout.members[column])
        return gains

    def add(self, column: int) -> None:
        """Take a column, with all its inputs that are no combination of others."""
        members = self.layout.members[column]
        while len(members):
            best = members[np.argmax(self._squares[members])]
            if self._squares[best] <= self._least[best]:
                return
            self._add(int(best))
            members = members[members != best]

    def remainder(self, inputs: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Products among some inputs (m, m), and with the targets (m, t), of what is left."""
        steps = self._steps[: len(self.chosen), inputs]
        return self._inputs[np.ix_(inputs, inputs)] - steps.T @ steps, self._cross[inputs]

    def _add(self, j: int) -> None:
        count = len(self.chosen)
        if count == len(self._steps):
            self._steps = np.concatenate([self._steps, np.empty_like(self._steps)])
        root = np.sqrt(self._squares[j])
        before = self._steps[:count]
        step = (self._inputs[j] - before[:, j] @ before) / root
        weight = self._cross[j] / root
        self._cross = self._cross - np.outer(step, weight)
        self._squares -= np.square(step)
        self._squares[j], self._cross[j] = 0.0, 0.0
        self._steps[count] = step
        self.left = np.maximum(self.left - np.square(weight), 0.0)
        self.chosen.append(j)

    def _joint_gain(self, members: NDArray[np.intp]) -> float:
        squares, cross = self.remainder(members)
        values, vectors = np.linalg.eigh(squares)
        live = values > self._least[members].max()
        return float((np.square(vectors[:, live].T @ cross).sum(axis=1) / values[live]).sum())
