"""Neighbors: the example of the thesis step by step, a plain reference, and the kernel."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sequential_models import LABELS, PLANE, POINTS, draw_neighbors, eight_points

from thrifty.model import KINDS, Neighbors
from thrifty.model.sequential.base import run_row_by_row

# --- the example of the thesis ---------------------------------------------------


def test_the_second_feature_alone_is_correct_for_six_of_eight():
    alone = PLANE.offset + PLANE.evaluate(POINTS)[:, :, 0]
    correct = (np.where(LABELS == 1, 1, -1)[:, np.newaxis] * alone > 0).sum(axis=0)
    assert correct.tolist() == [4, 6, 4]


def test_where_the_second_feature_is_low_the_class_is_clear():
    state = eight_points().start()
    assert state.next_feature == 1
    state.observe(-1.0)
    assert state.history[-1].estimate == 1.0
    assert state.next_feature is None
    assert state.scores.argmax() == 0


def test_where_the_second_feature_is_high_the_first_is_worth_five_sixths():
    def estimate_with(feature):
        """The estimate (eq. 2.5) with one more feature, among the rows like the second one."""
        near = POINTS[:, 1] == 1.0
        scores = PLANE.offset[0] + PLANE.evaluate(POINTS[near])[:, [1, feature], 0].sum(axis=1)
        return np.mean(np.where(LABELS[near] == 1, 1, -1) * scores > 0)

    assert estimate_with(0) == 5 / 6
    assert estimate_with(2) == 3 / 6
    state = eight_points().start()
    state.observe(1.0)
    assert state.history[-1].estimate == 4 / 6
    assert state.next_feature == 0


def test_all_eight_points_follow_the_best_strategy():
    used = eight_points().used(POINTS)
    assert used[:2].tolist() == [[False, True, False]] * 2
    assert used[2:5].all()
    assert used[5:].tolist() == [[True, True, False]] * 3
    assert (eight_points().score(POINTS).argmax(axis=1) == LABELS).all()


# --- a plain reference -----------------------------------------------------------


def follow_plainly(model, row):
    """Algorithm 1 spelled out: features, estimates and classes after each step."""
    names, bought, near, steps = list(model.order), [], [], []
    terms = [
        [model.terms.evaluate_column(j, x[j : j + 1])[0] for j in range(model.n_features)]
        for x in model.rows
    ]
    while len(bought) < len(names):
        if not bought:
            chosen = names[0]
        else:
            values = []
            for j in names:
                price = model.weighted_price[j]
                if model.group[j] >= 0 and all(model.group[b] != model.group[j] for b in bought):
                    price = price + model.weighted_group_price[model.group[j]]
                correct = sum(margin(model, terms, i, [*bought, j]) > 0 for i in near)
                values.append(-math.inf if j in bought else correct / len(near) - price)
            chosen = names[int(np.argmax(values))]
        bought.append(chosen)
        distances = [distance(model, row, i, bought) for i in range(len(model.rows))]
        last = sorted(distances)[model.k - 1]
        near = [i for i, length in enumerate(distances) if length <= last]
        estimate = sum(margin(model, terms, i, bought) > 0 for i in near) / len(near)
        scores = model.terms.offset.copy()
        for j in bought:
            scores = scores + model.terms.evaluate_column(j, row[j : j + 1])[0]
        predicted = int(scores[0] > 0) if len(scores) == 1 else int(np.argmax(scores))
        steps.append((chosen, estimate, predicted))
        if estimate > model.threshold:
            break
    return steps


def margin(model, terms, i, bought):
    scores = model.terms.offset.copy()
    for j in bought:
        scores = scores + terms[i][j]
    label = model.labels[i]
    if len(scores) == 1:
        return scores[0] if label == 1 else -scores[0]
    return scores[label] - max(np.delete(scores, label))


def distance(model, row, i, bought):
    total = np.float32(0.0)
    for j in bought:
        here, there = row[j], model.rows[i, j]
        if np.isnan(here):
            continue
        if model.category[j]:
            mismatch = np.float32(model.unit[j])
            if np.isnan(there):
                total += mismatch / np.float32(2)
            elif here != there:
                total += mismatch
        else:
            middle = model.terms.center[j]
            there = middle if np.isnan(there) else there
            gap = np.float32((there - middle) * model.unit[j])
            gap -= np.float32((here - middle) * model.unit[j])
            total += gap * gap
    return total


@given(seed=st.integers(0, 10_000), classes=st.sampled_from([2, 3, 4]), coarse=st.booleans())
def test_every_step_is_that_of_the_plain_reference(seed, classes, coarse):
    model, rows = draw_neighbors(seed, classes, decimals=0 if coarse else 8)
    states = model.run(rows)
    for i, row in enumerate(rows):
        steps = follow_plainly(model, row)
        assert states.steps[i] == len(steps)
        found = zip(states.feature[i], states.estimate[i], states.predicted[i], strict=True)
        assert list(found)[: len(steps)] == steps


@given(seed=st.integers(0, 10_000), classes=st.sampled_from([2, 3]), adaptive=st.booleans())
def test_numpy_takes_the_steps_of_the_kernel(seed, classes, adaptive):
    model, rows = draw_neighbors(seed, classes, decimals=1)
    model = model.with_changes(adaptive=adaptive)
    for ours, theirs in zip(model.run(rows), run_row_by_row(model, rows), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_many_training_rows_are_searched_as_few_are():
    # More rows than the kernel draws a bound from, so that its bounds come from samples.
    model, rows = draw_neighbors(3, n=3000)
    model = model.with_changes(k=4).with_threshold(1.0)
    expected = run_row_by_row(model, rows).estimate
    np.testing.assert_array_equal(model.run(rows).estimate, expected)


def test_the_rows_may_be_stored_column_by_column_and_be_read_only():
    model, rows = draw_neighbors(3)
    other = np.asfortranarray(rows)
    other.setflags(write=False)
    for ours, theirs in zip(model.run(other), model.run(rows), strict=True):
        np.testing.assert_array_equal(ours, theirs)


# --- prices, order and unusual values ----------------------------------------------


def test_the_order_of_the_training_rows_does_not_matter():
    model, rows = draw_neighbors(5, decimals=0)
    mixed = np.random.default_rng(0).permutation(len(model.labels))
    again = Neighbors(
        model.terms, model.rows[mixed], model.labels[mixed], model.unit, model.category,
        model.weighted_price, model.group, model.weighted_group_price, model.order, model.k,
        model.threshold,
    )  # fmt: skip
    for ours, theirs in zip(model.run(rows), again.run(rows), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_price_changes_the_choice_and_an_open_group_is_not_charged_again():
    free = eight_points(threshold=1.0)
    expensive = free.with_changes(weighted_price=np.array([0.5, 0.0, 0.0]))
    row = np.array([[1.0, 1.0, 1.0]])
    assert free.run(row).feature.tolist() == [[1, 0, 2]]
    assert expensive.run(row).feature.tolist() == [[1, 2, 0]]
    group_price = {"weighted_group_price": np.array([0.5])}
    closed = free.with_changes(group=np.array([0, -1, -1]), **group_price)
    assert closed.run(row).feature.tolist() == [[1, 2, 0]]
    opened = free.with_changes(group=np.array([0, 0, -1]), **group_price)
    assert opened.run(row).feature.tolist() == [[1, 0, 2]]


def test_far_values_and_missing_ones_are_taken():
    model, _ = draw_neighbors(2)
    rows = np.array([[1e300, -1e300, np.nan, 0.0, 2.0], [np.nan] * 5])
    scores = model.with_threshold(1.0).score(rows)
    assert np.isfinite(scores).all()
    # If the only value is missing, every training row is near.
    one_feature = model.with_changes(order=model.order[:1]).with_threshold(1.0)
    share = one_feature.run(rows[1:]).estimate[0, 0]
    assert share * len(model.labels) == pytest.approx(round(share * len(model.labels)))


# --- copies and the model file -----------------------------------------------------


def test_a_copy_is_read_only_too():
    again = copy.deepcopy(eight_points())
    with pytest.raises(ValueError, match="read-only"):
        again.rows[0, 0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        again.terms.slope[0, 0] = 9.0
    np.testing.assert_array_equal(again.used(POINTS), eight_points().used(POINTS))


def test_a_state_is_rebuilt_by_its_kind():
    model, rows = draw_neighbors(4, classes=3)
    again = KINDS["neighbors"].build(*model.state())
    np.testing.assert_array_equal(again.score(rows), model.score(rows))
    assert again.state()[0] == model.state()[0]
