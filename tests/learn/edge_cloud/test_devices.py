"""Devices: who measures which columns, and the rows as the devices see them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty import DataError, EdgeCloudClassifier, Prices
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.edge_cloud.devices import DeviceTable


@pytest.fixture
def sensors():
    """A table of five numeric columns and a label."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 5)), columns=["near", "left", "far", "right", "rest"])
    return X, np.where(np.where(X["near"] > 0, X["left"], X["right"]) > 0, "up", "down")


def test_groups_of_the_prices_are_devices_and_other_features_stand_alone(
    sensors, monkeypatch
) -> None:
    monkeypatch.setattr("thrifty.learn.edge_cloud.base.TRANSMIT_SHARES", (1.0,))  # and no less
    X, y = sensors
    prices = Prices(
        dict.fromkeys(X.columns, 1.0), groups={"rest": ["near", "left"], "b": ["far", "right"]}
    )
    model = EdgeCloudClassifier(prices, transmit_share=1.0, gates="sigmoid", max_steps=10).fit(X, y)
    assert model.devices_ == {
        "rest": ("left", "near"),
        "b": ("far", "right"),
        "feature rest": ("rest",),
    }


def test_devices_may_be_arrays_of_positions_and_names_of_any_kind(sensors) -> None:
    X, y = sensors
    devices = {1: np.array([0, 1]), 2: np.array([2, 3])}
    model = EdgeCloudClassifier(None, devices, 1.0, max_steps=5, random_state=0)
    assert model.fit(X.to_numpy(), y).devices_ == {"1": (0, 1), "2": (2, 3)}


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ({}, "there are none"),
        ({"a": []}, "'a' reads no feature"),
        ({"a": "near"}, "give a list of features"),
        ({"a": 3}, "give a list of features"),
        ({"a": ["nearr"]}, "near"),
        ({"a": ["near"], "b": ["near"]}, "is read by 'a' and by 'b'"),
        ({"a": ["same"]}, "no feature of any device varies"),
    ],
)
def test_impossible_devices_are_refused(devices, message, sensors) -> None:
    X, y = sensors
    with pytest.raises(DataError, match=message):
        EdgeCloudClassifier(devices=devices).fit(X.assign(same=1.0), y)


def test_all_problems_of_devices_are_reported_at_once(sensors) -> None:
    X, y = sensors
    with pytest.raises(DataError, match="3 problems"):
        EdgeCloudClassifier(devices={"a": [], "b": ["farr"], "c": 1}).fit(X, y)


def test_equal_rows_are_merged_and_columns_sorted_by_device(sensors) -> None:
    X, y = sensors
    X.loc[:9, ["near", "far"]] = np.nan
    twice = pd.concat([X, X], ignore_index=True)
    train = TrainingSet.read("classification", twice, np.concatenate([y, y]))
    table = DeviceTable.of(train, {"one": ["near", "far"], "two": ["left"]})
    assert table.names == ["one", "two"]
    assert table.encoding.columns.tolist() == [0, 2, 1]
    assert table.rows.starts.tolist() == [0, 2, 3]
    assert table.rows.device_of.tolist() == [0, 0, 1]
    assert len(table.y) == 40 and table.total_weight == 80.0
    np.testing.assert_allclose(table.rows.weights, 1 / 40)
    assert table.rows.present.sum(axis=0).tolist() == [30.0, 40.0]
    np.testing.assert_allclose(table.constant, train.class_shares)


def test_rows_are_scaled_and_summed_device_by_device(device_rows) -> None:
    rows = device_rows(10)
    factors = np.random.default_rng(1).normal(size=(10, 3))
    scaled = rows.scaled(factors)
    np.testing.assert_array_equal(scaled[:, 2], rows.Z[:, 2] * factors[:, 1])
    expected = np.column_stack([scaled[:, :2].sum(axis=1), scaled[:, 2], scaled[:, 3:].sum(axis=1)])
    np.testing.assert_allclose(rows.sum_by_device(scaled), expected)


def test_weights_of_some_rows_sum_to_one_again(device_rows) -> None:
    rows = device_rows(20)
    own = np.arange(20) % 3 == 0
    part = rows.take(own)
    assert part.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(part.weights * rows.weights[own].sum(), rows.weights[own])
