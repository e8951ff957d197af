"""Targets and queries: read, or refused with the row and the remedy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty import DataError
from thrifty.learn import (
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    LadderClassifier,
)
from thrifty.learn.targets import queries

X = np.arange(60.0).reshape(20, 3) % 7
LABELS = np.arange(20) % 2
FRAME = pd.DataFrame(X, columns=["age", "chol", "thal"])

KINDS = [GreedyMiserClassifier, GreedyMiserRegressor, GreedyMiserRanker]


@pytest.fixture(params=KINDS, ids=["classifier", "regressor", "ranker"])
def model(request):
    return request.param()


def with_cell(value, row=4, column=1, dtype=None):
    table = X.astype(dtype) if dtype else X.copy()
    table[row, column] = value
    return table


# --- the target


def test_one_class_is_refused():
    with pytest.raises(DataError, match="target: there is only one class, 'yes'"):
        GreedyMiserClassifier().fit(X, ["yes"] * 20)


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
def test_a_target_that_is_not_a_number_is_refused_with_its_row(model, value):
    y = LABELS.astype(float)
    y[7] = value
    with pytest.raises(DataError, match=r"target: .*in row 7 is (missing|infinity)"):
        model.fit(X, y)


def test_a_missing_label_is_refused_with_its_row():
    labels = np.array(["a", "b"] * 10, dtype=object)
    labels[3] = None
    with pytest.raises(DataError, match=r"target: None in row 3 is missing; drop the row"):
        GreedyMiserClassifier().fit(X, labels)
    with pytest.raises(DataError, match=r"target: .* in row 1 .*\(10 such rows\)"):
        GreedyMiserClassifier().fit(X, pd.Series(["a", None] * 10))


def test_labels_of_mixed_kinds_are_refused():
    with pytest.raises(DataError, match="target"):
        GreedyMiserClassifier().fit(X, np.array(["a", 1] * 10, dtype=object))


@pytest.mark.parametrize("rows", [0, 19, 21])
def test_a_target_of_another_length_is_refused(model, rows):
    with pytest.raises(
        DataError, match=f"target: {rows} values for 20 rows; give one value per row"
    ):
        model.fit(X, np.resize(LABELS, rows) if rows else [])


def test_no_target_is_refused(model):
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X, None)


@pytest.mark.parametrize("model", [GreedyMiserRegressor(), GreedyMiserRanker()], ids=str)
def test_text_as_a_numeric_target_is_refused(model):
    with pytest.raises(DataError, match="target: numbers are needed, found"):
        model.fit(X, ["low", "high"] * 10)


def test_grades_out_of_range_are_refused():
    with pytest.raises(DataError, match=r"target: .*-1.* in row 1 is negative; grades start at 0"):
        GreedyMiserRanker().fit(X, np.tile([0, -1], 10))
    with pytest.raises(DataError, match="too large for a gain"):
        GreedyMiserRanker().fit(X, np.tile([0, 61], 10))


def test_continuous_labels_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        GreedyMiserClassifier().fit(X, np.linspace(0, 1, 20))


# --- queries


def test_queries_of_another_length_are_refused():
    with pytest.raises(DataError, match="qid: 5 values for 20 rows"):
        GreedyMiserRanker().fit(X, LABELS, qid=np.arange(5))


def test_queries_of_another_length_are_refused_beside_weights_too():
    with pytest.raises(DataError, match="qid: 5 values for 20 rows"):
        GreedyMiserRanker().fit(X, LABELS, qid=np.arange(5), sample_weight=np.arange(20.0))


def test_a_missing_query_is_refused_as_such():
    qid = np.where(np.arange(20) == 4, np.nan, 1.0)
    with pytest.raises(DataError, match="qid: .*in row 4 is missing"):
        GreedyMiserRanker().fit(X, LABELS, qid=qid)


# --- groups


def test_groups_are_numbered_in_increasing_order():
    assert queries(["b", "a", "b"], 3, "groups").tolist() == [1, 0, 1]
    assert queries(None, 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (np.arange(5), "groups: 5 values for 20 rows"),
        (np.where(np.arange(20) == 4, np.nan, 1.0), "groups: .*in row 4 is missing"),
        (np.array(["a", 1] * 10, dtype=object), "groups: values of mixed kinds"),
    ],
)
def test_groups_that_cannot_be_used_are_refused_by_name(groups, words):
    with pytest.raises(DataError, match=words):
        LadderClassifier().fit(X, LABELS, groups=groups)
