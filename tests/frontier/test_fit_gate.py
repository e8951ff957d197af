"""Fitting a gate on a whole table, and measuring it on the test set."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import Call, GatedClassifier, GatedRanker, GatedRegressor, LeavesFamily
from thrifty.frontier.fit_gate import GateFit, GateResult, fit_gate


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
    assert result.all_sent.quality.mean == 1.0 and result.all_sent.bill == (5.0, 5.0, 5.0)
    assert 0.8 < result.gated.quality.mean <= 1.0
    assert 0.9 < result.gated.quality.low < result.gated.quality.mean
    assert 0.0 < result.sent < 0.6 and result.saving.low > 0
    assert result.saving.mean == pytest.approx(5.0 - result.gated.bill.mean)
    assert result.none_sent.bill.mean < result.gated.bill.mean
    assert result.loss.mean == pytest.approx(1.0 - result.gated.quality.mean)
    # The training rows, then the test rows that are sent, then all test rows.
    assert [len(rows) for rows in seen] == [300, round(100 * result.sent), 100]


@pytest.mark.parametrize(
    ("kind", "metric", "units"), [(GatedRegressor, "r2", 100), (GatedRanker, "ndcg@5", 10)]
)
def test_values_and_rankings_have_a_quality_of_their_own(table, kind, metric, units) -> None:
    X, _ = table
    grades = np.floor(X.sum(axis=1) + 2)
    call = Call("oracle", 3.0, fn=lambda rows: np.floor(rows.sum(axis=1) + 2))
    model = kind(call, share=0.4, family=LeavesFamily(4, 0.5, 3, 5), random_state=0)
    qid = np.repeat(np.arange(50), 10) if kind is GatedRanker else None
    result = fit_gate(X, grades, model=model, qid=qid)
    assert result.metric == metric and result.rows["test"] == 100
    assert len(result.gated.qualities) == units
    assert result.all_sent.quality.mean == 1.0
    assert result.none_sent.quality.mean < result.gated.quality.mean < 1.0
    assert result.gated.quality.low < result.gated.quality.mean < result.gated.quality.high


def test_without_a_model_there_is_a_default(table) -> None:
    X, y = table
    result = fit_gate(X, y)
    assert isinstance(result.model, GatedClassifier)
    assert result.gated.quality.mean > 0.85


@pytest.mark.parametrize(
    ("sent", "gated", "hits", "verdict"),
    [
        (0.3, 2.0, 0.9, "pays"),
        (0.3, 4.9, 0.9, "saves nothing"),  # for certain, but hardly anything
        (1.0, 5.0, 0.9, "saves nothing"),
        (0.3, 2.0, 0.61, "cheap model suffices"),
        (0.0, 1.0, 0.6, "sends nothing"),
    ],
)
def test_a_gate_pays_if_it_saves_and_is_better_than_the_cheap_model(
    sent, gated, hits, verdict
) -> None:
    def result(bill, share):
        return GateResult(np.full(100, bill), np.arange(100) < 100 * share)

    found = GateFit(
        None, "accuracy", {}, sent, result(gated, hits), result(5.0, 0.95), result(1.0, 0.6)
    )
    assert found.verdict == verdict


def test_a_single_row_has_no_interval() -> None:
    assert GateResult(np.array([3.0]), np.array([True])).bill == (3.0, -np.inf, np.inf)
