"""Projected gradient descent: the projection of the thesis, and gates that fit it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from thrifty.learn.edge_cloud.losses import squared_loss
from thrifty.learn.edge_cloud.projection import (
    fit_gate_values,
    project_gate_values,
    projection_path,
)


@pytest.mark.parametrize("seed", range(4))
def test_the_projection_is_the_nearest_point_with_few_open_gates(seed, device_rows) -> None:
    """All ways to close gates are tried (Nan 2018, eq. 7.5)."""
    rows = device_rows(4, (1, 1), seed, missing=0.0)
    rows = type(rows)(rows.Z, rows.starts, np.full(4, 0.25), rows.present)
    gates = np.random.default_rng(seed).normal(size=(4, 2)) + 0.5
    projected = project_gate_values(gates, rows, 0.3)
    assert (projected > 0).mean() <= 0.3
    closed = np.minimum(gates, 0.0)
    ways = [np.where(np.reshape(way, (4, 2)), gates, closed) for way in product((0, 1), repeat=8)]
    allowed = [way for way in ways if (way > 0).mean() <= 0.3]
    least = min(np.square(way - gates).sum() for way in allowed)
    assert np.square(projected - gates).sum() == pytest.approx(least)


def test_gate_values_within_the_share_stay_as_they_are(device_rows) -> None:
    rows = device_rows(20)
    gates = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_array_equal(project_gate_values(gates, rows, 1.0), gates)


def test_a_device_without_values_takes_no_share(device_rows) -> None:
    rows = device_rows(40, missing=0.5)
    gates = np.abs(np.random.default_rng(0).normal(size=(40, 3))) + 0.1
    projected = project_gate_values(gates, rows, 0.2)
    transmits = (projected > 0) & (rows.present > 0)
    share = rows.weights @ transmits.mean(axis=1)
    assert 0.15 < share <= 0.2 + 1e-9
    np.testing.assert_array_equal(projected[rows.present == 0], gates[rows.present == 0])


def test_gates_that_are_linear_are_found_again(device_rows, parameters) -> None:
    rows = device_rows(50, missing=0.0)
    truth = parameters(rows, 1)
    w, b = fit_gate_values(truth.gate_values(rows), rows)
    np.testing.assert_allclose(w, truth.w, atol=1e-6)
    np.testing.assert_allclose(b, truth.b, atol=1e-6)


def test_projected_descent_keeps_the_loss_low_with_fewer_open_gates(planted) -> None:
    rows, truth, y = planted("sigmoid", 3, n=400)
    loss = squared_loss(y / y.std())
    start = truth._replace(w=0.1 * truth.w, b=np.ones(2), v=0.1 * truth.v)
    models = list(projection_path(rows, loss, (0.9, 0.4), 1e-4, start, 60))
    opened = [(model.gate_values(rows) > 0).mean() for model in models]
    assert opened[1] < opened[0] <= 1.0 and opened[1] < 0.6
