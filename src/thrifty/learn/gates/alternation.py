"""Alternating minimization over q, the gate and the local model (Nan 2018, sec. 5.3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.gates.assignment import Distance
from thrifty.learn.gates.problem import GatePair, GateProblem

__all__ = ["Alternation", "alternate"]

Floats = NDArray[np.float64]
# The search ends once a round lowers the objective by less than this share.
OBJECTIVE_TOL = 1e-5


class Alternation(NamedTuple):
    """The result of an alternating minimization."""

    pair: GatePair
    q: Floats
    """Probability of each training row of being sent, (n,)."""
    history: tuple[float, ...]
    """The objective after each half step, never increasing."""


def alternate(
    pair: GatePair, problem: GateProblem, distance: Distance, share: float, max_rounds: int
) -> Alternation:
    """Alternate between q and the pair until the objective stops falling.

    Parameters
    ----------
    pair : GatePair
        Where to start; it is not modified.
    problem : GateProblem
    distance : Distance
    share : float
        Largest mean of q; at 0 no row is sent, and the pair stays as it is.
    max_rounds : int
    """
    weight, expensive_loss = problem.train.weight, problem.expensive_loss
    q = np.zeros(len(problem.train))
    if share <= 0:
        return Alternation(pair, q, (problem.mean(pair.local_loss) + pair.cost,))

    def objective(pair: GatePair, q: Floats) -> float:
        losses = (1.0 - q) * pair.local_loss + q * expensive_loss
        return problem.mean(losses + distance.value(q, pair.gate_values)) + pair.cost

    history: list[float] = []
    for number in range(max_rounds + 1):
        # Assignment step.
        excess = pair.local_loss - expensive_loss
        new_q = distance.assign(excess, pair.gate_values, share, weight).q
        value = objective(pair, new_q)
        if history and value > history[-1]:
            # The symmetric problem is not convex, so its multiplier may miss the best q.
            new_q, value = q, history[-1]
        q = new_q
        history.append(value)
        if number == max_rounds:
            break
        # Gate and local step.
        new_pair = pair.update(q)
        new_value = objective(new_pair, q)
        if new_value > value:
            break
        pair = new_pair
        history.append(new_value)
        if value - new_value <= OBJECTIVE_TOL * abs(value):
            break
    return Alternation(pair, q, tuple(history))
