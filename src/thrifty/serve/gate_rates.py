"""How fast an online gate learns and how often it explores (Nan 2018, sec. 6.2)."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

__all__ = ["Rates", "first_horizon", "regret_bound"]


class Rates(NamedTuple):
    """Learning rate eta, exploration gamma, and the share of weight that is dealt out anew."""

    eta: float
    gamma: float
    share: float

    @classmethod
    def of(cls, experts: int, cost: float, horizon: int, changes: int = 0) -> Self:
        """Rates that make the bound on the regret least, after (6.16).

        Examples
        --------
        >>> from thrifty.serve.gate_rates import Rates
        >>> rates = Rates.of(experts=64, cost=0.5, horizon=10_000)
        >>> f"{rates.eta:.4f} {rates.gamma:.4f}"
        '0.0070 0.1185'
        """
        effort = _effort(experts, horizon, changes) / horizon
        eta = cost ** (-1 / 3) * effort ** (2 / 3)
        gamma = cost ** (-2 / 3) * effort ** (1 / 3)
        return cls(eta, min(1.0, gamma), min(1.0, changes / horizon))


def regret_bound(experts: int, cost: float, horizon: int, changes: int = 0) -> float:
    """Most that is lost in expectation against the best expert, known horizon (below 6.16).

    With `changes`, against the best sequence of experts that changes so often.

    Examples
    --------
    >>> from thrifty.serve.gate_rates import regret_bound
    >>> round(regret_bound(experts=64, cost=0.5, horizon=10_000))
    1777
    """
    effort = _effort(experts, horizon, changes)
    return float(3.0 * (cost * effort) ** (1 / 3) * horizon ** (2 / 3))


def first_horizon(experts: int, cost: float) -> int:
    """The shortest horizon at which not every round explores."""
    return max(1, math.ceil(math.log(experts) / cost**2))


def _effort(experts: int, horizon: int, changes: int) -> float:
    """What stands for log K: the nats that a sequence of experts takes to tell."""
    effort = (changes + 1) * math.log(experts)
    if changes:
        effort += changes * (1.0 + math.log(max(1.0, horizon / changes)))
    return effort
