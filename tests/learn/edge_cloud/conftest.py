"""Random devices and parameters for the tests of edge/cloud models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thrifty.learn.edge_cloud.devices import DeviceRows
from thrifty.learn.edge_cloud.gated_sum import GatedSum
from thrifty.learn.edge_cloud.hard_gates import GateSplit
from thrifty.learn.edge_cloud.losses import log_loss
from thrifty.model.links import ACTIVATIONS


def random_device_rows(n=30, sizes=(2, 1, 3), seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2.0, size=n)
    starts = np.cumsum([0, *sizes])
    present = (rng.random((n, len(sizes))) >= missing).astype(float)
    return DeviceRows(rng.normal(size=(n, starts[-1])), starts, weights / weights.sum(), present)


def random_parameters(rows, outputs, seed=1):
    rng = np.random.default_rng(seed)
    q, k = rows.Z.shape[1], rows.n_devices
    shapes = ((q, outputs), (k, outputs), (q,), (k,), (outputs,))
    return GatedSum(*(rng.normal(size=shape) for shape in shapes))


def draw_planted(activation, seed=0, n=2000):
    """Nan 2018, sec. 7.1.6: two devices of two features; rows, truth and noise-free targets."""
    rows = random_device_rows(n, (2, 2), seed, missing=0.0)
    rows = DeviceRows(rows.Z, rows.starts, np.full(n, 1 / n), rows.present)
    truth = random_parameters(rows, 1, seed + 100)
    truth = truth._replace(a=np.zeros((2, 1)), base=np.zeros(1))
    act = ACTIVATIONS[activation](truth.gate_values(rows))
    return rows, truth, truth.outputs(rows, act)[:, 0]


def split_in_halves(rows, codes, ridge=1e-3):
    """Take every other row for validation."""
    validation = np.arange(len(codes)) % 2 == 0
    training, held_out = (
        (rows.take(own), log_loss(codes[own])) for own in (~validation, validation)
    )
    return GateSplit((rows, log_loss(codes)), training, held_out, ridge)


# Factories have no state, so one for the session is enough, and Hypothesis accepts them.
@pytest.fixture(scope="session")
def device_rows() -> Callable[..., DeviceRows]:
    """Draws rows: ``device_rows(n, sizes of the devices, seed, share of missing devices)``."""
    return random_device_rows


@pytest.fixture(scope="session")
def parameters() -> Callable[..., GatedSum]:
    """Draws parameters: ``parameters(rows, number of outputs, seed)``."""
    return random_parameters


@pytest.fixture(scope="session")
def class_codes() -> Callable[..., Any]:
    """Draws class codes: ``class_codes(rows, number of classes)``."""
    return lambda rows, classes: np.random.default_rng(2).integers(classes, size=len(rows.Z))


@pytest.fixture(scope="session")
def planted() -> Callable[..., Any]:
    """Draws the planted model: ``planted(activation, seed)``."""
    return draw_planted


@pytest.fixture(scope="session")
def halves() -> Callable[..., GateSplit]:
    """Splits rows: ``halves(rows, class codes)``."""
    return split_in_halves
