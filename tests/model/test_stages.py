"""A ladder of models: batch and walk agree, and rows stop where they are certain enough."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

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
from thrifty.model import KINDS, Forest, ShortCircuit, Stages
from thrifty.model.forest.nodes import empty_nodes
from thrifty.model.stages import class_uncertainty

SEEDS = st.integers(0, 2**32 - 1)
LINKS = st.sampled_from(["sum", "sigmoid", "softmax", "vote"])
INF = np.inf


def stump(feature, low, high, link="sigmoid", d=4):
    """Return a tree with one split at 0, whose leaves add `low` and `high`."""
    nodes = empty_nodes(3)
    nodes[0] = (0.0, 1, feature)
    values = np.array([[(low + high) / 2], [low], [high]])
    return Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), link, d)


def constant(value, link="sigmoid", d=4):
    return Forest.constant([value], link, d)


def draw(seed, link, rows=24):
    """Draw a ladder with thresholds finite and not, and with and without uncertainty models."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 5))
    shapes = [Shape.of(link, trees=int(rng.integers(0, 6)), depth=2) for _ in range(count)]
    rungs = [draw_forest(rng, shape) for shape in shapes]
    if link != "sum" and rng.random() < 0.5:
        rungs[-1] = ShortCircuit.of(rungs[-1])
    uncertainties, thresholds = [], []
    for rung, shape in zip(rungs, shapes, strict=True):
        has_model = link == "sum" or rng.random() < 0.4
        uncertainties.append(draw_forest(rng, Shape(trees=2, depth=2)) if has_model else None)
        middle = 0.0 if has_model else np.median(1 - rung.score(draw_table(rng, shape)).max(axis=1))
        thresholds.append(rng.choice([middle, middle, middle, -INF, INF]))
    ladder = Stages.of(rungs, uncertainties, thresholds)
    return rng, ladder, draw_table(rng, shapes[0], rows=rows, missing=0.2)


def climb_plainly(ladder, x):
    """Return scores, features used, evaluations and rung of one row, one step at a time."""
    x, used, evaluations = x[np.newaxis], np.zeros(ladder.n_features, bool), 0
    for r, (rung, model) in enumerate(zip(ladder.rungs, ladder.uncertainties, strict=True)):
        threshold, scores = ladder.thresholds[r], rung.score(x)[0]
        used, evaluations = used | rung.used(x)[0], evaluations + rung.evaluations(x)[0]
        if r == len(ladder.rungs) - 1 or threshold == INF:
            break
        if threshold == -INF:
            continue
        uncertainty = 1.0 - scores.max() if model is None else model.score(x)[0]
        if model is not None:
            used, evaluations = used | model.used(x)[0], evaluations + model.evaluations(x)[0]
        if uncertainty <= threshold:
            break
    return scores, used, evaluations, r


# --- the laws ----------------------------------------------------------------


@given(SEEDS, LINKS)
def test_a_batch_is_each_row_climbing_by_itself(seed, link):
    _, ladder, X = draw(seed, link)
    scores, used, evaluations, rung = map(
        np.array, zip(*(climb_plainly(ladder, x) for x in X), strict=True)
    )
    np.testing.assert_array_equal(ladder.score(X), scores)
    np.testing.assert_array_equal(ladder.used(X), used)
    np.testing.assert_array_equal(ladder.evaluations(X), evaluations)
    np.testing.assert_array_equal(ladder.rung(X), rung)


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
def test_no_row_exceeds_the_support_and_the_most_evaluations(seed, link):
    rows_stay_within_bounds(*draw(seed, link)[1:])


@given(SEEDS, LINKS)
def test_a_float32_table_is_scored_like_its_float64_values(seed, link):
    _, ladder, X = draw(seed, link)
    float32_is_its_float64(ladder, X, ladder.rung)


def test_class_uncertainty_is_what_the_largest_probability_leaves():
    scores = np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    assert class_uncertainty(scores).tolist() == [0.5, 0.0]


# --- stopping ----------------------------------------------------------------


ROWS = np.array([[a, b, 0.5, 0.5] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])


def test_rows_that_are_certain_enough_stop():
    # On rung 0 a low row has probability 0.88 of its class, a high one 0.62.
    ladder = Stages.of([stump(0, -2.0, 0.5), stump(1, -3.0, 3.0)], thresholds=[0.2, INF])
    assert ladder.rung(ROWS).tolist() == [0, 0, 1, 1]
    assert ladder.used(ROWS)[:, :2].tolist() == [[True, False]] * 2 + [[True, True]] * 2
    assert ladder.score(ROWS).argmax(axis=1).tolist() == [0, 0, 0, 1]
    assert ladder.evaluations(ROWS).tolist() == [1, 1, 2, 2]


def test_an_uncertainty_equal_to_its_threshold_stops():
    ladder = Stages.of([constant(0.0), stump(0, -3.0, 3.0)], thresholds=[0.5, INF])
    assert ladder.rung(ROWS).tolist() == [0] * 4
    assert replace(ladder, thresholds=np.array([0.49, INF])).rung(ROWS).tolist() == [1] * 4


@pytest.mark.parametrize(("threshold", "rung"), [(-INF, 1), (INF, 0)])
def test_infinite_thresholds_never_stop_and_always_stop(threshold, rung):
    uncertainty = stump(3, 0.0, 9.0, link="sum")
    ladder = Stages.of(
        [stump(0, 0.0, 99.0), stump(1, -3.0, 3.0)], [uncertainty, None], [threshold, INF]
    )
    assert ladder.rung(ROWS).tolist() == [rung] * 4
    assert not ladder.used(ROWS)[:, 3].any()  # an uncertainty that decides nothing is not evaluated
    assert ladder.most_evaluations == rung + 1


def test_the_last_rung_stops_whatever_its_threshold_and_uncertainty():
    uncertainty = stump(3, 5.0, 9.0, link="sum")
    ladder = Stages.of([stump(0, -1.0, 1.0)], [uncertainty], [0.0])
    assert ladder.used(ROWS).tolist() == [[True, False, False, False]] * 4
    assert ladder.walk().asks == (0,)


def test_an_uncertainty_model_decides_and_is_paid_for():
    uncertainty = stump(1, 0.0, 1.0, link="sum")
    values = [constant(3.0, link="sum"), stump(2, 5.0, 7.0, link="sum")]
    ladder = Stages.of(values, [uncertainty, None], [0.5, INF])
    assert ladder.rung(ROWS).tolist() == [0, 1, 0, 1]
    assert ladder.score(ROWS).tolist() == [3.0, 7.0, 3.0, 7.0]
    assert ladder.used(ROWS).sum(axis=1).tolist() == [1, 2, 1, 2]
    assert ladder.evaluations(ROWS).tolist() == [1, 2, 1, 2]


def test_what_lies_above_a_rung_that_always_stops_is_out_of_reach():
    rungs = [stump(0, -1.0, 1.0), stump(1, -1.0, 1.0), stump(2, -1.0, 1.0)]
    ladder = Stages.of(rungs, thresholds=[0.1, INF, 0.1])
    assert ladder.support.tolist() == [True, True, False, False]
    assert ladder.most_evaluations == 2


def test_upto_cuts_the_ladder():
    rungs = [constant(0.0), stump(0, -1.0, 1.0), stump(1, -9.0, 9.0)]
    ladder = Stages.of(rungs, thresholds=[-INF, 0.01, INF])
    assert ladder.upto(1).rung(ROWS).tolist() == [1] * 4
    np.testing.assert_array_equal(ladder.upto(1).score(ROWS), rungs[1].score(ROWS))
    assert len(ladder.upto(-1).rungs) == 3
    with pytest.raises(IndexError):
        ladder.upto(3)


def test_the_best_scores_so_far_are_those_of_the_last_complete_rung():
    rungs = [stump(0, -1.0, 1.0), stump(1, -9.0, 9.0)]
    walk = Stages.of(rungs).walk()
    np.testing.assert_array_equal(walk.scores, rungs[0].walk().scores)
    walk.tell({0: 1.0})
    assert walk.asks == (1,)
    np.testing.assert_array_equal(walk.scores, rungs[0].score(ROWS[2:3])[0])
    walk.tell({1: -1.0})
    np.testing.assert_array_equal(walk.scores, rungs[1].score(ROWS[2:3])[0])


def test_a_value_told_early_is_read_only_by_a_rung_that_is_reached():
    ladder = Stages.of([stump(0, -2.0, 0.5), stump(1, -3.0, 3.0)], thresholds=[0.2, INF])
    walk = ladder.walk()
    walk.tell({1: 1.0, 2: 4.0})
    assert (walk.asks, walk.touched) == ((0,), ())
    walk.tell({0: 1.0})
    assert (walk.asks, walk.touched) == ((), (0, 1))
    stopped = ladder.walk()
    stopped.tell({0: -1.0})
    stopped.tell({1: 1.0})
    assert (stopped.asks, stopped.touched) == ((), (0,))


def test_a_table_without_rows_has_no_scores():
    ladder = Stages.of([constant(0.0), stump(0, -3.0, 3.0)], thresholds=[0.2, INF])
    empty = np.zeros((0, 4))
    assert ladder.score(empty).shape == (0, 2) and ladder.used(empty).shape == (0, 4)


def test_a_table_of_other_width_is_refused():
    with pytest.raises(ValueError, match="reads 4 columns"):
        Stages.of([constant(0.0)]).score(np.zeros((2, 3)))


# --- files, copies and mistakes ----------------------------------------------


@pytest.mark.parametrize("link", ["sum", "softmax"])
def test_a_file_gives_back_the_same_model(link, tmp_path):
    _, ladder, X = draw(7, link)
    classes = None if link == "sum" else np.arange(ladder.n_scores)
    predictor = Predictor(ladder, Schema.of(np.zeros((2, 7))), Prices().bind(7), classes)
    predictor.save(tmp_path / "ladder.thrifty")
    again = load(tmp_path / "ladder.thrifty").model
    assert isinstance(again, Stages) and KINDS["stages"] is Stages
    np.testing.assert_array_equal(again.thresholds, ladder.thresholds)
    for face in ("score", "used", "evaluations", "rung"):
        np.testing.assert_array_equal(getattr(again, face)(X), getattr(ladder, face)(X))


def test_a_ladder_may_be_a_rung_of_a_ladder():
    inner = Stages.of([stump(0, -2.0, 0.5), stump(1, -3.0, 3.0)], thresholds=[0.2, INF])
    outer = Stages.of([inner, stump(2, -5.0, 5.0)], thresholds=[0.1, INF])
    again = Stages.build(*outer.state())
    np.testing.assert_array_equal(again.score(ROWS), outer.score(ROWS))
    np.testing.assert_array_equal(again.used(ROWS), outer.used(ROWS))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_is_frozen_too(copied):
    ladder = copied(Stages.of([constant(0.0), stump(0, -3.0, 3.0)], thresholds=[0.2, INF]))
    assert not ladder.thresholds.flags.writeable
    assert ladder.rung(ROWS).tolist() == [1] * 4


def sound():
    uncertainty = stump(1, 0.0, 1.0, link="sum")
    return Stages.of([constant(0.0), stump(0, -3.0, 3.0)], [uncertainty, None], [0.2, INF]).state()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("limits", None, "array limits, one threshold for each rung, is absent"),
        ("limits", np.array([0.2]), "one threshold, a number, for each of the 2 rungs"),
        ("limits", np.array([np.nan, 1.0]), "one threshold, a number"),
        ("limits", np.array([0, 1]), "one threshold, a number"),
        ("limits", np.array([[0.2, 1.0]]), "one threshold, a number"),
        ("doubts", None, "expected the entries"),
        ("doubts", [1, 0], "the entry doubts must say for each rung"),
        ("doubts", "no", "the entry doubts must say for each rung"),
        ("doubts", [True, True], "parts do not fit 2 rungs and 2 uncertainty models"),
        ("doubts", [False, False, False], "differ in columns or scores"),
        ("parts", [], "parts do not fit"),
        ("parts", "none", "parts do not fit"),
        ("extra", 1, "expected the entries"),
        ("9/nodes", np.zeros(1), "belong to no part"),
        ("0/base", np.array([np.nan]), "finite"),
        ("1/roots", np.array([5]), "forest"),
    ],
)
def test_a_damaged_state_is_refused(name, value, message):
    plain, arrays = sound()
    part = arrays if name in arrays or "/" in name else plain
    if value is None:
        del part[name]
    else:
        part[name] = value
    with pytest.raises(BundleError, match=message):
        Stages.build(plain, arrays)


def test_an_unknown_kind_of_rung_is_refused():
    plain, arrays = sound()
    plain["parts"][0]["kind"] = "oracle"
    with pytest.raises(BundleError, match="no model of kind 'oracle'"):
        Stages.build(plain, arrays)


def test_rungs_that_do_not_fit_together_are_refused():
    with pytest.raises(DataError, match="needs a rung"):
        Stages.of([])
    with pytest.raises(DataError, match="differ in columns or scores"):
        Stages.of([constant(0.0), constant(0.0, link="sum")])
    with pytest.raises(DataError, match="differ in columns or scores"):
        Stages.of([constant(0.0), constant(0.0, d=5)])
    with pytest.raises(DataError, match="1 uncertainties for 2 rungs"):
        Stages.of([constant(0.0), constant(1.0)], [None])


def test_an_uncertainty_must_be_a_model_of_values_and_values_need_one_to_stop():
    with pytest.raises(DataError, match="uncertainty of rung 0 must be a model of values"):
        Stages.of([constant(0.0), constant(1.0)], [constant(0.0), None])
    values = [constant(0.0, link="sum"), constant(1.0, link="sum")]
    with pytest.raises(DataError, match="rung 0 predicts values"):
        Stages.of(values, thresholds=[0.5, INF])
    assert Stages.of(values, thresholds=[-INF, 0.5]).score(ROWS).tolist() == [1.0] * 4


def test_trees_that_a_rung_shares_with_the_one_before_are_evaluated_once():
    one, other = stump(0, -1.0, 1.0), stump(1, -1.0, 1.0)
    two = Forest.average([stump(0, -3.0, 3.0), other])  # the same tree with other values, and more
    ladder = Stages.of([one, two])
    assert ladder.shared_trees == [0, 1]
    assert ladder.evaluations(ROWS).tolist() == [2] * len(ROWS)
    assert ladder.most_evaluations == 2 == ladder.path_bounds().evaluations.max()
    walk_ends_like_the_batch(np.random.default_rng(0), ladder, ROWS)
    walk = ladder.walk()
    while walk.asks:
        walk.tell({walk.asks[0]: 1.0})
    assert walk.evaluations == 2
    assert Stages.of([other, two]).most_evaluations == 3
