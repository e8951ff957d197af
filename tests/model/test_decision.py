"""Decisions by the cost of errors: 0/1 costs are the most probable class; thresholds; files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thrifty.bundle import Decision, Predictor, Schema
from thrifty.bundle.file import audit_header, build_predictor, pack, plain_header, unpack
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError
from thrifty.model import Forest, Stages
from thrifty.model.forest.nodes import empty_nodes

PROBABILITIES = arrays(np.float64, (7, 4), elements=st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5]))


def stump(scores=((0.9, 0.1), (0.6, 0.4)), feature=0) -> Forest:
    """One feature up to 0 or above it, with these probabilities."""
    nodes = empty_nodes(3)
    nodes[0] = (0.0, 1, feature)
    values = np.array([scores[0], *scores])
    origin = np.zeros(1, dtype=np.int64)
    return Forest(nodes, values, origin, origin, np.zeros(2), "mean", 2)


def predictor(decision=None, model=None) -> Predictor:
    prices = Prices([1.0, 2.0]).bind(2)
    model = model or stump()
    return Predictor(model, Schema.of(np.zeros((1, 2))), prices, ["no", "yes"], decision=decision)


@given(PROBABILITIES)
def test_with_a_cost_of_1_for_every_error_the_most_probable_class_is_predicted(scores):
    decision = Decision(1.0 - np.eye(4))
    assert (decision.decide(scores) == scores.argmax(axis=1)).all()


@given(PROBABILITIES, arrays(np.float64, (4, 4), elements=st.integers(0, 9).map(float)))
def test_the_predicted_class_has_the_least_expected_cost(scores, costs):
    decision = Decision(costs)
    expected = scores @ costs
    said = decision.decide(scores)
    assert expected[np.arange(7), said] == pytest.approx(expected.min(axis=1))
    assert decision.least(scores) == pytest.approx(expected.min(axis=1))


@given(PROBABILITIES, arrays(np.float64, (4, 4), elements=st.integers(0, 9).map(float)))
def test_one_row_is_decided_as_in_a_batch(scores, costs):
    decision = Decision(costs)
    one_by_one = [decision.decide(row[np.newaxis])[0] for row in scores]
    assert decision.decide(scores).tolist() == one_by_one


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.8])
def test_a_threshold_is_a_matrix_of_costs(threshold):
    decision = Decision.at_threshold(threshold)
    positive = np.linspace(0, 1, 41)
    said = decision.decide(np.column_stack([1 - positive, positive]))
    clear = np.abs(positive - threshold) > 1e-9
    assert (said == (positive > threshold))[clear].all()
    assert decision.threshold == pytest.approx(threshold)


def test_not_every_decision_has_a_threshold():
    assert Decision(1.0 - np.eye(3)).threshold is None
    assert Decision([[5.0, 0.0], [1.0, 0.0]]).threshold is None


@pytest.mark.parametrize(
    "costs, words",
    [
        ([[0, 1]], r"shape \(K, K\), not \(1, 2\)"),
        ([[0, -1], [1, 0]], r"finite and 0 or more, not \[-1.0\]"),
        ([[0, np.inf], [1, 0]], "finite and 0 or more"),
        ([[0, 1], [1]], "a square table of numbers"),
        ("none", "a square table of numbers"),
    ],
)
def test_costs_are_a_square_table_of_finite_numbers(costs, words):
    with pytest.raises(DataError, match=words):
        Decision(costs)


# --- predictors, walks and files ---------------------------------------------


def test_predict_and_walk_decide_alike_and_the_scores_stay():
    X = np.array([[-1.0, 0.0], [1.0, 0.0]])
    plain, cautious = predictor(), predictor(Decision.at_threshold(0.3))
    assert plain.predict(X).tolist() == ["no", "no"]
    assert cautious.predict(X).tolist() == ["no", "yes"]
    assert (plain.predict_proba(X) == cautious.predict_proba(X)).all()
    walk = cautious.walk()
    assert walk.best == "no"
    walk.tell({0: 1.0})
    assert (walk.best, walk.answer) == ("yes", "yes")


def test_a_decision_survives_the_file_and_is_absent_without_one():
    cautious = unpack(pack(predictor(Decision.at_threshold(0.3))))
    assert cautious.decision is not None and cautious.decision.threshold == pytest.approx(0.3)
    assert cautious.predict([[1.0, 0.0]]).tolist() == ["yes"]
    assert "decision" not in plain_header(predictor())[0]
    assert unpack(pack(predictor())).decision is None


@given(st.floats(0.0, 1.0), arrays(np.float64, 9, elements=st.floats(0.0, 1.0)))
def test_any_threshold_decides_alike_before_and_after_the_file(threshold, positive):
    before = predictor(Decision.at_threshold(threshold))
    after = unpack(pack(before))
    scores = np.column_stack([1 - positive, positive])
    assert after.decision.costs.tobytes() == before.decision.costs.tobytes()
    assert (after.decision.decide(scores) == before.decision.decide(scores)).all()


@pytest.mark.parametrize(
    "decision",
    [
        {},
        {"costs": []},
        {"costs": [[0, 1]]},
        {"costs": [[0, "1"], [1, 0]]},
        {"costs": [[0, -1], [1, 0]]},
        {"costs": [[0, True], [1, 0]]},
        {"costs": [[0, 10**400], [1, 0]]},
        {"costs": [[0.0, 1.0], [1.0, 0.0]], "more": 1},
        {"costs": (1.0 - np.eye(3)).tolist()},
        [[0, 1], [1, 0]],
    ],
    ids=json.dumps,
)
def test_a_damaged_decision_is_refused(decision):
    header, arrays = plain_header(predictor())
    with pytest.raises(BundleError):
        build_predictor(audit_header({**header, "arrays": {}, "decision": decision}), arrays)


def test_a_decision_must_fit_the_classes():
    with pytest.raises(DataError, match="the decision is for 3 classes, the model has 2"):
        predictor(Decision(1.0 - np.eye(3)))
    values = Forest.constant([1.0], "sum", n_features=2)
    prices = Prices([1.0, 2.0]).bind(2)
    with pytest.raises(DataError, match="the model has 0"):
        Predictor(values, Schema.of(np.zeros((1, 2))), prices, decision=Decision.at_threshold(0.5))


# --- ladders that stop by expected cost --------------------------------------


def ladder(decision=None, threshold=0.2) -> Stages:
    rungs = [stump(), stump(((0.2, 0.8), (0.8, 0.2)), feature=1)]
    return Stages.of(rungs, thresholds=[threshold, np.inf], decision=decision)


def test_a_ladder_climbs_where_the_expected_cost_is_above_the_threshold():
    X = np.array([[-1.0, 0.0], [1.0, 0.0]])
    assert ladder().rung(X).tolist() == [0, 1]  # uncertainties of 0.1 and 0.4
    costs = Decision([[0.0, 1.0], [9.0, 0.0]])  # expected costs of 0.9 and 0.6
    assert ladder(costs, threshold=0.7).rung(X).tolist() == [1, 0]
    walk = ladder(costs, threshold=0.7).walk()
    walk.tell({0: -1.0})
    assert walk.asks == (1,)


def test_the_costs_of_a_ladder_survive_the_file_and_a_cut():
    model = ladder(Decision([[0.0, 1.0], [9.0, 0.0]]), threshold=0.7)
    again = unpack(pack(predictor(model=model))).model
    X = np.array([[-1.0, 0.0], [1.0, 0.0]])
    assert again.rung(X).tolist() == [1, 0]
    assert again.upto(1).rung(X).tolist() == [1, 0]
    plain, arrays = ladder().state()
    assert "decision" not in plain
    for wrong in ([], {"costs": (1.0 - np.eye(3)).tolist()}):
        with pytest.raises(BundleError):
            Stages.build({**plain, "decision": wrong}, arrays)
    with pytest.raises(DataError, match="the decision is for 3 classes"):
        ladder(Decision(1.0 - np.eye(3)))
