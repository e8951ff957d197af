"""Choosing support vectors by least angle regression on the least-squares form (Xu 2014, eq. 4.9).

With the bias fixed and the hinge dropped, the machine's objective is that of least squares:
labels less the bias, explained by the columns of the kernel matrix, plus the squared norm. LARS
on it takes vectors one at a time, so one run orders them for every size.

Least angle regression with several responses: the order in which vectors enter.

Efron et al. 2004 for one response, as Xu 2014, sec. 4.3 has it; Similä and Tikka 2005 for several: the
correlation of a candidate is the length of its correlations with all responses. The fit moves
towards the least squares of the active candidates until another has as long a correlation.
"""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from thrifty.learn.svm.source import Machine

__all__ = ["least_angle", "select"]

Floats = NDArray[np.float64]
# Below this share of its own length, a candidate lies in the span of those before.
DEPENDENT = 1e-10


def least_angle(gram: Floats, products: Floats, steps: int) -> NDArray[np.intp]:
    """Candidates in the order in which they become active, at most `steps`.

    Parameters
    ----------
    gram : array (s, s)
        Inner products of the candidates.
    products : array (s, P)
        Inner products of the candidates with the responses.
    steps : int
        How many to take; fewer come where no other candidate tells anything more.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.svm.selection import least_angle
    >>> least_angle(np.eye(3), np.array([[1.0], [-3.0], [2.0]]), 2)
    array([1, 2])
    """
    path = _Path(gram, products, steps)
    while len(path.active) < steps and path.enter():
        path.advance()
    return np.array(path.active, dtype=np.intp)


class _Path:
    """The state of the regression: who is active, and what is still unexplained.

    Both `left`, the correlations (s, P) that are left on the way, and `best`, those that the least
    squares of the active would leave, follow each step without solving anything: a new candidate
    adds a column to a Cholesky factor of the candidates' products, which lowers `best` by what
    that column explains.
    """

    def __init__(self, gram: Floats, products: Floats, steps: int) -> None:
        self.gram = gram
        self.active: list[int] = []
        self.left, self.best = products.copy(), products.copy()
        self.open = np.ones(len(products), dtype=bool)
        self.factor = np.empty((len(products), steps))
        self.least = 1e-20 * float(_dots(products, products).max(initial=0.0))

    def enter(self) -> bool:
        """Activate the candidate of the longest correlation; False when none is left."""
        lengths = np.where(self.open, _dots(self.left, self.left), -1.0)
        while True:
            new = int(lengths.argmax())
            if lengths[new] <= self.least:
                return False
            self.open[new] = False
            self.length, lengths[new] = float(lengths[new]), -1.0
            if self._extend(new):
                self.active.append(new)
                return True

    def _extend(self, new: int) -> bool:
        """One more column of the factor, unless the candidate is in the span of the others."""
        k = len(self.active)
        before, row = self.factor[:, :k], self.factor[new, :k]
        rest = self.gram[new, new] - row @ row
        if rest <= DEPENDENT * self.gram[new, new]:
            return False
        column = (self.gram[new] - before @ row) / np.sqrt(rest)
        self.factor[:, k] = column
        self.best -= np.outer(column, self.best[new] / np.sqrt(rest))
        return True

    def advance(self) -> None:
        """Go towards the least squares until another candidate has as long a correlation."""
        slope = self.left - self.best
        self.left -= self._step(slope) * slope

    def _step(self, slope: Floats) -> float:
        """Least share g of the way with |left - g slope| = (1 - g) |left of the active|."""
        a = _dots(slope, slope)[self.open] - self.length
        b = _dots(self.left, slope)[self.open] - self.length
        c = _dots(self.left, self.left)[self.open] - self.length
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            # Both roots, in the forms that do not cancel.
            turn = b + np.where(b < 0, -root, root)
            shares = np.concatenate([turn / a, c / turn])
        inside = shares[(shares > 1e-12) & (shares <= 1.0)]
        return float(inside.min(initial=1.0))


def _dots(first: Floats, second: Floats) -> Floats:
    """Inner products of the rows, one by one."""
    return np.asarray(np.einsum("ij,ij->i", first, second))


# More support vectors than these are not all compared with each other, but so many drawn.
MOST = 6000


def select(machine: Machine, count: int, random: RandomState) -> NDArray[np.intp]:
    """Positions of `count` support vectors, the first to enter first; fewer if no more tell.

    All pairs of classes choose together. A pair has labels for the vectors of its two classes;
    for the others, what the machine itself says takes their place.
    """
    among = np.arange(len(machine.vectors))
    if len(among) > MOST:
        among = np.sort(random.permutation(among)[:MOST])
    S = machine.vectors[among]
    labels = machine.labels[among]
    targets = np.where(labels != 0, labels, machine.values(S)) - machine.intercepts
    K = machine.kernel.matrix(S, S)
    order = least_angle(K.T @ K + K / machine.C, K.T @ targets, min(count, len(S)))
    return among[order]
