"""Gates trained as soft ones, all at once with the answers (000 OPT-Direct-Clf).

The penalty on open gates grows step by step, and each step starts from the one before: one run
gives gates for every budget.

Gates through a relaxation: who should speak, then gates that imitate it (000 OPT-Relax-Clf).

For every row and device a number q says how much the device speaks. Three steps take turns, and
none raises the objective: q under the budget by Frank-Wolfe, the answers given q, and the gates
that come near q in the sense of the Kullback-Leibler divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.edge_cloud.devices import Devices, GatedSum, Loss
from thrifty.learn.edge_cloud.hard_gates import refit_answers
from thrifty.learn.edge_cloud.lbfgs import descend
from thrifty.model.links import ACTIVATIONS, sigmoid

__all__ = ["Relaxation", "direct_objective", "frank_wolfe", "penalty_ladder", "relax", "take_turn"]

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


KL_WEIGHT = 0.1
FIRST_TURNS, LATER_TURNS = 10, 4
HALVINGS = 12
# Numbers closer to 0 or 1 have a divergence that rounding spoils.
EDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The problem, its parts of the objective, and their slopes."""

    devices: Devices
    loss: Loss
    budget: float
    ridge: float

    def start(self) -> Floats:
        """Every device that is heard speaks as much as the budget allows, but not all."""
        return self.devices.heard * min(self.budget, 0.9)

    def within(self, q: Floats) -> Floats:
        """What a larger budget led to, scaled down to this one."""
        spent = float(self.devices.mass @ q.sum(axis=1)) / self.devices.count
        return np.asarray(q * min(1.0, self.budget / max(spent, EDGE)))

    def value(self, model: GatedSum, q: Floats) -> float:
        """The objective."""
        bent = np.sum(model.v**2) + np.sum(model.a**2) + np.sum(model.w**2)
        return self._by_q(model, q)[0] + 0.5 * self.ridge * float(bent)

    def slope(self, model: GatedSum, q: Floats) -> Floats:
        """Slope (n, K) of the objective by q."""
        return self._by_q(model, q)[1]

    def extreme(self, slope: Floats) -> Floats:
        """The most downhill corner of what the budget allows (end of Nan 2018, sec. 7.1.5)."""
        devices = self.devices
        mass = np.repeat(devices.mass, devices.count)
        worth = slope.ravel() / mass
        order = np.argsort(worth, kind="stable")
        order = order[(worth[order] < 0) & (devices.heard.ravel()[order] > 0)]
        room = self.budget * devices.count - np.cumsum(mass[order]) + mass[order]
        corner = np.zeros(len(mass))
        corner[order] = np.clip(room / mass[order], 0.0, 1.0)
        return corner.reshape(slope.shape)

    def _by_q(self, model: GatedSum, q: Floats) -> tuple[float, Floats]:
        devices, mass = self.devices, self.devices.mass[:, np.newaxis]
        found, slope = self.loss(model.outputs(devices, q))
        safe, values = np.clip(q, EDGE, 1.0 - EDGE), model.values(devices)
        odds = _log_odds(q) - values
        # KL(q || sigmoid(z)) = q (logit q - z) + log(1 - q) + log(1 + e^z)
        kl = safe * odds + np.log1p(-safe) + np.logaddexp(0.0, values)
        total = devices.mass @ found + KL_WEIGHT * np.sum(mass * devices.heard * kl)
        by_q = model.act_slopes(devices, slope * mass) + KL_WEIGHT * mass * odds
        return float(total), by_q * devices.heard


def relax(
    problem: Relaxation, model: GatedSum, q: Floats | None, max_steps: int
) -> tuple[GatedSum, Floats]:
    """Answers and gates, and how much each device speaks, after some turns of the three steps.

    Without a `q` to go on from, all devices start alike and more turns are taken.
    """
    turns = FIRST_TURNS if q is None else LATER_TURNS
    q = problem.start() if q is None else problem.within(q)
    for _ in range(turns):
        model, q = take_turn(problem, model, q, max(4, max_steps // 4))
    return model, q


def take_turn(
    problem: Relaxation, model: GatedSum, q: Floats, steps: int
) -> tuple[GatedSum, Floats]:
    """The three steps once, each of `steps` small ones; the objective does not rise."""
    q = frank_wolfe(problem, model, q, steps)
    model, _ = refit_answers(problem.devices, problem.loss, model, q, problem.ridge, steps)
    return _imitate(problem, model, q, steps), q


def frank_wolfe(problem: Relaxation, model: GatedSum, q: Floats, steps: int) -> Floats:
    """Less of the objective by moving q towards corners; every step goes as far as it pays."""
    for _ in range(steps):
        slope = problem.slope(model, q)
        way = problem.extreme(slope) - q
        if np.sum(slope * way) > -1e-12:
            break
        q = q + _far(problem, model, q, way) * way
    return q


def _far(problem: Relaxation, model: GatedSum, q: Floats, way: Floats) -> float:
    """How far along `way` the objective falls: it is convex, so its slope is bisected."""
    devices, mass = problem.devices, problem.devices.mass[:, np.newaxis]
    outputs, values = model.outputs(devices, q), model.values(devices)
    onward, tolled = model.outputs(devices, q + way) - outputs, KL_WEIGHT * mass * way

    def falls(far: float) -> bool:
        slope = problem.loss(outputs + far * onward)[1]
        by_kl = tolled * (_log_odds(q + far * way) - values) * devices.heard
        return bool(np.sum(mass * slope * onward) + np.sum(by_kl) < 0)

    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if falls(middle) else (low, middle)
    return low


def _log_odds(q: Floats) -> Floats:
    safe = np.clip(q, EDGE, 1.0 - EDGE)
    return np.asarray(np.log(safe / (1.0 - safe)))


def _imitate(problem: Relaxation, model: GatedSum, q: Floats, max_steps: int) -> GatedSum:
    """Gates near q: a logistic regression of each device on numbers instead of labels."""
    devices = problem.devices
    weight = KL_WEIGHT * devices.mass[:, np.newaxis] * devices.heard
    like = GatedSum(model.v[:0], model.a[:0], model.w, model.b, model.base[:0])

    def objective(flat: Floats) -> tuple[float, Floats]:
        now = GatedSum.unpack(flat, like)
        values = now.values(devices)
        total = np.sum(weight * (np.logaddexp(0.0, values) - q * values))
        w, b = now.gate_slopes(devices, weight * (sigmoid(values) - q))
        total += 0.5 * problem.ridge * float(now.w @ now.w)
        return float(total), like._replace(w=w + problem.ridge * now.w, b=b).flat

    found = GatedSum.unpack(descend(objective, like.flat, max_steps)[0], like)
    return model._replace(w=found.w, b=found.b)
