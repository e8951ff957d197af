"""Training: drops of the loss, too many items, free features, weights and seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from thrifty.costs import Prices
from thrifty.learn.binned import Binned
from thrifty.learn.policy.items import Items
from thrifty.learn.policy.states import States
from thrifty.learn.policy.training import Trainer, fit_policy, most_gain, most_gain_per_price


def test_drops_are_largest_where_a_feature_matters(policy_table, settings):
    table = policy_table()
    items = Items.of(table.prices)
    rows = np.arange(len(table.X))
    after_first = np.tile([True, False, False], (len(rows), 1))
    everything = np.ones_like(after_first)
    states = States(rows, after_first) + States(rows, everything) + States(rows, ~everything)
    trainer = Trainer(table, items, settings, states)
    predictors, gain = trainer.fit_predictors(np.random.default_rng(0))
    assert gain.argmax() == 0
    drops = trainer.measure_drops(trainer.calibrate(predictors))
    some = drops[: len(rows)]
    positive = table.X[:, 0] > 0
    assert some[positive, 1].mean() > 10 * abs(some[positive, 2].mean())
    assert some[~positive, 2].mean() > 10 * abs(some[~positive, 1].mean())
    # What is bought already lowers nothing.
    assert not some[:, 0].any()
    assert not drops[len(rows) : 2 * len(rows)].any()


def test_only_the_most_useful_items_are_kept(policy_table, settings):
    table = policy_table()
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(len(table.X), 9))
    X = np.hstack([table.X, noise])
    wide = replace(
        table,
        X=X,
        binned=Binned.of(X, np.zeros(12, dtype=bool), np.random.RandomState(0)),
        prices=Prices([1.0] * 12).bind(12),
    )
    fitted = fit_policy(wide, replace(settings, max_items=4), np.random.default_rng(0))
    assert len(fitted.average.own) == 4
    assert fitted.average.support[:3].all()
    assert fitted.average.support.sum() == 4


def test_an_item_keeps_the_features_that_help():
    prices = Prices([0, 3, 0, 0, 0], groups={"scan": [2, 3, 4]}, shared={"scan": 1}).bind(5)
    items = Items.of(prices)
    gain = np.array([0.0, 0.1, 2.0, 5.0, 4.0])
    assert most_gain(items, gain, 2).tolist() == [True, True, False, True, True]
    assert most_gain(items, gain, 9).all()


def test_gain_counts_per_price():
    items = Items.of(Prices([1.0, 10.0, 1.0]).bind(3))
    assert most_gain_per_price(items, np.array([3.0, 20.0, 1.0]), 2).tolist() == [0, 1]
    assert most_gain_per_price(items, np.array([3.0, 5.0, 1.0]), 2).tolist() == [0, 2]


def test_a_free_feature_starts_the_plan(policy_table, settings):
    table = policy_table()
    free = np.array([True, False, False])
    fitted = fit_policy(table, settings, np.random.default_rng(0), free=free, cap=1.0)
    used = fitted.model(0.0).used(table.X)
    assert used[:, 0].all()
    # One more column is enough, and it is the right one.
    assert (used.sum(axis=1) == 2).mean() > 0.8
    assert np.where(table.X[:, 0] > 0, used[:, 1], used[:, 2]).mean() > 0.85


def test_the_same_seed_gives_the_same_policy(policy_table, settings):
    one, two, other = (
        fit_policy(policy_table(), settings, np.random.default_rng(seed)).average
        for seed in (0, 0, 1)
    )
    assert one.predictor.values.tobytes() == two.predictor.values.tobytes()
    assert one.value.values.tobytes() == two.value.values.tobytes()
    assert one.predictor.values.tobytes() != other.predictor.values.tobytes()


def test_states_are_bounded(settings):
    assert settings.n_states(10, 5) == 1500
    assert settings.n_states(3000, 5) == 36_000
    assert settings.n_states(10**6, 5) == 50_000
    assert settings.n_states(3000, 1000) == 5000
    assert settings.n_states(3000, 10**6) == 3000
    assert settings.n_states(3000, 5, n_classes=1000) == 5000
    assert settings.short().n_estimators == 20


def test_a_part_of_a_table_gets_its_share_of_the_work(settings):
    part = replace(settings, max_states=20_000, max_trial_rows=3000).share(0.25)
    assert (part.max_states, part.max_trial_rows) == (5000, 750)
    assert part.n_states(10**6, 5) == 5000
    assert settings.share(1e-9).max_trial_rows == 1
