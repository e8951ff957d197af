"""The rows of one worker of a cluster: they follow the trees that a head elsewhere decides.

All sums are integers whose units the head sets, so adding up those of all parts gives what one
table of all rows would give, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.kernels.fixed_point import count_quanta, largest_size, pack, round_values
from thrifty.kernels.hist_tree import count, divide
from thrifty.kernels.histogram import node_sums
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.losses import Loss
from thrifty.learn.purchases import Purchases

__all__ = ["PartSetup", "Split", "TreePart"]

NONE = np.empty(0)


@dataclass(frozen=True, eq=False)
class PartSetup:
    """What a part needs to know beside its rows.

    Parameters
    ----------
    edges, categorical
        As in `Binned`.
    prices : BoundPrices
    max_depth : int
    bind_loss : function
        Returns the loss bound to a target.
    """

    edges: list[NDArray[np.float64]]
    categorical: NDArray[np.bool_]
    prices: BoundPrices
    max_depth: int
    bind_loss: Callable[[NDArray[Any]], Loss]


class Split(NamedTuple):
    """A split that the head has decided: its node, left child, feature, and bins that go left.

    `goes_left` has a bit for each of the 256 bins.
    """

    node: int
    left: int
    feature: int
    goes_left: bytes


class TreePart(Grower):
    """Some rows of a table, with their outputs, gradients and places in the growing tree.

    The public methods are the messages of the head, see `cluster.ClusterGrower`. `run` takes
    several of them at once.

    Parameters
    ----------
    partitions : sequence of (bins, target)
        Bins (d, m) and targets (m,) of the rows.
    setup : PartSetup
    """

    def __init__(
        self, partitions: Sequence[tuple[NDArray[np.uint8], NDArray[Any]]], setup: PartSetup
    ) -> None:
        bins = np.concatenate([part for part, _ in partitions], axis=1)
        self.y = np.concatenate([target for _, target in partitions])
        super().__init__(
            Binned(bins, setup.edges, setup.categorical),
            Purchases(setup.prices, len(self.y), "model"),
            max_depth=setup.max_depth,
            # As many leaves as the head may have, however few the rows are.
            max_leaves=1 << setup.max_depth,
        )
        self.loss = setup.bind_loss(self.y)
        self._quanta = np.zeros((1, len(self.y)), np.int64)
        self._candidates[0][:] = 0

    def run(self, messages: Sequence[tuple[str, tuple[Any, ...]]]) -> Any:
        """Call methods by name, one after the other; return what the last one returns.

        An error is returned, not raised: what is raised by a call of a part is a lost worker.
        """
        try:
            for name, arguments in messages:
                result = getattr(self, name)(*arguments)
        except Exception as error:
            return error
        return result

    def measure_target(self, unit: float | None, is_signed: bool = False) -> float | int:
        """Return the largest size of the target; with a unit, its sizes or values summed in it."""
        y = np.asarray(self.y, dtype=np.float64)
        if unit is None:
            return float(largest_size(y))
        if not is_signed:
            return int(count_quanta(y, NONE, unit))
        quanta = np.empty(len(y), np.int64)
        round_values(y, unit, quanta)
        return int(quanta.sum())

    def begin(self, base: NDArray[np.float64]) -> None:
        """Start an ensemble whose outputs are `base` (k,)."""
        self.raw = np.repeat(base[:, np.newaxis], len(self.y), axis=1)

    def derive(self) -> list[tuple[float, float]]:
        """Compute the derivatives; return the largest gradient and Hessian of each output."""
        self._gradient, self._hessian = self.loss.derivatives(self.raw)
        return [
            (float(largest_size(g)), float(largest_size(self._hessian_of(k))))
            for k, g in enumerate(self._gradient)
        ]

    def weigh(self, units: Sequence[Sequence[float]]) -> NDArray[np.int64]:
        """Return sums of |gradient|, gradient^2 and |Hessian| of each output, (k, 3), in units."""
        sums = [
            (
                count_quanta(g, NONE, own[0]),
                count_quanta(g, g, own[1]),
                count_quanta(self._hessian_of(k), NONE, own[2]),
            )
            for k, (g, own) in enumerate(zip(self._gradient, units, strict=True))
        ]
        return np.array(sums, dtype=np.int64)

    def root(
        self, output: int, unit: float, features: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Start a tree for one output; return sums and histogram of all rows."""
        pack(self._gradient[output], unit, self._quanta[0])
        self._plant_rows(features)
        return self._candidates[1][0].copy(), self._count(0)

    def split(self, splits: Sequence[Split], node: int) -> NDArray[np.int64]:
        """Divide rows as the head has decided; return the histogram of a node."""
        self._follow(splits)
        return self._count(node)

    def sums(
        self, splits: Sequence[Split], output: int, units: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Divide the last rows; return sums of derivatives (nodes, 2), and rows, of all nodes."""
        self._follow(splits)
        room, nodes = self._room, self._nodes
        sums = node_sums(
            self._blocks, room.left[:nodes], room.n_rows[:nodes], self._gradient[output],
            self._hessian_of(output), units,
        )  # fmt: skip
        return sums, room.n_rows[:nodes].copy()

    def add_tree(self, output: int, values: NDArray[np.float64]) -> None:
        """Add the values of the tree's nodes to one output."""
        self.grown = self._room.trim(self._nodes)
        self.add(values, self.raw[output])

    def add_constant(self, output: int, value: float) -> None:
        """Add a number to one output of all rows."""
        self.raw[output] += value

    def apply_tree(self, splits: Sequence[Split], output: int, values: NDArray[np.float64]) -> None:
        """Add a whole tree that was grown before these rows were here."""
        self._plant_rows(np.empty(0, np.int64))
        self._follow(splits)
        self.add_tree(output, values)

    def _hessian_of(self, output: int) -> NDArray[np.float64]:
        return NONE if self._hessian is None else self._hessian[output]

    def _plant_rows(self, features: NDArray[np.int64]) -> None:
        """Put all rows into the root."""
        units = np.ones(2)
        self._growth, self._read = self._plant(
            self._blocks, self._ordered, self._quanta, units, 0.0, features
        )
        self._nodes = 1

    def _follow(self, splits: Sequence[Split]) -> None:
        """Divide rows."""
        room = self._room
        for node, left, feature, goes_left in splits:
            bits = np.unpackbits(np.frombuffer(goes_left, np.uint8))
            room.left[node], room.feature[node], room.goes_left[node] = left, feature, bits
            room.left[left : left + 2] = -1
            divide(self._growth, node)
            self._nodes = left + 2

    def _count(self, node: int) -> NDArray[np.int64]:
        """Return the histograms of the features that the tree may read, (planes, features, 256)."""
        count(self._growth, node)
        return np.asarray(self._candidates[0][0][:, self._read])
