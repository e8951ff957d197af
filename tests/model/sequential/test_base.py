"""What sequential models share: thresholds, scores, walks, and prices that depend on purchases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sequential_models import draw_gaussians, draw_neighbors, eight_points

from thrifty.model.sequential.base import SequentialStates, class_probabilities, run_row_by_row

DRAWS = st.sampled_from([draw_neighbors, draw_gaussians])


@pytest.mark.parametrize("draw", [draw_neighbors, draw_gaussians])
def test_one_run_says_where_rows_stop_at_any_threshold(draw):
    model, rows = draw(1)
    complete = model.with_threshold(1.0).run(rows)
    assert (complete.steps == len(model.order)).all()
    for threshold in (0.3, 0.55, 0.7, 0.9):
        early = model.with_threshold(threshold)
        if not early.buys_anything:
            continue
        states, steps = early.run(rows), complete.steps_at(threshold)
        np.testing.assert_array_equal(states.steps, steps)
        np.testing.assert_array_equal(early.score(rows), early.scores_after(complete, steps))
        np.testing.assert_array_equal(early.used(rows), early.used_after(complete, steps))


@given(DRAWS, st.integers(0, 10_000))
def test_a_walk_ends_with_the_bits_of_the_batch_in_any_order(draw, seed):
    model, rows = draw(seed)
    rng = np.random.default_rng(seed)
    walk = model.walk()
    for feature in rng.permutation(model.n_features).tolist():
        walk.tell({feature: float(rows[0, feature])})
    assert walk.asks == ()
    np.testing.assert_array_equal(walk.scores, model.score(rows)[0])
    assert set(walk.touched) == set(np.flatnonzero(model.used(rows)[0]))
    assert walk.evaluations == model.evaluations(rows)[0]


def test_nothing_is_bought_when_the_largest_class_is_frequent_enough():
    model, rows = draw_neighbors(0)
    constant = model.with_threshold(model.prior.max() - 0.01)
    assert not constant.buys_anything and not constant.support.any()
    assert constant.most_evaluations == 0
    assert not constant.used(rows).any()
    np.testing.assert_array_equal(constant.score(rows), np.tile(model.prior, (len(rows), 1)))
    assert constant.walk().asks == ()


def test_the_predicted_class_has_the_largest_probability_however_uncertain():
    model, rows = draw_neighbors(7, classes=4)
    states = model.with_threshold(1.0).run(rows)
    scores = model.with_threshold(1.0).score(rows)
    assert (scores.argmax(axis=1) == states.predicted[:, -1]).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    uncertain = class_probabilities(np.array([0.0]), np.array([1]), 4)
    assert uncertain.argmax() == 1


def test_a_group_is_paid_until_one_of_its_features_is_bought():
    model, _ = draw_neighbors(0)  # features 0 and 1 are a group
    everything = np.arange(5)
    closed, opened = model.price_now(everything, []), model.price_now(everything, [1])
    np.testing.assert_array_equal(opened, model.weighted_price)
    expected = model.weighted_price[:2] + model.weighted_group_price[0]
    np.testing.assert_array_equal(closed[:2], expected)
    np.testing.assert_array_equal(closed[2:], model.weighted_price[2:])


def test_no_rows_have_no_steps():
    states = eight_points().run(np.zeros((0, 3)))
    assert states.feature.shape == (0, 3) and states.steps.shape == (0,)
    for ours, theirs in zip(states, SequentialStates.empty(0, 3), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert run_row_by_row(eight_points(), np.zeros((0, 3))).steps.shape == (0,)


def test_a_table_of_another_width_is_refused():
    with pytest.raises(ValueError, match="reads 3 columns"):
        eight_points().score(np.zeros((2, 4)))
