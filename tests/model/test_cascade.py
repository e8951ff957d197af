"""A forest with exits: batch and walk agree, and rows leave where their score says so."""

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
from forests import Shape, descend_plainly, draw_forest, draw_table
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema, load
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError
from thrifty.model import KINDS, Cascade, Forest
from thrifty.model.cascade import exit_score
from thrifty.model.forest.nodes import empty_nodes
from thrifty.model.links import apply_link

SEEDS = st.integers(0, 2**32 - 1)
LINKS = st.sampled_from(["sum", "sigmoid", "hinge", "softmax"])
INF = np.inf


def draw(seed, link, rows=24):
    """Draw a cascade whose thresholds lie among the exit scores of random rows."""
    rng = np.random.default_rng(seed)
    shape = Shape.of(link, trees=int(rng.integers(1, 9)), depth=2)
    forest = draw_forest(rng, shape)
    count = int(rng.integers(1, shape.trees + 1))
    inner = rng.choice(np.arange(1, shape.trees), count - 1, replace=False)
    ends = np.sort(np.append(inner, shape.trees))
    scores = Cascade.of(forest, ends).exit_scores(draw_table(rng, shape))
    low = np.where(rng.random(count) < 0.6, np.quantile(scores, 0.25, axis=1), -INF)
    high = np.where(rng.random(count) < 0.6, np.quantile(scores, 0.75, axis=1), INF)
    if rng.random() < 0.2:
        low[0] = high[0] = INF
    return rng, Cascade.of(forest, ends, low, high), draw_table(rng, shape, rows, missing=0.2)


def pass_plainly(cascade, x):
    """Return scores, features used, trees and block of one row, one tree at a time."""
    forest, raw, used, done = cascade.forest, cascade.forest.base.copy(), set(), 0
    for block, end in enumerate(cascade.ends):
        for tree in range(done, end):
            leaf, read = descend_plainly(forest, forest.roots[tree], x)
            raw[forest.outputs[tree]] += forest.values[leaf, 0]
            used |= read
        done = end
        scores = np.atleast_1d(apply_link(forest.link, raw[np.newaxis])[0])
        value = raw[0] if len(raw) == 1 else scores.max()
        if value < cascade.low[block] or value > cascade.high[block]:
            break
    return scores, np.isin(np.arange(forest.n_features), list(used)), done, block


# --- the laws ----------------------------------------------------------------


@given(SEEDS, LINKS)
def test_a_batch_is_each_row_going_by_itself(seed, link):
    _, cascade, X = draw(seed, link)
    scores, used, trees, block = map(
        np.array, zip(*(pass_plainly(cascade, x) for x in X), strict=True)
    )
    np.testing.assert_array_equal(cascade.score(X).reshape(len(X), -1), scores)
    np.testing.assert_array_equal(cascade.used(X), used)
    np.testing.assert_array_equal(cascade.evaluations(X), trees)
    np.testing.assert_array_equal(cascade.block(X), block)


@given(SEEDS, LINKS)
def test_without_thresholds_it_is_the_forest_bit_by_bit(seed, link):
    _, cascade, X = draw(seed, link)
    forest, open_ended = cascade.forest, Cascade.of(cascade.forest, cascade.ends)
    np.testing.assert_array_equal(open_ended.score(X), forest.score(X))
    np.testing.assert_array_equal(open_ended.used(X), forest.used(X))
    np.testing.assert_array_equal(open_ended.evaluations(X), forest.evaluations(X))
    np.testing.assert_array_equal(open_ended.support, forest.support)


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
    _, cascade, X = draw(seed, link)
    float32_is_its_float64(cascade, X, cascade.block)


def test_the_exit_score_is_the_output_or_the_largest_probability():
    raw = np.array([[2.0, 0.0, -1.0]])
    assert exit_score("sum", raw[:, :1]).tolist() == [2.0]
    assert exit_score("softmax", raw).tolist() == [apply_link("softmax", raw).max()]


# --- leaving -----------------------------------------------------------------


def stumps(*sizes, link="sum", d=4):
    """Return trees of one split: tree k adds minus or plus its size by the sign of column k."""
    nodes = empty_nodes(3 * len(sizes))
    values = np.zeros((len(nodes), 1))
    for k, size in enumerate(sizes):
        nodes[3 * k] = (0.0, 3 * k + 1, k)
        values[3 * k + 1 : 3 * k + 3, 0] = -size, size
    roots = 3 * np.arange(len(sizes))
    return Forest(nodes, values, roots, np.zeros_like(roots), np.zeros(1), link, d)


ROWS = np.array([[a, b, 0.5, 0.5] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])


def test_rows_leave_below_and_above_the_thresholds():
    cascade = Cascade.of(
        stumps(4.0, 2.0, 1.0), [1, 2, 3], low=[-3.0, -9.0, 0.0], high=[9.0, 5.0, 0.0]
    )
    assert cascade.block(ROWS).tolist() == [0, 0, 2, 1]
    assert cascade.score(ROWS).tolist() == [-4.0, -4.0, 3.0, 6.0]
    assert cascade.evaluations(ROWS).tolist() == [1, 1, 3, 2]
    assert cascade.used(ROWS).sum(axis=1).tolist() == [1, 1, 3, 2]
    assert cascade.exit_scores(ROWS).tolist() == [[-4, -4, 4, 4], [-6, -2, 2, 6], [-5, -1, 3, 7]]


def test_a_score_equal_to_its_threshold_stays():
    forest = stumps(4.0, 2.0)
    assert Cascade.of(forest, [1, 2], low=-4.0, high=4.0).block(ROWS).tolist() == [1] * 4
    assert Cascade.of(forest, [1, 2], low=-3.9, high=3.9).block(ROWS).tolist() == [0] * 4


def test_several_classes_leave_by_their_largest_probability():
    forest = replace(stumps(4.0, 2.0), outputs=np.array([0, 1]), base=np.zeros(3), link="softmax")
    # After the first tree the shares are e^4 or e^-4 to 1 to 1: at most 0.965 and 0.495.
    assert Cascade.of(forest, [1, 2], high=0.9).block(ROWS).tolist() == [1, 1, 0, 0]


def test_trees_behind_an_exit_that_all_rows_take_are_out_of_reach():
    cascade = Cascade.of(stumps(1.0, 1.0, 1.0), [1, 2, 3], low=[-9.0, INF, 0.0], high=INF)
    assert cascade.support.tolist() == [True, True, False, False]
    assert cascade.most_evaluations == 2


def test_a_walk_requests_the_features_of_one_block_after_the_other():
    walk = Cascade.of(stumps(4.0, 2.0, 1.0), [1, 3], low=-3.0).walk(lambda feature: -feature)
    assert walk.asks == (0,) and walk.scores.tolist() == [0.0]
    walk.tell({0: 1.0})
    assert walk.asks == (2, 1) and walk.scores.tolist() == [4.0] and walk.evaluations == 1
    walk.tell({2: -1.0})
    assert walk.scores.tolist() == [3.0]
    walk.tell({1: 1.0})
    assert walk.asks == () and walk.scores.tolist() == [5.0] and walk.touched == (0, 2, 1)


def test_an_example_that_has_left_reads_nothing_more():
    walk = Cascade.of(stumps(4.0, 2.0), [1, 2], low=-3.0).walk()
    walk.tell({0: -1.0})
    walk.tell({1: 1.0})
    assert (walk.asks, walk.touched, walk.scores.tolist()) == ((), (0,), [-4.0])


def test_a_table_without_rows_has_no_scores():
    cascade, empty = Cascade.of(stumps(1.0, link="sigmoid"), [1]), np.zeros((0, 4))
    assert cascade.score(empty).shape == (0, 2) and cascade.used(empty).shape == (0, 4)
    assert cascade.exit_scores(empty).shape == (1, 0)


def test_a_table_of_other_width_is_refused():
    with pytest.raises(ValueError, match="reads 4 columns"):
        Cascade.of(stumps(1.0), [1]).score(np.zeros((2, 3)))


# --- files, copies and mistakes ----------------------------------------------


@pytest.mark.parametrize(
    "given", [{"ends": [0.5]}, {"ends": [1], "low": [0.0, 1.0]}, {"ends": [1], "high": [[1.0]]}]
)
def test_ends_and_thresholds_that_do_not_fit_are_refused(given):
    with pytest.raises(DataError, match="cascade"):
        Cascade.of(stumps(1.0), **given)


@pytest.mark.parametrize("link", ["sum", "softmax"])
def test_a_file_gives_back_the_same_model(link, tmp_path):
    _, cascade, X = draw(7, link)
    classes = None if link == "sum" else np.arange(cascade.n_scores)
    predictor = Predictor(cascade, Schema.of(np.zeros((2, 7))), Prices().bind(7), classes)
    predictor.save(tmp_path / "cascade.thrifty")
    again = load(tmp_path / "cascade.thrifty").model
    assert isinstance(again, Cascade) and KINDS["cascade"] is Cascade
    for face in ("score", "used", "evaluations", "block"):
        np.testing.assert_array_equal(getattr(again, face)(X), getattr(cascade, face)(X))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_is_frozen_too(copied):
    cascade = copied(Cascade.of(stumps(4.0, 2.0), [1, 2], low=-3.0))
    assert not any(array.flags.writeable for array in (cascade.ends, cascade.low, cascade.high))
    assert cascade.block(ROWS).tolist() == [0, 0, 1, 1]


def test_a_cascade_keeps_its_own_copy_of_the_arrays_it_was_built_from():
    low = np.array([-3.0, 0.0])
    cascade = Cascade.of(stumps(4.0, 2.0), [1, 2], low)
    low[:] = 9.0
    assert cascade.low.tolist() == [-3.0, 0.0]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ends", None, "absent: ends"),
        ("ends", np.array([1, 1]), "ends must increase"),
        ("ends", np.array([0, 2]), "ends must increase"),
        ("ends", np.array([1, 3]), "ends must increase from at least 1 to the 2 trees"),
        ("ends", np.array([1.0, 2.0]), "ends must be whole numbers"),
        ("ends", np.zeros(0, dtype=np.int64), "at least one"),
        ("ends", np.array([[1, 2]]), "ends must be whole numbers"),
        ("low", np.array([0.0]), "low must be a number for each of the 2 blocks"),
        ("low", np.array([np.nan, 0.0]), "low must be a number"),
        ("high", np.array([1, 2]), "high must be a number"),
        ("high", np.array([-9.0, 9.0]), "low threshold is above the high one"),
        ("parts", [], "one forest"),
        ("parts", "none", "not described"),
        ("extra", 1, "expected the entry parts"),
        ("9/nodes", np.zeros(1), "belong to no part"),
        ("0/base", np.array([np.nan]), "finite"),
    ],
)
def test_a_damaged_state_is_refused(name, value, message):
    plain, arrays = Cascade.of(stumps(4.0, 2.0), [1, 2], low=-3.0).state()
    part = arrays if name in arrays or "/" in name else plain
    if name == "parts" and value == []:
        arrays = {key: arrays[key] for key in ("ends", "low", "high")}
    if value is None:
        del part[name]
    else:
        part[name] = value
    with pytest.raises(BundleError, match=message):
        Cascade.build(plain, arrays)


def test_only_a_forest_of_summed_trees_can_have_exits():
    forest = draw_forest(np.random.default_rng(0), Shape.of("vote"))
    with pytest.raises(DataError, match="averaged"):
        Cascade.of(forest, [12])
    inner = Cascade.of(stumps(1.0), [1]).state()
    plain, arrays = Cascade.of(stumps(1.0), [1]).state()
    plain = {"parts": [{"kind": "cascade", "model": inner[0]}]}
    nested = {f"0/{name}": array for name, array in inner[1].items()}
    exits = {name: arrays[name] for name in ("ends", "low", "high")}
    with pytest.raises(BundleError, match="one forest"):
        Cascade.build(plain, {**nested, **exits})
