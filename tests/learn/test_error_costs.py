"""Costs of errors: in any order of the classes, by class or by row; all problems at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thrifty.errors import DataError
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.error_costs import ErrorCosts, class_loss, read_cost_matrix

LABELS = ["ill", "sick", "well"]
MATRIX = np.array([[0.0, 2.0, 9.0], [3.0, 0.0, 8.0], [1.0, 1.0, 0.0]])


def test_costs_come_in_any_order_of_the_classes():
    pairs = {
        (LABELS[true], LABELS[said]): MATRIX[true, said]
        for true in (2, 0, 1)
        for said in (1, 2, 0)
        if true != said
    }
    nested: dict[str, dict[str, float]] = {}
    for (true, said), cost in pairs.items():
        nested.setdefault(true, {})[said] = cost
    assert (read_cost_matrix(pairs, LABELS) == MATRIX).all()
    assert (read_cost_matrix(nested, LABELS) == MATRIX).all()
    assert (read_cost_matrix(MATRIX.tolist(), LABELS) == MATRIX).all()


def test_all_problems_are_listed():
    with pytest.raises(DataError) as caught:
        read_cost_matrix({("ill", "wel"): 1, ("ill", "sick"): -1, "ill": 5, ("well", "ill"): "x"},
                         LABELS)  # fmt: skip
    for words in (
        "no class 'wel'; did you mean 'well'?",
        "-1 is not",
        "'ill' is not a pair",
        "'x'",
    ):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    "costs, words",
    [
        ({"ill": {"well": 1}}, r"\('ill', 'sick'\) has no cost; list all errors"),
        ([[0, 1], [1, 0]], "a matrix for 2 classes; there are 3"),
        (np.zeros((3, 3)), "all answers cost the same"),
        ({("ill", "well"): 10**400}, "is not a finite cost of 0 or more"),
    ],
)
def test_costs_that_do_not_fit_are_refused(costs, words):
    with pytest.raises(DataError, match=words):
        read_cost_matrix(costs, LABELS)


@given(
    arrays(np.float64, (5, 3), elements=st.sampled_from([0.1, 0.25, 1 / 3, 0.5])),
    arrays(np.int64, 5, elements=st.integers(0, 2)),
)
def test_with_a_cost_of_1_for_every_error_the_loss_is_that_of_errors(scores, y):
    equal = ErrorCosts.read(1.0 - np.eye(3), np.array(LABELS))
    assert (equal.actual(scores, y) == (scores.argmax(axis=1) != y)).all()
    proba = scores / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(class_loss(proba, y, equal), class_loss(proba, y))


def read(y, row_costs, **settings):
    X = np.arange(len(y), dtype=float)[:, np.newaxis]
    return TrainingSet.read("classification", X, y, row_costs=row_costs, **settings)


def test_rows_are_decided_by_the_mean_cost_of_their_class():
    train = read(["a", "a", "b", "b"], [1.0, 3.0, 10.0, 10.0])
    assert train.error_costs.decision.costs.tolist() == [[0, 2], [10, 0]]
    scores = np.array([[0.9, 0.1]] * 4)  # 1.0 for "a" against 1.8 for "b"
    assert train.error_costs.actual(scores, train.y).tolist() == [0, 0, 10, 10]
    part = train.take(np.array([1, 2]))
    assert part.error_costs.of_row.tolist() == [3, 10]
    held_out = train.hold_out(np.array([0, 3]), train.schema)
    assert held_out.error_costs.of_row.tolist() == [1, 10]
    assert held_out.take(np.array([1])).quality(scores[:1]) == -10
    assert train.error_costs.of_answers(train.y).tolist() == [[0, 1], [0, 3], [10, 0], [10, 0]]


def test_rows_without_weight_are_dropped_with_their_costs():
    train = read(["a", "a", "b", "b"], [1.0, 3.0, 10.0, 30.0], sample_weight=[1, 1, 1, 0])
    assert train.error_costs.of_row.tolist() == [1, 3, 10]
    assert train.error_costs.decision.costs.tolist() == [[0, 2], [10, 0]]


def test_rows_of_a_validation_set_cost_the_mean_of_their_class():
    train = read(["a", "a", "b", "b"], [1.0, 3.0, 10.0, 10.0])
    rows = ValidationSet.read(([[0.0], [1.0]], ["a", "b"]), train)
    joined = train.error_costs.join(rows.error_costs, rows.y)
    assert joined.of_row.tolist() == [1, 3, 10, 10, 2, 10]
    assert ErrorCosts(joined.decision).join(None, rows.y).of_row is None


@pytest.mark.parametrize(
    "costs, words",
    [
        ([1.0, 2.0], "values for 4 rows; give one per row"),
        ([1.0, 2.0, -3.0, 4.0], "-3.0 in row 2 is not a finite cost"),
        (["x"] * 4, "give a number for each row"),
        ([0.0] * 4, "an error costs nothing"),
    ],
)
def test_costs_of_rows_are_checked(costs, words):
    with pytest.raises(DataError, match=words):
        read(["a", "a", "b", "b"], costs)


def test_values_have_no_errors_to_count():
    X = np.arange(4.0)[:, np.newaxis]
    with pytest.raises(DataError, match="regression has no classes"):
        TrainingSet.read("regression", X, X[:, 0], row_costs=np.ones(4))
    with pytest.raises(DataError, match="regression has no classes"):
        TrainingSet.read("regression", X, X[:, 0]).with_costs([[0, 1], [1, 0]])
    with pytest.raises(DataError, match="by class and for each row"):
        read(["a", "b", "a", "b"], np.ones(4)).with_costs([[0, 1], [1, 0]])
