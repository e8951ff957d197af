"""LARS-SVM: the support vectors that LARS picks, left where they are (Xu 2014, sec. 4.4).

Random subset: support vectors drawn blindly, with the best coefficients for them.

Reduced-SVM: basis vectors added greedily while training (Keerthi, Chapelle, DeCoste 2006).

Of some rows drawn, the one whose own coefficient lowers the squared-hinge objective most joins
the basis; the coefficients are trained again each time the basis has grown by a quarter. It starts
from the rows and not from a trained machine, of which it takes only the kernel and C.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from thrifty.learn.svm.base import Compressor
from thrifty.learn.svm.moving import move
from thrifty.learn.svm.selection import select
from thrifty.learn.svm.source import Job, Machine, Reduced
from thrifty.model.pairwise import pair_classes

__all__ = ["LeastAngleSVC", "RandomSubsetSVC", "ReducedSVC"]


class LeastAngleSVC(Compressor):
    """`CompressedSVC` that does not move its vectors; their coefficients are the best for them.

    Parameters
    ----------
    svc, n_vectors, kernel, C, gamma, per_pair, class_weight, prices, random_state
        As in `CompressedSVC`.
    """

    def _reduce(self, job: Job, sizes: list[int], random: RandomState) -> Iterator[Reduced]:
        order = select(job.machine, max(sizes, default=0), random)
        for size in sizes:
            yield move(job.machine, job.machine.vectors[order[:size]], 0, random)


class RandomSubsetSVC(Compressor):
    """A support vector machine of some of its vectors, chosen by chance.

    Parameters
    ----------
    svc, n_vectors, kernel, C, gamma, per_pair, class_weight, prices, random_state
        As in `CompressedSVC`.
    """

    def _reduce(self, job: Job, sizes: list[int], random: RandomState) -> Iterator[Reduced]:
        order = random.permutation(len(job.machine.vectors))
        for size in sizes:
            yield move(job.machine, job.machine.vectors[order[:size]], 0, random)


Floats = NDArray[np.float64]
# Rows drawn for each place: one of the best twentieth is among them nearly always.
CANDIDATES = 59
GROWTH = 0.25
# Newton steps while the basis grows, and once it has its size.
FEW, MANY = 2, 20


class ReducedSVC(Compressor):
    """A support vector machine trained on a basis of few rows.

    Parameters
    ----------
    svc, n_vectors, kernel, C, gamma, per_pair, class_weight, prices, random_state
        As in `CompressedSVC`.
    """

    def _reduce(self, job: Job, sizes: list[int], random: RandomState) -> Iterator[Reduced]:
        growth = _Growth(job)
        for size in sizes:
            while len(growth.basis) < size:
                growth.add(random)
            growth.train(MANY)
            yield growth.reduced


@dataclass(eq=False)
class _Pair:
    """Rows of a pair of classes, their labels, and what the basis says of them."""

    rows: NDArray[np.intp]
    y: Floats
    said: Floats
    solution: Floats


class _Growth:
    """A basis that grows: kernel columns of all rows, and one least-squares problem a pair."""

    def __init__(self, job: Job) -> None:
        self.machine: Machine = job.machine
        self.Z, self.basis, self.trained = job.Z, list[int](), 0
        self.columns = np.empty((len(job.Z), 0))
        self.pairs = []
        for first, second in zip(*pair_classes(job.machine.n_classes), strict=True):
            rows = np.flatnonzero((job.codes == first) | (job.codes == second))
            y = np.where(job.codes[rows] == first, 1.0, -1.0)
            self.pairs.append(_Pair(rows, y, np.zeros(len(rows)), np.zeros(1)))

    def add(self, random: RandomState) -> None:
        """The best of some rows joins the basis."""
        free = np.setdiff1d(np.arange(len(self.Z)), self.basis)
        drawn = random.permutation(free)[:CANDIDATES]
        kernel = self.machine.kernel.matrix(self.Z, self.Z[drawn])
        own = np.diag(kernel[drawn])
        gains = np.zeros(len(drawn))
        steps = [self._step(pair, kernel, own, gains) for pair in self.pairs]
        best = int(gains.argmax())
        self.basis.append(int(drawn[best]))
        self.columns = np.column_stack([self.columns, kernel[:, best]])
        for pair, step in zip(self.pairs, steps, strict=True):
            pair.said = pair.said + step[best] * kernel[pair.rows, best]
            pair.solution = np.insert(pair.solution, -1, step[best])
        if len(self.basis) >= (1.0 + GROWTH) * self.trained:
            self.train(FEW)

    def _step(self, pair: _Pair, kernel: Floats, own: Floats, gains: Floats) -> Floats:
        """Best coefficient of each candidate alone, the rest as it is; adds what it gains."""
        short = pair.y * pair.said < 1.0
        K = kernel[pair.rows[short]]
        slope = K.T @ (pair.y[short] - pair.said[short])
        curve = np.square(K).sum(axis=0) + own / self.machine.C
        gains += np.square(slope) / curve
        return np.asarray(slope / curve)

    def train(self, steps: int) -> None:
        """Newton's method on the squared hinge of each pair (primal, Chapelle 2007)."""
        self.trained = len(self.basis)
        among = self.columns[self.basis] / self.machine.C
        for pair in self.pairs:
            K = np.column_stack([self.columns[pair.rows], np.ones(len(pair.rows))])
            short = pair.y * pair.said < 1.0
            for _ in range(steps):
                pair.solution = _least_squares(K[short], pair.y[short], among)
                pair.said = K @ pair.solution
                before, short = short, pair.y * pair.said < 1.0
                if np.array_equal(before, short) or not short.any():
                    break

    @property
    def reduced(self) -> Reduced:
        """The basis as it stands."""
        solutions = np.column_stack([pair.solution for pair in self.pairs])
        return Reduced(self.Z[self.basis], solutions[:-1], solutions[-1])


def _least_squares(K: Floats, y: Floats, among: Floats) -> Floats:
    """Coefficients and bias of the rows within the margin."""
    m = len(among)
    left = K.T @ K
    left[:m, :m] += among
    left[np.diag_indices(m + 1)] += 1e-8 * (np.trace(left) / (m + 1) or 1.0)
    return np.asarray(np.linalg.solve(left, K.T @ y), dtype=np.float64)
