"""Hard gates: thresholds that keep the share, and the choice among candidates."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty.learn.edge_cloud.hard_gates import always_open_gates, harden, transmit_threshold


@given(seed=st.integers(0, 1000), transmit_share=st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_the_threshold_is_the_lowest_that_keeps_the_share(
    device_rows, seed, transmit_share
) -> None:
    rows = device_rows(7, (1, 1), seed)
    gates = np.random.default_rng(seed).integers(-2, 3, size=(7, 2)).astype(float)  # with ties
    found = transmit_threshold(gates, rows, transmit_share)

    def share(threshold):
        transmits = (gates > threshold) & (rows.present > 0)
        return rows.weights @ transmits.mean(axis=1)

    assert share(found) <= transmit_share + 1e-6
    lower = [value for value in (*np.unique(gates), -99.0) if value < found]
    assert all(
        share(value) > transmit_share - 1e-6 or share(value) == share(found) for value in lower
    )


def test_the_candidate_of_the_smallest_validation_loss_is_chosen(
    device_rows, parameters, halves
) -> None:
    rows = device_rows(100, missing=0.0)
    split = halves(rows, (rows.Z[:, 0] > 0).astype(int))
    base = parameters(rows, 2)
    blind = base._replace(b=np.array([-50.0, 50.0, 50.0]))
    right = base._replace(b=np.array([50.0, 0.0, 0.0]))
    gates = harden(split, [blind, right], ("step",), 0.34, 40)
    assert gates.transmits(rows).mean(axis=0).round(2)[0] == 1.0
    assert gates.loss < 0.2


def test_a_relu_gate_never_transmits_zeros(device_rows, parameters, halves) -> None:
    rows = device_rows(60, missing=0.0)
    split = halves(rows, (rows.Z[:, 0] > 0).astype(int))
    gates = harden(split, [parameters(rows, 2)], ("relu",), 1.0, 8)
    assert gates.threshold == 0.0
    assert np.array_equal(gates.transmits(rows), gates.model.gate_values(rows) > 0)


def test_always_open_devices_are_ordered_by_what_they_know_alone(
    device_rows, parameters, halves
) -> None:
    rows = device_rows(300, missing=0.0)
    score = 3.0 * rows.Z[:, 2] + 1.5 * rows.Z[:, 0]  # the second device, then the first
    split = halves(rows, (score > 0).astype(int))
    model = always_open_gates(split, parameters(rows, 2), 40)
    assert model.b.tolist() == [-1.0, 0.0, -2.0] and not model.w.any()
    threshold = transmit_threshold(model.gate_values(rows), rows, 0.7)
    assert (model.gate_values(rows) > threshold).all(axis=0).tolist() == [True, True, False]
