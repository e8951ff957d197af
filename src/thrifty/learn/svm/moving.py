"""Moving vectors until few of them decide as the whole machine does (Xu 2014, eq. 4.10).

What is made small is the squared difference of the decisions on the machine's own support
vectors, each pair of classes on the vectors of its two classes: what a pair says of other classes
does not count in a vote that the right class wins. Where these are hardly more than the vectors
that are to fit them, those of other classes count, too, or anything would fit. A little of the
distance in feature space is added, which holds the decision between those vectors. The best
coefficients for given vectors follow from linear equations, so the search is over the places of
the vectors alone and the coefficients follow each move at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv
from scipy.optimize import minimize

from thrifty.learn.svm.source import Machine, Reduced

__all__ = ["Fit", "Sample", "is_crowded", "move", "sample_of"]

Floats = NDArray[np.float64]
# Rows that a search compares at a time, and how many times it draws them when there are more.
BATCH = 16384
ROUNDS = 4
# Keeps the equations solvable where two vectors meet.
RIDGE = 1e-9
# Weight of the distance in feature space.
CLOSENESS = 1e-5
# With fewer rows of its two classes for each vector, a pair is compared on other classes, too:
# in full while vectors move, when one set of equations serves all pairs, then with this weight.
CROWDED = 1.5
OTHERS = 0.1
# Pairs of steps that L-BFGS remembers.
MEMORY = 20


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows (n, q), the numbers of their classes, and what the machine says there, (n, P)."""

    rows: Floats
    owners: NDArray[np.int64]
    values: Floats

    def take(self, some: NDArray[np.intp]) -> Sample:
        """Only these rows."""
        return Sample(self.rows[some], self.owners[some], self.values[some])


def sample_of(machine: Machine) -> Sample:
    """The machine's support vectors."""
    return Sample(machine.vectors, machine.owners, machine.values(machine.vectors))


class Fit:
    """How well vectors at some places can do, and which way they do better.

    Parameters
    ----------
    machine : Machine
        What is to be approached.
    sample : Sample
        Rows on which decisions are compared.
    others : float
        Weight of the rows that are of neither class of a pair, from 0 to 1.
    closeness : float
        Weight of the squared distance in feature space.
    ridge : float
        Weight of the squared coefficients.
    """

    def __init__(
        self, machine: Machine, sample: Sample, others: float, closeness: float, ridge: float
    ) -> None:
        self.machine, self.kernel, self.sample = machine, machine.kernel, sample
        self.others, self.closeness, self.ridge = others, closeness, ridge
        owners, (first, second) = sample.owners[:, np.newaxis], machine.pairs
        weights = np.where((owners == first) | (owners == second), 1.0, others)
        self.weights = weights / weights.sum()

    def solve(self, V: Floats) -> Reduced:
        """The best coefficients and intercepts for vectors at these places."""
        return self._solve(V, self._design(V), *self._products(V))

    def loss(self, V: Floats) -> tuple[float, Floats]:
        """What is least, up to a constant, at the best coefficients for V; its gradient (m, q).

        The coefficients are at their best, so that they change with V does not count.
        """
        design, (among, across) = self._design(V), self._products(V)
        best = self._solve(V, design, among, across)
        loss, gradient = self._distance(best, among, across)
        apart = design[:, :-1] @ best.coefficients + best.intercepts - self.sample.values
        pull = self.weights * apart
        loss += 0.5 * float(np.vdot(pull, apart))
        gradient += self.kernel.gradient(self.sample.rows, V, pull @ best.coefficients.T)
        return loss, gradient

    def _distance(self, best: Reduced, among: Floats, across: Floats) -> tuple[float, Floats]:
        """Half the weighted squared distance in feature space and half the ridge."""
        A, V, full = best.coefficients, best.vectors, self.machine
        loss = 0.5 * self.ridge * float(np.square(A).sum())
        loss += 0.5 * self.closeness * float((A * (among @ A - 2.0 * across)).sum())
        apart = self.kernel.gradient(V, V, A @ A.T)
        apart -= self.kernel.gradient(full.vectors, V, full.coefficients @ A.T)
        return loss, self.closeness * apart

    def _design(self, V: Floats) -> Floats:
        """Kernel values of the rows, and a column of ones for the intercept."""
        rows = self.sample.rows
        return np.column_stack([self.kernel.matrix(rows, V), np.ones(len(rows))])

    def _products(self, V: Floats) -> tuple[Floats, Floats]:
        """In feature space: of the vectors among each other, (m, m), with the machine, (m, P)."""
        full = self.machine
        return self.kernel.matrix(V, V), self.kernel.matrix(V, full.vectors) @ full.coefficients

    def _solve(self, V: Floats, design: Floats, among: Floats, across: Floats) -> Reduced:
        """Normal equations of each pair: those of its two classes and of what all share."""
        m = len(V)
        right = design.T @ (self.weights * self.sample.values)
        right[:m] += self.closeness * across
        grams = self._grams(design)
        shared = self.others * reduce(np.add, grams)
        shared[:m, :m] += self.closeness * among
        shared[np.diag_indices(m)] += self.ridge
        if self.others == 1.0:
            found = _solution(shared, right)
            return Reduced(V, found[:m], found[m])
        first, second = self.machine.pairs
        equations, found = np.empty_like(shared), np.empty_like(right)
        for pair in range(len(first)):
            np.add(grams[first[pair]], grams[second[pair]], out=equations)
            equations *= 1.0 - self.others
            equations += shared
            found[:, pair] = _solution(equations, right[:, pair])
        return Reduced(V, found[:m], found[m])

    def _grams(self, design: Floats) -> list[Floats]:
        """Products of the columns over the rows of each class, weighted as those of a pair."""
        own = [design[self.sample.owners == owner] for owner in range(self.machine.n_classes)]
        return [self.weights.max() * (rows.T @ rows) for rows in own]


def _solution(equations: Floats, right: Floats) -> Floats:
    """Of symmetric equations; takes their place in memory unless they are not definite."""
    diagonal = equations.diagonal().copy()
    # A symmetric matrix is its own transpose, which has the order that LAPACK needs no copy of.
    _, found, fault = dposv(equations.T, right, lower=1, overwrite_a=1)
    if not fault:
        return np.asarray(found)
    # A kernel that is not positive definite, or vectors that have met: one half is still there.
    upper = np.triu(equations.T, 1)
    return np.asarray(np.linalg.lstsq(upper + upper.T + np.diag(diagonal), right)[0])


def move(machine: Machine, V: Floats, max_moves: int, random: RandomState) -> Reduced:
    """Move the vectors V (m, q), at most `max_moves` steps; 0 only finds their coefficients."""
    sample = sample_of(machine)
    # Steps in units of each feature's spread; what never varies stays where it is.
    spread = machine.vectors.std(axis=0)
    ridge = _ridge(machine, V)
    for batch, steps in _batches(sample, max_moves, random) if max_moves else ():
        V = _search(_fit(machine, batch, len(V), 1.0, ridge), V, spread, steps)
    return _fit(machine, sample, len(V), OTHERS, ridge).solve(V)


def _ridge(machine: Machine, V: Floats) -> float:
    size = float(np.square(machine.kernel.matrix(machine.vectors[:BATCH], V)).mean())
    return RIDGE * size / len(machine.intercepts)


def is_crowded(machine: Machine, vectors: int) -> bool:
    """Whether so many vectors have hardly more rows of two classes to decide on."""
    return CROWDED * vectors > 2.0 * len(machine.vectors) / machine.n_classes


def _fit(machine: Machine, sample: Sample, vectors: int, others: float, ridge: float) -> Fit:
    others = others if is_crowded(machine, vectors) else 0.0
    return Fit(machine, sample, others, CLOSENESS / len(machine.intercepts), ridge)


def _search(fit: Fit, V: Floats, spread: Floats, steps: int) -> Floats:
    def loss(flat: Floats) -> tuple[float, Floats]:
        value, gradient = fit.loss(V + flat.reshape(V.shape) * spread)
        return value, (gradient * spread).ravel()

    limits = {"maxiter": steps, "maxfun": 2 * steps, "gtol": 0.0, "ftol": 1e-9}
    found = minimize(
        loss, np.zeros(V.size), jac=True, method="L-BFGS-B", options={"maxcor": MEMORY, **limits}
    )
    return np.asarray(V + found.x.reshape(V.shape) * spread)


def _batches(sample: Sample, max_moves: int, random: RandomState) -> Iterator[tuple[Sample, int]]:
    """All rows, or several draws where they are many, each class in its share."""
    total = len(sample.rows)
    if total <= BATCH:
        yield sample, max_moves
        return
    for _ in range(ROUNDS):
        drawn = []
        for owner in np.unique(sample.owners):
            rows = random.permutation(np.flatnonzero(sample.owners == owner))
            drawn.append(rows[: -(-len(rows) * BATCH // total)])
        yield sample.take(np.sort(np.concatenate(drawn))), -(-max_moves // ROUNDS)
