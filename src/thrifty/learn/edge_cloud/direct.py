"""Direct parameterization: gates and contributions are trained together (Nan 2018, OPT-Direct-Clf).

The penalty on open gates increases step by step, and each solution is the start of the next. So one
run gives gates for every share of transmissions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.edge_cloud.devices import DeviceRows
from thrifty.learn.edge_cloud.gated_sum import GatedSum
from thrifty.learn.edge_cloud.lbfgs import minimize_lbfgs
from thrifty.learn.edge_cloud.losses import Loss
from thrifty.model.links import ACTIVATIONS, sigmoid

__all__ = ["direct_objective", "penalty_path", "promising_starts"]

Floats = NDArray[np.float64]
# From no penalty to one at which hardly a gate is open.
PENALTIES = (0.0, *(0.0125 * 2.0**k for k in range(13)))
# The first solution starts from noise, so it gets more steps than those that follow.
FIRST_STEPS_FACTOR = 2
# Starts are compared after this part of the steps.
TRIAL_DIVISOR = 2
DERIVATIVES: dict[str, Callable[[Floats], Floats]] = {
    "sigmoid": lambda values: (inside := sigmoid(values)) * (1.0 - inside),
    "relu": lambda values: (values > 0).astype(np.float64),
}


def promising_starts(
    rows: DeviceRows,
    loss: Loss,
    activation: str,
    ridge: float,
    starts: Sequence[GatedSum],
    max_steps: int,
) -> list[GatedSum]:
    """Return where to go on from: the first start and the best one, both solved briefly.

    The problem has local minima, ReLU gates more than others. Without a penalty it is solved from
    every start. The smallest loss there promises little about gates that are mostly closed, so the
    first start, with its open gates, always goes on.
    """
    objective = direct_objective(rows, loss, activation, 0.0, ridge, starts[0])
    trial_steps = max(1, max_steps // TRIAL_DIVISOR)
    trials = [minimize_lbfgs(objective, start.flat, trial_steps) for start in starts]
    best = min(range(len(trials)), key=lambda number: trials[number][1])
    return [GatedSum.unpack(trials[number][0], starts[0]) for number in sorted({0, best})]


def penalty_path(
    rows: DeviceRows, loss: Loss, activation: str, ridge: float, start: GatedSum, max_steps: int
) -> Iterator[GatedSum]:
    """Yield solutions for increasing penalties, each started from the one before."""
    model = start
    for penalty in PENALTIES:
        objective = direct_objective(rows, loss, activation, penalty, ridge, model)
        steps = max_steps if penalty else FIRST_STEPS_FACTOR * max_steps
        model = GatedSum.unpack(minimize_lbfgs(objective, model.flat, steps)[0], model)
        yield model


def direct_objective(
    rows: DeviceRows, loss: Loss, activation: str, penalty: float, ridge: float, like: GatedSum
) -> Callable[[Floats], tuple[float, Floats]]:
    """Return the objective and its gradient, as a function of the flat parameters.

    The objective is the mean loss, plus `penalty` times the mean activation, plus `ridge` times
    half the squared parameters, without constants of gates and cloud. `like` has the shapes.
    """
    activate, derivative = ACTIVATIONS[activation], DERIVATIVES[activation]
    weights = rows.weights[:, np.newaxis]
    penalties = penalty * weights * rows.present / rows.n_devices

    def objective(flat: Floats) -> tuple[float, Floats]:
        model = GatedSum.unpack(flat, like)
        gates = model.gate_values(rows)
        act = activate(gates) * rows.present
        values, gradient = loss(model.outputs(rows, act))
        gradient *= weights
        v, a, base = model.contribution_gradients(rows, act, gradient)
        by_activation = model.activation_gradient(rows, gradient) * rows.present + penalties
        w, b = model.gate_gradients(rows, by_activation * derivative(gates))
        gradients = GatedSum(v, a, w, b, base)
        shrunk = model._replace(b=np.zeros_like(b), base=np.zeros_like(base)).flat
        total = rows.weights @ values + np.sum(penalties * act) + 0.5 * ridge * (shrunk @ shrunk)
        return float(total), gradients.flat + ridge * shrunk

    return objective
