"""One-vs-rest: a binary model per class, joined to probabilities of all classes."""

from __future__ import annotations

import numpy as np
import pytest
from face_laws import (
    rows_stay_within_bounds,
    state_is_the_values_told,
    values_arrive_in_any_order,
    walk_ends_like_the_batch,
)
from forests import Shape, draw_forest, draw_table
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import BundleError, DataError
from thrifty.model import KINDS, Forest, OneVsRest

SEEDS = st.integers(0, 2**32 - 1)


def draw(seed, classes=3, rows=20):
    """Draw a generator, a model and a table."""
    rng = np.random.default_rng(seed)
    shape = Shape.of("sigmoid", trees=3, depth=3)
    model = OneVsRest.of([draw_forest(rng, shape) for _ in range(classes)])
    return rng, model, draw_table(rng, shape, rows=rows, dtype=np.float64)


def constant(positive, features=2):
    return Forest.constant([1.0 - positive, positive], "mean", features)


@given(SEEDS, st.integers(3, 5))
def test_scores_are_the_normalized_positive_probabilities(seed, classes) -> None:
    _, model, X = draw(seed, classes)
    positive = np.column_stack([part.score(X)[:, 1] for part in model.parts])
    np.testing.assert_allclose(model.score(X), positive / positive.sum(axis=1)[:, np.newaxis])
    assert model.n_scores == classes


def test_classes_are_equally_likely_where_every_model_says_no() -> None:
    model = OneVsRest.of([constant(0.0)] * 4)
    np.testing.assert_array_equal(model.score(np.zeros((2, 2))), np.full((2, 4), 0.25))


@given(SEEDS)
def test_a_feature_is_paid_once_for_all_models(seed) -> None:
    _, model, X = draw(seed)
    expected = np.zeros_like(model.used(X))
    for part in model.parts:
        expected |= part.used(X)
    np.testing.assert_array_equal(model.used(X), expected)
    np.testing.assert_array_equal(model.evaluations(X), np.full(len(X), 9))
    assert model.most_evaluations == 9
    rows_stay_within_bounds(model, X)


@given(SEEDS)
def test_a_walk_ends_like_the_batch(seed) -> None:
    walk_ends_like_the_batch(*draw(seed, rows=1))


@given(SEEDS)
def test_values_may_arrive_in_any_order_and_unrequested(seed) -> None:
    values_arrive_in_any_order(*draw(seed, rows=1))


@given(SEEDS)
def test_the_state_of_a_walk_is_the_set_of_values_told(seed) -> None:
    state_is_the_values_told(*draw(seed, rows=1))


def test_a_walk_requests_cheap_features_first_and_has_scores_at_once() -> None:
    _, model, _ = draw(3)
    walk = model.walk(lambda feature: -float(feature))
    assert list(walk.asks) == sorted(walk.asks, reverse=True)
    assert len(walk.asks) > 1
    np.testing.assert_allclose(walk.scores.sum(), 1.0)


@given(SEEDS)
def test_a_row_alone_has_the_same_bits_as_in_a_batch(seed) -> None:
    _, model, X = draw(seed, classes=9, rows=12)
    alone = np.vstack([model.score(X[[row]]) for row in range(len(X))])
    np.testing.assert_array_equal(model.score(X), alone)


@given(SEEDS)
def test_it_is_built_again_from_its_state(seed) -> None:
    _, model, X = draw(seed)
    again = KINDS["one-vs-rest"].build(*model.state())
    np.testing.assert_array_equal(model.score(X), again.score(X))
    np.testing.assert_array_equal(model.used(X), again.used(X))


def test_models_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(DataError, match="there are 2 models"):
        OneVsRest.of([constant(0.5)] * 2)
    with pytest.raises(DataError, match="differ in columns"):
        OneVsRest.of([constant(0.5), constant(0.5), constant(0.5, features=3)])
    values = draw_forest(np.random.default_rng(0), Shape.of("sum", features=2, categorical=0))
    with pytest.raises(DataError, match="two classes"):
        OneVsRest.of([constant(0.5), constant(0.5), values])


def test_a_damaged_state_is_refused() -> None:
    plain, arrays = OneVsRest.of([constant(0.5)] * 3).state()
    with pytest.raises(BundleError, match="expected the entry parts"):
        OneVsRest.build({**plain, "more": 1}, arrays)
    two = {"parts": plain["parts"][:2]}
    kept = {name: array for name, array in arrays.items() if not name.startswith("2/")}
    with pytest.raises(BundleError, match="there are 2 models"):
        OneVsRest.build(two, kept)
    with pytest.raises(BundleError, match="belong to no part"):
        OneVsRest.build(two, arrays)
