"""A linear support vector machine with squared hinge, on a representation that changes a little.

Its optimum is in closed form given its support vectors (Xu 2014, sec. 2.2.3): M [b, w] = z, where M is
the weighted Gram matrix of the dimensions over the support vectors. Between two fits one
dimension changes and few rows enter or leave the support, so M is mended and not computed anew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

__all__ = ["HingeSvm"]

Floats = NDArray[np.float64]

STEPS = 50
HALVINGS = 10
# The bias is free; this keeps M regular when there are no support vectors.
RIDGE = 1e-12


class HingeSvm:
    """Minimizes ``1/2 w'w + C/2 sum_i weight_i [1 - sign_i (w'phi_i + b)]_+^2`` (eq. 2.21, 2.26).

    A representation is an array (dimensions, n) whose first row is all ones, for the bias.

    Parameters
    ----------
    sign : array (n,)
        Class of each row, -1 or 1.
    weight : array (n,)
        Weights of the rows (mu).
    cost : float
        C, which may be changed between fits.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.anytime.hinge_svm import HingeSvm
    >>> svm = HingeSvm(np.array([-1.0, 1.0]), np.ones(2), cost=1e6)
    >>> svm.fit(np.array([[1.0, 1.0], [0.0, 4.0]]))
    >>> svm.beta.round(3)
    array([-1. ,  0.5])
    """

    def __init__(self, sign: Floats, weight: Floats, cost: float = 1.0) -> None:
        self.sign, self.weight, self.cost = sign, weight, cost
        self.beta: Floats = np.zeros(0)
        self.outputs: Floats = np.zeros(len(sign))
        self.support = np.ones(len(sign), dtype=bool)
        self._gram: Floats = np.zeros((0, 0))
        self._z: Floats = np.zeros(0)

    def fit(self, phi: Floats, changed: int | None = None) -> None:
        """Go to the optimum for `phi`; with `changed`, only that dimension is not as before."""
        self._widen(len(phi))
        if changed is None:
            self._start(phi)
        else:
            self._renew(phi, changed)
        if changed is None or self.beta[changed] != 0.0:
            self.outputs = self.beta @ phi  # as they were, where the weight is 0 so far
        now = self.value(self.beta, self.outputs)
        for _ in range(STEPS):
            goal = self.solve(self._z)
            step, now = self._advance(goal, goal @ phi, now)
            settled = not self._exchange(phi, self.sign * self.outputs < 1.0)
            if step == 0.0 or (settled and step == 1.0):
                return

    def copy(self) -> HingeSvm:
        """The same machine, to come back to."""
        other = HingeSvm(self.sign, self.weight, self.cost)
        other.beta, other.outputs, other.support = self.beta, self.outputs, self.support
        other._gram, other._z = self._gram.copy(), self._z.copy()
        return other

    def solve(self, right: Floats) -> Floats:
        """Multiply by the inverse of M (eq. 2.31)."""
        matrix = self._gram.copy()
        matrix.flat[:: len(matrix) + 1] += 1.0 / self.cost
        matrix[0, 0] += RIDGE * self.weight.sum() - 1.0 / self.cost
        _, solution, failed = dposv(matrix, right)
        # Rounding may have cost a nearly singular M its last bit of definiteness.
        return np.asarray(np.linalg.solve(matrix, right) if failed else solution)

    def value(self, beta: Floats, outputs: Floats) -> float:
        """The objective at `beta`, whose outputs on the rows are `outputs`."""
        slack = np.maximum(0.0, 1.0 - self.sign * outputs)
        loss = float(np.sum(self.weight * slack * slack))
        return 0.5 * float(beta[1:] @ beta[1:]) + 0.5 * self.cost * loss

    def _advance(self, goal: Floats, outputs: Floats, now: float) -> tuple[float, float]:
        """Go to `goal`, or part of the way if the objective, `now`, would not fall.

        Going from one set of support vectors to the optimum of another may overshoot. Returns
        the share of the way and the objective there.
        """
        start, first, step = self.beta, self.outputs, 1.0
        for _ in range(HALVINGS):
            if step < 1.0:
                outputs = (first + outputs) / 2.0
            beta = goal if step == 1.0 else start + step * (goal - start)
            value = self.value(beta, outputs)
            if value <= now:
                self.beta, self.outputs = beta, outputs
                return step, value
            step /= 2.0
        return 0.0, now

    def _widen(self, dimensions: int) -> None:
        """Room for further dimensions, of weight 0 so far."""
        more = dimensions - len(self.beta)
        if more:
            self.beta = np.append(self.beta, np.zeros(more))
            self._z = np.append(self._z, np.zeros(more))
            self._gram = np.pad(self._gram, (0, more))

    def _start(self, phi: Floats) -> None:
        rows = np.flatnonzero(self.support)
        chosen = phi[:, rows]
        weighted = chosen * self.weight[rows]
        self._gram, self._z = weighted @ chosen.T, weighted @ self.sign[rows]

    def _renew(self, phi: Floats, changed: int) -> None:
        """Mend what depends on one dimension."""
        weighted = np.where(self.support, self.weight * phi[changed], 0.0)
        self._gram[changed] = self._gram[:, changed] = phi @ weighted
        self._z[changed] = weighted @ self.sign

    def _exchange(self, phi: Floats, support: NDArray[np.bool_]) -> bool:
        """Take rows into the support and out of it; say whether there were any."""
        rows = np.flatnonzero(support != self.support)
        if not len(rows):
            return False
        chosen = phi[:, rows]
        weighted = chosen * np.where(support[rows], self.weight[rows], -self.weight[rows])
        self._gram += weighted @ chosen.T
        self._z += weighted @ self.sign[rows]
        self.support = support
        return True
