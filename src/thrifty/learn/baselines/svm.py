"""Three simpler ways to compress a support vector machine to few vectors.

- `LeastAngleSVC`, "LARS-SVM": the support vectors that LARS selects stay where they are (Xu 2014,
  sec. 4.4).
- `RandomSubsetSVC`: randomly drawn support vectors.
- `ReducedSVC`, "Reduced-SVM": a basis of training rows that grows while the SVM is trained
  (Keerthi et al. 2006).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from thrifty.learn.svm.base import SVCCompressor
from thrifty.learn.svm.moving import move_vectors
from thrifty.learn.svm.selection import select_vectors
from thrifty.learn.svm.svm_model import KernelSVM, ReducedSet

__all__ = ["LeastAngleSVC", "RandomSubsetSVC", "ReducedSVC"]

Floats = NDArray[np.float64]
# Rows drawn for each new basis vector: 95 % of the time one of the best twentieth is among them.
N_CANDIDATES = 59
# The coefficients are trained again when the basis has grown by this share.
RETRAINING_GROWTH = 0.25
# Newton steps while the basis grows, and once it has its final size.
NEWTON_STEPS_GROWING, NEWTON_STEPS_FINAL = 2, 20
# Ridge of the Newton equations, relative to their mean diagonal; keeps them solvable.
RIDGE = 1e-8


class LeastAngleSVC(SVCCompressor):
    """`CompressedSVC` without moving: vectors that LARS selects, with their best coefficients.

    Parameters
    ----------
    svc, prices, n_vectors, kernel, C, gamma, per_pair, class_weight, random_state
        As in `CompressedSVC`.
    """

    def _reduce(
        self,
        svm: KernelSVM,
        Z: Floats,
        y: NDArray[np.int64],
        sizes: list[int],
        random: RandomState,
    ) -> Iterator[ReducedSet]:
        order = select_vectors(svm, max(sizes, default=0), random)
        for size in sizes:
            yield move_vectors(svm, svm.vectors[order[:size]], 0, random)


class RandomSubsetSVC(SVCCompressor):
    """A random subset of the support vectors, with their best coefficients.

    Parameters
    ----------
    svc, prices, n_vectors, kernel, C, gamma, per_pair, class_weight, random_state
        As in `CompressedSVC`.
    """

    def _reduce(
        self,
        svm: KernelSVM,
        Z: Floats,
        y: NDArray[np.int64],
        sizes: list[int],
        random: RandomState,
    ) -> Iterator[ReducedSet]:
        order = random.permutation(len(svm.vectors))
        for size in sizes:
            yield move_vectors(svm, svm.vectors[order[:size]], 0, random)


class ReducedSVC(SVCCompressor):
    """An SVM with squared hinge loss, trained on a basis of few rows that grows greedily.

    Of some rows drawn at random, the one whose own coefficient lowers the objective most joins the
    basis. The method starts from the training rows; of the full SVM it uses the kernel and C only.

    Parameters
    ----------
    svc, prices, n_vectors, kernel, C, gamma, per_pair, class_weight, random_state
        As in `CompressedSVC`.
    """

    def _reduce(
        self,
        svm: KernelSVM,
        Z: Floats,
        y: NDArray[np.int64],
        sizes: list[int],
        random: RandomState,
    ) -> Iterator[ReducedSet]:
        basis = _GrowingBasis(svm, Z, y)
        for size in sizes:
            while len(basis.members) < size:
                basis.add_row(random)
            basis.train(NEWTON_STEPS_FINAL)
            solutions = np.column_stack([pair.solution for pair in basis.pairs])
            yield ReducedSet(Z[basis.members], solutions[:-1], solutions[-1])


@dataclass(eq=False)
class _PairProblem:
    """The squared-hinge problem of one pair of classes, with its current solution."""

    rows: NDArray[np.intp]
    """Rows of the two classes, (r,)."""

    labels: Floats
    """1 for the first class, -1 for the second, (r,)."""

    decisions: Floats
    """Decisions of the current solution, (r,)."""

    solution: Floats
    """Coefficient of each basis vector, then the intercept, (m + 1,)."""


class _GrowingBasis:
    """A basis of training rows, and the solution of each pair of classes on it.

    Attributes
    ----------
    members : list of int
        Rows in the basis.
    pairs : list of _PairProblem
    """

    def __init__(self, svm: KernelSVM, Z: Floats, y: NDArray[np.int64]) -> None:
        self.members: list[int] = []
        self.pairs: list[_PairProblem] = []
        for first, second in zip(*svm.pairs, strict=True):
            rows = np.flatnonzero((y == first) | (y == second))
            labels = np.where(y[rows] == first, 1.0, -1.0)
            self.pairs.append(_PairProblem(rows, labels, np.zeros(len(rows)), np.zeros(1)))
        self._svm, self._Z = svm, Z
        # Kernel values (n, m) of all rows with the basis, and its size when last trained.
        self._columns = np.empty((len(Z), 0))
        self._trained_size = 0

    def add_row(self, random: RandomState) -> None:
        """Add the best of some randomly drawn rows; retrain if the basis has grown enough."""
        free = np.setdiff1d(np.arange(len(self._Z)), self.members)
        drawn = random.permutation(free)[:N_CANDIDATES]
        kernel = self._svm.kernel.matrix(self._Z, self._Z[drawn])
        own = np.diag(kernel[drawn])
        # Best coefficient of each candidate while the others stay fixed, and what it gains.
        gains, steps = np.zeros(len(drawn)), []
        for pair in self.pairs:
            inside = pair.labels * pair.decisions < 1.0
            K = kernel[pair.rows[inside]]
            gradient = K.T @ (pair.labels[inside] - pair.decisions[inside])
            curvature = np.square(K).sum(axis=0) + own / self._svm.C
            gains += np.square(gradient) / curvature
            steps.append(gradient / curvature)
        best = int(gains.argmax())
        self.members.append(int(drawn[best]))
        self._columns = np.column_stack([self._columns, kernel[:, best]])
        for pair, step in zip(self.pairs, steps, strict=True):
            pair.decisions = pair.decisions + step[best] * kernel[pair.rows, best]
            pair.solution = np.insert(pair.solution, -1, step[best])
        if len(self.members) >= (1.0 + RETRAINING_GROWTH) * self._trained_size:
            self.train(NEWTON_STEPS_GROWING)

    def train(self, steps: int) -> None:
        """Take at most `steps` Newton steps on each pair, in the primal (Chapelle 2007)."""
        m = self._trained_size = len(self.members)
        penalty = self._columns[self.members] / self._svm.C
        for pair in self.pairs:
            K = np.column_stack([self._columns[pair.rows], np.ones(len(pair.rows))])
            inside = pair.labels * pair.decisions < 1.0
            for _ in range(steps):
                # Least squares on the rows inside of the margin.
                rows = K[inside]
                left = rows.T @ rows
                left[:m, :m] += penalty
                left[np.diag_indices(m + 1)] += RIDGE * (np.trace(left) / (m + 1) or 1.0)
                right = rows.T @ pair.labels[inside]
                pair.solution = np.asarray(np.linalg.solve(left, right), dtype=np.float64)
                pair.decisions = K @ pair.solution
                before, inside = inside, pair.labels * pair.decisions < 1.0
                if np.array_equal(before, inside) or not inside.any():
                    break
