"""Plain boosted trees: those of GreedyMiser at penalty 0, of some features, and joined."""

from __future__ import annotations

import numpy as np
import pandas as pd

from thrifty import GreedyMiserClassifier
from thrifty.learn.baselines.boosted import BoostingSettings, concatenate_forests
from thrifty.learn.dataset import TrainingSet

SMALL = {"n_estimators": 12, "max_depth": 2, "min_samples_leaf": 5, "random_state": 0}
SETTINGS = BoostingSettings(learning_rate=0.1, **SMALL)


def test_trees_are_those_of_greedy_miser_without_a_penalty(train, new_rows):
    model = GreedyMiserClassifier(**SMALL)
    read = TrainingSet.read("classification", *train)
    forest = BoostingSettings.of(model).boost(read, SETTINGS.bin(read))
    np.testing.assert_array_equal(forest.raw(new_rows), model.fit(*train).model_.raw(new_rows))


def test_trees_read_only_the_features_given(train):
    read = TrainingSet.read("classification", *train)
    binned = SETTINGS.bin(read)
    assert set(SETTINGS.boost(read, binned, np.array([1, 4])).features) == {1, 4}
    constant = SETTINGS.boost(read, binned, np.array([], dtype=np.int64))
    assert len(constant.roots) == 0
    np.testing.assert_allclose(constant.score(read.X[:1])[0, 1], train[1].mean())


def test_concatenated_forests_add_up():
    rng = np.random.default_rng(0)
    towns = np.array(["ulm", "bonn", "trier", "kiel"])[rng.integers(4, size=300)]
    X = pd.DataFrame({"town": towns, "age": rng.normal(size=300)})
    y = (np.isin(towns, ["ulm", "kiel"]) ^ (X["age"] > 0)).to_numpy().astype(int)
    read = TrainingSet.read("classification", X, y)
    binned = SETTINGS.bin(read)
    parts = [SETTINGS.boost(read, binned, np.array(subset)) for subset in ([0], [0, 1], [1])]
    joined = concatenate_forests(parts, [0.5], "sum")
    assert len(joined.roots) == sum(len(part.roots) for part in parts) == 36
    # The base of a part is left out; categories keep their subsets.
    added = sum(part.raw(read.X) - part.base for part in parts)
    np.testing.assert_allclose(joined.raw(read.X), 0.5 + added)
