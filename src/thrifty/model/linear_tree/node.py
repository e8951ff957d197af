"""One node of a `LinearTree`, and the two kinds of inputs that it can read.

The inputs are either encoded columns of the table (see `Encoding`) or the values of the trees of a
forest. Both are read the same way in a batch and in a walk, so the bits agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.lazy import cached_property
from thrifty.model.base import Price
from thrifty.model.encoding import Encoding
from thrifty.model.forest.forest import Forest
from thrifty.model.products import weighted_sums

__all__ = [
    "ColumnInputs",
    "ColumnRequest",
    "FeatureRequest",
    "LinearNode",
    "NodeInputs",
    "TreeInputs",
]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


class FeatureRequest(Protocol):
    """The features that one example still needs before a node can be evaluated."""

    @property
    def asks(self) -> tuple[int, ...]:
        """Features needed now, the cheapest first; empty when the request is complete."""

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, requested or not."""

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of reading."""


class NodeInputs(Protocol):
    """The q numbers that a node reads from a row."""

    @property
    def support(self) -> NDArray[np.bool_]:
        """Which features any row could read, (n_features,)."""

    def read(self, X: NDArray[np.floating], rows: Rows) -> Floats:
        """Return the inputs of some rows of X (n, n_features), as (len(rows), q)."""

    def used(self, X: NDArray[np.floating], rows: Rows) -> NDArray[np.bool_]:
        """Return which features these rows read, (len(rows), n_features)."""

    def start(self, price: Price) -> FeatureRequest:
        """Start the request of one example."""


class ColumnRequest:
    """The request of one example for a fixed set of columns."""

    def __init__(self, columns: list[int], price: Price) -> None:
        self._missing = set(columns)
        self._price = price
        self._read: list[int] = []

    @property
    def asks(self) -> tuple[int, ...]:
        """Columns without a value, the cheapest first."""
        return tuple(sorted(self._missing, key=lambda column: (self._price(column), column)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; a column is read when its value arrives."""
        arrived = [column for column in values if column in self._missing]
        self._missing.difference_update(arrived)
        self._read += arrived

    @property
    def touched(self) -> tuple[int, ...]:
        """Columns read so far, in the order of arrival."""
        return tuple(self._read)


class ColumnInputs:
    """Encoded columns as inputs: every row reads the same columns of the table.

    Parameters
    ----------
    encoding : Encoding
        The q encoded columns that the node reads.
    n_features : int
        Number of columns of the table.
    """

    def __init__(self, encoding: Encoding, n_features: int) -> None:
        self.columns = np.unique(encoding.columns)
        self.support = np.zeros(n_features, dtype=bool)
        self.support[self.columns] = True
        # The same encoding for a table of these columns only, so that a batch copies nothing else.
        position = np.searchsorted(self.columns, encoding.columns)
        self._encoding = Encoding(
            position, encoding.codes, encoding.centers, encoding.scales, encoding.fills
        )

    def read(self, X: NDArray[np.floating], rows: Rows) -> Floats:
        """Return the encoded columns of some rows, (len(rows), q)."""
        return self._encoding.apply(X[rows[:, np.newaxis], self.columns])

    def used(self, X: NDArray[np.floating], rows: Rows) -> NDArray[np.bool_]:
        """Return the support for each of the rows, (len(rows), n_features)."""
        return np.tile(self.support, (len(rows), 1))

    def start(self, price: Price) -> ColumnRequest:
        """Start the request of one example."""
        return ColumnRequest(self.columns.tolist(), price)


class TreeInputs:
    """Values of trees as inputs: a row reads the features on its paths.

    Parameters
    ----------
    forest : Forest
        A forest with one value for each node.
    trees : int array (q,)
        The trees of the forest that the node reads.
    """

    def __init__(self, forest: Forest, trees: NDArray[np.int64]) -> None:
        ends = np.append(forest.roots[1:], len(forest.nodes))
        sizes = ends[trees] - forest.roots[trees]
        roots = np.cumsum(sizes) - sizes
        spans = [np.arange(forest.roots[tree], ends[tree]) for tree in trees]
        kept = np.concatenate([np.zeros(0, dtype=np.int64), *spans])
        nodes = forest.nodes[kept]
        nodes["child"] += np.repeat(roots - forest.roots[trees], sizes).astype(np.int32)
        # Only these trees, in this order.
        self._forest = Forest(
            nodes, forest.values[kept], roots, np.zeros(len(trees), dtype=np.int64), np.zeros(1),
            "sum", forest.n_features, forest.subsets,
        )  # fmt: skip

    @property
    def support(self) -> NDArray[np.bool_]:
        """The features of all splits, (n_features,)."""
        return self._forest.support

    def read(self, X: NDArray[np.floating], rows: Rows) -> Floats:
        """Return the values of the trees, (len(rows), q)."""
        leaves = self._forest.leaves(X[rows])
        return np.asarray(self._forest.values[leaves.T, 0])

    def used(self, X: NDArray[np.floating], rows: Rows) -> NDArray[np.bool_]:
        """Return which features each row reads on its way down the trees."""
        return self._forest.used(X[rows])

    def start(self, price: Price) -> FeatureRequest:
        """Start the request of one example."""
        return self._forest.walk(price)


@dataclass(frozen=True, eq=False)
class LinearNode:
    """One node: where it routes a row, and what it predicts.

    Parameters
    ----------
    inputs : NodeInputs
        The q numbers that the node reads.
    route : float array (q,)
        A row goes right if ``inputs @ route`` is above `threshold`.
    threshold : float
    weights : float array (q, S)
        The outputs are ``inputs @ weights + bias``.
    bias : float array (S,)
    left, right : int
        Number of each child; -1 where a row exits.
    """

    inputs: NodeInputs
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
        """Return which rows of inputs Z (n, q) go right, (n,)."""
        with np.errstate(all="ignore"):  # values of trees may be of any size
            values = weighted_sums(Z, self.route[:, np.newaxis], np.zeros(1))[:, 0]
        return np.asarray(values > self.threshold)

    def outputs(self, Z: Floats) -> Floats:
        """Return the outputs (n, S), before the link, of rows of inputs Z (n, q)."""
        with np.errstate(all="ignore"):
            return weighted_sums(Z, self.weights, self.bias)
