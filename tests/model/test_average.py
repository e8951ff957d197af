"""An average of models: the same features for every row, and a walk that scores its last value."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from face_laws import (
    float32_is_its_float64,
    rows_stay_within_bounds,
    state_is_the_values_told,
    unused_values_do_not_matter,
    values_arrive_in_any_order,
    walk_ends_like_the_batch,
)
from forests import Shape, draw_forest, draw_table
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema, load
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError
from thrifty.learn.linear import fit_linear
from thrifty.model import KINDS, Average, CallResult, Forest, ShortCircuit, Stages

SEEDS = st.integers(0, 2**32 - 1)
LINKS = st.sampled_from(["sum", "sigmoid", "softmax", "vote"])


def draw(seed, link="softmax", rows=24):
    """Draw an average of forests and a linear model, with weights, temperatures and a prior."""
    rng = np.random.default_rng(seed)
    shape = Shape.of(link, trees=5, depth=2)
    parts = [draw_forest(rng, shape) for _ in range(int(rng.integers(1, 4)))]
    n_scores = parts[0].n_scores
    if n_scores > 1:
        parts.append(ShortCircuit.of(draw_forest(rng, shape)))
    table = draw_table(rng, shape, rows=40)
    y = rng.integers(n_scores, size=40) if n_scores > 1 else rng.normal(size=40)
    categorical = np.arange(shape.features) < shape.categorical
    features = np.flatnonzero(rng.random(shape.features) < 0.4)
    parts.append(fit_linear(table, y, n_scores if n_scores > 1 else 0, categorical, features))
    p, prior = len(parts), rng.dirichlet(np.ones(n_scores))
    factors = rng.choice([0.5, 1.0, 2.0], size=p) if n_scores > 1 else None
    reads = np.any([part.support for part in parts], axis=0) | (rng.random(shape.features) < 0.1)
    model = Average.of(parts, prior, rng.dirichlet(np.ones(p)), factors, reads)
    return rng, model, draw_table(rng, shape, rows=rows, missing=0.2)


def constant(*outputs, link="mean", d=2):
    return Forest.constant(outputs, link, d)


# --- the laws ----------------------------------------------------------------


@given(SEEDS, LINKS)
def test_a_batch_is_each_row_by_itself(seed, link):
    _, model, X = draw(seed, link)
    np.testing.assert_array_equal(
        model.score(X), np.concatenate([model.score(x[np.newaxis]) for x in X])
    )


@given(SEEDS, LINKS)
def test_the_scores_are_the_weighted_mean_of_the_tempered_parts(seed, link):
    _, model, X = draw(seed, link)
    expected = 0.0
    for part, weight, factor in zip(model.parts, model.weights, model.factors, strict=True):
        scores = part.score(X)
        if factor != 1:
            scores = np.clip(scores, 1e-6, 1.0) ** factor
            scores = scores / scores.sum(axis=1, keepdims=True)
        expected = expected + weight * scores
    np.testing.assert_allclose(model.score(X), expected, rtol=1e-9, atol=1e-12)


@given(SEEDS, LINKS)
def test_a_walk_ends_like_the_batch(seed, link):
    walk_ends_like_the_batch(*draw(seed, link, rows=1))


@given(SEEDS, LINKS)
def test_values_may_arrive_in_any_order_and_unrequested(seed, link):
    values_arrive_in_any_order(*draw(seed, link, rows=1))


@given(SEEDS, LINKS)
def test_the_state_of_a_walk_is_the_set_of_values_told(seed, link):
    state_is_the_values_told(*draw(seed, link, rows=1))


@given(SEEDS, LINKS)
def test_a_value_that_is_not_used_can_be_anything(seed, link):
    unused_values_do_not_matter(*draw(seed, link)[1:])


@given(SEEDS, LINKS)
def test_every_row_reaches_the_support_and_the_most_evaluations(seed, link):
    _, model, X = draw(seed, link)
    rows_stay_within_bounds(model, X)
    assert (model.used(X) == model.reads).all()
    assert (model.evaluations(X) == model.most_evaluations).all()


@given(SEEDS, LINKS)
def test_a_float32_table_is_scored_like_its_float64_values(seed, link):
    _, model, X = draw(seed, link)
    float32_is_its_float64(model, X, model.used)


# --- averaging ---------------------------------------------------------------


def test_a_temperature_takes_probabilities_to_a_power():
    model = Average.of([constant(0.2, 0.8)], prior=[0.5, 0.5], factors=[2.0])
    np.testing.assert_allclose(model.score(np.zeros((1, 2))), [[1 / 17, 16 / 17]])


def test_without_weights_all_parts_count_the_same_and_are_as_sure_as_they_are():
    model = Average.of([constant(0.2, 0.8), constant(0.6, 0.4)], prior=[0.5, 0.5])
    np.testing.assert_allclose(model.score(np.zeros((1, 2))), [[0.4, 0.6]])


def test_a_walk_asks_for_everything_at_once_and_knows_the_prior_until_it_is_complete():
    reads = np.array([True, True])
    model = Average.of([constant(0.2, 0.8)], prior=[0.3, 0.7], reads=reads)
    walk = model.walk(lambda feature: -float(feature))
    assert walk.asks == (1, 0) and walk.evaluations == 0
    walk.tell({1: 7.0})
    assert (walk.asks, walk.touched) == ((0,), (1,))
    assert walk.scores.tolist() == [0.3, 0.7]
    walk.tell({0: np.nan, 5: 1.0})
    assert (walk.asks, walk.touched) == ((), (1, 0))
    np.testing.assert_allclose(walk.scores, [0.2, 0.8])


def test_an_average_that_reads_nothing_is_done_at_once():
    walk = Average.of([constant(0.2, 0.8)], prior=[0.3, 0.7]).walk()
    assert walk.asks == ()
    np.testing.assert_allclose(walk.scores, [0.2, 0.8])


def test_averages_may_be_the_rungs_of_a_ladder():
    _, low, X = draw(3)
    rng, high, _ = draw(4)
    threshold = np.median(1 - low.score(X).max(axis=1))
    ladder = Stages.of([low, high], thresholds=[threshold, np.inf])
    assert 0 < ladder.rung(X).mean() < 1
    for x in X:
        walk_ends_like_the_batch(rng, ladder, x[np.newaxis])


# --- files, copies and mistakes ----------------------------------------------


@pytest.mark.parametrize("link", ["sum", "softmax"])
def test_a_file_gives_back_the_same_model(link, tmp_path):
    _, model, X = draw(7, link)
    classes = None if link == "sum" else np.arange(model.n_scores)
    predictor = Predictor(model, Schema.of(np.zeros((2, 7))), Prices().bind(7), classes)
    predictor.save(tmp_path / "average.thrifty")
    again = load(tmp_path / "average.thrifty").model
    assert isinstance(again, Average) and KINDS["average"] is Average
    for face in ("score", "used", "evaluations"):
        np.testing.assert_array_equal(getattr(again, face)(X), getattr(model, face)(X))
    np.testing.assert_array_equal(again.walk().scores, model.walk().scores)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_is_frozen_too(copied):
    model = copied(draw(1)[1])
    assert not model.weights.flags.writeable and not model.reads.flags.writeable


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weights", None, "expected the arrays"),
        ("weights", np.array([0.5]), "one weight and one factor for each of the 2 parts"),
        ("weights", np.array([0.5, 0.6]), "positive and add up to 1"),
        ("weights", np.array([1.0, 0.0]), "positive and add up to 1"),
        ("weights", np.array([np.nan, 0.5]), "positive and add up to 1"),
        ("weights", np.array([1, 0]), "1-d of float64"),
        ("factors", np.array([1.0]), "one weight and one factor"),
        ("factors", np.array([1.0, -1.0]), "factors must be positive and finite"),
        ("factors", np.array([1.0, np.inf]), "factors must be positive and finite"),
        ("prior", np.array([1.0]), "prior must be 2 finite numbers"),
        ("prior", np.array([0.5, np.nan]), "prior must be 2 finite numbers"),
        ("prior", np.array([0.7, 0.7]), "prior must be class probabilities"),
        ("prior", np.array([-0.5, 1.5]), "prior must be class probabilities"),
        ("reads", np.array([True]), r"reads has shape \(1,\), expected \(3,\)"),
        ("reads", np.array([1, 1, 1]), "reads must be 1-d of bool"),
        ("reads", np.array([False, True, True]), "feature that is not bought"),
        ("parts", [], "belong to no part"),
        ("parts", "none", "parts of the model are not described"),
        ("extra", 1, "expected the entries"),
        ("9/nodes", np.zeros(1), "belong to no part"),
        ("0/base", np.array([np.nan]), "finite"),
        ("extra/array", np.zeros(1), "belong to no part"),
    ],
)
def test_a_damaged_state_is_refused(name, value, message):
    shape = Shape.of("sigmoid", trees=3, features=3, categorical=0)
    parts = [draw_forest(np.random.default_rng(seed), shape) for seed in (0, 1)]
    plain, arrays = Average.of(parts, prior=[0.5, 0.5]).state()
    assert arrays["reads"].all()
    part = arrays if name in arrays or "/" in name else plain
    if value is None:
        del part[name]
    else:
        part[name] = value
    with pytest.raises(BundleError, match=message):
        Average.build(plain, arrays)


def test_parts_that_do_not_fit_together_are_refused():
    with pytest.raises(DataError, match="needs a part"):
        Average.of([], prior=[1.0])
    with pytest.raises(DataError, match="differ in columns or scores"):
        Average.of([constant(0.2, 0.8), constant(0.2, 0.8, d=3)], prior=[0.5, 0.5])
    with pytest.raises(DataError, match="values have no temperature"):
        Average.of([constant(1.0, link="sum")], prior=[0.0], factors=[2.0])
    with pytest.raises(DataError, match="result of a call cannot be averaged"):
        Average.of([CallResult.of([0, 1], [], 2)], prior=[0.5, 0.5])
    with pytest.raises(DataError, match="weights must be 1-d of float64"):
        Average.of([constant(0.2, 0.8)], prior=[0.5, 0.5], weights=1.0)


def test_a_table_of_other_width_is_refused():
    with pytest.raises(ValueError, match="reads 2 columns"):
        Average.of([constant(0.2, 0.8)], prior=[0.5, 0.5]).score(np.zeros((2, 3)))
