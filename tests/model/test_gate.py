"""The frozen gate, the gate on leaves and the answer of a call."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from forests import Shape, draw_forest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import BundleError, DataError
from thrifty.model import KINDS, Answer, Forest, Gate, LeafGate
from thrifty.model.leaf_gate import margin_of


def forests(seed, features=5):
    rng = np.random.default_rng(seed)
    gate = draw_forest(rng, Shape.of("sum", trees=4, depth=2, features=features))
    local = draw_forest(rng, Shape.of("softmax", trees=6, depth=2, features=features))
    big = draw_forest(rng, Shape.of("softmax", trees=9, depth=3, features=features))
    return gate, local, big


def table(seed, n=40, features=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    X[:, :2] = rng.integers(0, 6, size=(n, 2))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def told(model, row, order):
    """A walk that is told a row in some order, one value after the other."""
    walk = model.walk()
    for j in order:
        walk.tell({int(j): float(row[j])})
    return walk


@given(st.integers(0, 10_000))
def test_a_walk_says_what_the_batch_says(seed) -> None:
    gate, local, big = forests(seed)
    X = table(seed)
    model = Gate.of(gate, local, big, float(np.nanmedian(gate.score(X))))
    scores, used, count = model.score(X), model.used(X), model.evaluations(X)
    rng = np.random.default_rng(seed)
    for row in range(4):
        walk = told(model, X[row], rng.permutation(X.shape[1]))
        assert not walk.asks
        np.testing.assert_array_equal(walk.scores, scores[row])
        assert set(walk.touched) == set(np.flatnonzero(used[row]))
        assert walk.evaluations == count[row]


def test_a_row_is_answered_by_the_model_that_it_comes_to() -> None:
    gate, local, big = forests(3)
    X = table(3, 200)
    limit = float(np.median(gate.score(X)))
    model = Gate.of(gate, local, big, limit)
    sent = gate.score(X) > limit
    np.testing.assert_array_equal(model.sends(X), sent)
    np.testing.assert_array_equal(model.score(X)[sent], big.score(X)[sent])
    np.testing.assert_array_equal(model.score(X)[~sent], local.score(X)[~sent])
    due = gate.used(X) | np.where(sent[:, np.newaxis], big.used(X), local.used(X))
    np.testing.assert_array_equal(model.used(X), due)
    assert model.most_evaluations >= model.evaluations(X).max()
    assert not (model.used(X) & ~model.support).any()


@pytest.mark.parametrize(("limit", "which"), [(math.inf, 1), (-math.inf, 2)])
def test_a_limit_without_an_end_does_not_read_the_gate(limit, which) -> None:
    parts = forests(5)
    X = table(5)
    model = Gate.of(*parts, limit)
    for face in ("score", "used", "evaluations"):
        np.testing.assert_array_equal(getattr(model, face)(X), getattr(parts[which], face)(X))
    np.testing.assert_array_equal(model.support, parts[which].support)
    again = Gate.build(*model.state())
    assert again.limit == limit


def test_gates_nest_and_are_built_again() -> None:
    gate, local, big = forests(7)
    X = table(7)
    inner = Gate.of(gate, local, big, 0.1)
    outer = Gate.of(forests(8)[0], forests(8)[1], inner, 0.0)
    plain, arrays = outer.state()
    again = KINDS["gate"].build(plain, arrays)
    np.testing.assert_array_equal(again.score(X), outer.score(X))
    np.testing.assert_array_equal(copy.deepcopy(outer).used(X), outer.used(X))


def test_models_that_do_not_go_together_are_refused() -> None:
    gate, local, big = forests(1)
    other = forests(1, features=6)
    with pytest.raises(DataError, match="differ in columns"):
        Gate.of(gate, local, other[2], 0.0)
    with pytest.raises(DataError, match="model of values"):
        Gate.of(local, local, big, 0.0)
    with pytest.raises(DataError, match="must be a number"):
        Gate.of(gate, local, big, math.nan)


def test_a_hostile_gate_is_refused() -> None:
    plain, arrays = Gate.of(*forests(2), 0.5).state()
    for broken in (
        {**plain, "limit": "some"},
        {**plain, "limit": None},
        {**plain, "limit": math.nan},
        {**plain, "limit": True},
        {**plain, "more": 1},
        {**plain, "parts": plain["parts"][:2]},
        {**plain, "parts": plain["parts"][::-1]},
    ):
        with pytest.raises(BundleError):
            Gate.build(broken, arrays)


def calls(limit=0.0):
    """A gate on column 0, a local model, and a call that needs column 1; columns 2 and 3 answer."""
    gate, _, _ = forests(11, features=4)
    two = draw_forest(np.random.default_rng(1), Shape.of("sigmoid", features=4, outputs=1))
    return Gate.of(gate, two, Answer.of([2, 3], [1], 4), limit)


def test_a_call_that_failed_leaves_the_row_to_the_local_model() -> None:
    model = calls(-math.inf)
    X = np.array([[1.0, 2.0, 0.25, 0.75], [1.0, 2.0, np.nan, 0.75], [1.0, 2.0, 0.9, 0.9]])
    np.testing.assert_array_equal(model.score(X)[0], [0.25, 0.75])
    np.testing.assert_array_equal(model.score(X)[1:], model.local.score(X[1:]))
    # What the local model reads is paid on top of what the call has cost.
    np.testing.assert_array_equal(model.used(X)[0], [False, True, True, True])
    np.testing.assert_array_equal(
        model.used(X)[1], model.local.used(X)[1] | [False, True, True, True]
    )
    for row in range(3):
        walk = told(model, X[row], [1, 2, 3, 0])
        np.testing.assert_array_equal(walk.scores, model.score(X)[row])
        assert set(walk.touched) == set(np.flatnonzero(model.used(X)[row]))


def test_a_walk_asks_for_features_then_for_the_answer() -> None:
    model = calls(-math.inf)
    walk = model.walk()
    assert walk.asks == (1,)
    before = walk.scores
    np.testing.assert_array_equal(before, model.local.walk().scores)
    walk.tell({1: 0.5})
    assert walk.asks == (2, 3)
    walk.tell({2: 0.4, 3: 0.6})
    assert not walk.asks
    assert walk.scores.tolist() == [0.4, 0.6]


@pytest.mark.parametrize(
    ("columns", "needs", "n", "words"),
    [
        ([0], [1], 3, "two classes"),
        ([0, 1], [1], 3, "twice"),
        ([0, 3], [1], 3, "from 0 to 2"),
        ([0, 1], [-1], 3, "from 0 to 2"),
    ],
)
def test_an_answer_in_columns_that_cannot_be_is_refused(columns, needs, n, words) -> None:
    with pytest.raises(DataError, match=words):
        Answer.of(columns, needs, n)
    arrays = {"columns": np.array(columns), "needs": np.array(needs)}
    with pytest.raises(BundleError, match=words):
        Answer.build({"n_features": n}, arrays)


def test_a_hostile_answer_is_refused() -> None:
    plain, arrays = Answer.of([1, 2], [0], 3).state()
    for broken, given_arrays in (
        ({}, arrays),
        ({"n_features": "3"}, arrays),
        ({"n_features": 3.0}, arrays),
        (plain, {"columns": arrays["columns"]}),
        (plain, {**arrays, "needs": arrays["needs"].astype(float)}),
        (plain, {**arrays, "columns": arrays["columns"].reshape(1, 2)}),
    ):
        with pytest.raises(BundleError):
            Answer.build(broken, given_arrays)


@pytest.mark.parametrize("link", ["sigmoid", "softmax"])
def test_a_gate_on_leaves_adds_weights_and_margin(link) -> None:
    rng = np.random.default_rng(4)
    local = draw_forest(rng, Shape.of(link, features=5))
    X = table(4, 60)
    weights = rng.normal(size=len(local.nodes))
    gate = LeafGate.on(local, weights, base=0.5, slope=-2.0)
    due = 0.5 + weights[local.leaves(X)].sum(axis=0) - 2.0 * margin_of(local.raw(X))
    np.testing.assert_allclose(gate.score(X), due, rtol=1e-12, atol=1e-12)
    for row in range(5):
        walk = told(gate, X[row], range(5))
        assert walk.scores[0] == gate.score(X)[row]
        assert set(walk.touched) == set(np.flatnonzero(gate.used(X)[row]))
    again = LeafGate.build(*gate.state())
    np.testing.assert_array_equal(again.score(X), gate.score(X))


def test_trees_that_the_gate_went_down_are_not_paid_again() -> None:
    rng = np.random.default_rng(4)
    local = draw_forest(rng, Shape.of("sigmoid", features=5))
    big = draw_forest(rng, Shape.of("sigmoid", features=5, trees=20))
    gate = LeafGate.on(local, np.zeros(len(local.nodes)), 0.0, -1.0)
    X = table(4, 60)
    model = Gate.of(gate, local, big, float(np.median(gate.score(X))))
    sent = model.sends(X)
    assert model.shares_trees and sent.any() and not sent.all()
    trees = len(local.roots)
    np.testing.assert_array_equal(model.evaluations(X), np.where(sent, trees + 20, trees))
    assert model.most_evaluations == trees + 20
    stays = int(np.flatnonzero(~sent)[0])
    assert told(model, X[stays], range(5)).evaluations == trees
    other = Gate.of(gate, draw_forest(rng, Shape.of("sigmoid", features=5)), big, model.limit)
    assert not other.shares_trees


def test_a_hostile_gate_on_leaves_is_refused() -> None:
    local = draw_forest(np.random.default_rng(0), Shape.of("sigmoid", features=5))
    plain, arrays = LeafGate.on(local, np.zeros(len(local.nodes)), 0.0, 1.0).state()
    for broken in ({**plain, "slope": math.inf}, {**plain, "slope": "1"}, {"slope": 1.0}):
        with pytest.raises(BundleError):
            LeafGate.build(broken, arrays)
    lone = Gate.of(*forests(2), 0.5)
    parts, others = lone.state()
    with pytest.raises(BundleError):
        LeafGate.build({"parts": parts["parts"], "slope": 1.0}, others)


def test_arrays_of_another_shape_are_refused() -> None:
    gate, local, big = forests(0)
    model = Gate.of(gate, local, big, 0.0)
    for bad in (np.zeros(5), np.zeros((2, 4))):
        with pytest.raises(ValueError, match="reads 5 columns"):
            model.score(bad)
    assert isinstance(model.local, Forest)
