"""Vector trees: they fit all outputs at once, and averages are averages."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.losses import LogLoss
from thrifty.learn.policy.vector_trees import average_forests, boost_vectors
from thrifty.learn.purchases import Purchases


def boost(X, derivatives, start, link, rounds=60, seed=0, categorical=None):
    d = X.shape[1]
    categorical = np.zeros(d, dtype=bool) if categorical is None else categorical
    binned = Binned.of(X, categorical, np.random.RandomState(0))
    grower = Grower(binned, Purchases(Prices([1.0] * d).bind(d), len(X), "model"))
    random = np.random.default_rng(seed)
    return boost_vectors(grower, derivatives, start, link, rounds, 0.2, 1.0, random)


@pytest.fixture
def numbers():
    X = np.random.default_rng(0).uniform(-1, 1, size=(500, 3))
    return X, np.array([np.sign(X[:, 0]), X[:, 1] + 1.0, np.zeros(500)])


def test_one_tree_a_round_fits_all_outputs(numbers):
    X, target = numbers
    forest, gain = boost(X, lambda raw: (target - raw, None), target.mean(axis=1), "softmax")
    assert len(forest.roots) == 60
    assert np.abs(forest.raw(X).T - target).mean() < 0.1
    assert gain[2] < 0.05 * gain[:2].min()


def test_classes_are_learned(quarters):
    X, y = quarters(500)
    loss = LogLoss(y, None, 4)
    forest, _ = boost(X, loss.derivatives, loss.start(), loss.link)
    assert np.mean(forest.score(X).argmax(axis=1) == y) > 0.95


def test_the_seed_decides_the_projections(numbers):
    X, target = numbers
    forests = [
        boost(X, lambda raw: (target - raw, None), np.zeros(3), "softmax", 3, seed)[0]
        for seed in (0, 0, 1)
    ]
    assert forests[0].nodes.tobytes() == forests[1].nodes.tobytes()
    assert forests[0].values.tobytes() != forests[2].values.tobytes()


def test_columns_without_information_leave_a_constant():
    X, target = np.zeros((40, 2)), np.ones((1, 40))
    forest, _ = boost(X, lambda raw: (target - raw, None), np.zeros(1), "sum")
    assert forest.score(X[:1])[0] == pytest.approx(1.0, abs=1e-3)


def test_an_average_has_the_mean_outputs():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(5, size=200), rng.normal(size=200)]).astype(float)
    target = np.array([(X[:, 0] % 2 == 0) * X[:, 1], X[:, 1] > 0], dtype=float)
    categorical = np.array([True, False])
    forests = [
        boost(X, lambda raw: (target - raw, None), np.zeros(2), "softmax", 5, seed, categorical)[0]
        for seed in range(3)
    ]
    X[::7, 1] = np.nan
    average = average_forests(forests)
    assert len(average.subsets) > 0
    np.testing.assert_allclose(average.raw(X), np.mean([f.raw(X) for f in forests], axis=0))
