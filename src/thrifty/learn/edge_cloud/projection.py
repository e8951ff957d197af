"""Projected gradient descent: train freely, then push gates back under the limit on transmissions.

After a few steps on the loss alone, the gate values of the training rows are moved as little as
possible such that at most a share of them is positive (Nan 2018, eq. 7.5), which closes the gates
that are open the least. Gates that fit these values are then found by least squares (eq. 7.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.edge_cloud.devices import DeviceRows
from thrifty.learn.edge_cloud.direct import direct_objective
from thrifty.learn.edge_cloud.gated_sum import GatedSum
from thrifty.learn.edge_cloud.lbfgs import minimize_lbfgs
from thrifty.learn.edge_cloud.losses import Loss

__all__ = ["fit_gate_values", "project_gate_values", "projection_path"]

Floats = NDArray[np.float64]
# Steps on the loss between two projections, and projections at least.
STEPS_BETWEEN, MIN_ROUNDS = 5, 4
# By how much rounding may exceed the share of transmissions.
SHARE_TOL = 1e-9
# Keeps the normal equations of constant columns solvable.
MIN_RIDGE = 1e-9


def projection_path(
    rows: DeviceRows,
    loss: Loss,
    transmit_shares: Sequence[float],
    ridge: float,
    start: GatedSum,
    max_steps: int,
) -> Iterator[GatedSum]:
    """Yield a solution for each of decreasing shares, each started from the one before."""
    model = start
    for share in transmit_shares:
        for _ in range(max(MIN_ROUNDS, max_steps // STEPS_BETWEEN)):
            objective = direct_objective(rows, loss, "sigmoid", 0.0, ridge, model)
            flat, _ = minimize_lbfgs(objective, model.flat, STEPS_BETWEEN)
            model = GatedSum.unpack(flat, model)
            wanted = project_gate_values(model.gate_values(rows), rows, share)
            w, b = fit_gate_values(wanted, rows)
            model = model._replace(w=w, b=b)
        yield model


def project_gate_values(gate_values: Floats, rows: DeviceRows, transmit_share: float) -> Floats:
    """Return the nearest gate values (n, K) of which at most a share is positive.

    The smallest positive ones become 0 (Nan 2018, below eq. 7.5). Devices without a value do not
    transmit, but they count as devices.
    """
    weights = np.repeat(rows.weights, rows.n_devices).reshape(gate_values.shape) / rows.n_devices
    is_open = (gate_values > 0) & (rows.present > 0)
    order = np.argsort(-gate_values[is_open], kind="stable")
    closes = np.empty(len(order), dtype=bool)
    closes[order] = np.cumsum(weights[is_open][order]) > transmit_share + SHARE_TOL
    projected = gate_values.copy()
    projected[is_open] = np.where(closes, 0.0, gate_values[is_open])
    return projected


def fit_gate_values(gate_values: Floats, rows: DeviceRows) -> tuple[Floats, Floats]:
    """Return weights (q,) and constants (K,) of the gates closest to gate values (n, K)."""
    w, b = np.zeros(rows.Z.shape[1]), np.zeros(rows.n_devices)
    for k in range(rows.n_devices):
        own = slice(int(rows.starts[k]), int(rows.starts[k + 1]))
        weights = (rows.weights * rows.present[:, k])[:, np.newaxis]
        inputs = np.column_stack([rows.Z[:, own], np.ones(len(rows.Z))])
        gram = inputs.T @ (weights * inputs) + MIN_RIDGE * np.eye(inputs.shape[1])
        *own_weights, b[k] = np.linalg.solve(gram, inputs.T @ (weights[:, 0] * gate_values[:, k]))
        w[own] = own_weights
    return w, b
