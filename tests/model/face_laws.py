"""What the faces of any frozen model owe each other; the tests of a kind draw the models."""

from __future__ import annotations

import numpy as np


def assert_batch(walk, model, X):
    """A walk that is done tells what the batch tells of the row."""
    assert walk.asks == ()
    np.testing.assert_array_equal(walk.scores, np.atleast_1d(model.score(X)[0]))
    assert set(walk.touched) == set(np.flatnonzero(model.used(X)[0]).tolist())
    assert walk.evaluations == model.evaluations(X)[0]


def walk_ends_like_the_batch(rng, model, X):
    """Whichever of the asks is answered first."""
    walk = model.walk(lambda feature: float(feature))
    while walk.asks:
        feature = int(rng.choice(walk.asks))
        assert feature not in walk.touched
        walk.tell({feature: float(X[0, feature])})
        assert feature in walk.touched
    assert_batch(walk, model, X)


def values_arrive_in_any_order(rng, model, X):
    """Some at a time, asked for or not."""
    walk, order = model.walk(), rng.permutation(model.n_features).tolist()
    while order:
        size = int(rng.integers(1, 4))
        walk.tell({j: float(X[0, j]) for j in order[:size]})
        order = order[size:]
    assert_batch(walk, model, X)


def state_is_the_values_told(rng, model, X):
    """Two walks that were told the same stand at the same place."""
    one, other = model.walk(), model.walk()
    some = rng.permutation(model.n_features)[:4].tolist()
    for j in some:
        one.tell({j: float(X[0, j])})
    other.tell({j: float(X[0, j]) for j in reversed(some)})
    np.testing.assert_array_equal(one.scores, other.scores)
    assert (one.asks, set(one.touched), one.evaluations) == (
        other.asks, set(other.touched), other.evaluations)  # fmt: skip


def unused_values_do_not_matter(model, X):
    """What is not in the used-set can be anything."""
    scores, used = model.score(X), model.used(X)
    for filler in (np.nan, 0.0, 199.0):
        other = np.where(used, X, filler)
        np.testing.assert_array_equal(model.score(other), scores)
        np.testing.assert_array_equal(model.used(other), used)


def rows_stay_within_bounds(model, X):
    """No row goes beyond the support and the most evaluations."""
    assert not (model.used(X) & ~model.support).any()
    assert (model.evaluations(X) <= model.most_evaluations).all()


def float32_is_its_float64(model, X, where):
    """A table of float32 gives what its float64 values give; `where` tells where rows stop."""
    X = X.astype(np.float32)
    np.testing.assert_array_equal(model.score(X), model.score(X.astype(np.float64)))
    np.testing.assert_array_equal(where(X), where(X.astype(np.float64)))
