"""Turn soft gates into hard ones: a threshold that meets the share, and contributions to match.

A sigmoid is never quite closed, so in training a device contributes a little even where it will not
transmit. Once it is decided who transmits, the contributions are fitted again, which is a convex
problem. Of several candidates, and of several limits, validation rows choose the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.edge_cloud.devices import DeviceRows, DeviceTable
from thrifty.learn.edge_cloud.gated_sum import GatedSum, fit_contributions
from thrifty.learn.edge_cloud.losses import Loss
from thrifty.model.links import ACTIVATIONS

__all__ = [
    "GateSplit",
    "HardGates",
    "always_open_gates",
    "harden",
    "refit",
    "transmit_threshold",
]

Floats = NDArray[np.float64]
# Below every gate value, and a number that a model file can hold.
LOWEST_THRESHOLD = -1e300
# Candidates are compared after this part of the steps.
TRIAL_DIVISOR = 4
# By how much rounding may exceed the share of transmissions.
SHARE_TOL = 1e-9


class GateSplit(NamedTuple):
    """Rows and their loss in three roles, and the ridge of all fits."""

    all: tuple[DeviceRows, Loss]
    """All training rows: thresholds and final contributions."""

    training: tuple[DeviceRows, Loss]
    """Rows that gates are trained on."""

    validation: tuple[DeviceRows, Loss]
    """Rows that candidates are compared on."""

    ridge: float
    """Weight of half the squared parameters, relative to the mean loss."""

    @classmethod
    def of(cls, table: DeviceTable, validation: NDArray[np.bool_] | None, ridge: float) -> Self:
        """Split off the validation rows; if there are none, all rows have all roles."""
        rows, whole = table.rows, (table.rows, table.loss())
        if validation is None:
            return cls(whole, whole, whole, ridge)
        parts = [(rows.take(own), table.loss(own)) for own in (~validation, validation)]
        return cls(whole, parts[0], parts[1], ridge)


class HardGates(NamedTuple):
    """Gates that are open where the gate value is above a threshold."""

    model: GatedSum
    activation: str
    """Factor of the contribution of an open device: "step", "sigmoid" or "relu"."""

    threshold: float
    loss: float
    """Mean loss on the validation rows."""

    def transmits(self, rows: DeviceRows) -> NDArray[np.bool_]:
        """Return which devices transmit, (n, K)."""
        return (self.model.gate_values(rows) > self.threshold) & (rows.present > 0)


def harden(
    split: GateSplit,
    candidates: Iterable[GatedSum],
    activations: Sequence[str],
    transmit_share: float,
    max_steps: int,
) -> HardGates:
    """Return the candidate and the activation that have the smallest validation loss.

    Contributions are fitted briefly, on the training rows; see `refit`.
    """
    (rows, _), (fit_rows, fit_loss), (val_rows, val_loss), ridge = split
    trial_steps = max(1, max_steps // TRIAL_DIVISOR)
    trials = []
    for model in candidates:
        lowest = transmit_threshold(model.gate_values(rows), rows, transmit_share)
        for activation in activations:
            # Below 0 a ReLU gate would transmit zeros.
            threshold = max(lowest, 0.0) if activation == "relu" else lowest
            act = _hard_activation(fit_rows, model, activation, threshold)
            fitted, _ = fit_contributions(fit_rows, fit_loss, model, act, ridge, trial_steps)
            act = _hard_activation(val_rows, model, activation, threshold)
            val_loss_mean = float(val_rows.weights @ val_loss(fitted.outputs(val_rows, act))[0])
            trials.append(HardGates(fitted, activation, threshold, val_loss_mean))
    return min(trials, key=lambda trial: trial.loss)


def refit(split: GateSplit, gates: HardGates, max_steps: int) -> HardGates:
    """Fit the contributions of hard gates on all rows."""
    (rows, loss), _, _, ridge = split
    act = _hard_activation(rows, gates.model, gates.activation, gates.threshold)
    model, _ = fit_contributions(rows, loss, gates.model, act, ridge, max_steps)
    return gates._replace(model=model)


def always_open_gates(split: GateSplit, start: GatedSum, max_steps: int) -> GatedSum:
    """Return gates that ignore the features: the devices that are best alone open first."""
    rows, loss = split.training
    steps = max(1, max_steps // TRIAL_DIVISOR)
    losses = [
        fit_contributions(rows, loss, start, rows.present * one, split.ridge, steps)[1]
        for one in np.eye(rows.n_devices)
    ]
    rank = np.argsort(np.argsort(losses, kind="stable"), kind="stable")
    return start._replace(w=np.zeros_like(start.w), b=-rank.astype(np.float64))


def transmit_threshold(gate_values: Floats, rows: DeviceRows, transmit_share: float) -> float:
    """Return the lowest threshold above which at most a share of all devices transmits.

    `gate_values` are (n, K). Devices without a value do not transmit, but they count as devices.
    """
    if transmit_share >= 1.0:
        return LOWEST_THRESHOLD
    present = rows.present.ravel() > 0
    flat = gate_values.ravel()[present]
    weights = np.repeat(rows.weights, rows.n_devices)[present] / rows.n_devices
    order = np.argsort(-flat, kind="stable")
    within = np.cumsum(weights[order]) <= transmit_share + SHARE_TOL
    if within.all():
        return LOWEST_THRESHOLD
    # Equal gate values open together or not at all. Halfway to the next, rounding changes nothing.
    closed = float(flat[order[np.argmin(within)]])
    above = flat[flat > closed]
    return 0.5 * (closed + float(above.min())) if len(above) else closed + 1.0


def _hard_activation(
    rows: DeviceRows, model: GatedSum, activation: str, threshold: float
) -> Floats:
    """Return the activations (n, K) of open gates, and 0 for closed ones."""
    gates = model.gate_values(rows)
    return np.where(gates > threshold, ACTIVATIONS[activation](gates), 0.0) * rows.present
