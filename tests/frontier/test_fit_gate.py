"""Fitting a gate on a whole table, and measuring it on the test set."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import Call, GatedClassifier, LeavesFamily
from thrifty.frontier.fit_gate import fit_gate


@pytest.fixture
def table():
    X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    return X, np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")


def test_a_gate_is_measured_on_rows_of_its_own(table) -> None:
    X, y = table
    seen = []

    def know_all(rows):
        seen.append(rows)
        return np.where(rows.sum(axis=1) > 0, "yes", "no")

    call = Call("oracle", 3.0, fn=know_all)
    model = GatedClassifier(call, share=0.4, family=LeavesFamily(4, 0.5, 3, 5), random_state=0)
    result = fit_gate(X, y, model=model, random_state=1)
    assert result.rows == {"train": 300, "validation": 100, "test": 100}
    assert result.model is model and result.predictor is model.predictor_
    assert result.expensive_accuracy == 1.0 and result.expensive_bill == 5.0
    assert 0.8 < result.accuracy <= 1.0
    assert 0.0 < result.sent < 0.6 and result.bill < result.expensive_bill
    # The training rows, then all test rows, then those that are sent.
    assert [len(rows) for rows in seen] == [300, 100, round(100 * result.sent)]


def test_without_a_model_there_is_a_default(table) -> None:
    X, y = table
    result = fit_gate(X, y)
    assert isinstance(result.model, GatedClassifier)
    assert result.accuracy > 0.85
