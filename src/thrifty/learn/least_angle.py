"""Least angle regression with several responses: the order in which vectors enter.

Efron et al. 2004 for one response, as 002 sec. 4.3 has it; Similä and Tikka 2005 for several: the
correlation of a candidate is the length of its correlations with all responses. The fit moves
towards the least squares of the active candidates until another has as long a correlation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

__all__ = ["least_angle"]

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
    >>> from thrifty.learn.least_angle import least_angle
    >>> least_angle(np.eye(3), np.array([[1.0], [-3.0], [2.0]]), 2)
    array([1, 2])
    """
    path = _Path(gram, products)
    while len(path.active) < steps and path.enter():
        path.advance()
    return np.array(path.active, dtype=np.intp)


class _Path:
    """The state of the regression: who is active, and what is still unexplained."""

    def __init__(self, gram: Floats, products: Floats) -> None:
        s, outputs = products.shape
        self.gram, self.products = gram, products
        self.active: list[int] = []
        self.left = products.copy()
        self.open = np.ones(s, dtype=bool)
        self.coefficients = np.zeros((0, outputs))
        self.factor = np.zeros((0, 0))
        self.forward = np.zeros((0, outputs))
        self.least = 1e-20 * float(np.square(products).sum(axis=1).max(initial=0.0))

    def enter(self) -> bool:
        """Activate the candidate of the longest correlation; False when none is left."""
        lengths = np.where(self.open, np.square(self.left).sum(axis=1), -1.0)
        while True:
            best = int(lengths.argmax())
            if lengths[best] <= self.least:
                return False
            self.open[best] = False
            lengths[best] = -1.0
            if self._extend(best):
                self.active.append(best)
                self.length = float(np.square(self.left[best]).sum())
                return True

    def _extend(self, new: int) -> bool:
        """One more row of the Cholesky factor, and of the forward solution."""
        k = len(self.active)
        row = np.zeros(0)
        if k:
            row = solve_triangular(self.factor, self.gram[self.active, new], lower=True)
        rest = self.gram[new, new] - row @ row
        if rest <= DEPENDENT * self.gram[new, new]:
            return False
        factor = np.zeros((k + 1, k + 1))
        factor[:k, :k], factor[k, :k], factor[k, k] = self.factor, row, np.sqrt(rest)
        step = (self.products[new] - row @ self.forward) / factor[k, k]
        self.factor = factor
        self.forward = np.vstack([self.forward, step])
        self.coefficients = np.vstack([self.coefficients, np.zeros_like(step)])
        return True

    def advance(self) -> None:
        """Go towards the least squares until another candidate has as long a correlation."""
        goal = solve_triangular(self.factor, self.forward, lower=True, trans=1)
        direction = goal - self.coefficients
        slope = self.gram[:, self.active] @ direction
        step = self._step(slope)
        self.coefficients += step * direction
        self.left -= step * slope

    def _step(self, slope: Floats) -> float:
        """Least share g of the way with |left - g slope| = (1 - g) |left of the active|."""
        left, slope = self.left[self.open], slope[self.open]
        a = np.square(slope).sum(axis=1) - self.length
        b = (left * slope).sum(axis=1) - self.length
        c = np.square(left).sum(axis=1) - self.length
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            # Both roots, in the forms that do not cancel.
            turn = b + np.where(b < 0, -root, root)
            shares = np.concatenate([turn / a, c / turn])
        inside = shares[(shares > 1e-12) & (shares <= 1.0)]
        return float(inside.min(initial=1.0))
