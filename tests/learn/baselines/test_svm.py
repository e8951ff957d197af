"""The SVM baselines: same interface as CompressedSVC, vectors that are rows, and an optimum."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from thrifty import CompressedSVC, Prices, load
from thrifty.learn.baselines import LeastAngleSVC, RandomSubsetSVC, ReducedSVC

BASELINES = [LeastAngleSVC, RandomSubsetSVC, ReducedSVC]


def draw_clusters(n=240, classes=3, seed=0):
    """Clusters on a circle, one for each class, and two columns of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    angle = 2 * np.pi * y / classes
    X = rng.normal(size=(n, 4))
    X[:, :2] += 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    return X, y


@pytest.mark.parametrize("baseline", BASELINES)
def test_a_baseline_has_the_interface_of_the_method(baseline, tmp_path) -> None:
    X, y = draw_clusters()
    model = baseline(n_vectors=12, random_state=0).fit(X, y)
    assert len(model.model_.vectors) == 12 and model.score(X, y) > 0.8
    model.save(tmp_path / "m.thrifty")
    assert np.array_equal(load(tmp_path / "m.thrifty").predict(X), model.predict(X))
    points = list(baseline(random_state=0).path(X, y, validation=(X, y), sizes=[2, 6]))
    assert [point.knob["n_vectors"] for point in points] == [0, 2, 6]
    pairs = baseline(n_vectors=3, per_pair=True, random_state=0).fit(X, y)
    assert pairs.model_.most_evaluations == 9


@pytest.mark.parametrize("baseline", BASELINES)
def test_prices_come_second_after_the_svc(baseline) -> None:
    X, y = draw_clusters()
    svc = SVC().fit(X, y)
    model = baseline(svc, Prices([1.0, 1.0, 1.0, 2.0], evaluation=0.1), 5, random_state=0)
    assert model.fit(X, y).bill(X) == pytest.approx(5.5)


@pytest.mark.parametrize("baseline", BASELINES)
def test_the_vectors_of_a_baseline_are_rows_of_the_table(baseline) -> None:
    X, y = draw_clusters()
    model = baseline(n_vectors=9, random_state=0).fit(X, y)
    Z = model.model_.encoding.apply(X)
    assert all((vector == Z).all(axis=1).any() for vector in model.model_.vectors)
    moved = CompressedSVC(n_vectors=9).fit(X, y).model_.vectors
    assert not any((vector == Z).all(axis=1).any() for vector in moved)


def test_reduced_svm_is_at_the_optimum_of_its_squared_hinge() -> None:
    X, y = draw_clusters(classes=2)
    svc = SVC(gamma=0.2, C=2.0).fit(X, y)
    model = ReducedSVC(svc, n_vectors=6, random_state=0).fit(X, y).model_
    K = model.kernel.matrix(X, model.vectors)
    sign = np.where(y == 0, 1.0, -1.0)
    decisions = K @ model.coefficients[:, 0] + model.intercepts[0]
    residual = np.maximum(1.0 - sign * decisions, 0.0) * sign
    among = model.kernel.matrix(model.vectors, model.vectors) @ model.coefficients[:, 0]
    np.testing.assert_allclose(among / 2.0 - K.T @ residual, 0.0, atol=1e-4)
    assert abs(residual.sum()) < 1e-4
