"""Experts of an online gate: functions, pairs of a gate and a local model, predictors."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.errors import DataError, SourceError
from thrifty.model import CallResult, Forest, Gate
from thrifty.model.forest.nodes import empty_nodes
from thrifty.serve import ASK, OnlineGate
from thrifty.serve.experts import ExpertPanel, expert_of


def test_a_function_is_an_expert_as_it_is() -> None:
    assert expert_of(len) is len


def test_a_panel_returns_the_advice_of_one_or_all() -> None:
    panel = ExpertPanel([lambda x: ASK, (lambda x: x > 0.9, round), lambda x: np.str_("b")])
    assert len(panel) == 3
    assert panel.advice(1, 0.7) == 1
    assert panel.all_advice(1.2) == [ASK, ASK, "b"]
    assert type(panel.advice(2, 0)) is str
    assert repr(panel.advice(0, 0)) == "ASK"


def test_an_expert_that_fails_is_named() -> None:
    with pytest.raises(SourceError, match="expert 1 failed on the example .ZeroDivisionError"):
        ExpertPanel([len, lambda x: 1 / x]).advice(1, 0)


def test_the_labels_of_a_panel_are_those_of_its_predictors(predictor) -> None:
    assert ExpertPanel([len]).classes is None
    assert ExpertPanel([len, predictor]).classes == ["ill", "well"]
    assert ExpertPanel([(len, predictor)]).classes == ["ill", "well"]


def test_a_pair_asks_where_its_gate_is_above_zero() -> None:
    gate = OnlineGate([(lambda x: x - 5, lambda x: "low")], 0.5, horizon=10, random_state=0)
    assert gate.rates.gamma == 0.0  # there is nothing to learn of one expert
    assert gate.decide(3) == (False, "low", 0, None)
    assert gate.decide(5).answer == "low"
    assert gate.decide(6) == (True, None, 0, "1")


def test_a_predictor_answers_from_known_values_and_asks_for_the_rest(predictor, table) -> None:
    row = table.iloc[0].to_dict()
    gate = OnlineGate([predictor], 0.5, horizon=10, random_state=0)
    assert gate.labels == ["ill", "well"]
    assert gate.decide(row).answer == predictor.predict(table.iloc[:1])[0]
    assert gate.decide({"sex": "male"}).asks
    gate.drop()
    with pytest.raises(DataError, match="pass a mapping"):
        gate.decide([1.0, 2.0])


def test_a_gated_predictor_asks_where_it_would_buy_the_remote_answer() -> None:
    def stump(link, size):
        nodes = empty_nodes(3)
        nodes[0] = (0.0, 1, 0)
        values = np.array([[0.0], [-size], [size]])
        return Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), link, 3)

    # The gate is open where feature 0 is above 0; the remote answer is columns 1 and 2.
    remote = CallResult.of([1, 2], needs=[0], n_features=3)
    model = Gate.of(stump("sum", 1.0), stump("sigmoid", 2.0), remote, threshold=0.0)
    schema = Schema.of({"x": [0.0, 1.0], "big: no": [0.5, 1.0], "big: yes": [0.5, 0.0]})
    prices = Prices([1.0, 1.0, 1.0]).bind(schema.names)
    expert = Predictor(model, schema, prices, classes=["no", "yes"])
    gate = OnlineGate([expert], 0.5, horizon=10)
    assert gate.decide({"x": -3.0}) == (False, "no", 0, None)
    assert gate.decide({"x": 3.0}).asks
    np.testing.assert_allclose(gate.feedback("yes"), [0.5])


@pytest.mark.parametrize("experts", [[], [3], [(len,)], [(len, len, len)], [{}]])
def test_what_is_not_an_expert_is_refused(experts) -> None:
    with pytest.raises(DataError, match="experts"):
        OnlineGate(experts, 0.5)
