"""Laws that the scores, used features and walks of every frozen model obey together.

The tests of each kind of model draw random models and check these laws on them.
"""

from __future__ import annotations

import numpy as np


def assert_batch(walk, model, X):
    """A walk that is done agrees with the batch about its row."""
    assert walk.asks == ()
    np.testing.assert_array_equal(walk.scores, np.atleast_1d(model.score(X)[0]))
    assert set(walk.touched) == set(np.flatnonzero(model.used(X)[0]).tolist())
    assert walk.evaluations == model.evaluations(X)[0]


def walk_ends_like_the_batch(rng, model, X):
    """A walk ends like the batch, whichever requested value arrives first."""
    walk = model.walk(lambda feature: float(feature))
    while walk.asks:
        feature = int(rng.choice(walk.asks))
        assert feature not in walk.touched
        walk.tell({feature: float(X[0, feature])})
        assert feature in walk.touched
    assert_batch(walk, model, X)


def values_arrive_in_any_order(rng, model, X):
    """Values may arrive some at a time, requested or not."""
    walk, order = model.walk(), rng.permutation(model.n_features).tolist()
    while order:
        size = int(rng.integers(1, 4))
        walk.tell({j: float(X[0, j]) for j in order[:size]})
        order = order[size:]
    assert_batch(walk, model, X)


def state_is_the_values_told(rng, model, X):
    """Two walks with the same values are in the same state."""
    one, other = model.walk(), model.walk()
    some = rng.permutation(model.n_features)[:4].tolist()
    for j in some:
        one.tell({j: float(X[0, j])})
    other.tell({j: float(X[0, j]) for j in reversed(some)})
    np.testing.assert_array_equal(one.scores, other.scores)
    assert (one.asks, set(one.touched), one.evaluations) == (
        other.asks, set(other.touched), other.evaluations)  # fmt: skip


def unused_values_do_not_matter(model, X):
    """A value that is not used can be replaced by anything."""
    scores, used = model.score(X), model.used(X)
    for filler in (np.nan, 0.0, 199.0):
        other = np.where(used, X, filler)
        np.testing.assert_array_equal(model.score(other), scores)
        np.testing.assert_array_equal(model.used(other), used)


def rows_stay_within_bounds(model, X):
    """No row exceeds the support, the largest number of evaluations, or all bounds of its path."""
    used, evaluations, bounds = model.used(X), model.evaluations(X), model.path_bounds()
    assert not (used & ~model.support).any()
    assert (evaluations <= model.most_evaluations).all()
    within = ~(used[:, np.newaxis] & ~bounds.used).any(axis=2)
    assert (within & (evaluations[:, np.newaxis] <= bounds.evaluations)).any(axis=1).all()
    assert not (bounds.used & ~model.support).any()
    assert (bounds.evaluations <= model.most_evaluations).all()


def float32_is_its_float64(model, X, where):
    """A float32 table is scored like its float64 values; `where` returns where rows stop."""
    X = X.astype(np.float32)
    np.testing.assert_array_equal(model.score(X), model.score(X.astype(np.float64)))
    np.testing.assert_array_equal(where(X), where(X.astype(np.float64)))
