"""The rows of one worker of a cluster: they follow the trees that a head elsewhere decides.

All sums are integers whose units the head sets, so adding up those of all parts gives what one
table of all rows would give, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.kernels.fixed_point import count_quanta, largest_size, pack, round_values
from thrifty.kernels.hist_tree import count, divide, pay_split, weigh_debts
from thrifty.kernels.histogram import node_sums
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.cluster.training_set import BinnedRows, join_rows
from thrifty.learn.losses import Loss
from thrifty.learn.purchases import Purchases

__all__ = ["PartSetup", "Split", "TreePart"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Weight of the rows of a node that have not paid for each feature and each group; or None, if the
# model pays.
Debts = tuple[Integers, Integers] | None

NONE = np.empty(0)


@dataclass(frozen=True, eq=False)
class PartSetup:
    """What a part needs to know beside its rows.

    Parameters
    ----------
    edges, categorical
        As in `Binned`.
    prices : BoundPrices
    charge : {"model", "example"}
        As in `Purchases`.
    max_depth : int
    bind_loss : function
        Returns the loss bound to a target.
    class_weight : array of shape (K,) or None
        Weights of the classes.
    """

    edges: list[Floats]
    categorical: NDArray[np.bool_]
    prices: BoundPrices
    charge: str
    max_depth: int
    bind_loss: Callable[[NDArray[Any]], Loss]
    class_weight: Floats | None = None


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
    partitions : sequence of BinnedRows
    setup : PartSetup
    """

    def __init__(self, partitions: Sequence[BinnedRows], setup: PartSetup) -> None:
        bins, self.y, weight = join_rows(partitions, setup.class_weight)
        super().__init__(
            Binned(bins, setup.edges, setup.categorical),
            Purchases(setup.prices, len(self.y), setup.charge),
            max_depth=setup.max_depth,
            weight=weight,
            # As many leaves as the head may have, however few the rows are.
            max_leaves=1 << setup.max_depth,
        )
        self.loss = setup.bind_loss(self.y)
        self._quanta = np.zeros((1 if weight is None else 2, len(self.y)), np.int64)
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

    def measure(
        self, units: Sequence[float] | None = None, is_signed: bool = False
    ) -> list[float] | list[int]:
        """Return the largest sizes in `start_rows` of the loss; with units, their sums in these.

        Sums are those of sizes or of signed values. With weights, these are one more row, the last.
        """
        found: list[Any] = []
        quanta = np.empty(len(self.y), np.int64)
        for k, row in enumerate(self._start_rows()):
            if units is None:
                found.append(float(largest_size(row)))
            elif not is_signed:
                found.append(int(count_quanta(row, NONE, units[k])))
            else:
                round_values(row, units[k], quanta)
                found.append(int(quanta.sum()))
        return found

    def begin(self, base: Floats, weight_unit: float) -> None:
        """Start an ensemble whose outputs are `base` (k,); no row has paid for anything."""
        self.raw = np.repeat(base[:, np.newaxis], len(self.y), axis=1)
        self.purchases.paid[:] = 0
        self.purchases.group_paid[:] = 0
        if self.weight is not None:
            round_values(self.weight, weight_unit, self._quanta[1])

    def derive(self) -> list[tuple[float, float, float]]:
        """Compute the derivatives.

        Returns the largest weighted gradient, gradient and weighted Hessian of each output.
        """
        self._gradient, hessian = self.loss.derivatives(self.raw)
        self._targets = [self._weighted(gradient) for gradient in self._gradient]
        if hessian is None:
            self._hessians = [NONE if self.weight is None else self.weight] * len(self._targets)
        else:
            self._hessians = [self._weighted(row) for row in hessian]
        return [
            (float(largest_size(target)), float(largest_size(g)), float(largest_size(h)))
            for target, g, h in zip(self._targets, self._gradient, self._hessians, strict=True)
        ]

    def weigh(self, units: Sequence[Sequence[float]]) -> Integers:
        """Return sums of each output, (k, 3), in units: of weighted gradient, its square, Hessian.

        The square is that of the gradient, weighted; all are absolute values.
        """
        sums = [
            (
                count_quanta(target, NONE, own[0]),
                count_quanta(target, g, own[1]),
                count_quanta(h, NONE, own[2]),
            )
            for target, g, h, own in zip(
                self._targets, self._gradient, self._hessians, units, strict=True
            )
        ]
        return np.array(sums, dtype=np.int64)

    def root(self, output: int, unit: float, features: Integers) -> tuple[Integers, Integers]:
        """Start a tree for one output; return sums and histogram of all rows."""
        fill = pack if self.weight is None else round_values
        fill(self._targets[output], unit, self._quanta[0])
        self._plant_rows(features)
        return self._candidates[1][0].copy(), self._count(0)

    def split(self, splits: Sequence[Split], node: int) -> tuple[Integers, Debts]:
        """Divide rows as the head has decided; return histogram and debts of a node."""
        self._follow(splits)
        debts = None
        if self.purchases.charge == "example":
            weigh_debts(self._growth, node)
            of_features, of_groups = self._unpaid
            debts = of_features[node].copy(), of_groups[node].copy()
        return self._count(node), debts

    def sums(
        self, splits: Sequence[Split], output: int, units: Floats
    ) -> tuple[Integers, Integers]:
        """Divide the last rows; return sums of derivatives (nodes, 2), and rows, of all nodes."""
        self._follow(splits)
        room, nodes = self._room, self._nodes
        sums = node_sums(
            self._blocks, room.left[:nodes], room.n_rows[:nodes], self._targets[output],
            self._hessians[output], units,
        )  # fmt: skip
        return sums, room.n_rows[:nodes].copy()

    def add_tree(self, output: int, values: Floats) -> None:
        """Add the values of the tree's nodes to one output."""
        self.grown = self._room.trim(self._nodes)
        self.add(values, self.raw[output])

    def add_constant(self, output: int, value: float) -> None:
        """Add a number to one output of all rows."""
        self.raw[output] += value

    def apply_tree(self, splits: Sequence[Split], output: int, values: Floats) -> None:
        """Add a whole tree that was grown before these rows were here."""
        self._plant_rows(np.empty(0, np.int64))
        self._follow(splits)
        self.add_tree(output, values)

    def _start_rows(self) -> Iterator[Floats]:
        """Yield what an ensemble starts from the means of, weighted, and the weights."""
        for row in self.loss.start_rows:
            yield self._weighted(row)
        if self.weight is not None:
            yield self.weight

    def _weighted(self, values: Floats) -> Floats:
        """Return values times the weights of their rows."""
        return values if self.weight is None else values * self.weight

    def _owed(self, quanta: Integers) -> tuple[Integers, Integers]:
        """Return zeros: the head knows what all rows owe."""
        paid, group_paid = self.purchases.paid, self.purchases.group_paid
        return np.zeros(len(paid), np.int64), np.zeros(len(group_paid), np.int64)

    def _plant_rows(self, features: Integers) -> None:
        """Put all rows into the root."""
        units = np.ones(2)
        self._growth, self._read = self._plant(
            self._blocks, self._ordered, self._quanta, units, 0.0, features
        )
        self._nodes = 1

    def _follow(self, splits: Sequence[Split]) -> None:
        """Divide rows; if each of them pays, let them pay."""
        room, each_pays = self._room, self.purchases.charge == "example"
        for node, left, feature, goes_left in splits:
            bits = np.unpackbits(np.frombuffer(goes_left, np.uint8))
            room.left[node], room.feature[node], room.goes_left[node] = left, feature, bits
            room.left[left : left + 2] = -1
            if each_pays:
                pay_split(self._growth, node)
            divide(self._growth, node)
            self._nodes = left + 2

    def _count(self, node: int) -> Integers:
        """Return the histograms of the features that the tree may read, (planes, features, 256)."""
        count(self._growth, node)
        return np.asarray(self._candidates[0][0][:, self._read])
