"""Cronus: shares that a stage sends on, and one stage without a penalty."""

from __future__ import annotations

import numpy as np

from thrifty import GreedyMiserClassifier, Prices
from thrifty.learn.baselines import CronusClassifier

SMALL = {"n_estimators": 12, "max_depth": 2, "min_samples_leaf": 5, "random_state": 0}


def test_each_stage_sends_on_the_share_that_it_should():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = (X.sum(axis=1) + rng.normal(size=2000) > 2).astype(int)
    model = CronusClassifier(Prices([1, 3, 9]), penalty=0.3, max_depth=1, keep=0.7)
    visited = model.fit(X, y).model_.visited(X)[y == 0]
    shares = visited[:, 1:].sum(axis=0) / visited[:, :-1].sum(axis=0)
    assert len(shares) == 2 and (shares <= 0.7 + 1e-9).all() and (shares > 0.55).all()


def test_without_a_penalty_one_stage_weighs_all_trees(train, new_rows):
    model = CronusClassifier(**SMALL).fit(*train).model_
    trees = GreedyMiserClassifier(**SMALL).fit(*train).model_
    assert len(model.left) == 1 and len(model.inputs) == len(trees.roots)
    np.testing.assert_array_equal(model.base.raw(new_rows), trees.raw(new_rows))
