"""A walk down a forest ends like the batch, in whatever order values arrive."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from face_laws import assert_batch, state_is_the_values_told, values_arrive_in_any_order
from forests import LINKS, Shape, draw_forest, draw_table
from hypothesis import given
from hypothesis import strategies as st

from thrifty.model import Forest
from thrifty.model.forest.nodes import INDEX, empty_nodes
from thrifty.model.forest.walk import ForestWalk

DRAWS = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([*LINKS, "binary hinge"]))


def draw(seed, link="softmax", **changes):
    """Draw a generator, a forest and a table of one row."""
    rng = np.random.default_rng(seed)
    shape = Shape.of("hinge", outputs=1) if link == "binary hinge" else Shape.of(link, **changes)
    return rng, draw_forest(rng, shape), draw_table(rng, shape, rows=1, missing=0.25)


def plainly_waiting(forest, told):
    """Count the trees that wait for each feature, by walking every tree from its root."""
    waiting = Counter()
    for root in forest.roots:
        place = int(root)
        while forest.nodes["child"][place] != place:
            feature = int(forest.nodes["feature"][place]) & INDEX
            if feature not in told:
                waiting[feature] += 1
                break
            # One step: the children of this node are the roots of two trees.
            place = step(forest, place, told[feature])
    return waiting


def step(forest, place, value):
    """Return where a node sends a value, by scoring a forest of that node alone."""
    nodes = empty_nodes(3)
    nodes[0] = (forest.nodes["threshold"][place], 1, forest.nodes["feature"][place])
    alone = Forest(nodes, np.array([[0.0], [1.0], [2.0]]), np.zeros(1, np.int64),
                   np.zeros(1, np.int64), np.zeros(1), "sum", forest.n_features,
                   forest.subsets)  # fmt: skip
    side = alone.score(np.full((1, forest.n_features), value))[0]
    return int(forest.nodes["child"][place]) + int(side) - 1


def finish(walk, x, choose):
    """Tell values until the walk is done; `choose` picks from what it requests."""
    for _ in range(len(x) + 1):
        if not walk.asks:
            return walk
        walk.tell({j: float(x[j]) for j in choose(walk.asks)})
    raise AssertionError("the walk does not end")


@given(DRAWS)
def test_a_walk_told_what_it_asks_ends_like_the_batch(drawn):
    _, forest, X = draw(*drawn)
    assert_batch(finish(forest.walk(), X[0], choose=lambda asks: asks), forest, X)


@given(DRAWS)
def test_a_walk_told_one_value_at_a_time_ends_like_the_batch(drawn):
    rng, forest, X = draw(*drawn)
    assert_batch(finish(forest.walk(), X[0], lambda asks: [rng.choice(asks)]), forest, X)


@given(DRAWS)
def test_values_may_arrive_in_any_order_and_unrequested(drawn):
    values_arrive_in_any_order(*draw(*drawn))


@given(DRAWS)
def test_the_state_of_a_walk_is_the_set_of_values_told(drawn):
    state_is_the_values_told(*draw(*drawn))


@given(DRAWS)
def test_a_walk_asks_for_the_features_that_trees_wait_for(drawn):
    rng, forest, X = draw(*drawn)
    walk, told = forest.walk(), {}
    while walk.asks:
        waiting = plainly_waiting(forest, told)
        assert set(walk.asks) == set(waiting)
        assert walk.evaluations == len(forest.roots) - waiting.total()
        j = int(rng.choice(walk.asks))
        told[j] = float(X[0, j])
        walk.tell({j: told[j]})
    assert not plainly_waiting(forest, told)


@given(DRAWS)
def test_requests_come_in_the_order_of_trees_moved_per_price(drawn):
    rng, forest, X = draw(*drawn)
    prices = rng.choice([0.0, 0.5, 1.0, 7.0], size=forest.n_features)
    walk, told = forest.walk(lambda j: prices[j]), {}
    while walk.asks:
        trees = plainly_waiting(forest, told)

        def moved(j, trees=trees):
            return trees[j] / prices[j] if prices[j] else np.inf

        assert list(walk.asks) == sorted(trees, key=lambda j: (-moved(j), j))
        j = walk.asks[-1]
        told[j] = float(X[0, j])
        walk.tell({j: told[j]})


@given(DRAWS)
def test_there_are_best_scores_at_any_time(drawn):
    rng, forest, X = draw(*drawn)
    walk = forest.walk()
    seen = [walk.evaluations]
    while walk.asks:
        assert np.isfinite(walk.scores).all()
        assert walk.scores.shape == np.atleast_1d(forest.score(X)[0]).shape
        walk.tell({(j := int(rng.choice(walk.asks))): float(X[0, j])})
        seen.append(walk.evaluations)
    assert seen == sorted(seen)
    assert seen[-1] == len(forest.roots)


def test_the_best_scores_use_the_values_of_the_nodes_reached():
    nodes = empty_nodes(5)
    nodes[0], nodes[2] = (0.0, 1, 0), (0.0, 3, 1)
    values = np.array([[1.0], [10.0], [20.0], [30.0], [40.0]])
    zero = np.zeros(1, np.int64)
    walk = Forest(nodes, values, zero, zero, np.array([100.0]), "sum", 2).walk()
    scores = [walk.scores.tolist()]
    for feature in (0, 1):
        walk.tell({feature: 5.0})
        scores.append(walk.scores.tolist())
    assert scores == [[101.0], [120.0], [140.0]]


@given(DRAWS)
def test_features_are_touched_in_the_order_of_first_reading(drawn):
    rng, forest, X = draw(*drawn)
    walk = forest.walk()
    while walk.asks:
        before = walk.touched
        j = int(rng.choice(walk.asks))
        walk.tell({j: float(X[0, j])})
        assert walk.touched == (*before, j)


def test_a_value_that_no_tree_reads_is_not_touched():
    nodes = empty_nodes(3)
    nodes[0] = (0.0, 1, 2)
    zero = np.zeros(1, np.int64)
    walk = Forest(nodes, np.zeros((3, 1)), zero, zero, np.zeros(1), "sum", 4).walk()
    walk.tell({0: 1.0, 3: np.nan})
    assert walk.touched == ()
    assert walk.asks == (2,)
    walk.tell({2: 1.0, 1: 1.0})
    assert walk.touched == (2,)
    assert walk.asks == ()


def test_a_value_kept_for_later_is_read_when_a_tree_comes_to_it():
    nodes = empty_nodes(5)
    nodes[0], nodes[1] = (0.0, 1, 0), (0.0, 3, 1)
    zero = np.zeros(1, np.int64)
    values = np.arange(5.0)[:, np.newaxis]
    walk = Forest(nodes, values, zero, zero, np.zeros(1), "sum", 2).walk()
    walk.tell({1: 7.0})
    assert walk.touched == ()
    walk.tell({0: -1.0})
    assert walk.touched == (0, 1)
    assert walk.scores.tolist() == [4.0]


@pytest.mark.parametrize("shape", [Shape(trees=0), Shape(depth=0)], ids=["no trees", "leaves"])
def test_a_forest_that_reads_nothing_is_done_at_once(shape):
    forest = draw_forest(np.random.default_rng(0), shape)
    walk = forest.walk()
    assert walk.asks == ()
    assert_batch(walk, forest, np.zeros((1, shape.features)))


def test_walks_of_one_forest_do_not_affect_each_other():
    _, forest, X = draw(3)
    first, second = forest.walk(), forest.walk()
    finish(first, X[0], lambda asks: asks)
    assert second.touched == ()
    assert set(second.asks) == set(plainly_waiting(forest, {}))


def test_the_order_of_requests_follows_the_current_price():
    # A price may fall as other features of its group are bought.
    _, forest, X = draw(5)
    prices = dict.fromkeys(range(forest.n_features), 1.0)
    walk = forest.walk(prices.__getitem__)
    last = walk.asks[-1]
    prices[last] = 0.0
    assert walk.asks[0] == last
    prices[last] = 1e9
    assert walk.asks[-1] == last
    finish(walk, X[0], lambda asks: asks)


def test_some_trees_of_a_forest_walk_from_the_base_that_they_are_given():
    _, forest, X = draw(7)
    part = forest.as_lists.part(slice(2, 5), np.array([1.0, 2.0, 3.0]))
    walk = finish(ForestWalk(part, lambda feature: 0.0), X[0], lambda asks: asks)
    raw = np.array([[1.0, 2.0, 3.0]])
    for tree, leaf in enumerate(forest.leaves(X)[2:5, 0], start=2):
        raw[0, forest.outputs[tree]] += forest.values[leaf, 0]
    np.testing.assert_array_equal(walk.raw, raw)
    assert walk.evaluations == 3


def test_trees_wait_for_the_features_of_their_roots():
    _, forest, _ = draw(8)
    waiting = forest.as_lists.waiting
    assert {feature: len(trees) for feature, trees in waiting.items()} == plainly_waiting(
        forest, {}
    )
    assert forest.as_lists is forest.as_lists
