"""Few vectors in place of many, and what finding them starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.machine import Machine

__all__ = ["Job", "Reduced", "whole"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Job:
    """A machine to be compressed, with the rows and class numbers it was trained on."""

    machine: Machine
    Z: Floats
    codes: NDArray[np.int64]

    def pairs(self) -> list[Job]:
        """A job for each pair of classes."""
        return [
            self._pair(number, int(first), int(second))
            for number, (first, second) in enumerate(zip(*self.machine.pairs, strict=True))
        ]

    def _pair(self, number: int, first: int, second: int) -> Job:
        own = (self.codes == first) | (self.codes == second)
        codes = (self.codes[own] == second).astype(np.int64)
        return Job(self.machine.pair(number), self.Z[own], codes)


@dataclass(frozen=True, eq=False)
class Reduced:
    """Vectors (m, q), what each adds to the decision of each pair (m, P), and where those start."""

    vectors: Floats
    coefficients: Floats
    intercepts: Floats

    @classmethod
    def side_by_side(cls, pairs: Sequence[Reduced]) -> Self:
        """One set for all pairs of what was found for each: a vector speaks in one pair only."""
        sizes = [len(pair.vectors) for pair in pairs]
        coefficients = np.zeros((sum(sizes), len(pairs)))
        row = 0
        for number, (pair, size) in enumerate(zip(pairs, sizes, strict=True)):
            coefficients[row : row + size, number] = pair.coefficients[:, 0]
            row += size
        return cls(
            np.vstack([pair.vectors for pair in pairs]),
            coefficients,
            np.concatenate([pair.intercepts for pair in pairs]),
        )


def whole(machine: Machine) -> Reduced:
    """The machine as it is."""
    return Reduced(machine.vectors, machine.coefficients, machine.intercepts)
