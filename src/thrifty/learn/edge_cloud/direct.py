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

__all__ = ["direct_objective", "penalty_path"]

Floats = NDArray[np.float64]
# Up to one at which hardly a gate is open.
PENALTIES = tuple(0.0125 * 2.0**k for k in range(13))
# The first solution starts from noise, so it gets more steps than those that follow.
FIRST_STEPS_FACTOR = 2
# Starts are compared after this part of the steps.
TRIAL_DIVISOR = 2
DERIVATIVES: dict[str, Callable[[Floats], Floats]] = {
    "sigmoid": lambda values: (inside := sigmoid(values)) * (1.0 - inside),
    "relu": lambda values: (values > 0).astype(np.float64),
}


def penalty_path(
    rows: DeviceRows,
    loss: Loss,
    activation: str,
    ridge: float,
    starts: Sequence[GatedSum],
    max_steps: int,
) -> Iterator[GatedSum]:
    """Yield solutions for increasing penalties, each started from the one before.

    The problem has local minima, ReLU gates more than others: without a penalty it is solved
    briefly from every start, and the best one goes on.
    """
    model = starts[0]
    objective = direct_objective(rows, loss, activation, 0.0, ridge, model)
    trial_steps = max(1, max_steps // TRIAL_DIVISOR)
    trials = [minimize_lbfgs(objective, start.flat, trial_steps) for start in starts]
    best, _ = min(trials, key=lambda trial: trial[1])
    best, _ = minimize_lbfgs(objective, best, FIRST_STEPS_FACTOR * max_steps)
    model = GatedSum.unpack(best, model)
    yield model
    for penalty in PENALTIES:
        objective = direct_objective(rows, loss, activation, penalty, ridge, model)
        model = GatedSum.unpack(minimize_lbfgs(objective, model.flat, max_steps)[0], model)
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
