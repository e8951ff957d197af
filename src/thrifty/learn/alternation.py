"""Alternating minimization: q, then gate and local model, and q again (000 algorithms 4, 5, 7).

The objective is the mean of the losses that q weighs, the distance of q and gate, and what the
pair costs. A step that would raise it is not taken: then the search is over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.gate_task import GateTask, Pair
from thrifty.learn.q_step import Distance

__all__ = ["Alternation", "alternate"]

Floats = NDArray[np.float64]
# A step that gains less than this share of the objective is the last.
ENOUGH = 1e-5


@dataclass(frozen=True, eq=False)
class Alternation:
    """Where the search has come to, and the objective after each half step."""

    pair: Pair
    q: Floats
    history: tuple[float, ...]

    @property
    def value(self) -> float:
        """The objective at the end."""
        return self.history[-1] if self.history else np.inf


def alternate(
    start: Pair, task: GateTask, distance: Distance, share: float, rounds: int
) -> Alternation:
    """Go on for at most `rounds` rounds, or until nothing is gained.

    Parameters
    ----------
    start : Pair
    task : GateTask
    distance : Distance
    share : float
        Largest mean of q; at 0 no row is sent and the start stays as it is.
    rounds : int
    """
    pair, loss0 = start, task.loss0
    q = np.zeros(len(task.X))
    if share <= 0:
        return Alternation(pair, q, (task.mean(pair.loss) + pair.cost,))

    def objective(pair: Pair, q: Floats) -> float:
        losses = (1.0 - q) * pair.loss + q * loss0 + distance.value(q, pair.gate)
        return task.mean(losses) + pair.cost

    history: list[float] = []
    for number in range(rounds + 1):
        moved = distance.step(pair.loss - loss0, pair.gate, share, task.weight).q
        value = objective(pair, moved)
        # The symmetric problem is not convex: its multiplier may miss the best q.
        if history and value > history[-1]:
            moved, value = q, history[-1]
        q = moved
        history.append(value)
        if number == rounds:
            break
        follows = pair.step(q)
        after = objective(follows, q)
        if after > value:
            break
        pair = follows
        history.append(after)
        if value - after <= ENOUGH * abs(value):
            break
    return Alternation(pair, q, tuple(history))
