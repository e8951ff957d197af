"""The machine to be compressed: support vectors, one decision for each pair of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from thrifty.model.kernel_functions import KernelFunction
from thrifty.model.pairs import pair_classes

__all__ = ["Machine", "machine_of"]

Floats = NDArray[np.float64]
ROWS_PER_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class Machine:
    """A trained support vector machine in the words of `SupportSet`.

    `owners` are the class numbers of the vectors; `coefficients` (s, pairs) are 0 where a vector
    is of neither class of a pair; `C` is the weight of the loss.
    """

    vectors: Floats
    owners: NDArray[np.int64]
    coefficients: Floats
    intercepts: Floats
    kernel: KernelFunction
    C: float
    n_classes: int

    @property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """First and second class of each pair."""
        return pair_classes(self.n_classes)

    def values(self, Z: Floats) -> Floats:
        """Decision of each pair, (n, pairs); BLAS, so equal to scikit-learn's to rounding."""
        found = np.empty((len(Z), len(self.intercepts)))
        for i in range(0, len(Z), ROWS_PER_BLOCK):
            block = slice(i, i + ROWS_PER_BLOCK)
            found[block] = self.kernel.matrix(Z[block], self.vectors) @ self.coefficients
        return found + self.intercepts

    @property
    def labels(self) -> Floats:
        """1 for the vectors of the first class of each pair, -1 of the second, else 0: (s, P)."""
        first, second = self.pairs
        owners = self.owners[:, np.newaxis]
        return np.asarray((owners == first) * 1.0 - (owners == second))

    def pair(self, number: int) -> Machine:
        """The machine of one pair of classes."""
        first, second = (int(side[number]) for side in self.pairs)
        own = (self.owners == first) | (self.owners == second)
        return Machine(
            self.vectors[own],
            (self.owners[own] == second).astype(np.int64),
            self.coefficients[own, number : number + 1],
            self.intercepts[number : number + 1],
            self.kernel,
            self.C,
            2,
        )


def machine_of(svc: Any, vectors: Floats, kernel: KernelFunction) -> Machine:
    """The machine of a fitted SVC or NuSVC with these support vectors."""
    dual = _dense(svc.dual_coef_)
    owners = np.repeat(np.arange(len(svc.n_support_)), svc.n_support_).astype(np.int64)
    k = len(svc.n_support_)
    # scikit-learn turns the sign where there are two classes only.
    sign = -1.0 if k == 2 else 1.0
    coefficients = np.zeros((len(owners), k * (k - 1) // 2))
    for p, (i, j) in enumerate(zip(*pair_classes(k), strict=True)):
        coefficients[owners == i, p] = dual[j - 1, owners == i]
        coefficients[owners == j, p] = dual[i, owners == j]
    intercepts = sign * np.asarray(svc.intercept_, dtype=np.float64)
    # A NuSVC has no C of its own.
    C = float(svc.C) if isinstance(svc, SVC) else 1.0
    return Machine(vectors, owners, sign * coefficients, intercepts, kernel, C, k)


def _dense(array: Any) -> Floats:
    return np.asarray(array.toarray() if hasattr(array, "toarray") else array, dtype=np.float64)
