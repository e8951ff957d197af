"""The assignment step: the probability q of each training row of being sent to the expensive model.

q minimizes the expected loss plus the distance to the gate, with a mean of at most ``share``
(P_full): OPT1 of Nan 2018 for the Kullback-Leibler distance, OPT5 for the symmetric one. The
constraint has one Lagrange multiplier, which is found by bracketing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, xlogy

__all__ = ["DISTANCES", "Assignment", "Distance", "KLDistance", "SymmetricDistance"]

Floats = NDArray[np.float64]

# In log-odds s, the symmetric problem of a row is ``-force * expit(s) + (s - gate)^2``. It is
# convex if |force| * max|expit''| < 2, that is if |force| < 20.8.
MAX_CONVEX_FORCE = 20.0
# Log-odds that are tried where a row may have two minima.
N_GRID = 65
MAX_NEWTON_STEPS = 60
# Newton stops once the derivative of every row is this small.
DERIVATIVE_TOL = 1e-11
# Absolute and relative tolerance of the multiplier.
MULTIPLIER_TOL = 1e-9
# Keeps the log-odds of a probability that was rounded to 0 or 1 finite.
MIN_PROBABILITY = 1e-300


class Assignment(NamedTuple):
    """The result of an assignment step."""

    q: Floats
    """Probability of each row of being sent, (n,)."""
    multiplier: float
    """Lagrange multiplier of the share; 0 if the constraint is not active."""


class Distance(ABC):
    """A distance between the outputs of the gate, which are log-odds, and q."""

    @abstractmethod
    def value(self, q: Floats, gate: Floats) -> Floats:
        """Return the distance of each row, (n,)."""

    @abstractmethod
    def derivatives(self, q: Floats, gate: Floats) -> tuple[Floats, Floats]:
        """Return the negative gradient and the Hessian by the gate's outputs, (n,) each."""

    @abstractmethod
    def best_constant(self, q: Floats, weight: Floats | None) -> float:
        """Return the constant gate with the smallest weighted distance to q."""

    @abstractmethod
    def best_q(self, excess: Floats, gate: Floats, multiplier: float) -> Floats:
        """Return the unconstrained minimizer (n,) once each row sent costs `multiplier`."""

    def assign(
        self, excess: Floats, gate: Floats, share: float, weight: Floats | None = None
    ) -> Assignment:
        """Solve for the best q with a mean of at most `share`.

        Parameters
        ----------
        excess : float64 array of shape (n,)
            Loss of the local model minus that of the expensive model.
        gate : float64 array of shape (n,)
            Outputs of the gate.
        share : float
            Largest mean of q, above 0.
        weight : float64 array of shape (n,), optional
            Sample weights of the mean.
        """

        def above_share(multiplier: float) -> float:
            q = self.best_q(excess, gate, multiplier)
            return float(np.average(q, weights=weight)) - share

        if above_share(0.0) <= 0:
            return Assignment(self.best_q(excess, gate, 0.0), 0.0)
        low, high = 0.0, 1.0
        while above_share(high) > 0:
            low, high = high, 2.0 * high
        root = float(brentq(above_share, low, high, xtol=MULTIPLIER_TOL, rtol=MULTIPLIER_TOL))
        # The root may be off by rounding: raise it until the constraint holds.
        step = MULTIPLIER_TOL * (1.0 + root)
        while above_share(root) > 0 and root < high:
            root, step = min(root + step, high), 2.0 * step
        return Assignment(self.best_q(excess, gate, root), root)


class KLDistance(Distance):
    """Kullback-Leibler divergence of q from the gate; q is an I-projection, in closed form.

    Examples
    --------
    Three rows for which the local model is worse, as good, and better than the expensive model;
    at most 20 % may be sent:

    >>> import numpy as np
    >>> from thrifty.learn.gates.assignment import KLDistance
    >>> q, multiplier = KLDistance().assign(np.array([3.0, 0.0, -3.0]), np.zeros(3), share=0.2)
    >>> q.round(3), q.mean().round(6).item(), round(multiplier, 2)
    (array([0.542, 0.056, 0.003]), 0.2, 2.83)
    """

    def value(self, q: Floats, gate: Floats) -> Floats:
        """Return the divergence of each row, (n,)."""
        entropy = xlogy(q, q) + xlogy(1.0 - q, 1.0 - q)
        return np.asarray(
            entropy + q * np.logaddexp(0.0, -gate) + (1.0 - q) * np.logaddexp(0.0, gate)
        )

    def derivatives(self, q: Floats, gate: Floats) -> tuple[Floats, Floats]:
        """Return those of the logistic loss: ``q - p`` and ``p (1 - p)`` for p = expit(gate)."""
        p = expit(gate)
        return q - p, p * (1.0 - p)

    def best_constant(self, q: Floats, weight: Floats | None) -> float:
        """Return the log-odds of the mean of q."""
        mean = float(np.clip(np.average(q, weights=weight), 1e-12, 1.0 - 1e-12))
        return float(np.log(mean / (1.0 - mean)))

    def best_q(self, excess: Floats, gate: Floats, multiplier: float) -> Floats:
        """Return ``expit(A - B - multiplier)``, where A - B of OPT1 is the gate plus the excess."""
        return np.asarray(expit(gate + excess - multiplier))


class SymmetricDistance(Distance):
    """Squared difference between the gate and the log-odds of q; each row is solved by Newton.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.gates.assignment import SymmetricDistance
    >>> q, multiplier = SymmetricDistance().assign(np.array([3.0, -3.0]), np.zeros(2), share=0.4)
    >>> q.round(3), round(multiplier, 2)
    (array([0.477, 0.323]), 3.75)
    """

    def value(self, q: Floats, gate: Floats) -> Floats:
        """Return the squared difference of each row, (n,)."""
        return np.asarray((_log_odds(q) - gate) ** 2)

    def derivatives(self, q: Floats, gate: Floats) -> tuple[Floats, Floats]:
        """Return twice the difference, and the constant 2."""
        return 2.0 * (_log_odds(q) - gate), np.full(len(gate), 2.0)

    def best_constant(self, q: Floats, weight: Floats | None) -> float:
        """Return the mean log-odds of q."""
        return float(np.average(_log_odds(q), weights=weight))

    def best_q(self, excess: Floats, gate: Floats, multiplier: float) -> Floats:
        """Minimize ``(multiplier - excess) q + (log-odds of q - gate)^2`` for each row."""
        force = excess - multiplier
        low, high = np.minimum(gate, gate + force / 8.0), np.maximum(gate, gate + force / 8.0)
        far = np.flatnonzero(np.abs(force) > MAX_CONVEX_FORCE)
        if len(far):
            # These rows may have two minima: bracket the lowest point of a grid.
            grid = low[far] + np.linspace(0.0, 1.0, N_GRID)[:, np.newaxis] * (high[far] - low[far])
            best = np.argmin(-force[far] * expit(grid) + (grid - gate[far]) ** 2, axis=0)
            columns = np.arange(len(far))
            low[far] = grid[np.maximum(best - 1, 0), columns]
            high[far] = grid[np.minimum(best + 1, N_GRID - 1), columns]
        # Newton on the derivative by the log-odds s, with bisection where it leaves the bracket.
        s = (low + high) / 2.0
        for _ in range(MAX_NEWTON_STEPS):
            p = expit(s)
            variance = p * (1.0 - p)
            slope = 2.0 * (s - gate) - force * variance
            if np.abs(slope).max(initial=0.0) < DERIVATIVE_TOL:
                break
            low, high = np.where(slope < 0, s, low), np.where(slope < 0, high, s)
            newton = s - slope / (2.0 - force * variance * (1.0 - 2.0 * p))
            s = np.where((newton > low) & (newton < high), newton, (low + high) / 2.0)
        return np.asarray(expit(s))


DISTANCES: dict[str, Distance] = {"kl": KLDistance(), "symmetric": SymmetricDistance()}


def _log_odds(q: Floats) -> Floats:
    """Return ``log(q / (1 - q))``, finite for every q."""
    return np.asarray(
        np.log(np.maximum(q, MIN_PROBABILITY)) - np.log(np.maximum(1.0 - q, MIN_PROBABILITY))
    )
