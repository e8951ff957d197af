"""Soft gates becoming hard ones: a limit that keeps the budget, and answers that go with it.

A sigmoid is never quite closed, so a device that stays silent was heard a little in training. Once
it is settled who speaks, the best answers are those of a convex problem, which is solved anew. Of
several gates the best is told by rows that none of them was learnt from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.edge_cloud.devices import Devices, GatedSum, Loss
from thrifty.learn.edge_cloud.lbfgs import descend
from thrifty.model.links import ACTIVATIONS

__all__ = ["Hard", "Parts", "budget_limit", "fixed_devices", "harden", "refit_answers"]

Floats = NDArray[np.float64]
# No gate lies below, and a model file can keep it.
ALWAYS = -1e300
# Candidates are compared after a part of the steps.
TRIAL = 4
ROUNDING = 1e-9


class Parts(NamedTuple):
    """All rows, those that gates are learnt from, those held back to choose by, and the ridge."""

    whole: tuple[Devices, Loss]
    learnt: tuple[Devices, Loss]
    held: tuple[Devices, Loss]
    ridge: float


class Hard(NamedTuple):
    """Devices speak where their gate is above `limit`; `loss` is that on the rows held back."""

    model: GatedSum
    activation: str
    limit: float
    loss: float

    def opens(self, devices: Devices) -> NDArray[np.bool_]:
        """Which devices transmit, (n, K)."""
        return (self.model.values(devices) > self.limit) & (devices.heard > 0)


def harden(
    parts: Parts,
    candidates: Iterable[GatedSum],
    activations: Sequence[str],
    budget: float,
    max_steps: int,
) -> Hard:
    """The candidate, and the activation, that lose least with hard gates on the rows held back.

    For the comparison, answers are learnt from the other rows; those of the winner then from all.
    """
    trials = [
        _tried(parts, model, activation, budget, max(1, max_steps // TRIAL))
        for model in candidates
        for activation in activations
    ]
    best = min(trials, key=lambda trial: trial.loss)
    devices, loss = parts.whole
    act = _activity(devices, best.model, best.activation, best.limit)
    return best._replace(
        model=refit_answers(devices, loss, best.model, act, parts.ridge, max_steps)[0]
    )


def fixed_devices(parts: Parts, start: GatedSum, max_steps: int) -> GatedSum:
    """Gates that do not look: the devices that do best alone are always open, before the others."""
    devices, loss = parts.learnt
    steps = max(1, max_steps // TRIAL)
    alone = [
        refit_answers(devices, loss, start, devices.heard * one, parts.ridge, steps)[1]
        for one in np.eye(devices.count)
    ]
    rank = np.argsort(np.argsort(alone, kind="stable"), kind="stable")
    return start._replace(w=np.zeros_like(start.w), b=-rank.astype(np.float64))


def budget_limit(values: Floats, devices: Devices, budget: float) -> float:
    """The lowest limit above which at most a share `budget` of all devices speaks."""
    if budget >= 1.0:
        return ALWAYS
    heard = devices.heard.ravel() > 0
    flat = values.ravel()[heard]
    mass = np.repeat(devices.mass, devices.count)[heard] / devices.count
    order = np.argsort(-flat, kind="stable")
    within = np.cumsum(mass[order]) <= budget + ROUNDING
    if within.all():
        return ALWAYS
    # Gates of one value open together or not at all. Half way to the next, rounding moves none.
    closed = float(flat[order[np.argmin(within)]])
    above = flat[flat > closed]
    return 0.5 * (closed + float(above.min())) if len(above) else closed + 1.0


def refit_answers(
    devices: Devices, loss: Loss, model: GatedSum, act: Floats, ridge: float, max_steps: int
) -> tuple[GatedSum, float]:
    """The best answers, given how much each counts; and their mean loss with the ridge."""
    gates = (model.w[:0], model.b[:0])
    like = GatedSum(model.v, model.a, *gates, model.base)
    spread = devices.spread(act)
    mass = devices.mass[:, np.newaxis]

    def objective(flat: Floats) -> tuple[float, Floats]:
        now = GatedSum.unpack(flat, like)
        found, slope = loss(spread @ now.v + act @ now.a + now.base)
        slope = slope * mass
        by_v, by_a = spread.T @ slope + ridge * now.v, act.T @ slope + ridge * now.a
        bent = 0.5 * ridge * (np.sum(now.v**2) + np.sum(now.a**2))
        slopes = GatedSum(by_v, by_a, *gates, slope.sum(axis=0))
        return float(devices.mass @ found + bent), slopes.flat

    flat, value = descend(objective, like.flat, max_steps)
    found = GatedSum.unpack(flat, like)
    return model._replace(v=found.v, a=found.a, base=found.base), value


def _tried(parts: Parts, model: GatedSum, activation: str, budget: float, max_steps: int) -> Hard:
    limit = budget_limit(model.values(parts.whole[0]), parts.whole[0], budget)
    if activation == "relu":
        limit = max(limit, 0.0)  # below, it would transmit zeros
    learnt, loss = parts.learnt
    act = _activity(learnt, model, activation, limit)
    found, _ = refit_answers(learnt, loss, model, act, parts.ridge, max_steps)
    held, judge = parts.held
    act = _activity(held, model, activation, limit)
    return Hard(found, activation, limit, float(held.mass @ judge(found.outputs(held, act))[0]))


def _activity(devices: Devices, model: GatedSum, activation: str, limit: float) -> Floats:
    values = model.values(devices)
    return np.where(values > limit, ACTIVATIONS[activation](values), 0.0) * devices.heard
