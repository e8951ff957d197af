"""The frozen gate: which model predicts a row, what the row pays, walks, and the model file."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from forests import Shape, draw_forest
from gate_models import draw_parts, draw_rows, walk_through
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import BundleError, DataError
from thrifty.model import KINDS, CallResult, Forest, Gate, LeafGate


def gate_on_a_call(threshold=0.0):
    """A gate, a local model, and a call that needs column 1 and returns columns 2 and 3."""
    gate, _, _ = draw_parts(11, features=4)
    local = draw_forest(np.random.default_rng(1), Shape.of("sigmoid", features=4, outputs=1))
    return Gate.of(gate, local, CallResult.of([2, 3], [1], 4), threshold)


# --- batches and walks -----------------------------------------------------------


@given(st.integers(0, 10_000))
def test_a_walk_ends_with_the_bits_of_the_batch(seed) -> None:
    gate, local, expensive = draw_parts(seed)
    X = draw_rows(seed)
    model = Gate.of(gate, local, expensive, float(np.nanmedian(gate.score(X))))
    scores, used, count = model.score(X), model.used(X), model.evaluations(X)
    rng = np.random.default_rng(seed)
    for row in range(4):
        walk = walk_through(model, X[row], rng.permutation(X.shape[1]))
        assert not walk.asks
        np.testing.assert_array_equal(walk.scores, scores[row])
        assert set(walk.touched) == set(np.flatnonzero(used[row]))
        assert walk.evaluations == count[row]


def test_a_row_is_predicted_by_the_model_that_it_goes_to() -> None:
    gate, local, expensive = draw_parts(3)
    X = draw_rows(3, 200)
    threshold = float(np.median(gate.score(X)))
    model = Gate.of(gate, local, expensive, threshold)
    sent = gate.score(X) > threshold
    np.testing.assert_array_equal(model.sends(X), sent)
    np.testing.assert_array_equal(model.score(X)[sent], expensive.score(X)[sent])
    np.testing.assert_array_equal(model.score(X)[~sent], local.score(X)[~sent])
    expected = gate.used(X) | np.where(sent[:, np.newaxis], expensive.used(X), local.used(X))
    np.testing.assert_array_equal(model.used(X), expected)
    assert model.most_evaluations >= model.evaluations(X).max()
    assert not (model.used(X) & ~model.support).any()


@pytest.mark.parametrize(("threshold", "which"), [(math.inf, 1), (-math.inf, 2)])
def test_an_infinite_threshold_does_not_read_the_gate(threshold, which) -> None:
    parts = draw_parts(5)
    X = draw_rows(5)
    model = Gate.of(*parts, threshold)
    for face in ("score", "used", "evaluations"):
        np.testing.assert_array_equal(getattr(model, face)(X), getattr(parts[which], face)(X))
    np.testing.assert_array_equal(model.support, parts[which].support)
    again = Gate.build(*model.state())
    assert again.threshold == threshold


def test_trees_that_the_gate_has_evaluated_are_not_evaluated_again() -> None:
    rng = np.random.default_rng(4)
    local = draw_forest(rng, Shape.of("sigmoid", features=5))
    expensive = draw_forest(rng, Shape.of("sigmoid", features=5, trees=20))
    gate = LeafGate.on(local, np.zeros(len(local.nodes)), 0.0, -1.0)
    X = draw_rows(4, 60)
    model = Gate.of(gate, local, expensive, float(np.median(gate.score(X))))
    sent = model.sends(X)
    assert model.shares_trees and sent.any() and not sent.all()
    trees = len(local.roots)
    np.testing.assert_array_equal(model.evaluations(X), np.where(sent, trees + 20, trees))
    assert model.most_evaluations == trees + 20
    stays = int(np.flatnonzero(~sent)[0])
    assert walk_through(model, X[stays], range(5)).evaluations == trees
    other_local = draw_forest(rng, Shape.of("sigmoid", features=5))
    assert not Gate.of(gate, other_local, expensive, model.threshold).shares_trees


# --- calls -----------------------------------------------------------------------


def test_a_failed_call_leaves_the_row_to_the_local_model() -> None:
    model = gate_on_a_call(-math.inf)
    X = np.array([[1.0, 2.0, 0.25, 0.75], [1.0, 2.0, np.nan, 0.75], [1.0, 2.0, 0.9, 0.9]])
    np.testing.assert_array_equal(model.score(X)[0], [0.25, 0.75])
    np.testing.assert_array_equal(model.score(X)[1:], model.local.score(X[1:]))
    # What the local model reads is paid in addition to the call.
    np.testing.assert_array_equal(model.used(X)[0], [False, True, True, True])
    np.testing.assert_array_equal(
        model.used(X)[1], model.local.used(X)[1] | [False, True, True, True]
    )
    for row in range(3):
        walk = walk_through(model, X[row], [1, 2, 3, 0])
        np.testing.assert_array_equal(walk.scores, model.score(X)[row])
        assert set(walk.touched) == set(np.flatnonzero(model.used(X)[row]))


def test_a_walk_asks_for_features_then_for_the_result_of_the_call() -> None:
    model = gate_on_a_call(-math.inf)
    walk = model.walk()
    assert walk.asks == (1,)
    # Until then the local model predicts.
    np.testing.assert_array_equal(walk.scores, model.local.walk().scores)
    walk.tell({1: 0.5})
    assert walk.asks == (2, 3)
    walk.tell({2: 0.4, 3: 0.6})
    assert not walk.asks
    assert walk.scores.tolist() == [0.4, 0.6]


# --- the model file, and bad input -------------------------------------------------


def test_gates_nest_and_are_rebuilt_from_their_state() -> None:
    gate, local, expensive = draw_parts(7)
    X = draw_rows(7)
    inner = Gate.of(gate, local, expensive, 0.1)
    outer = Gate.of(draw_parts(8)[0], draw_parts(8)[1], inner, 0.0)
    plain, arrays = outer.state()
    again = KINDS["gate"].build(plain, arrays)
    np.testing.assert_array_equal(again.score(X), outer.score(X))
    np.testing.assert_array_equal(copy.deepcopy(outer).used(X), outer.used(X))


def test_models_that_do_not_fit_together_are_refused() -> None:
    gate, local, expensive = draw_parts(1)
    wider = draw_parts(1, features=6)
    with pytest.raises(DataError, match="differ in columns"):
        Gate.of(gate, local, wider[2], 0.0)
    with pytest.raises(DataError, match="must predict one value"):
        Gate.of(local, local, expensive, 0.0)
    with pytest.raises(DataError, match="must be a number"):
        Gate.of(gate, local, expensive, math.nan)


def test_a_damaged_gate_is_refused() -> None:
    plain, arrays = Gate.of(*draw_parts(2), 0.5).state()
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


def test_arrays_of_the_wrong_shape_are_refused() -> None:
    model = Gate.of(*draw_parts(0), 0.0)
    for bad in (np.zeros(5), np.zeros((2, 4))):
        with pytest.raises(ValueError, match="reads 5 columns"):
            model.score(bad)
    assert isinstance(model.local, Forest)
