"""Gates trained as soft ones, all at once with the answers (000 OPT-Direct-Clf).

The penalty on open gates grows step by step, and each step starts from the one before: one run
gives gates for every budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.downhill import descend
from thrifty.learn.gated_sum import Devices, GatedSum, Loss
from thrifty.model.activations import ACTIVATIONS, sigmoid

__all__ = ["direct_objective", "penalty_ladder"]

Floats = NDArray[np.float64]
# From a penalty that changes little to one at which hardly a gate is open.
PENALTIES = (0.0, *(0.0125 * 2.0**k for k in range(13)))
# The first solution starts from nothing, so it takes more steps than those that follow.
FIRST = 2


def _sigmoid_slope(values: Floats) -> Floats:
    inside = sigmoid(values)
    return inside * (1.0 - inside)


def _relu_slope(values: Floats) -> Floats:
    return (values > 0).astype(np.float64)


SLOPES: dict[str, Callable[[Floats], Floats]] = {"sigmoid": _sigmoid_slope, "relu": _relu_slope}


def penalty_ladder(
    devices: Devices, loss: Loss, activation: str, ridge: float, start: GatedSum, max_steps: int
) -> Iterator[GatedSum]:
    """Solutions for growing penalties, each from the one before."""
    model = start
    for penalty in PENALTIES:
        objective = direct_objective(devices, loss, activation, penalty, ridge, model)
        steps = max_steps if penalty else FIRST * max_steps
        model = GatedSum.unpack(descend(objective, model.flat, steps)[0], model)
        yield model


def direct_objective(
    devices: Devices, loss: Loss, activation: str, penalty: float, ridge: float, like: GatedSum
) -> Callable[[Floats], tuple[float, Floats]]:
    """Mean loss + penalty x mean activation + ridge, and its slope, of the flat parameters."""
    act_of, slope_of = ACTIVATIONS[activation], SLOPES[activation]
    mass = devices.mass[:, np.newaxis]
    toll = penalty * mass * devices.heard / devices.count

    def objective(flat: Floats) -> tuple[float, Floats]:
        model = GatedSum.unpack(flat, like)
        values = model.values(devices)
        act = act_of(values) * devices.heard
        found, slope = loss(model.outputs(devices, act))
        slope = slope * mass
        v, a, base = model.answer_slopes(devices, act, slope)
        by_act = model.act_slopes(devices, slope) * devices.heard + toll
        w, b = model.gate_slopes(devices, by_act * slope_of(values))
        slopes = GatedSum(v, a, w, b, base)
        bent = model._replace(b=np.zeros_like(b), base=np.zeros_like(base)).flat
        total = devices.mass @ found + np.sum(toll * act) + 0.5 * ridge * (bent @ bent)
        return float(total), slopes.flat + ridge * bent

    return objective
