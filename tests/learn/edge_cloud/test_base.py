"""What the edge/cloud estimators share: starts, and limits that are compared on held-back rows."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import EdgeCloudClassifier, EdgeCloudRegressor
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.edge_cloud.devices import DeviceTable
from thrifty.learn.edge_cloud.direct import penalty_path, promising_starts


def noisy_table(n=200):
    """Three devices, of which only the first one helps: more transmissions add noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 12))
    y = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    devices = {"a": [0], "b": list(range(1, 6)), "c": list(range(6, 12))}
    return DeviceTable.of(TrainingSet.read("classification", X, y), devices)


@pytest.mark.parametrize("gates", ["relu", "relaxed", "projected"])
def test_a_larger_share_is_never_worse_on_the_rows_held_back(gates) -> None:
    table, shares = noisy_table(), (1.0, 0.7, 0.35, 0.1)
    model = EdgeCloudClassifier(gates=gates, C=100.0, max_steps=15, random_state=0)
    starts, split = model._draw_starts(table), model._draw_split(table)
    losses = [gates.loss for gates in model._train_gates(starts, split, shares)]
    assert losses == sorted(losses)


def test_more_transmissions_than_help_are_not_made() -> None:
    table = noisy_table()
    model = EdgeCloudClassifier(max_steps=15, random_state=0)
    starts, split = model._draw_starts(table), model._draw_split(table)
    (gates,) = model._train_gates(starts, split, [1.0])
    assert gates.transmits(table.rows).mean() < 0.9


def test_relu_gates_of_planted_models_are_found(planted) -> None:
    """At least 10 of 12 planted regressions (Nan 2018, sec. 7.1.6), from random starts."""
    found = 0
    for seed in range(12):
        rows, _, y = planted("relu", seed, n=300)
        model = EdgeCloudRegressor(random_state=seed)
        table = DeviceTable([], None, rows, (y - y.mean()) / y.std(), 1.0, np.zeros(1), 1.0)
        arguments = (rows, table.loss(), "relu", 1e-6)
        *_, best = promising_starts(*arguments, model._draw_starts(table), 100)
        first = next(penalty_path(*arguments, best, 100))
        gates = np.maximum(first.gate_values(rows), 0.0)
        found += np.mean(table.loss()(first.outputs(rows, gates))[0]) < 5e-4
    assert found >= 10
