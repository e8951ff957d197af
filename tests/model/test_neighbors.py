"""Neighbors: the example of the thesis step by step, a plain reference, the twin, and the file."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import BundleError
from thrifty.model import KINDS
from thrifty.model.sequential.additive_terms import Terms
from thrifty.model.sequential.base import Asking, Trails
from thrifty.model.sequential.neighbors import Neighbors

# Nan 2018, fig. 2.1: eight points, three features, and the separating plane that is printed there.
POINTS = np.array(
    [[1, -1, -1]] * 2 + [[-1, 1, 1]] * 2 + [[-1, 1, -1]] + [[1, 1, 1]] * 3, dtype=np.float64
)
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
PLANE = Terms.linear(np.array([[0.9995], [1.4998], [-0.5002]]), np.array([-0.9997]), np.zeros(3))


def eight(threshold=0.9, order=(1, 0, 2)):
    return Neighbors(
        PLANE, POINTS, LABELS, np.ones(3), np.zeros(3, dtype=bool), np.zeros(3), np.full(3, -1),
        np.zeros(0), np.array(order), k=1, threshold=threshold,
    )  # fmt: skip


def draw(seed, classes=2, n=25, d=5, decimals=8, missing=0.15):
    """A model on random rows with a category, steps, tolls and a group; and rows to ask it."""
    rng = np.random.default_rng(seed)
    c = 1 if classes == 2 else classes
    X = rng.normal(size=(n + 6, d)).round(decimals)
    X[:, -1] = rng.integers(0, 3, size=len(X))
    X[rng.random(X.shape) < missing] = np.nan
    slope = rng.normal(size=(d, c))
    slope[-1] = 0.0
    edges = np.array([-0.5, 0.4, 0.5, 1.5])
    starts = np.array([0, 2, *[2] * (d - 2), 4])
    terms = Terms(
        0.3 * rng.normal(size=c), rng.normal(size=d), slope, starts, edges,
        rng.normal(size=(len(edges) + d, c)), rng.normal(size=(d, c)),
    )  # fmt: skip
    model = Neighbors(
        terms, X[:n], rng.integers(0, classes, size=n), rng.uniform(0.5, 2.0, size=d),
        np.arange(d) == d - 1, rng.uniform(0, 0.1, size=d), np.array([0, 0, *[-1] * (d - 2)]),
        np.array([0.2]), rng.permutation(d), k=int(rng.integers(1, 12)), threshold=0.8,
    )  # fmt: skip
    return model, X[n:]


# --- the example of the thesis


def test_the_first_question_is_right_for_six_of_eight():
    alone = PLANE.offset + PLANE.of(POINTS)[:, :, 0]
    right = (np.where(LABELS == 1, 1, -1)[:, np.newaxis] * alone > 0).sum(axis=0)
    assert right.tolist() == [4, 6, 4]


def test_where_the_second_feature_is_low_the_answer_is_clear():
    trail = eight().trail()
    assert trail.wants == 1
    trail.take(-1.0)
    assert trail.seen[-1][0] == 1.0
    assert trail.wants is None
    assert trail.scores.argmax() == 0


def test_where_the_second_feature_is_high_the_first_is_worth_five_sixths():
    def ahead(feature):
        """The estimate after a feature that changes no neighborhood, from those of the second."""
        near = POINTS[:, 1] == 1.0
        sums = PLANE.offset[0] + PLANE.of(POINTS[near])[:, [1, feature], 0].sum(axis=1)
        return np.mean(np.where(LABELS[near] == 1, 1, -1) * sums > 0)

    assert ahead(0) == 5 / 6
    assert ahead(2) == 3 / 6
    trail = eight().trail()
    trail.take(1.0)
    assert trail.seen[-1][0] == 4 / 6
    assert trail.wants == 0


def test_all_eight_points_follow_the_best_strategy():
    used = eight().used(POINTS)
    assert used[:2].tolist() == [[False, True, False]] * 2
    assert used[2:5].all()
    assert used[5:].tolist() == [[True, True, False]] * 3
    assert (eight().score(POINTS).argmax(axis=1) == LABELS).all()


# --- a plain reference


def reference(model, row):
    """Algorithm 1 spelled out: features, estimates and classes after each step."""
    names, bought, near, steps = list(model.order), [], [], []
    terms = [[model.terms.column(j, model.rows[i, j : j + 1])[0] for j in range(model.n_features)]
             for i in range(len(model.rows))]  # fmt: skip
    while len(bought) < len(names):
        if not bought:
            chosen = names[0]
        else:
            values = []
            for j in names:
                toll = model.toll[j]
                if model.group[j] >= 0 and all(model.group[b] != model.group[j] for b in bought):
                    toll = toll + model.entry[model.group[j]]
                hits = sum(margin(model, terms, i, [*bought, j]) > 0 for i in near)
                values.append(-math.inf if j in bought else hits / len(near) - toll)
            chosen = names[int(np.argmax(values))]
        bought.append(chosen)
        distance = [far(model, row, i, bought) for i in range(len(model.rows))]
        last = sorted(distance)[model.k - 1]
        near = [i for i, length in enumerate(distance) if length <= last]
        estimate = sum(margin(model, terms, i, bought) > 0 for i in near) / len(near)
        sums = model.terms.offset.copy()
        for j in bought:
            sums = sums + model.terms.column(j, row[j : j + 1])[0]
        winner = int(sums[0] > 0) if len(sums) == 1 else int(np.argmax(sums))
        steps.append((chosen, estimate, winner))
        if estimate > model.threshold:
            break
    return steps


def margin(model, terms, i, bought):
    sums = model.terms.offset.copy()
    for j in bought:
        sums = sums + terms[i][j]
    label = model.labels[i]
    if len(sums) == 1:
        return sums[0] if label == 1 else -sums[0]
    return sums[label] - max(np.delete(sums, label))


def far(model, row, i, bought):
    total = np.float32(0.0)
    for j in bought:
        here, there = row[j], model.rows[i, j]
        if np.isnan(here):
            continue
        if model.category[j]:
            unequal = np.float32(model.unit[j])
            if np.isnan(there):
                total += unequal / np.float32(2)
            elif here != there:
                total += unequal
        else:
            middle = model.terms.center[j]
            there = middle if np.isnan(there) else there
            gap = np.float32((there - middle) * model.unit[j])
            gap -= np.float32((here - middle) * model.unit[j])
            total += gap * gap
    return total


@given(seed=st.integers(0, 10_000), classes=st.sampled_from([2, 3, 4]), coarse=st.booleans())
def test_every_step_is_that_of_the_plain_reference(seed, classes, coarse):
    model, rows = draw(seed, classes, decimals=0 if coarse else 8)
    found = model.trails(rows)
    for i, row in enumerate(rows):
        steps = reference(model, row)
        assert found.steps[i] == len(steps)
        told = zip(found.feature[i], found.estimate[i], found.winner[i], strict=True)
        assert list(told)[: len(steps)] == steps


# --- faces


@given(seed=st.integers(0, 10_000), classes=st.sampled_from([2, 3]), adaptive=st.booleans())
def test_the_plain_twin_takes_the_steps_of_the_kernel(seed, classes, adaptive):
    model, rows = draw(seed, classes, decimals=1)
    model = model.changed(adaptive=adaptive)
    found, plain = model.trails(rows), Trails.empty(len(rows), len(model.order))
    Asking._run(model, rows, plain)
    for ours, theirs in zip(found, plain, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_many_training_rows_are_searched_as_few_are():
    # More rows than a bound is drawn from, so that bounds come from samples.
    model, rows = draw(3, n=3000)
    model = model.changed(k=4).until(1.0)
    plain = Trails.empty(len(rows), len(model.order))
    Asking._run(model, rows, plain)
    np.testing.assert_array_equal(model.trails(rows).estimate, plain.estimate)


def test_a_run_that_never_stops_tells_where_rows_stop_at_any_threshold():
    model, rows = draw(1)
    whole = model.until(1.0).trails(rows)
    assert (whole.steps == len(model.order)).all()
    for threshold in (0.3, 0.55, 0.7, 0.9):
        cut = model.until(threshold)
        if not cut.starts:
            continue
        found, steps = cut.trails(rows), whole.stops(threshold)
        np.testing.assert_array_equal(found.steps, steps)
        np.testing.assert_array_equal(cut.score(rows), cut.scores_after(whole, steps))
        np.testing.assert_array_equal(cut.used(rows), cut.used_after(whole, steps))


def test_nothing_is_bought_when_the_largest_class_is_sure_enough():
    model, rows = draw(0)
    sure = model.until(model.prior.max() - 0.01)
    assert not sure.starts and not sure.support.any() and sure.most_evaluations == 0
    assert not sure.used(rows).any()
    np.testing.assert_array_equal(sure.score(rows), np.tile(model.prior, (len(rows), 1)))
    assert sure.walk().asks == ()


def test_the_order_of_the_training_rows_does_not_matter():
    model, rows = draw(5, decimals=0)
    mixed = np.random.default_rng(0).permutation(len(model.labels))
    again = Neighbors(
        model.terms, model.rows[mixed], model.labels[mixed], model.unit, model.category,
        model.toll, model.group, model.entry, model.order, model.k, model.threshold,
    )  # fmt: skip
    for ours, theirs in zip(model.trails(rows), again.trails(rows), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_toll_turns_the_choice_and_an_open_group_is_not_charged_again():
    free = eight(threshold=1.0)
    dear = free.changed(toll=np.array([0.5, 0.0, 0.0]))
    row = np.array([[1.0, 1.0, 1.0]])
    assert free.trails(row).feature.tolist() == [[1, 0, 2]]
    assert dear.trails(row).feature.tolist() == [[1, 2, 0]]
    grouped = free.changed(group=np.array([0, -1, -1]), entry=np.array([0.5]))
    assert grouped.trails(row).feature.tolist() == [[1, 2, 0]]
    opened = free.changed(group=np.array([0, 0, -1]), entry=np.array([0.5]))
    assert opened.trails(row).feature.tolist() == [[1, 0, 2]]


def test_far_values_and_missing_ones_are_taken():
    model, _ = draw(2)
    rows = np.array([[1e300, -1e300, np.nan, 0.0, 2.0], [np.nan] * 5])
    scores = model.until(1.0).score(rows)
    assert np.isfinite(scores).all()
    # Where nothing has come, every training row is near.
    share = model.changed(order=model.order[:1]).until(1.0).trails(rows[1:]).estimate[0, 0]
    assert share * len(model.labels) == pytest.approx(round(share * len(model.labels)))


def test_the_answer_has_the_largest_probability_however_unsure():
    model, rows = draw(7, classes=4)
    found = model.until(1.0).trails(rows)
    scores = model.until(1.0).score(rows)
    assert (scores.argmax(axis=1) == found.winner[:, -1]).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)


def test_a_table_of_another_width_is_refused():
    with pytest.raises(ValueError, match="reads 3 columns"):
        eight().score(np.zeros((2, 4)))


def test_a_copy_is_frozen_too():
    again = copy.deepcopy(eight())
    with pytest.raises(ValueError, match="read-only"):
        again.rows[0, 0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        again.terms.slope[0, 0] = 9.0
    np.testing.assert_array_equal(again.used(POINTS), eight().used(POINTS))


# --- the file


def test_a_state_is_built_again():
    model, rows = draw(4, classes=3)
    again = KINDS["neighbors"].build(*model.state())
    np.testing.assert_array_equal(again.score(rows), model.score(rows))
    assert again.state()[0] == model.state()[0]


DAMAGE = {
    "k of no row": ("k", 0),
    "k beyond the rows": ("k", 26),
    "k as a float": ("k", 3.0),
    "a threshold of text": ("threshold", "0.8"),
    "a threshold that is not a number": ("threshold", math.nan),
    "adaptive as a number": ("adaptive", 1),
    "a label too many": ("labels", lambda a: a + 1),
    "a label below 0": ("labels", lambda a: a - 1),
    "fewer labels": ("labels", lambda a: a[1:]),
    "no rows": ("rows", lambda a: a[:0]),
    "another width": ("rows", lambda a: a[:, 1:]),
    "infinite rows": ("rows", lambda a: np.where(a > 0, np.inf, a)),
    "a category between codes": ("rows", lambda a: a + 0.5),
    "a negative unit": ("unit", lambda a: -a),
    "categories at one place": ("unit", lambda a: 0 * a),
    "rows of integers": ("rows", lambda a: np.nan_to_num(a).astype(np.int64)),
    "a feature twice": ("order", lambda a: np.append(a, a[:1])),
    "a feature that is none": ("order", lambda a: a + 1),
    "a group that is none": ("group", lambda a: a + 1),
    "a negative toll": ("toll", lambda a: a - 1.0),
    "an infinite entry": ("entry", lambda a: a + np.inf),
    "edges that fall": ("edges", lambda a: -a),
    "starts that fall": ("starts", lambda a: a[::-1]),
    "a step too few": ("steps", lambda a: a[1:]),
    "a slope that is not a number": ("slope", lambda a: a * np.nan),
    "two scores": ("offset", lambda a: np.append(a, a)),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_state_is_refused(name):
    plain, arrays = draw(6)[0].state()
    part, change = DAMAGE[name]
    if part in plain:
        plain[part] = change
    else:
        arrays[part] = change(arrays[part])
    with pytest.raises(BundleError, match="neighbors"):
        Neighbors.build(plain, arrays)


@pytest.mark.parametrize("part", ["k", "rows", "edges"])
def test_a_part_that_is_absent_is_refused(part):
    plain, arrays = draw(6)[0].state()
    plain.pop(part, None)
    arrays.pop(part, None)
    with pytest.raises(BundleError, match="expected the"):
        Neighbors.build(plain, arrays)
