"""The model that devices and cloud compute together, and gradients of losses of it.

The outputs of a row are ``base + sum over devices k of activation_k * (v_k x_k + a_k)`` (Nan 2018,
sec. 7.1). The activation is a function of the gate value ``w_k x_k + b_k``, a number q between 0
and 1, or 0 where a hard gate is closed. The term in parentheses is the contribution of the device.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.edge_cloud.devices import DeviceRows
from thrifty.learn.edge_cloud.lbfgs import minimize_lbfgs
from thrifty.learn.edge_cloud.losses import Loss

__all__ = ["GatedSum", "fit_contributions"]

Floats = NDArray[np.float64]


class GatedSum(NamedTuple):
    """Parameters of K devices with q encoded columns and M outputs; also holds their gradients."""

    v: Floats
    """Weights of the contributions, (q, M)."""

    a: Floats
    """Constants of the contributions, (K, M)."""

    w: Floats
    """Weights of the gates, (q,)."""

    b: Floats
    """Constants of the gates, (K,)."""

    base: Floats
    """Constants of the cloud, (M,)."""

    @classmethod
    def unpack(cls, flat: Floats, like: GatedSum) -> Self:
        """Cut a flat vector into parameters of the shapes of `like`."""
        ends = np.cumsum([part.size for part in like])[:-1]
        pieces = np.split(flat, ends)
        return cls(*(piece.reshape(part.shape) for piece, part in zip(pieces, like, strict=True)))

    @property
    def flat(self) -> Floats:
        """All parameters in one vector."""
        return np.concatenate([part.ravel() for part in self])

    def gate_values(self, rows: DeviceRows) -> Floats:
        """Return ``w_k x_k + b_k``, (n, K)."""
        return np.asarray(rows.Z @ (rows.membership * self.w[:, np.newaxis]) + self.b)

    def outputs(self, rows: DeviceRows, activation: Floats) -> Floats:
        """Return the outputs (n, M) for given activations (n, K)."""
        return np.asarray(rows.scaled(activation) @ self.v + activation @ self.a + self.base)

    def contribution_gradients(
        self, rows: DeviceRows, activation: Floats, output_gradient: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return the gradients by `v`, `a` and `base`, given that by the outputs (n, M)."""
        g = output_gradient
        return rows.scaled(activation).T @ g, activation.T @ g, g.sum(axis=0)

    def activation_gradient(self, rows: DeviceRows, output_gradient: Floats) -> Floats:
        """Return the gradient by the activations (n, K), given that by the outputs (n, M)."""
        by_column = rows.Z * (output_gradient @ self.v.T)
        return rows.sum_by_device(by_column) + output_gradient @ self.a.T

    def gate_gradients(self, rows: DeviceRows, gate_gradient: Floats) -> tuple[Floats, Floats]:
        """Return the gradients by `w` and `b`, given that by the gate values (n, K)."""
        by_column = (rows.Z.T @ gate_gradient * rows.membership).sum(axis=1)
        return by_column, gate_gradient.sum(axis=0)


def fit_contributions(
    rows: DeviceRows,
    loss: Loss,
    model: GatedSum,
    activation: Floats,
    ridge: float,
    max_steps: int,
) -> tuple[GatedSum, float]:
    """Fit the contributions to fixed activations (n, K), which is a convex problem.

    Returns the model with new `v`, `a` and `base`, and the mean loss with the ridge term.
    """
    no_gates = (model.w[:0], model.b[:0])
    like = GatedSum(model.v, model.a, *no_gates, model.base)
    inputs = rows.scaled(activation)
    weights = rows.weights[:, np.newaxis]

    def objective(flat: Floats) -> tuple[float, Floats]:
        now = GatedSum.unpack(flat, like)
        values, gradient = loss(inputs @ now.v + activation @ now.a + now.base)
        gradient *= weights
        by_v, by_a = inputs.T @ gradient + ridge * now.v, activation.T @ gradient + ridge * now.a
        penalty = 0.5 * ridge * (np.sum(now.v**2) + np.sum(now.a**2))
        gradients = GatedSum(by_v, by_a, *no_gates, gradient.sum(axis=0))
        return float(rows.weights @ values + penalty), gradients.flat

    flat, value = minimize_lbfgs(objective, like.flat, max_steps)
    found = GatedSum.unpack(flat, like)
    return model._replace(v=found.v, a=found.a, base=found.base), value
