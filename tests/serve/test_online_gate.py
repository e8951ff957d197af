"""The gate that learns while it serves: rates, estimates, regret, misuse and restarts."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError, SourceError
from thrifty.model import Answer, Forest, Gate
from thrifty.model.forest.nodes import empty_nodes
from thrifty.serve import ASK, OnlineGate
from thrifty.serve.gate_rates import Rates, first_horizon, regret_bound


def reader(j):
    return lambda x: x[j]


def panel(k):
    """Experts that say what the example holds for them, and one that always asks (Nan 2018, sec. 6.3)."""
    return [*map(reader, range(k - 1)), lambda x: ASK]


def serve(gate, rows, label=0):
    """Decisions on rows whose label is always the same."""
    decisions = []
    for x in rows:
        decision = gate.decide(x)
        if decision.asks:
            gate.feedback(label)
        decisions.append(decision)
    return decisions


def lower_bound_rows(k, rounds, best, seed):
    """Losses of Nan 2018, sec. 6.3 as what the experts say where the label is 0; and their means."""
    gap = (16 * rounds) ** (-1 / 3) * math.log(k - 1) ** (1 / 3)
    means = np.full(k - 1, 0.5)
    means[best] -= gap
    rows = np.random.default_rng(seed).random((rounds, k - 1)) < means
    return rows.astype(int).tolist(), means


def regret(k, rounds, seed, cost=1.0, **settings):
    rows, means = lower_bound_rows(k, rounds, seed % (k - 1), seed)
    gate = OnlineGate(panel(k), cost, random_state=seed, **settings)
    lost = [cost if d.asks else means[d.expert] for d in serve(gate, rows)]
    return sum(lost) - rounds * min(means.min(), cost)


# --- what the thesis says ----------------------------------------------------


def test_rates_are_those_of_the_thesis() -> None:
    plain = Rates.of(10, 1.0, 5000)
    effort = math.log(10) / 5000
    assert plain.eta == pytest.approx(effort ** (2 / 3))
    assert plain.gamma == pytest.approx(plain.eta**0.5)
    dear = Rates.of(10, 0.25, 5000)
    assert dear.eta == pytest.approx(0.25 ** (-1 / 3) * effort ** (2 / 3))
    assert dear.gamma == pytest.approx(0.25 ** (-2 / 3) * effort ** (1 / 3))
    assert Rates.of(10, 0.01, 10).gamma == 1.0


@given(k=st.integers(2, 100), cost=st.floats(0.05, 1), horizon=st.integers(10_000, 10**7))
def test_the_three_parts_of_the_bound_are_equal_at_these_rates(k, cost, horizon) -> None:
    rates = Rates.of(k, cost, horizon)
    parts = [
        math.log(k) / rates.eta,
        rates.eta / rates.gamma * horizon,
        cost * rates.gamma * horizon,
    ]
    assert parts == pytest.approx([regret_bound(k, cost, horizon) / 3] * 3)


def test_estimates_of_losses_are_unbiased() -> None:
    said = [0, 1, ASK, 0, 1]
    experts = [lambda x, word=word: word for word in said]
    draws = []
    for seed in range(4000):
        gate = OnlineGate(experts, 0.6, horizon=100, random_state=seed)
        gate._logits = np.log([0.1, 0.2, 0.15, 0.25, 0.3])
        gate._settle()
        draws.append(gate.feedback(1) if gate.decide(None).asks else np.zeros(5))
    due = np.array([1.0, 0.0, 0.6, 1.0, 0.0])
    error = np.std(draws, axis=0) / math.sqrt(len(draws))
    assert np.all(np.abs(np.mean(draws, axis=0) - due) <= 4 * error + 1e-12)
    assert np.mean([draw.any() for draw in draws]) < 0.6  # most rounds show nothing


def test_weights_follow_the_update_of_the_algorithm() -> None:
    gate = OnlineGate([lambda x: 0, lambda x: 1, lambda x: ASK], 0.5, horizon=40, random_state=3)
    eta, gamma, _ = gate.rates
    q = np.full(3, 1 / 3)
    for _ in range(30):
        if not gate.decide(None).asks:
            continue
        estimates = np.array([1.0, 0.0, 0.5]) / (gamma + (1 - gamma) * q[2])
        np.testing.assert_allclose(gate.feedback(1), estimates)
        q = q * np.exp(-eta * estimates)
        q /= q.sum()
        np.testing.assert_allclose(gate.weights, q)
    assert q[1] > 0.5


@pytest.mark.parametrize("cost", [1.0, 0.7])
def test_regret_grows_no_faster_than_the_bound_says(cost) -> None:
    sizes = (500, 8000)
    found = [np.mean([regret(8, T, s, cost, horizon=T) for s in range(4)]) for T in sizes]
    for T, lost in zip(sizes, found, strict=True):
        assert 0 < lost < regret_bound(8, cost, T)
    assert math.log(found[1] / found[0]) / math.log(sizes[1] / sizes[0]) <= 2 / 3 + 0.05


def test_without_a_horizon_it_is_doubled_and_the_losses_are_kept() -> None:
    lost = np.mean([regret(8, 6000, s) for s in range(3)])
    assert lost < 1.6 * regret_bound(8, 1.0, 6000)
    gate = OnlineGate([lambda x: 0, lambda x: 1, lambda x: ASK], 1.0, random_state=0)
    assert gate.horizon == first_horizon(3, 1.0) == 2
    total = np.zeros(3)
    for _ in range(20):
        if gate.decide(None).asks:
            total += gate.feedback(1)
        due = np.exp(-gate.rates.eta * total)
        np.testing.assert_allclose(gate.weights, due / due.sum())
    assert gate.horizon == 32


def test_with_changes_it_follows_a_best_expert_that_changes() -> None:
    rows = [[0, 1]] * 3000 + [[1, 0]] * 3000
    late = {}
    for changes in (0, 1):
        gate = OnlineGate(panel(3), 1.0, 6000, changes, random_state=0)
        late[changes] = sum(d.asks or d.answer != 0 for d in serve(gate, rows)[4500:])
    assert late[1] < 0.5 * late[0]
    assert gate.weights[1] > 0.8


def test_a_panel_that_never_asks_is_explored_all_the_same() -> None:
    gate = OnlineGate([lambda x: 0, lambda x: 1], 0.5, horizon=1000, random_state=0)
    decisions = serve(gate, range(1000), label=1)
    assert gate.weights[1] > 0.95
    assert gate.asked == gate.explored == sum(d.asks for d in decisions) > 50
    assert all(d.expert is None for d in decisions if d.asks)


# --- experts -----------------------------------------------------------------


def test_a_pair_asks_where_its_gate_is_above_zero() -> None:
    gate = OnlineGate([(lambda x: x - 5, lambda x: "low")], 0.5, horizon=10, random_state=0)
    assert gate.rates.gamma == 0.0  # there is nothing to learn of one expert
    assert gate.decide(3) == (False, "low", 0)
    assert gate.decide(5).answer == "low"
    assert gate.decide(6) == (True, None, 0)


def test_a_predictor_answers_what_is_at_hand_and_asks_for_the_rest(predictor, table) -> None:
    row = table.iloc[0].to_dict()
    gate = OnlineGate([predictor], 0.5, horizon=10, random_state=0)
    assert gate.labels == ["ill", "well"]
    assert gate.decide(row).answer == predictor.predict(table.iloc[:1])[0]
    assert gate.decide({"sex": "male"}).asks
    gate.drop()
    with pytest.raises(DataError, match="give a mapping"):
        gate.decide([1.0, 2.0])


def test_a_gated_predictor_asks_where_it_would_buy_the_remote_answer() -> None:
    def stump(link, size):
        nodes = empty_nodes(3)
        nodes[0] = (0.0, 1, 0)
        values = np.array([[0.0], [-size], [size]])
        return Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), link, 3)

    # The gate is open where feature 0 is above 0; the remote answer is columns 1 and 2.
    remote = Answer.of([1, 2], needs=[0], n_features=3)
    model = Gate.of(stump("sum", 1.0), stump("sigmoid", 2.0), remote, limit=0.0)
    schema = Schema.of({"x": [0.0, 1.0], "big: no": [0.5, 1.0], "big: yes": [0.5, 0.0]})
    prices = Prices([1.0, 1.0, 1.0]).bind(schema.names)
    expert = Predictor(model, schema, prices, classes=["no", "yes"])
    gate = OnlineGate([expert], 0.5, horizon=10)
    assert gate.decide({"x": -3.0}) == (False, "no", 0)
    assert gate.decide({"x": 3.0}).asks
    np.testing.assert_allclose(gate.feedback("yes"), [0.5])


def test_a_followed_expert_is_the_only_one_consulted_until_a_label_judges_all() -> None:
    calls = []

    def expert(j):
        return lambda x: calls.append(j) or 0

    gate = OnlineGate(list(map(expert, range(5))), 1.0, horizon=10**6, random_state=1)
    decision = gate.decide(None)
    assert not decision.asks and calls == [decision.expert]
    while not gate.decide(None).asks:
        calls.clear()
    assert sorted(calls[-5:]) == list(range(5))


# --- misuse ------------------------------------------------------------------


def test_settings_that_cannot_be_are_told_together() -> None:
    with pytest.raises(DataError, match="3 problems") as caught:
        OnlineGate([lambda x: 0], 1.5, 0, -1)
    told = str(caught.value)
    assert "cost: 1.5" in told and "horizon: 0" in told and "changes: -1" in told


@pytest.mark.parametrize("experts", [[], [3], [(len,)], [(len, len, len)], [{}]])
def test_what_is_no_expert_is_refused(experts) -> None:
    with pytest.raises(DataError, match="experts"):
        OnlineGate(experts, 0.5)


def test_a_label_needs_an_open_question_and_a_question_a_label() -> None:
    gate = OnlineGate([lambda x: ASK], 0.5)
    with pytest.raises(DataError, match="no question is open"):
        gate.feedback(1)
    with pytest.raises(DataError, match="no question is open"):
        gate.drop()
    assert gate.decide(None).asks and gate.waits
    with pytest.raises(DataError, match="call drop"):
        gate.decide(None)
    gate.drop()
    assert not gate.waits and gate.rounds == 1


@pytest.mark.parametrize("label", [None, math.nan, "green", ASK])
def test_a_label_that_cannot_be_is_refused_and_the_question_stays_open(label) -> None:
    gate = OnlineGate([lambda x: ASK], 0.5, labels=["red", "blue"])
    gate.decide(None)
    with pytest.raises(DataError, match="label"):
        gate.feedback(label)
    assert gate.waits
    gate.feedback(np.str_("red"))


def test_an_expert_that_fails_or_makes_labels_up_is_named() -> None:
    with pytest.raises(SourceError, match="expert 0 failed.*ZeroDivisionError"):
        OnlineGate([lambda x: 1 / x], 0.5).decide(0)
    gate = OnlineGate([lambda x: "green"], 0.5, labels=["red"])
    with pytest.raises(DataError, match="expert 0 says 'green'"):
        gate.decide(None)
    assert gate.rounds == 0 and not gate.waits


# --- restarts ----------------------------------------------------------------


@pytest.mark.parametrize("changes", [0, 2])
def test_a_restart_at_any_moment_changes_no_bit(tmp_path, changes) -> None:
    rows, _ = lower_bound_rows(6, 100, 0, 0)

    def gate():
        return OnlineGate(panel(6), 0.8, None, changes, random_state=7)

    straight, stopped = gate(), gate()
    for x in rows:
        due = straight.decide(x)
        stopped.save(tmp_path / "gate.json")
        stopped = OnlineGate.load(tmp_path / "gate.json", panel(6))
        assert stopped.decide(x) == due
        if due.asks:
            stopped.save(tmp_path / "gate.json")
            stopped = OnlineGate.load(tmp_path / "gate.json", panel(6))
            assert stopped.waits
            assert np.array_equal(straight.feedback(0), stopped.feedback(0))
    assert np.array_equal(straight.weights, stopped.weights)
    assert repr(straight) == repr(stopped)
    assert straight.horizon == stopped.horizon > 100


def test_labels_and_open_questions_are_kept_in_the_file(tmp_path) -> None:
    experts = [lambda x: "a", lambda x: ASK]
    gate = OnlineGate(experts, 0.5, horizon=5, labels=np.array(["a", "b"]), random_state=0)
    while not gate.decide(None).asks:
        pass
    gate.save(tmp_path / "gate.json")
    again = OnlineGate.load(tmp_path / "gate.json", experts)
    assert again.labels == ["a", "b"] and again.waits
    assert np.array_equal(again.feedback("b"), gate.feedback("b"))
    assert [file.name for file in tmp_path.iterdir()] == ["gate.json"]


def test_a_label_that_a_file_cannot_keep_is_told(tmp_path) -> None:
    gate = OnlineGate([lambda x: ASK], 0.5, labels=[(1, 2), {3}])
    with pytest.raises(DataError, match="can be saved"):
        gate.save(tmp_path / "gate.json")
    assert not list(tmp_path.iterdir())


def test_the_state_of_other_experts_is_refused(tmp_path) -> None:
    OnlineGate(panel(3), 0.5).save(tmp_path / "gate.json")
    with pytest.raises(BundleError, match="3 experts, 4 are given"):
        OnlineGate.load(tmp_path / "gate.json", panel(4))


@pytest.mark.parametrize("at", range(0, 700, 23))
def test_a_damaged_state_is_refused(tmp_path, at) -> None:
    path = tmp_path / "gate.json"
    OnlineGate(panel(3), 0.5, labels=[0, 1], random_state=0).save(path)
    data = bytearray(path.read_bytes())
    at %= len(data)
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(BundleError, match="gate.json"):
        OnlineGate.load(path, panel(3))


@pytest.mark.parametrize(
    "change",
    [
        {"cost": 0.0},
        {"cost": "0.5"},
        {"rounds": -1},
        {"asked": True},
        {"horizon": 0},
        {"logits": []},
        {"logits": [0.0, "x", 0.0]},
        {"open": [1]},
        {"open": [[1], 0, 0]},
        {"labels": "ab"},
        {"random": {}},
        {"random": {"state": -1, "inc": 1, "has_uint32": 0, "uinteger": 0}},
        {"online_gate": 2},
        {"more": 1},
    ],
)
def test_a_state_with_a_seal_is_audited_all_the_same(tmp_path, change) -> None:
    from thrifty.serve.gate_file import _digest

    path = tmp_path / "gate.json"
    OnlineGate(panel(3), 0.5, random_state=0).save(path)
    body = json.dumps(json.loads(json.loads(path.read_text())["state"]) | change)
    path.write_text(json.dumps({"state": body, "sha256": _digest(body)}))
    with pytest.raises(BundleError):
        OnlineGate.load(path, panel(3))


def test_the_gate_needs_numpy_alone(modules_after) -> None:
    code = """
from thrifty.serve import ASK, OnlineGate
gate = OnlineGate([lambda x: 0, lambda x: ASK], 0.5, horizon=9, random_state=0)
for x in range(9):
    if gate.decide(x).asks:
        gate.feedback(0)
"""
    loaded = {name.split(".")[0] for name in modules_after("-c", code)}
    assert not loaded & {"sklearn", "numba", "scipy", "pandas", "polars", "matplotlib"}
