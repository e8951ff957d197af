"""EdgeCloudRegressor: planted regressions, units of the target, paths and model files."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import EdgeCloudRegressor, Prices, load

DEVICES = {"left": [0, 1], "right": [2, 3]}
PRICES = Prices([0.1] * 4, evaluation=1.0)


def draw(n=300, seed=0, noise=0.0):
    """One of two devices knows the value, and each knows whether it does."""
    rng = np.random.default_rng(seed)
    side, left, right = rng.normal(size=(3, n))
    y = np.where(side > 0, 2.0 * left, -right) + noise * rng.normal(size=n)
    return np.column_stack([side, left, -side, right]), y


@pytest.mark.parametrize(
    ("gates", "quality"), [("relu", 0.75), ("sigmoid", 0.9), ("relaxed", 0.4), ("projected", 0.6)]
)
def test_a_planted_regression_is_found_with_one_transmission_per_row(gates, quality) -> None:
    X, y = draw()
    model = EdgeCloudRegressor(PRICES, DEVICES, 0.5, gates, max_steps=40, random_state=0)
    assert model.fit(X, y).score(*draw(seed=1)) > quality
    assert model.transmits(X).sum(axis=1).mean() <= 1.0 + 1e-9


def test_the_unit_of_the_target_does_not_matter() -> None:
    X, y = draw(120, noise=0.3)
    model = EdgeCloudRegressor(PRICES, DEVICES, max_steps=15, random_state=0)
    plain = model.fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(X, 1000.0 * y - 50.0).predict(X), 1000.0 * plain - 50.0)


def test_a_constant_target_is_predicted() -> None:
    X, _ = draw(60)
    model = EdgeCloudRegressor(max_steps=5, random_state=0).fit(X, np.full(60, 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0)


def test_a_walk_of_a_saved_model_ends_with_the_value_of_the_batch(tmp_path) -> None:
    X, y = draw(120)
    model = EdgeCloudRegressor(PRICES, DEVICES, max_steps=15, random_state=0).fit(X, y)
    model.save(tmp_path / "m.thrifty")
    walk = load(tmp_path / "m.thrifty").walk()
    while walk.asks:
        walk.tell({j: X[0, j] for j in walk.asks})
    assert walk.answer == model.predict(X[:1])[0]
    assert walk.receipt.total == model.bill(X[:1])[0]


def test_a_path_starts_at_the_mean_and_ends_with_what_fit_gives() -> None:
    (X, y), validation = draw(150, noise=0.3), draw(100, seed=3)
    model = EdgeCloudRegressor(PRICES, DEVICES, gates="projected", max_steps=15, random_state=0)
    points = list(model.path(X, y, validation=validation, transmit_shares=(0.25, 0.5)))
    assert [point.knob["transmit_share"] for point in points] == [0.0, 0.25, 0.5]
    np.testing.assert_allclose(points[0].model.predict(X), y.mean())
    assert points[2].quality > points[0].quality + 0.3
    again = model.set_params(transmit_share=0.5).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), points[2].model.predict(X))
