"""A model with a price: what a row uses, what its walk asks for, and the model file."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.errors import BundleError, DataError
from thrifty.model import KINDS, Forest, PricedCall
from thrifty.model.forest.nodes import empty_nodes


@pytest.fixture
def chain():
    """A tree of two columns; the second is read only where the first is above 0."""
    nodes = empty_nodes(5)
    nodes[0] = (0.0, 1, 0)
    nodes[2] = (0.0, 3, 1)
    values = np.array([[0.0], [-1.0], [0.0], [1.0], [2.0]])
    return Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), "sum", 2)


@pytest.fixture
def call(chain):
    """Its columns are 3 and 1 of a table of five; column 4 is the call."""
    return PricedCall.of(chain, [3, 1], 4, 5)


def test_a_row_uses_what_the_model_reads_and_the_call(call) -> None:
    X = np.array([[9.0, 5.0, 9.0, -1.0, np.nan], [9.0, 5.0, 9.0, 1.0, np.nan]])
    assert call.score(X).tolist() == [-1.0, 2.0]
    assert call.used(X).tolist() == [[False, False, False, True, True],
                                     [False, True, False, True, True]]  # fmt: skip
    assert call.support.tolist() == [False, True, False, True, True]
    assert call.evaluations(X).tolist() == [1, 1] and call.most_evaluations == 1
    assert call.n_scores == 1 and not call.may_fail
    assert call.path_bounds().used[:, 4].all()
    assert call.largest_bill(lambda used, _: used @ [1, 2, 4, 8, 16], np.zeros(5, bool)) == 26


def test_a_walk_asks_for_features_in_turn_and_for_the_call_last(call) -> None:
    walk = call.walk([5.0, 2.0, 5.0, 1.0, 9.0].__getitem__)
    assert walk.asks == (3,)
    walk.tell({3: 1.0, 0: 7.0})
    assert walk.asks == (1,) and walk.touched == (3,)
    walk.tell({1: -1.0})
    assert walk.asks == (4,) and walk.touched == (3, 1)
    walk.tell({4: 1.0})
    assert walk.asks == () and walk.touched == (3, 1, 4)
    assert walk.scores.tolist() == [1.0] and walk.evaluations == 1


def test_a_state_is_rebuilt_by_its_kind_and_a_damaged_one_is_refused(call) -> None:
    plain, arrays = call.state()
    again = KINDS["priced-call"].build(plain, arrays)
    X = np.random.default_rng(0).normal(size=(20, 5))
    np.testing.assert_array_equal(again.score(X), call.score(X))
    np.testing.assert_array_equal(again.used(X), call.used(X))
    for changes in (
        {"column": 3},
        {"column": 5},
        {"column": "4"},
        {"n_features": 3},
        {"n_features": 5.0},
        {"parts": []},
        {"more": 1},
    ):
        with pytest.raises(BundleError, match="priced call"):
            PricedCall.build({**plain, **changes}, arrays if "parts" not in changes else
                             {"reads": arrays["reads"]})  # fmt: skip
    for reads in ([3, 3], [3, 9], [3.0, 1.0], [[3, 1]], [3]):
        with pytest.raises(BundleError, match="priced call"):
            PricedCall.build(plain, {**arrays, "reads": np.array(reads)})
    with pytest.raises(BundleError, match="the array reads"):
        PricedCall.build(plain, {k: v for k, v in arrays.items() if k != "reads"})
    with pytest.raises(DataError, match="2 columns, 1 are given"):
        PricedCall.of(call.model, [0], 1, 2)
