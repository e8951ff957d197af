"""EdgeCloudClassifier: planted classifiers, shares of transmissions, bills, walks and paths."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty import DataError, EdgeCloudClassifier, Prices, load


def draw_sides(n=300, seed=0, noise=0.0):
    """One of two devices knows the class, and each knows whether it does; a third is noise."""
    rng = np.random.default_rng(seed)
    side, left, right, other = rng.normal(size=(4, n))
    y = np.where(np.where(side > 0, left, right) + noise * rng.normal(size=n) > 0, "up", "down")
    columns = {"near": side, "left": left, "far": -side, "right": right, "rest": other}
    return pd.DataFrame(columns), y


DEVICES = {"a": ["near", "left"], "b": ["far", "right"], "c": ["rest"]}
PRICES = Prices(dict.fromkeys(("near", "left", "far", "right", "rest"), 0.1), evaluation=1.0)


@pytest.mark.parametrize(
    ("gates", "accuracy", "agreement"),
    # The relaxation decides who transmits by the labels, which the gates cannot see.
    [
        ("relu", 0.92, 0.9),
        ("sigmoid", 0.93, 0.9),
        ("relaxed", 0.75, 0.6),
        ("projected", 0.85, 0.7),
    ],
)
def test_a_planted_classifier_is_recovered(gates, accuracy, agreement) -> None:
    X, y = draw_sides()
    model = EdgeCloudClassifier(PRICES, DEVICES, 1 / 3, gates, max_steps=40, random_state=0)
    model.fit(X, y)
    test, labels = draw_sides(1000, seed=1)
    assert model.score(test, labels) > accuracy
    assert list(model.devices_)[:2] == ["a", "b"]
    transmits = model.transmits(test)[:, :2]
    knows = np.column_stack([test["near"] > 0, test["far"] > 0])
    assert np.mean(transmits == knows) > agreement
    assert model.transmits(X).sum(axis=1).mean() <= 1.0 + 1e-9


def test_more_classes_than_two_and_labels_of_any_kind() -> None:
    X, _ = draw_sides(400)
    y = 10 * np.digitize(np.where(X["near"] > 0, X["left"], X["right"]), [-0.5, 0.5])
    model = EdgeCloudClassifier(PRICES, DEVICES, 0.4, max_steps=30, random_state=0).fit(X, y)
    assert model.classes_.tolist() == [0, 10, 20]
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("gates", ["relu", "sigmoid", "relaxed", "projected"])
@pytest.mark.parametrize("share", [0.1, 0.35])
def test_the_share_of_transmissions_holds_on_the_training_rows(gates, share) -> None:
    X, y = draw_sides(120, noise=0.5)
    model = EdgeCloudClassifier(PRICES, DEVICES, share, gates, max_steps=20, random_state=0)
    weight = np.random.default_rng(0).integers(1, 4, size=120)
    transmitted = model.fit(X, y, sample_weight=weight).transmits(X).sum(axis=1) / 3
    assert 0.05 < np.average(transmitted, weights=weight) <= share + 1e-6


def test_a_bill_is_measurements_and_transmissions() -> None:
    X, y = draw_sides(120)
    model = EdgeCloudClassifier(PRICES, DEVICES, 0.3, max_steps=20, random_state=0).fit(X, y)
    measured = sum(len(features) for features in model.devices_.values())
    np.testing.assert_allclose(model.bill(X), 0.1 * measured + model.transmits(X).sum(axis=1))


def test_a_device_that_never_transmits_measures_nothing() -> None:
    X, y = draw_sides(200)
    wide = X.assign(noise=np.random.default_rng(5).normal(size=200))
    devices = {**DEVICES, "d": ["noise"]}
    model = EdgeCloudClassifier(None, devices, 0.2, max_steps=15, random_state=0).fit(wide, y)
    dropped = set(devices) - set(model.devices_)
    assert dropped
    unread = [feature for name in dropped for feature in devices[name]]
    assert not model.used(wide)[:, [wide.columns.get_loc(name) for name in unread]].any()
    assert model.transmits(wide).shape == (200, len(model.devices_))
    assert model.model_.most_evaluations == len(model.devices_)


def test_rows_without_the_values_of_a_device_are_learned_from() -> None:
    X, y = draw_sides(300)
    missing = X.copy()
    missing.loc[:99, ["near", "left"]] = np.nan
    model = EdgeCloudClassifier(PRICES, DEVICES, 0.5, max_steps=30, random_state=0).fit(missing, y)
    place = list(model.devices_).index("a")
    assert not model.transmits(missing)[:100, place].any()
    assert model.transmits(missing)[100:, place].mean() > 0.3
    assert model.score(X, y) > 0.85


def test_a_walk_of_a_saved_model_goes_device_by_device(tmp_path) -> None:
    X, y = draw_sides(200)
    model = EdgeCloudClassifier(PRICES, DEVICES, 0.4, max_steps=15, random_state=0).fit(X, y)
    model.save(tmp_path / "m.thrifty")
    walk = load(tmp_path / "m.thrifty").walk()
    asked = []
    while walk.asks:
        asked.append(set(walk.asks))
        walk.tell({name: X[name].iloc[0] for name in walk.asks})
    assert sorted(map(sorted, asked)) == sorted(sorted(own) for own in model.devices_.values())
    assert walk.answer == model.predict(X.iloc[:1])[0]
    assert walk.receipt.total == model.bill(X.iloc[:1])[0]


@pytest.mark.parametrize("gates", ["relu", "relaxed"])
def test_a_path_goes_from_no_transmission_to_what_more_of_them_give(gates) -> None:
    X, y = draw_sides(200, noise=0.3)
    validation = draw_sides(100, seed=3, noise=0.3)
    model = EdgeCloudClassifier(PRICES, DEVICES, gates=gates, max_steps=20, random_state=0)
    points = list(model.path(X, y, validation=validation, transmit_shares=(0.7, 0.15, 0.35)))
    assert [point.knob["transmit_share"] for point in points] == [0.0, 0.15, 0.35, 0.7]
    assert points[0].bill == 0.0 and points[2].quality > points[0].quality + 0.2
    again = model.set_params(transmit_share=0.7).fit(X, y)
    assert np.array_equal(again.predict(validation[0]), points[-1].model.predict(validation[0]))


def test_a_path_needs_validation_rows_with_labels() -> None:
    X, y = draw_sides(40)
    with pytest.raises(DataError, match="validation"):
        EdgeCloudClassifier().path(X, y, validation=(X,))


@pytest.mark.parametrize("shares", [(), (0.0,), (0.5, 1.5), (float("nan"),)])
def test_shares_of_a_path_are_above_zero_and_at_most_one(shares) -> None:
    X, y = draw_sides(40)
    with pytest.raises(DataError, match="transmit_shares"):
        EdgeCloudClassifier().path(X, y, validation=(X, y), transmit_shares=shares)


@pytest.mark.parametrize(
    "wrong",
    [
        {"transmit_share": 0.0},
        {"transmit_share": 2.0},
        {"gates": "tanh"},
        {"C": 0},
        {"devices": [1]},
    ],
)
def test_parameters_out_of_range_are_refused(wrong) -> None:
    X, y = draw_sides(40)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        EdgeCloudClassifier(**wrong).fit(X, y)
