"""Learning an anytime representation (002 algorithm 4): the same loops, one machine a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.anytime_machine import Machine
from thrifty.learn.dimension_trees import DimensionTrees

__all__ = ["Snapshot", "train"]

Floats = NDArray[np.float64]


class Snapshot(NamedTuple):
    """The model at one moment: the first `trees` trees and the weights of their dimensions.

    `outputs` are those of each machine on the held-out rows.
    """

    trees: int
    betas: tuple[Floats, ...]
    outputs: tuple[Floats, ...]
    bought: NDArray[np.uint8]
    loss: float


class _Album:
    """The best moment of each set of bought features, in the order they were bought."""

    def __init__(self, trees: DimensionTrees, machines: Sequence[Machine]) -> None:
        self.trees, self.machines = trees, machines
        self.snapshots: list[Snapshot] = []

    def take(self) -> None:
        """Keep this moment if it is the first, or the best, with what is bought now."""
        betas = tuple(machine.svm.beta for machine in self.machines)
        outputs = tuple(machine.held_outputs for machine in self.machines)
        loss = sum(machine.loss for machine in self.machines)
        mark = self.trees.mark()
        if self.snapshots and np.array_equal(self.snapshots[-1].bought, mark.bought):
            if self.snapshots[-1].loss <= loss:
                return
            self.snapshots.pop()
        self.snapshots.append(Snapshot(mark.trees, betas, outputs, mark.bought, loss))

    def settle(self) -> None:
        """Forget moments whose trees were taken back."""
        while self.snapshots and self.snapshots[-1].trees > self.trees.count:
            self.snapshots.pop()
        self.take()


def train(
    trees: DimensionTrees,
    machines: Sequence[Machine],
    penalties: Sequence[float],
    dimensions: int,
    rounds: int,
) -> list[Snapshot]:
    """Widen and refine every machine at each penalty; the best moments, cheapest first.

    A moment that a cheaper one equals on the held-out rows is left out.
    """
    album = _Album(trees, machines)
    album.take()
    for penalty in penalties:
        trees.set_penalty(penalty)
        before = trees.count
        for machine in machines:
            _improve(machine, album, dimensions, rounds)
        if trees.count == before and not trees.bought.due().any():
            break  # all is bought, so a smaller penalty would change nothing
    return _falling(album.snapshots)


def _improve(machine: Machine, album: _Album, dimensions: int, rounds: int) -> None:
    """New dimensions at the penalty of the day, and trees added to each."""
    first = machine.size
    for _ in machine.widen(dimensions):
        album.take()
    album.settle()
    for dimension in range(first, machine.size):
        for _ in machine.refine(dimension, rounds):
            album.take()


def _falling(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    kept = list(snapshots[:1])
    for snapshot in snapshots[1:]:
        if snapshot.loss < kept[-1].loss:
            kept.append(snapshot)
    return kept
