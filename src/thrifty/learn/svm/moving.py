"""Move vectors until few of them decide as the full SVM does (Xu 2014, sec. 4.4, eq. 4.10).

The objective is the squared difference between the decisions of the reduced set and those of the
full SVM on its own support vectors. Three details go beyond the equation:

- A pair of classes is compared on the vectors of its two classes only, because its decision on
  other classes does not matter in a vote that the right class wins. If these rows are hardly more
  than the vectors to be fitted to them (`is_crowded`), the rows of other classes count, too;
  otherwise anything would fit.
- A small multiple of the squared distance in feature space is added (Burges 1996). It keeps the
  decision in place between the rows.
- For given vectors the best coefficients follow from linear equations. So the search runs over
  the positions of the vectors alone, and the coefficients are eliminated from the objective.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv
from scipy.optimize import minimize

from thrifty.learn.svm.svm_model import KernelSVM, ReducedSet

__all__ = ["MatchingObjective", "Sample", "is_crowded", "move_vectors"]

Floats = NDArray[np.float64]
# Rows that one search compares, and how many searches there are if the SVM has more vectors.
ROWS_PER_SEARCH = 16384
SEARCHES = 4
# Weight of the squared coefficients, in units of the mean squared kernel value; it keeps the
# equations solvable if two vectors meet.
RIDGE = 1e-9
# Weight of the squared distance in feature space.
DISTANCE_WEIGHT = 1e-5
# With fewer rows of its two classes than this for each vector, a pair is compared on the rows of
# other classes, too. These have full weight while vectors move, so that one system of equations
# serves all pairs, and a smaller weight when the final coefficients are found.
MIN_ROWS_PER_VECTOR = 1.5
OTHERS_WEIGHT_MOVING = 1.0
OTHERS_WEIGHT_FINAL = 0.1
# Pairs of steps and gradients that L-BFGS remembers.
LBFGS_MEMORY = 20


def move_vectors(svm: KernelSVM, start: Floats, max_moves: int, random: RandomState) -> ReducedSet:
    """Move vectors from `start` (m, q) by at most `max_moves` steps of L-BFGS.

    With ``max_moves=0`` the vectors stay, and only their coefficients and intercepts are found.
    `random` draws the rows to compare if there are more than `ROWS_PER_SEARCH`.
    """
    V, sample, n_pairs = start, Sample.of(svm), len(svm.intercepts)
    crowded = is_crowded(svm, len(V))
    kernel_size = float(np.square(svm.kernel.matrix(svm.vectors[:ROWS_PER_SEARCH], V)).mean())
    ridge = RIDGE * kernel_size / n_pairs
    distance_weight = DISTANCE_WEIGHT / n_pairs
    # Steps are in units of the spread of each encoded column; one that never varies stays fixed.
    spread = svm.vectors.std(axis=0)
    for part, steps in sample.parts(max_moves, random) if max_moves else ():
        others = OTHERS_WEIGHT_MOVING if crowded else 0.0
        objective = MatchingObjective(svm, part, others, distance_weight, ridge)
        V = _minimize_loss(objective, V, spread, steps)
    others = OTHERS_WEIGHT_FINAL if crowded else 0.0
    return MatchingObjective(svm, sample, others, distance_weight, ridge).solve(V)


def is_crowded(svm: KernelSVM, n_vectors: int) -> bool:
    """Whether a pair of classes has hardly more rows than there are vectors to be fitted."""
    return MIN_ROWS_PER_VECTOR * n_vectors > 2.0 * len(svm.vectors) / svm.n_classes


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows on which decisions are compared.

    Parameters
    ----------
    rows : array of shape (n, q)
    classes : int64 array of shape (n,)
        Class code of each row.
    decisions : array of shape (n, P)
        Decisions of the full SVM.
    """

    rows: Floats
    classes: NDArray[np.int64]
    decisions: Floats

    @classmethod
    def of(cls, svm: KernelSVM) -> Self:
        """Take all support vectors."""
        return cls(svm.vectors, svm.vector_classes, svm.decisions(svm.vectors))

    def parts(self, max_moves: int, random: RandomState) -> Iterator[tuple[Sample, int]]:
        """Yield the rows of each search and its share of the moves.

        One search takes all rows, if they are not too many. Otherwise each takes a stratified
        random sample.
        """
        total = len(self.rows)
        if total <= ROWS_PER_SEARCH:
            yield self, max_moves
            return
        for _ in range(SEARCHES):
            drawn = []
            for code in np.unique(self.classes):
                rows = random.permutation(np.flatnonzero(self.classes == code))
                drawn.append(rows[: -(-len(rows) * ROWS_PER_SEARCH // total)])
            some = np.sort(np.concatenate(drawn))
            part = Sample(self.rows[some], self.classes[some], self.decisions[some])
            yield part, -(-max_moves // SEARCHES)


class MatchingObjective:
    """How well vectors at given positions can match the decisions of an SVM.

    Parameters
    ----------
    svm : KernelSVM
        The full SVM.
    sample : Sample
        Rows on which decisions are compared.
    others : float
        Weight of the rows that belong to neither class of a pair, from 0 to 1.
    distance_weight : float
        Weight of the squared distance in feature space.
    ridge : float
        Weight of the squared coefficients.
    """

    def __init__(
        self, svm: KernelSVM, sample: Sample, others: float, distance_weight: float, ridge: float
    ) -> None:
        self.svm, self.kernel, self.sample = svm, svm.kernel, sample
        self.others, self.distance_weight, self.ridge = others, distance_weight, ridge
        classes, (first, second) = sample.classes[:, np.newaxis], svm.pairs
        weights = np.where((classes == first) | (classes == second), 1.0, others)
        self.weights = weights / weights.sum()

    def solve(self, V: Floats) -> ReducedSet:
        """Find the best coefficients and intercepts for vectors V (m, q)."""
        return self._solve(V, self._design(V), *self._feature_space_products(V))

    def loss(self, V: Floats) -> tuple[float, Floats]:
        """Return the objective at the best coefficients for V, up to a constant, and its gradient.

        The gradient (m, q) ignores that the coefficients change with V: they are at their optimum,
        so to first order their change does not matter.
        """
        svm, design = self.svm, self._design(V)
        among, across = self._feature_space_products(V)
        best = self._solve(V, design, among, across)
        A = best.coefficients
        # Half the ridge, and half the weighted squared distance in feature space.
        loss = 0.5 * self.ridge * float(np.square(A).sum())
        loss += 0.5 * self.distance_weight * float((A * (among @ A - 2.0 * across)).sum())
        gradient = self.kernel.gradient(V, V, A @ A.T)
        gradient -= self.kernel.gradient(svm.vectors, V, svm.coefficients @ A.T)
        gradient = self.distance_weight * gradient
        # Half the weighted squared difference of the decisions.
        difference = design[:, :-1] @ A + best.intercepts - self.sample.decisions
        pull = self.weights * difference
        loss += 0.5 * float(np.vdot(pull, difference))
        gradient += self.kernel.gradient(self.sample.rows, V, pull @ A.T)
        return loss, gradient

    def _design(self, V: Floats) -> Floats:
        """Kernel values of the rows, and a column of ones for the intercept, (n, m + 1)."""
        rows = self.sample.rows
        return np.column_stack([self.kernel.matrix(rows, V), np.ones(len(rows))])

    def _feature_space_products(self, V: Floats) -> tuple[Floats, Floats]:
        """Products of the vectors with each other, (m, m), and with the SVM's normals, (m, P)."""
        svm = self.svm
        return self.kernel.matrix(V, V), self.kernel.matrix(V, svm.vectors) @ svm.coefficients

    def _solve(self, V: Floats, design: Floats, among: Floats, across: Floats) -> ReducedSet:
        """Solve the normal equations of each pair.

        The equations of a pair are the sum of a part of its two classes and a part that all pairs
        share. If other classes have full weight, all pairs have the same equations.
        """
        m = len(V)
        right = design.T @ (self.weights * self.sample.decisions)
        right[:m] += self.distance_weight * across
        by_class = [design[self.sample.classes == code] for code in range(self.svm.n_classes)]
        grams = [self.weights.max() * (rows.T @ rows) for rows in by_class]
        shared = self.others * reduce(np.add, grams)
        shared[:m, :m] += self.distance_weight * among
        shared[np.diag_indices(m)] += self.ridge
        if self.others == 1.0:
            found = _solve_symmetric(shared, right)
            return ReducedSet(V, found[:m], found[m])
        first, second = self.svm.pairs
        equations, found = np.empty_like(shared), np.empty_like(right)
        for pair in range(len(first)):
            np.add(grams[first[pair]], grams[second[pair]], out=equations)
            equations *= 1.0 - self.others
            equations += shared
            found[:, pair] = _solve_symmetric(equations, right[:, pair])
        return ReducedSet(V, found[:m], found[m])


def _minimize_loss(objective: MatchingObjective, V: Floats, spread: Floats, steps: int) -> Floats:
    """Return vectors of lower loss, found by L-BFGS from V (m, q)."""

    def loss(flat: Floats) -> tuple[float, Floats]:
        value, gradient = objective.loss(V + flat.reshape(V.shape) * spread)
        return value, (gradient * spread).ravel()

    limits = {"maxiter": steps, "maxfun": 2 * steps, "gtol": 0.0, "ftol": 1e-9}
    options = {"maxcor": LBFGS_MEMORY, **limits}
    found = minimize(loss, np.zeros(V.size), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(V + found.x.reshape(V.shape) * spread)


def _solve_symmetric(equations: Floats, right: Floats) -> Floats:
    """Solve symmetric equations; their memory is overwritten."""
    diagonal = equations.diagonal().copy()
    # The transpose is the same matrix in the memory order that LAPACK reads without a copy.
    _, found, failed = dposv(equations.T, right, lower=1, overwrite_a=1)
    if not failed:
        return np.asarray(found)
    # The kernel is not positive definite, or vectors have met. dposv overwrote one triangle only.
    upper = np.triu(equations.T, 1)
    return np.asarray(np.linalg.lstsq(upper + upper.T + np.diag(diagonal), right)[0])
