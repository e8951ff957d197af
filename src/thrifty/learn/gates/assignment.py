"""The step over q: who should go to the expensive model, before any gate has to say so.

q is the chance that a row is sent. It weighs the excess of the local loss over the expensive one
against the distance to the gate, and at most a share of the rows may be sent on average (000
OPT1; the symmetric distance: 000 OPT5). One multiplier pays for the share; it is found between
brackets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, xlogy

__all__ = ["DISTANCES", "Distance", "KLDistance", "Step", "SymmetricDistance"]

Floats = NDArray[np.float64]

# Below this the second derivative of a row's problem is positive everywhere: 2 > c max|s''|.
CONVEX = 20.0
GRID = 65
NEWTON_STEPS = 60
PRECISE = 1e-11
# How well the multiplier is found.
CLOSE = 1e-9
# Keeps log-odds of a chance that has rounded to 0 or 1 finite.
TINY = 1e-300


class Step(NamedTuple):
    """Chances (n,) of being sent, and the multiplier of the share: 0 where it does not bind."""

    q: Floats
    multiplier: float


class Distance(ABC):
    """How far the gate is from q, what it pulls at the gate, and the best q."""

    @abstractmethod
    def value(self, q: Floats, gate: Floats) -> Floats:
        """Distance of each row, (n,)."""

    @abstractmethod
    def slopes(self, q: Floats, gate: Floats) -> tuple[Floats, Floats]:
        """Negative derivative by the gate, and the second one, (n,) each."""

    def pull(self, q: Floats, gate: Floats) -> Floats:
        """Negative derivative by the gate, (n,)."""
        return self.slopes(q, gate)[0]

    @abstractmethod
    def level(self, q: Floats, weight: Floats | None) -> float:
        """The constant gate that is nearest."""

    @abstractmethod
    def chances(self, excess: Floats, gate: Floats, multiplier: float) -> Floats:
        """The best q at a multiplier."""

    def step(
        self, excess: Floats, gate: Floats, share: float, weight: Floats | None = None
    ) -> Step:
        """The best q of which at most `share` of the rows are sent on average.

        Parameters
        ----------
        excess : array (n,)
            Loss of the local model minus that of the expensive one.
        gate : array (n,)
            Values of the gate.
        share : float
            Largest mean of q, above 0.
        weight : array (n,), optional
            Weights of the rows.
        """

        def over(multiplier: float) -> float:
            sent = self.chances(excess, gate, multiplier)
            return float(np.average(sent, weights=weight)) - share

        if over(0.0) <= 0:
            return Step(self.chances(excess, gate, 0.0), 0.0)
        low, high = 0.0, 1.0
        while over(high) > 0:
            low, high = high, 2.0 * high
        found = float(brentq(over, low, high, xtol=CLOSE, rtol=CLOSE))
        # Rounding must not send too many: a little more, until the share is kept.
        more = CLOSE * (1.0 + found)
        while over(found) > 0 and found < high:
            found, more = min(found + more, high), 2.0 * more
        return Step(self.chances(excess, gate, found), found)


class KLDistance(Distance):
    """Kullback-Leibler: the I-projection, in closed form.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.gates.assignment import KLDistance
    >>> q, multiplier = KLDistance().step(np.array([3.0, 0.0, -3.0]), np.zeros(3), share=0.2)
    >>> q.round(3), q.mean().round(6).item(), multiplier > 0
    (array([0.542, 0.056, 0.003]), 0.2, True)
    """

    def value(self, q: Floats, gate: Floats) -> Floats:
        """Of q from the gate, which is a log-odds."""
        entropy = xlogy(q, q) + xlogy(1.0 - q, 1.0 - q)
        return np.asarray(
            entropy + q * np.logaddexp(0.0, -gate) + (1.0 - q) * np.logaddexp(0.0, gate)
        )

    def slopes(self, q: Floats, gate: Floats) -> tuple[Floats, Floats]:
        """Chance minus what the gate says; the curve of a logistic loss."""
        p = expit(gate)
        return q - p, p * (1.0 - p)

    def level(self, q: Floats, weight: Floats | None) -> float:
        """Log-odds of the mean."""
        mean = float(np.clip(np.average(q, weights=weight), 1e-12, 1.0 - 1e-12))
        return float(np.log(mean / (1.0 - mean)))

    def chances(self, excess: Floats, gate: Floats, multiplier: float) -> Floats:
        """A_i - B_i of 000 OPT1 is the gate plus the excess."""
        return np.asarray(expit(gate + excess - multiplier))


class SymmetricDistance(Distance):
    """Squared difference of log-odds: each row is a problem of one number.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.gates.assignment import SymmetricDistance
    >>> q, multiplier = SymmetricDistance().step(np.array([3.0, -3.0]), np.zeros(2), share=0.4)
    >>> q.round(3), multiplier > 0
    (array([0.477, 0.323]), True)
    """

    def value(self, q: Floats, gate: Floats) -> Floats:
        """Squared."""
        return np.asarray((_log_odds(q) - gate) ** 2)

    def slopes(self, q: Floats, gate: Floats) -> tuple[Floats, Floats]:
        """Twice the difference; two."""
        return 2.0 * (_log_odds(q) - gate), np.full(len(gate), 2.0)

    def level(self, q: Floats, weight: Floats | None) -> float:
        """Mean log-odds."""
        return float(np.average(_log_odds(q), weights=weight))

    def chances(self, excess: Floats, gate: Floats, multiplier: float) -> Floats:
        """Least of ``(multiplier - excess) q + (log-odds of q - gate)^2``, row by row."""
        force = excess - multiplier
        low, high = np.minimum(gate, gate + force / 8.0), np.maximum(gate, gate + force / 8.0)
        far = np.flatnonzero(np.abs(force) > CONVEX)
        if len(far):
            low[far], high[far] = _valley(force[far], gate[far], low[far], high[far])
        return np.asarray(expit(_root(force, gate, low, high)))


DISTANCES: dict[str, Distance] = {"kl": KLDistance(), "symmetric": SymmetricDistance()}


def _log_odds(q: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(q, TINY)) - np.log(np.maximum(1.0 - q, TINY)))


def _valley(force: Floats, gate: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Brackets around the lowest point of a grid, where a row may have more than one valley."""
    grid = low + np.linspace(0.0, 1.0, GRID)[:, np.newaxis] * (high - low)
    best = np.argmin(-force * expit(grid) + (grid - gate) ** 2, axis=0)
    rows = np.arange(len(force))
    return grid[np.maximum(best - 1, 0), rows], grid[np.minimum(best + 1, GRID - 1), rows]


def _root(force: Floats, gate: Floats, low: Floats, high: Floats) -> Floats:
    """Where the slope ``2 (s - gate) - force p (1 - p)`` is 0: Newton, kept between brackets."""
    s = (low + high) / 2.0
    for _ in range(NEWTON_STEPS):
        p = expit(s)
        spread = p * (1.0 - p)
        slope = 2.0 * (s - gate) - force * spread
        if np.abs(slope).max(initial=0.0) < PRECISE:
            break
        low, high = np.where(slope < 0, s, low), np.where(slope < 0, high, s)
        newton = s - slope / (2.0 - force * spread * (1.0 - 2.0 * p))
        s = np.where((newton > low) & (newton < high), newton, (low + high) / 2.0)
    return s
