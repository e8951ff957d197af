"""The gated sum, its losses, and contributions as a convex problem."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from thrifty import EdgeCloudClassifier
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.edge_cloud.devices import DeviceTable
from thrifty.learn.edge_cloud.gated_sum import GatedSum, fit_contributions


def test_outputs_are_the_sum_over_the_devices(device_rows, parameters) -> None:
    rows = device_rows(8)
    model = parameters(rows, 2)
    activation = np.random.default_rng(5).random((8, 3))
    expected = np.tile(model.base, (8, 1))
    for k in range(3):
        own = slice(rows.starts[k], rows.starts[k + 1])
        expected += activation[:, [k]] * (rows.Z[:, own] @ model.v[own] + model.a[k])
        gate = rows.Z[:, own] @ model.w[own] + model.b[k]
        np.testing.assert_allclose(model.gate_values(rows)[:, k], gate)
    np.testing.assert_allclose(model.outputs(rows, activation), expected)


def test_flat_parameters_are_unpacked_to_the_same(device_rows, parameters) -> None:
    model = parameters(device_rows(), 3)
    again = GatedSum.unpack(model.flat, model)
    assert all(np.array_equal(one, other) for one, other in zip(model, again, strict=True))


def test_contributions_of_open_gates_are_those_of_logistic_regression(monkeypatch) -> None:
    monkeypatch.setattr("thrifty.learn.edge_cloud.base.TRANSMIT_SHARES", (1.0,))  # and no less
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X @ [1.0, -2.0, 0.5] + rng.logistic(size=200) > 0).astype(int) + (X[:, 0] > 1)
    devices = {"one": [0, 2], "two": [1]}
    model = EdgeCloudClassifier(None, devices, 1.0, "relaxed", max_steps=5, random_state=0)
    assert model.fit(X, y).transmits(X).all()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = LogisticRegression(C=1.0, tol=1e-10, max_iter=2000).fit(Z, y)
    table = DeviceTable.of(TrainingSet.read("classification", X, y), devices)
    (start, *_), split = model._draw_starts(table), model._draw_split(table)
    act = np.ones((200, 2))  # with every gate fully open the devices are one linear model
    found, _ = fit_contributions(*split.all, start, act, split.ridge, 2000)
    logits = found.outputs(table.rows, act)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    order = np.lexsort(table.rows.Z.T[::-1])
    theirs = np.lexsort(Z[:, [0, 2, 1]].T[::-1])
    probabilities = (powers / powers.sum(axis=1, keepdims=True))[order]
    np.testing.assert_allclose(probabilities, expected.predict_proba(Z)[theirs], atol=2e-4)
