"""Learning rate and exploration rate of an online gate, and its regret bound.

Nan 2018, sec. 6.2; the formula numbers are those of the thesis.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

__all__ = ["ETA_FACTOR", "MIN_GAMMA_FACTOR", "Rates", "first_horizon", "regret_bound"]

ETA_FACTOR, MIN_GAMMA_FACTOR = 2.0, 0.5
"""Default multiples of the rates of the thesis, with a bound on the regret that is no larger.

Losses are not negative, so the second-order term of eq. 6.2 can be halved: the bound is
``log K / eta + eta T / (2 gamma) + c gamma T``. With twice the learning rate and half the
exploration the three parts are 1/2, 2 and 1/2 of what each is in the thesis, 3 in sum as there; and
the part that is large is the pessimistic one, as hardly any expert loses 1 every time.
"""


class Rates(NamedTuple):
    """The rates of an online gate.

    Parameters
    ----------
    eta : float
        Learning rate: how fast the weight of an expert falls with its loss.
    gamma : float
        Probability to explore, that is, to ask the remote model only in order to learn.
    share : float
        Fraction of the weight that is redistributed evenly after each example.
    """

    eta: float
    gamma: float
    share: float

    @classmethod
    def of(
        cls,
        experts: int,
        cost: float,
        horizon: int,
        changes: int = 0,
        eta_factor: float = 1.0,
        gamma_factor: float | None = 1.0,
    ) -> Self:
        """Return multiples of the rates of the thesis (below eq. 6.16).

        If `gamma_factor` is None, it is 1/2, or the rate of the thesis itself where that is larger:
        if that is 1, the horizon is too short to learn anything, and asking is all that is left.

        Examples
        --------
        >>> from thrifty.serve.gate_rates import Rates
        >>> rates = Rates.of(experts=64, cost=0.5, horizon=10_000)
        >>> f"{rates.eta:.4f} {rates.gamma:.4f}"
        '0.0070 0.1185'
        """
        entropy = _entropy(experts, horizon, changes) / horizon
        eta = eta_factor * (cost ** (-1 / 3) * entropy ** (2 / 3))
        gamma = cost ** (-2 / 3) * entropy ** (1 / 3)
        if gamma_factor is None:
            gamma_factor = max(MIN_GAMMA_FACTOR, gamma)
        return cls(eta, min(1.0, gamma_factor * gamma), min(1.0, changes / horizon))


def regret_bound(experts: int, cost: float, horizon: int, changes: int = 0) -> float:
    """Return the bound on the expected regret against the best expert (below eq. 6.16).

    It holds for the rates of the thesis, and for the default ones of `OnlineGate`.
    With `changes`, the regret is against the best sequence of experts with as many changes.

    Examples
    --------
    >>> from thrifty.serve.gate_rates import regret_bound
    >>> round(regret_bound(experts=64, cost=0.5, horizon=10_000))
    1777
    """
    entropy = _entropy(experts, horizon, changes)
    return float(3.0 * (cost * entropy) ** (1 / 3) * horizon ** (2 / 3))


def first_horizon(experts: int, cost: float) -> int:
    """Return the shortest horizon at which the exploration rate of the thesis is not above 1.

    Examples
    --------
    >>> from thrifty.serve.gate_rates import first_horizon
    >>> first_horizon(experts=64, cost=0.5)
    17
    """
    return max(1, math.ceil(math.log(experts) / cost**2))


def _entropy(experts: int, horizon: int, changes: int) -> float:
    """Return log K, or for a sequence of experts what replaces it (fixed share), in nats."""
    entropy = (changes + 1) * math.log(experts)
    if changes:
        entropy += changes * (1.0 + math.log(max(1.0, horizon / changes)))
    return entropy
