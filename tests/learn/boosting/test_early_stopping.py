"""Early stopping keeps the best round, and ends soon after it."""

from __future__ import annotations

import numpy as np
from miser_cases import EVERY, draw, raw_of, target_of
from sklearn.base import clone
from sklearn.metrics import log_loss

from thrifty.learn import GreedyMiserRanker, GreedyMiserRegressor
from thrifty.learn.boosting import early_stopping
from thrifty.learn.boosting import ensemble as boosting

# --- early stopping


@EVERY
def test_early_stopping_keeps_the_best_round(model):
    X, value, labels = draw()
    fresh, fresh_value, fresh_labels = draw(seed=9)
    y, v = target_of(model, value, labels), target_of(model, fresh_value, fresh_labels)
    model = clone(model).set_params(learning_rate=0.5, n_estimators=60, min_samples_leaf=3)
    whole = clone(model).fit(X, y)
    model.fit(X, y, validation=(fresh, v))
    outputs = len(whole.model_.base)
    kept = len(model.model_.roots) // outputs
    losses = validation_losses(whole, fresh, v)
    # All rounds up to the best, and 20 more, were looked at.
    looked_at = losses[: kept + early_stopping.PATIENCE + 1]
    assert losses[kept] == min(looked_at)
    assert 0 < kept < 60
    np.testing.assert_array_equal(raw_of(model, X), whole.model_.prefix(kept * outputs).raw(X))


def validation_losses(whole, X, y):
    """Loss of every whole number of rounds, from the definition of each loss."""
    forest = whole.model_
    outputs = len(forest.base)
    raws = [forest.prefix(trees).raw(X) for trees in range(0, len(forest.roots) + 1, outputs)]
    if isinstance(whole, GreedyMiserRanker) and whole.loss == "lambda":
        gains = 2.0**y - 1
        discount = 1 / np.log2(np.arange(len(y)) + 2)
        order = [np.argsort(-raw[:, 0], kind="stable") for raw in raws]
        return [-np.sum(gains[o] * discount) for o in order]
    if forest.link == "sum":
        return [np.mean((raw[:, 0] - y) ** 2) for raw in raws]
    if forest.link == "hinge":
        sign = np.where(y[:, np.newaxis] == np.arange(3), 1.0, -1.0)
        return [np.mean(np.maximum(0, 1 - sign * raw) ** 2) for raw in raws]
    powers = [np.exp(raw) for raw in raws]
    return [log_loss(y, p / p.sum(axis=1, keepdims=True)) for p in powers]


def test_early_stopping_may_keep_the_constant():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    model = GreedyMiserRegressor(learning_rate=1.0, min_samples_leaf=1)
    model.fit(X, y, validation=(X, -y))
    assert len(model.model_.roots) == 0
    np.testing.assert_allclose(model.predict(X), y.mean())
    assert model.bill(X).max() == 0.0


def test_early_stopping_ends_soon_after_the_best_round(monkeypatch):
    X, y, _ = draw()
    fresh, v, _ = draw(seed=9)
    rounds = []
    plain = boosting.Boosting._round
    monkeypatch.setattr(boosting.Boosting, "_round", lambda self: rounds.append(1) or plain(self))
    model = GreedyMiserRegressor(learning_rate=0.5, n_estimators=400)
    kept = len(model.fit(X, y, validation=(fresh, v)).model_.roots)
    assert (
        kept + early_stopping.PATIENCE
        <= len(rounds)
        <= kept + early_stopping.PATIENCE + early_stopping.ROUNDS_PER_UPDATE
    )
    assert len(rounds) < 200
