"""A tree of linear models in batches: scores, paths, what rows pay, and the model file."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from face_laws import rows_stay_within_bounds
from forests import draw_forest, draw_table
from hypothesis import given
from linear_trees import (
    INPUTS,
    LINKS,
    OUTPUTS,
    SEEDS,
    SHAPE,
    descend_node_by_node,
    draw_tree,
    plain_columns,
    quadrants,
)

from thrifty.bundle import Predictor, Schema, load
from thrifty.costs import Prices
from thrifty.model import KINDS, LinearTree
from thrifty.model.links import apply_link

# --- laws ------------------------------------------------------------------------


@given(SEEDS, LINKS, INPUTS)
def test_a_batch_is_each_row_going_down_by_itself(seed, link, inputs):
    _, tree, X = draw_tree(seed, link, inputs)
    rows = [descend_node_by_node(tree, x) for x in X]
    raw = np.array([outputs for outputs, *_ in rows])
    assert np.allclose(tree.raw(X), raw, rtol=1e-12, atol=1e-12)
    assert np.allclose(tree.score(X), apply_link(link, raw), rtol=1e-12, atol=1e-12)
    assert tree.leaf(X).tolist() == [visited[-1] for *_, visited in rows]
    for row, (_, features, inputs_read, visited) in enumerate(rows):
        assert set(np.flatnonzero(tree.used(X)[row])) == features
        assert set(np.flatnonzero(tree.visited(X)[row])) == set(visited)
        reading = [node for node in visited if tree.starts[node] < tree.starts[node + 1]]
        assert tree.evaluations(X)[row] == len(inputs_read if inputs == "trees" else reading)


@given(SEEDS, LINKS, INPUTS)
def test_a_row_alone_has_the_same_bits_as_in_a_batch(seed, link, inputs):
    _, tree, X = draw_tree(seed, link, inputs)
    alone = np.concatenate([tree.score(x[np.newaxis]) for x in X])
    assert np.array_equal(tree.score(X), alone)


@given(SEEDS, LINKS, INPUTS)
def test_what_was_not_used_does_not_matter(seed, link, inputs):
    rng, tree, X = draw_tree(seed, link, inputs)
    other = np.where(tree.used(X), X, rng.choice([np.nan, 1e9, -3.0], size=X.shape))
    assert np.array_equal(tree.score(X), tree.score(other))
    assert np.array_equal(tree.used(X), tree.used(other))


@given(SEEDS, LINKS, INPUTS)
def test_support_and_most_evaluations_bound_every_row(seed, link, inputs):
    _, tree, X = draw_tree(seed, link, inputs)
    rows_stay_within_bounds(tree, X)
    assert tree.n_scores == (2 if link == "sigmoid" else OUTPUTS[link])


@given(SEEDS, LINKS, INPUTS)
def test_a_state_is_rebuilt_to_the_same_bits(seed, link, inputs):
    _, tree, X = draw_tree(seed, link, inputs)
    for again in (
        KINDS["linear-tree"].build(*tree.state()), copy.deepcopy(tree),
        pickle.loads(pickle.dumps(tree)),
    ):  # fmt: skip
        assert np.array_equal(again.score(X), tree.score(X))
        assert np.array_equal(again.used(X), tree.used(X))
        with pytest.raises(ValueError, match="read-only"):
            again.weights[:] = 0.0


# --- known answers ---------------------------------------------------------------


def test_a_row_pays_for_the_nodes_on_its_path():
    tree = quadrants()
    X = np.array([[-1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    assert tree.score(X).tolist() == [21.0, 303.0, 11.0]  # on the threshold a row goes left
    assert tree.used(X).tolist() == [[1, 1, 0], [1, 0, 1], [1, 1, 0]]
    assert tree.leaf(X).tolist() == [1, 2, 1]
    assert tree.evaluations(X).tolist() == [2, 2, 2]


def test_a_tree_that_two_nodes_read_is_evaluated_once():
    base = draw_forest(np.random.default_rng(0), SHAPE)
    tree = LinearTree(
        np.array([-1, -1]), np.array([1, -1]), np.array([0, 2, 4]), np.array([0, 1, 1, 2]),
        np.zeros(4), np.array([-1.0, 0.0]), np.ones((4, 1)), np.zeros((2, 1)), "sum",
        SHAPE.features, base=base,
    )  # fmt: skip
    X = draw_table(np.random.default_rng(1), SHAPE, rows=5)
    assert tree.evaluations(X).tolist() == [3] * 5
    assert tree.most_evaluations == 3


def test_a_tree_without_inputs_is_a_constant_that_asks_for_nothing():
    tree = LinearTree(
        np.array([-1]), np.array([-1]), np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int64),
        np.zeros(0), np.zeros(1), np.zeros((0, 1)), np.array([[0.0]]), "sigmoid", 3,
        plain_columns([]),
    )  # fmt: skip
    assert tree.score(np.full((2, 3), np.nan)).tolist() == [[0.5, 0.5]] * 2
    walk = tree.walk()
    assert (walk.asks, walk.scores.tolist(), walk.evaluations) == ((), [0.5, 0.5], 0)


def test_a_tree_survives_a_model_file(tmp_path):
    _, tree, X = draw_tree(3, "softmax", "trees")
    prices = Prices([1.0] * 7).bind(7)
    schema = Schema.of(np.zeros((2, 7)))
    Predictor(tree, schema, prices, np.array(["a", "b", "c"])).save(tmp_path / "tree.thrifty")
    again = load(tmp_path / "tree.thrifty")
    assert np.array_equal(again.predict_proba(X), tree.score(X))
    assert np.array_equal(again.bill(X), tree.used(X).sum(axis=1))


# --- bad input -------------------------------------------------------------------


def test_a_table_of_the_wrong_width_is_refused():
    with pytest.raises(ValueError, match="reads 3 columns"):
        quadrants().score(np.zeros((2, 4)))


def test_inputs_are_either_encoded_columns_or_trees():
    with pytest.raises(ValueError, match="either encoded columns or trees"):
        replace(quadrants(), encoding=None)
