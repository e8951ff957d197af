"""Moving vectors until few of them decide as the whole machine does (002 eq. 4.10).

What is made small is the squared difference of the decisions on the machine's own support
vectors, each pair of classes on the vectors of its two classes: what a pair says of other classes
does not count in a vote that the right class wins. A little of the distance in feature space is
added, which holds the decision between those vectors, too. The best coefficients for given
vectors follow from linear equations, so the search is over the places of the vectors alone and
the coefficients follow each move at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from thrifty.learn.machine import Machine
from thrifty.learn.reduced import Reduced

__all__ = ["Fit", "Part", "move", "parts_of"]

Floats = NDArray[np.float64]
# Rows that a search compares at a time, and how many times it draws them when there are more.
BATCH = 4096
ROUNDS = 4
# Keeps the equations solvable where two vectors meet.
RIDGE = 1e-9
# Weight of the distance in feature space, when a pair has as many vectors as rows to fit.
CLOSENESS = 1e-4
# Pairs of steps that L-BFGS remembers.
MEMORY = 20


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one class, the pairs that concern them, and what the machine says there."""

    rows: Floats
    pairs: NDArray[np.intp]
    values: Floats


def parts_of(machine: Machine) -> list[Part]:
    """The machine's support vectors, class by class."""
    first, second = machine.pairs
    values = machine.values(machine.vectors)
    parts = []
    for owner in range(machine.n_classes):
        own = machine.owners == owner
        pairs = np.flatnonzero((first == owner) | (second == owner))
        parts.append(Part(machine.vectors[own], pairs, values[np.ix_(own, pairs)]))
    return parts


class Fit:
    """How well vectors at some places can do, and which way they do better.

    Parameters
    ----------
    machine : Machine
        What is to be approached.
    parts : sequence of Part
        Rows on which decisions are compared.
    closeness : float
        Weight of the squared distance in feature space.
    ridge : float
        Weight of the squared coefficients.
    """

    def __init__(
        self, machine: Machine, parts: Sequence[Part], closeness: float, ridge: float
    ) -> None:
        self.machine, self.kernel, self.parts = machine, machine.kernel, parts
        self.outputs = len(machine.intercepts)
        self.count = sum(part.values.size for part in parts)
        self.closeness, self.ridge = closeness, ridge

    def solve(self, V: Floats) -> Reduced:
        """The best coefficients and intercepts for vectors at these places."""
        return self._solve(V, self._designs(V), *self._products(V))

    def loss(self, V: Floats) -> tuple[float, Floats]:
        """What is least, up to a constant, at the best coefficients for V; its gradient (m, q).

        The coefficients are at their best, so that they change with V does not count.
        """
        designs, (among, across) = self._designs(V), self._products(V)
        best = self._solve(V, designs, among, across)
        loss, gradient = self._distance(best, among, across)
        for part, design in zip(self.parts, designs, strict=True):
            own = best.coefficients[:, part.pairs]
            apart = design[:, :-1] @ own + best.intercepts[part.pairs] - part.values
            loss += 0.5 * float(np.square(apart).sum()) / self.count
            gradient += self.kernel.gradient(part.rows, V, apart @ own.T / self.count)
        return loss, gradient

    def _distance(self, best: Reduced, among: Floats, across: Floats) -> tuple[float, Floats]:
        """Half the weighted squared distance in feature space and half the ridge."""
        A, V, full = best.coefficients, best.vectors, self.machine
        loss = 0.5 * self.ridge * float(np.square(A).sum())
        loss += 0.5 * self.closeness * float((A * (among @ A - 2.0 * across)).sum())
        apart = self.kernel.gradient(V, V, A @ A.T)
        apart -= self.kernel.gradient(full.vectors, V, full.coefficients @ A.T)
        return loss, self.closeness * apart

    def _designs(self, V: Floats) -> list[Floats]:
        """Kernel values of the rows of each part, and a column of ones for the intercept."""
        return [
            np.column_stack([self.kernel.matrix(part.rows, V), np.ones(len(part.rows))])
            for part in self.parts
        ]

    def _products(self, V: Floats) -> tuple[Floats, Floats]:
        """In feature space: of the vectors among each other, (m, m), with the machine, (m, P)."""
        full = self.machine
        return self.kernel.matrix(V, V), self.kernel.matrix(V, full.vectors) @ full.coefficients

    def _solve(self, V: Floats, designs: list[Floats], among: Floats, across: Floats) -> Reduced:
        """Normal equations of each pair: those of its two classes, added."""
        m = len(V)
        shared = np.zeros((m + 1, m + 1))
        shared[:m, :m] = self.closeness * among
        shared[np.diag_indices(m)] += self.ridge
        right = np.zeros((m + 1, self.outputs))
        right[:m] = self.closeness * across
        grams = [design.T @ design / self.count for design in designs]
        for part, design in zip(self.parts, designs, strict=True):
            right[:, part.pairs] += design.T @ part.values / self.count
        first, second = self.machine.pairs
        found = np.empty((m + 1, self.outputs))
        for pair in range(self.outputs):
            equations = shared + grams[first[pair]] + grams[second[pair]]
            found[:, pair] = _solution(equations, right[:, pair])
        return Reduced(V, found[:m], found[m])


def _solution(equations: Floats, right: Floats) -> Floats:
    try:
        return np.asarray(cho_solve(cho_factor(equations, check_finite=False), right))
    except np.linalg.LinAlgError:
        # A kernel that is not positive definite, or vectors that have met.
        return np.asarray(np.linalg.lstsq(equations, right)[0])


def move(machine: Machine, V: Floats, max_moves: int, random: RandomState) -> Reduced:
    """Move the vectors V (m, q), at most `max_moves` steps; 0 only finds their coefficients."""
    parts = parts_of(machine)
    # Steps in units of each feature's spread; what never varies stays where it is.
    spread = machine.vectors.std(axis=0)
    pairs = len(machine.intercepts)
    size = float(np.square(machine.kernel.matrix(machine.vectors[:BATCH], V)).mean())
    # Two classes of a pair have this many rows for each vector; with few, more must hold it.
    rows = 2.0 * len(machine.vectors) / machine.n_classes
    closeness = CLOSENESS * min(len(V) / rows, 1.0) / pairs

    def fit(some: Sequence[Part]) -> Fit:
        return Fit(machine, some, closeness, RIDGE * size / pairs)

    for batch, steps in _batches(parts, max_moves, random) if max_moves else ():
        V = _search(fit(batch), V, spread, steps)
    return fit(parts).solve(V)


def _search(fit: Fit, V: Floats, spread: Floats, steps: int) -> Floats:
    def loss(flat: Floats) -> tuple[float, Floats]:
        value, gradient = fit.loss(V + flat.reshape(V.shape) * spread)
        return value, (gradient * spread).ravel()

    limits = {"maxiter": steps, "maxfun": 2 * steps, "gtol": 0.0, "ftol": 1e-9}
    found = minimize(
        loss, np.zeros(V.size), jac=True, method="L-BFGS-B", options={"maxcor": MEMORY, **limits}
    )
    return np.asarray(V + found.x.reshape(V.shape) * spread)


def _batches(
    parts: Sequence[Part], max_moves: int, random: RandomState
) -> Iterator[tuple[Sequence[Part], int]]:
    """All rows, or several draws where they are many, each class in its share."""
    total = sum(len(part.rows) for part in parts)
    if total <= BATCH:
        yield parts, max_moves
        return
    for _ in range(ROUNDS):
        drawn = []
        for part in parts:
            size = -(-len(part.rows) * BATCH // total)
            rows = np.sort(random.permutation(len(part.rows))[:size])
            drawn.append(Part(part.rows[rows], part.pairs, part.values[rows]))
        yield drawn, -(-max_moves // ROUNDS)
