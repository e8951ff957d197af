"""The result of a call: what counts as one, what a walk asks for, and the model file."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.errors import BundleError, DataError
from thrifty.model import KINDS, CallResult


def test_a_result_that_is_no_distribution_counts_as_failed() -> None:
    model = CallResult.of([1, 2], [0], 3)
    results = np.array([[0.5, 0.5], [0.5, 0.4995], [np.nan, 0.5], [-0.1, 1.1], [0.5, 0.6]])
    scores = model.score(np.column_stack([np.zeros(5), results]))
    np.testing.assert_array_equal(scores[:2], results[:2])
    assert np.isnan(scores[2:]).all()


def test_a_single_column_holds_a_value() -> None:
    model = CallResult.of([1], [0], 2)
    scores = model.score(np.array([[0.0, 7.0], [0.0, np.nan], [0.0, -1.0]]))
    np.testing.assert_array_equal(scores, [7.0, np.nan, -1.0])
    walk = model.walk()
    assert walk.scores.tolist() == [0.0]
    walk.tell({0: 1.0, 1: 7.0})
    assert walk.asks == () and walk.scores.tolist() == [7.0]


def test_a_walk_asks_for_what_the_call_needs_the_cheapest_first_then_for_the_result() -> None:
    walk = CallResult.of([3, 4], [0, 2], 5).walk({0: 9.0, 2: 1.0}.__getitem__)
    assert walk.asks == (2, 0)
    walk.tell({0: 1.0, 1: 1.0, 2: 1.0})
    assert walk.asks == (3, 4) and walk.scores.tolist() == [0.5, 0.5]
    walk.tell({3: 0.25, 4: 0.75})
    assert walk.asks == () and walk.scores.tolist() == [0.25, 0.75]
    assert walk.touched == (0, 2, 3, 4) and walk.evaluations == 0


def test_a_row_pays_for_what_the_call_needs_and_for_its_result() -> None:
    model = CallResult.of([3, 4], [0, 2], 5)
    assert model.used(np.zeros((1, 5))).tolist() == [[True, False, True, True, True]]
    assert model.evaluations(np.zeros((2, 5))).tolist() == [0, 0] and model.most_evaluations == 0


@pytest.mark.parametrize(
    ("columns", "needs", "n", "message"),
    [
        ([], [1], 3, "needs a column"),
        ([0, 1], [1], 3, "twice"),
        ([0, 3], [1], 3, "from 0 to 2"),
        ([0, 1], [-1], 3, "from 0 to 2"),
    ],
)
def test_impossible_columns_are_refused(columns, needs, n, message) -> None:
    with pytest.raises(DataError, match=message):
        CallResult.of(columns, needs, n)
    arrays = {"columns": np.array(columns), "needs": np.array(needs)}
    with pytest.raises(BundleError, match=message):
        CallResult.build({"n_features": n}, arrays)


def test_a_state_is_rebuilt_by_its_kind_and_a_damaged_one_is_refused() -> None:
    plain, arrays = CallResult.of([1, 2], [0], 3).state()
    assert KINDS["answer"].build(plain, arrays).support.all()
    for broken, given_arrays in (
        ({}, arrays),
        ({"n_features": "3"}, arrays),
        ({"n_features": 3.0}, arrays),
        (plain, {"columns": arrays["columns"]}),
        (plain, {**arrays, "needs": arrays["needs"].astype(float)}),
        (plain, {**arrays, "columns": arrays["columns"].reshape(1, 2)}),
    ):
        with pytest.raises(BundleError):
            CallResult.build(broken, given_arrays)
