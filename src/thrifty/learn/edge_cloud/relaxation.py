"""Relaxation: decide who should transmit, then train gates to imitate it (Nan 2018, OPT-Relax-Clf).

For each row and device, a number q from 0 to 1 says how much the device transmits. Three steps
alternate, and none of them increases the objective: q under the limit on transmissions by the
algorithm of Frank and Wolfe (1956), the contributions given q, and gates that are close to q in
Kullback-Leibler divergence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.edge_cloud.devices import DeviceRows
from thrifty.learn.edge_cloud.gated_sum import GatedSum, fit_contributions
from thrifty.learn.edge_cloud.lbfgs import minimize_lbfgs
from thrifty.learn.edge_cloud.losses import Loss
from thrifty.model.links import sigmoid

__all__ = ["Relaxation", "alternate", "frank_wolfe", "relaxation_path"]

Floats = NDArray[np.float64]
# Weight of the divergence in the objective, lambda in the thesis.
KL_WEIGHT = 0.1
# Alternations for the first share of transmissions, and for those that start from its solution.
FIRST_ROUNDS, LATER_ROUNDS = 10, 4
# Each small problem of an alternation gets this part of the steps, but at least a few.
STEPS_DIVISOR, MIN_STEPS = 4, 4
# At the start no device transmits for sure, since the divergence of 1 is infinite.
MAX_START = 0.9
# Bisections of the line search.
HALVINGS = 12
# Frank-Wolfe stops when a step would lower the objective by less, to first order.
MIN_DECREASE = 1e-12
# Numbers closer to 0 or 1 have a divergence that is all rounding error.
EDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The relaxed problem.

    Parameters
    ----------
    rows : DeviceRows
    loss : Loss
    transmit_share : float
        Upper bound of the mean of q over rows and devices.
    ridge : float
        Weight of half the squared parameters.
    """

    rows: DeviceRows
    loss: Loss
    transmit_share: float
    ridge: float

    def start(self) -> Floats:
        """Let all devices that have a value transmit alike, (n, K)."""
        return self.rows.present * min(self.transmit_share, MAX_START)

    def scale_down(self, q: Floats) -> Floats:
        """Scale the solution q (n, K) of a larger share of transmissions to this one."""
        rows = self.rows
        share = float(rows.weights @ q.sum(axis=1)) / rows.n_devices
        return np.asarray(q * min(1.0, self.transmit_share / max(share, EDGE)))

    def objective(self, model: GatedSum, q: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient by q, (n, K)."""
        rows, weights = self.rows, self.rows.weights[:, np.newaxis]
        values, gradient = self.loss(model.outputs(rows, q))
        safe, gates = np.clip(q, EDGE, 1.0 - EDGE), model.gate_values(rows)
        odds = _log_odds(q) - gates
        # KL(q || sigmoid(z)) = q (logit q - z) + log(1 - q) + log(1 + e^z)
        kl = safe * odds + np.log1p(-safe) + np.logaddexp(0.0, gates)
        total = rows.weights @ values + KL_WEIGHT * np.sum(weights * rows.present * kl)
        by_q = model.activation_gradient(rows, gradient * weights) + KL_WEIGHT * weights * odds
        squares = np.sum(model.v**2) + np.sum(model.a**2) + np.sum(model.w**2)
        return float(total) + 0.5 * self.ridge * float(squares), by_q * rows.present

    def best_corner(self, gradient: Floats) -> Floats:
        """Return the q (n, K) that minimizes a linear objective (Nan 2018, end of sec. 7.1.5).

        Entries with a negative gradient, of devices that have a value, are 1 in the order of
        steepest descent per transmission until the share is used up; the last may be a fraction.
        """
        rows = self.rows
        weights = np.repeat(rows.weights, rows.n_devices)
        per_transmission = gradient.ravel() / weights
        order = np.argsort(per_transmission, kind="stable")
        order = order[(per_transmission[order] < 0) & (rows.present.ravel()[order] > 0)]
        room = self.transmit_share * rows.n_devices - np.cumsum(weights[order]) + weights[order]
        corner = np.zeros(len(weights))
        corner[order] = np.clip(room / weights[order], 0.0, 1.0)
        return corner.reshape(gradient.shape)

    def line_search(self, model: GatedSum, q: Floats, direction: Floats) -> float:
        """Return the step from 0 to 1 that minimizes the objective along `direction` (n, K).

        The objective is convex in q, so the sign of its derivative is bisected.
        """
        rows, weights = self.rows, self.rows.weights[:, np.newaxis]
        outputs, gates = model.outputs(rows, q), model.gate_values(rows)
        change = model.outputs(rows, q + direction) - outputs
        kl_weights = KL_WEIGHT * weights * direction
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            step = 0.5 * (low + high)
            gradient = self.loss(outputs + step * change)[1]
            by_kl = kl_weights * (_log_odds(q + step * direction) - gates) * rows.present
            decreases = bool(np.sum(weights * gradient * change) + np.sum(by_kl) < 0)
            low, high = (step, high) if decreases else (low, step)
        return low


def relaxation_path(
    rows: DeviceRows,
    loss: Loss,
    transmit_shares: Sequence[float],
    ridge: float,
    start: GatedSum,
    max_steps: int,
) -> Iterator[GatedSum]:
    """Yield a solution for each of decreasing shares, each started from the one before."""
    model, q = start, None
    for share in transmit_shares:
        problem = Relaxation(rows, loss, share, ridge)
        rounds = FIRST_ROUNDS if q is None else LATER_ROUNDS
        q = problem.start() if q is None else problem.scale_down(q)
        for _ in range(rounds):
            model, q = alternate(problem, model, q, max(MIN_STEPS, max_steps // STEPS_DIVISOR))
        yield model


def alternate(
    problem: Relaxation, model: GatedSum, q: Floats, steps: int
) -> tuple[GatedSum, Floats]:
    """Improve q, the contributions and the gates once, each by at most `steps` small steps."""
    rows, loss, ridge = problem.rows, problem.loss, problem.ridge
    q = frank_wolfe(problem, model, q, steps)
    model, _ = fit_contributions(rows, loss, model, q, ridge, steps)
    # The gates imitate q: a logistic regression for each device, on numbers instead of labels.
    weights = KL_WEIGHT * rows.weights[:, np.newaxis] * rows.present
    like = GatedSum(model.v[:0], model.a[:0], model.w, model.b, model.base[:0])

    def divergence(flat: Floats) -> tuple[float, Floats]:
        now = GatedSum.unpack(flat, like)
        gates = now.gate_values(rows)
        total = np.sum(weights * (np.logaddexp(0.0, gates) - q * gates))
        w, b = now.gate_gradients(rows, weights * (sigmoid(gates) - q))
        total += 0.5 * ridge * float(now.w @ now.w)
        return float(total), like._replace(w=w + ridge * now.w, b=b).flat

    gates = GatedSum.unpack(minimize_lbfgs(divergence, like.flat, steps)[0], like)
    return model._replace(w=gates.w, b=gates.b), q


def frank_wolfe(problem: Relaxation, model: GatedSum, q: Floats, max_steps: int) -> Floats:
    """Lower the objective by moving q (n, K) towards corners of what the limit allows."""
    for _ in range(max_steps):
        gradient = problem.objective(model, q)[1]
        direction = problem.best_corner(gradient) - q
        if np.sum(gradient * direction) > -MIN_DECREASE:
            break
        q = q + problem.line_search(model, q, direction) * direction
    return q


def _log_odds(q: Floats) -> Floats:
    """Return ``log(q / (1 - q))`` for q away from 0 and 1."""
    safe = np.clip(q, EDGE, 1.0 - EDGE)
    return np.asarray(np.log(safe / (1.0 - safe)))
