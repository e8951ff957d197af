"""Features are given up one after another, cheapest first, until no split is left."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from thrifty import Prices, PrunedForestClassifier
from thrifty.learn.pruning.feature_drops import drop_features, keep_features


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.2 * X[:, 2] > 0
    forest = RandomForestClassifier(8, max_features=None, random_state=0).fit(X, y)
    prices = Prices([1.0, 1.0, 1.0, 1.0, 50.0])
    return PrunedForestClassifier(forest, prices)._read_pruning(X, y, None, (X, y))


def test_each_step_gives_up_one_feature(data):
    steps = list(drop_features(data))
    assert [len(features) for features in steps] == [5, 4, 3, 2, 1]
    assert steps[-1].tolist() == [0]
    for more, fewer in pairwise(steps):
        assert set(fewer) < set(more)


def test_features_that_say_nothing_go_first(data):
    _, _, second, *_ = drop_features(data)
    assert second.tolist() == [0, 1, 2]


def test_a_least_saving_gives_up_several_features_at_once(data):
    _, first, *_ = drop_features(data, min_saving=0.0)
    _, at_once, *_ = drop_features(data, min_saving=40.0)
    assert len(at_once) < len(first)
    assert 4 not in at_once


def test_what_is_kept_reads_only_the_features(data):
    forest = keep_features(data.forest, np.array([0, 2]))
    assert set(forest.features) <= {0, 2}
    assert len(forest.nodes) < len(data.forest.nodes)
