"""A node of a tree of linear models, and the two kinds of numbers that it can weigh.

A node weighs either slots of the table (see `Encoding`) or values of frozen trees. Both read a
row the same way in a batch and in a walk, so that both have the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import Price
from thrifty.model.encoding import Encoding
from thrifty.model.forest.descent import descend
from thrifty.model.forest.forest import Forest
from thrifty.model.products import weighted_sums

__all__ = ["EncodedSlots", "LinearNode", "TreeSlots"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


class Errand(Protocol):
    """One example fetching what a node needs."""

    @property
    def asks(self) -> tuple[int, ...]:
        """Features still missing, the cheapest first."""

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, asked for or not."""

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of reading."""


class Slots(Protocol):
    """The numbers that a node weighs."""

    @property
    def support(self) -> NDArray[np.bool_]:
        """Which features may be read, (n_features,)."""

    def read(self, X: NDArray[np.floating], rows: Rows) -> Floats:
        """The numbers of some rows, (rows, q)."""

    def used(self, X: NDArray[np.floating], rows: Rows) -> NDArray[np.bool_]:
        """Which features these rows read, (rows, n_features)."""

    def start(self, price: Price) -> Errand:
        """Start one example."""


class ColumnErrand:
    """One example fetching a set of columns."""

    def __init__(self, columns: list[int], price: Price) -> None:
        self._wanted = set(columns)
        self._price = price
        self._read: list[int] = []

    @property
    def asks(self) -> tuple[int, ...]:
        """Columns not yet told, the cheapest first."""
        return tuple(sorted(self._wanted, key=lambda column: (self._price(column), column)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; a column is read when it is told."""
        told = [column for column in values if column in self._wanted]
        self._wanted.difference_update(told)
        self._read += told

    @property
    def touched(self) -> tuple[int, ...]:
        """Columns told so far."""
        return tuple(self._read)


class EncodedSlots:
    """Slots of the table: every row reads the same columns."""

    def __init__(self, encoding: Encoding, n_features: int) -> None:
        self.columns = np.unique(encoding.columns)
        self.support = np.zeros(n_features, dtype=bool)
        self.support[self.columns] = True
        # The same slots over a table of these columns only: a batch copies nothing else.
        place = np.searchsorted(self.columns, encoding.columns)
        self._local = Encoding(
            place, encoding.codes, encoding.centers, encoding.scales, encoding.fills
        )

    def read(self, X: NDArray[np.floating], rows: Rows) -> Floats:
        """The slots of some rows, (rows, q)."""
        return self._local.apply(X[rows[:, np.newaxis], self.columns])

    def used(self, X: NDArray[np.floating], rows: Rows) -> NDArray[np.bool_]:
        """Every row reads the columns of all slots."""
        return np.tile(self.support, (len(rows), 1))

    def start(self, price: Price) -> ColumnErrand:
        """Start one example."""
        return ColumnErrand(self.columns.tolist(), price)


class TreeSlots:
    """Values of frozen trees: a row reads what its paths ask for.

    Parameters
    ----------
    forest : Forest
        Its values have one column.
    trees : array (q,)
        Which trees of the forest the node weighs.
    """

    def __init__(self, forest: Forest, trees: NDArray[np.int64]) -> None:
        self._forest = _picked(forest, trees)

    @property
    def support(self) -> NDArray[np.bool_]:
        """The features of all splits."""
        return self._forest.support

    def read(self, X: NDArray[np.floating], rows: Rows) -> Floats:
        """The values of the trees, (rows, q)."""
        forest, here = self._forest, X[rows]
        if len(rows) == 1:  # a walk never pays for loading Numba
            leaves = descend(forest.nodes, forest.subsets, forest.roots, here)
        else:
            leaves = forest.leaves(here)
        return np.asarray(forest.values[leaves.T, 0])

    def used(self, X: NDArray[np.floating], rows: Rows) -> NDArray[np.bool_]:
        """What each row reads on its way down the trees."""
        return self._forest.used(X[rows])

    def start(self, price: Price) -> Errand:
        """Start one example."""
        return self._forest.walk(price)


@dataclass(frozen=True, eq=False)
class LinearNode:
    """One node: where it sends a row, and what it answers.

    Parameters
    ----------
    slots : Slots
        The numbers that it weighs.
    route : array (q,)
        A row goes right if its numbers times these sum to more than `threshold`.
    threshold : float
    weights : array (q, S)
        The numbers times these, plus `bias`, are the answer before the link.
    bias : array (S,)
    left, right : int
        Where a row goes; -1 where it exits.
    """

    slots: Slots
    route: Floats
    threshold: float
    weights: Floats
    bias: Floats
    left: int
    right: int

    @cached_property
    def is_leaf(self) -> bool:
        """Whether every row exits here."""
        return self.left < 0 and self.right < 0

    def goes_right(self, Z: Floats) -> NDArray[np.bool_]:
        """Which rows of numbers (n, q) go right."""
        with np.errstate(all="ignore"):  # trees may hold values of any size
            values = weighted_sums(Z, self.route[:, np.newaxis], np.zeros(1))[:, 0]
        return np.asarray(values > self.threshold)

    def answer(self, Z: Floats) -> Floats:
        """Answers (n, S) before the link."""
        with np.errstate(all="ignore"):
            return weighted_sums(Z, self.weights, self.bias)


def _picked(forest: Forest, trees: NDArray[np.int64]) -> Forest:
    """Some trees of a forest as a forest, in this order."""
    ends = np.append(forest.roots[1:], len(forest.nodes))
    sizes = ends[trees] - forest.roots[trees]
    roots = np.cumsum(sizes) - sizes
    spans = [np.arange(forest.roots[tree], ends[tree]) for tree in trees]
    place = np.concatenate([np.zeros(0, dtype=np.int64), *spans])
    nodes = forest.nodes[place]
    nodes["child"] += np.repeat(roots - forest.roots[trees], sizes).astype(np.int32)
    return Forest(
        nodes, forest.values[place], roots, np.zeros(len(trees), dtype=np.int64), np.zeros(1),
        "sum", forest.n_features, forest.subsets,
    )  # fmt: skip
