"""The gate that learns while it serves: estimates, regret, misuse and restarts."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

from thrifty.errors import BundleError, DataError, SourceError
from thrifty.serve import ASK, OnlineGate
from thrifty.serve.gate_rates import Rates, first_horizon, regret_bound


def reader(j):
    """Return an expert that says what entry `j` of the example holds."""
    return lambda x: x[j]


def panel(k):
    """Return k - 1 readers and an expert that always asks (Nan 2018, sec. 6.3)."""
    return [*map(reader, range(k - 1)), lambda x: ASK]


def serve(gate, rows, label=0):
    """Return the decisions on rows that all have the same label."""
    decisions = []
    for x in rows:
        decision = gate.decide(x)
        if decision.asks:
            gate.feedback(label)
        decisions.append(decision)
    return decisions


def lower_bound_rows(k, rounds, best, seed):
    """Draw advice with the losses of Nan 2018, sec. 6.3, for the label 0; return also the means."""
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


# --- the algorithm -----------------------------------------------------------


def test_estimates_of_losses_are_unbiased() -> None:
    said = [0, 1, ASK, 0, 1]
    experts = [lambda x, word=word: word for word in said]
    draws = []
    for seed in range(4000):
        gate = OnlineGate(experts, 0.6, horizon=100, random_state=seed)
        gate._logits = np.log([0.1, 0.2, 0.15, 0.25, 0.3])
        gate._update()
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


@pytest.mark.parametrize(("rounds", "n_runs"), [(1000, 6), (20_000, 1)])
def test_the_default_rates_lose_less_than_those_of_the_thesis(rounds, n_runs) -> None:
    lost, by_thesis = (
        np.mean([regret(8, rounds, s, horizon=rounds, **factors) for s in range(n_runs)])
        for factors in ({}, {"eta_factor": 1.0, "gamma_factor": 1.0})
    )
    assert lost < by_thesis


def test_the_rates_are_multiples_of_those_of_the_thesis() -> None:
    gate = OnlineGate(panel(4), 0.5, 1000, eta_factor=4.0, gamma_factor=np.float64(0.25))
    thesis = Rates.of(4, 0.5, 1000)
    assert gate.rates == (4.0 * thesis.eta, 0.25 * thesis.gamma, 0.0)


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


def test_the_gate_explores_even_if_no_expert_asks() -> None:
    gate = OnlineGate([lambda x: 0, lambda x: 1], 0.5, horizon=1000, random_state=0)
    decisions = serve(gate, range(1000), label=1)
    assert gate.weights[1] > 0.95
    assert gate.asked == gate.explored == sum(d.asks for d in decisions) > 50
    assert all(d.expert is None for d in decisions if d.asks)


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


def test_invalid_parameters_are_reported_together() -> None:
    with pytest.raises(DataError, match="5 problems") as caught:
        OnlineGate([lambda x: 0], 1.5, 0, -1, eta_factor=0, gamma_factor=math.nan)
    message = str(caught.value)
    for part in ("cost: 1.5", "horizon: 0", "changes: -1", "eta_factor: 0", "gamma_factor: nan"):
        assert part in message


def test_a_label_is_passed_for_a_decision_that_asks_and_only_then() -> None:
    gate = OnlineGate([lambda x: ASK], 0.5)
    with pytest.raises(DataError, match="no label is awaited"):
        gate.feedback(1)
    with pytest.raises(DataError, match="no label is awaited"):
        gate.drop()
    assert gate.decide(None).asks and gate.waits
    gate.drop()
    assert not gate.waits and (gate.rounds, gate.expired) == (1, 1)


# --- many open questions -----------------------------------------------------


def test_labels_come_back_in_any_order() -> None:
    gate = OnlineGate([lambda x: x, lambda x: ASK], 0.5, horizon=100, random_state=0)
    decisions = [gate.decide(t, f"case {t}") for t in range(20)]
    asked = [(t, d.key) for t, d in enumerate(decisions) if d.asks]
    assert [key for _, key in asked] == [f"case {t}" for t, _ in asked] == list(gate.open_keys)
    for t, key in reversed(asked):
        estimates = gate.feedback(t, key)  # the first expert is right
        assert estimates[0] == 0.0 < estimates[1]
    assert gate.rounds == 20 and gate.answered == gate.asked == len(asked)


def test_estimates_are_unbiased_however_late_the_labels_come() -> None:
    """Weights move between a decision and its label: only the probability then counts."""
    said = [0, 1, ASK]
    experts = [lambda x, word=word: word for word in said]
    draws, by_late_weights = [], []
    for seed in range(4000):
        gate = OnlineGate(experts, 0.6, horizon=50, random_state=seed)
        gate._logits = np.log([0.5, 0.2, 0.3])
        gate._update()
        decision = gate.decide(None)
        gate._logits = np.log([0.1, 0.1, 0.8])  # others have learned meanwhile
        gate._update()
        gamma = gate.rates.gamma
        late = np.array([1.0, 0.0, 0.6]) / (gamma + (1 - gamma) * 0.8)
        draws.append(gate.feedback(1) if decision.asks else np.zeros(3))
        by_late_weights.append(late if decision.asks else np.zeros(3))
    due = np.array([1.0, 0.0, 0.6])
    error = np.std(draws, axis=0) / math.sqrt(len(draws))
    assert np.all(np.abs(np.mean(draws, axis=0) - due) <= 4 * error + 1e-12)
    assert np.mean(by_late_weights, axis=0)[0] < 0.8  # what the weights of that time would give


def test_estimates_stay_unbiased_when_labels_are_lost_at_random() -> None:
    experts = [lambda x: 0, lambda x: 1, lambda x: ASK]
    means = []
    for seed in range(30):
        gate = OnlineGate(experts, 0.5, horizon=10**6, random_state=seed)
        rng = np.random.default_rng(seed)
        total = np.zeros(3)
        for _ in range(400):
            decision = gate.decide(None)
            if decision.asks and rng.random() < 0.4:
                gate.drop(decision.key)
            elif decision.asks:
                total += gate.feedback(1, decision.key)
        means.append(total / 400)
        assert gate.expired and gate.answer_rate == pytest.approx(0.6, abs=0.1)
    error = np.std(means, axis=0) / math.sqrt(len(means))
    assert np.all(np.abs(np.mean(means, axis=0) - [1.0, 0.0, 0.5]) <= 4 * error + 0.02)


@pytest.mark.parametrize("delay", [1, 50])
def test_regret_stays_below_the_bound_with_late_labels(delay) -> None:
    k, rounds = 8, 4000
    rows, means = lower_bound_rows(k, rounds, 2, 5)
    gate = OnlineGate(panel(k), 1.0, horizon=rounds, random_state=5)
    waiting, lost = [], 0.0
    for t, x in enumerate(rows):
        decision = gate.decide(x)
        lost += 1.0 if decision.asks else means[decision.expert]
        if decision.asks:
            waiting.append((t, decision.key))
        while waiting and waiting[0][0] <= t - delay:
            gate.feedback(0, waiting.pop(0)[1])
    assert lost - rounds * means.min() < regret_bound(k, 1.0, rounds)


def test_a_key_is_needed_when_several_labels_are_awaited() -> None:
    gate = OnlineGate([lambda x: ASK], 0.5)
    first, second = gate.decide(None), gate.decide(None, "b")
    assert (first.key, second.key) == ("1", "b")
    with pytest.raises(DataError, match="2 labels are awaited; pass the key"):
        gate.feedback(1)
    gate.feedback(1, "b")
    with pytest.raises(DataError, match="no label is awaited under 'b', or it has expired"):
        gate.feedback(1, "b")
    gate.feedback(1)  # the only one left


def test_keys_are_distinct_texts() -> None:
    gate = OnlineGate([lambda x: ASK], 0.5)
    gate.decide(None, "2")
    with pytest.raises(DataError, match="'2' is awaited already"):
        gate.decide(None, "2")
    assert gate.decide(None).key == "2'"  # a number of its own would be the same
    for key in ("", "a\nb", "x" * 300, 5):
        with pytest.raises(DataError, match="key: "):
            gate.decide(None, key)


def test_overdue_labels_expire() -> None:
    now = [0.0]
    gate = OnlineGate([lambda x: ASK], 0.5, clock=lambda: now[0])
    for key in "abc":
        gate.decide(None, key)
        now[0] += 10.0
    assert gate.expire(25.0) == 1 and gate.open_keys == ("b", "c")  # 30, 20 and 10 s old
    assert gate.expire(0.0) == 2 and gate.rounds == gate.expired == 3


def test_the_oldest_label_expires_when_too_many_are_awaited(monkeypatch) -> None:
    monkeypatch.setattr("thrifty.serve.online_gate.MAX_OPEN", 2)
    gate = OnlineGate([lambda x: ASK], 0.5)
    for key in "abc":
        gate.decide(None, key)
    assert gate.open_keys == ("b", "c") and gate.expired == 1


def test_many_threads_decide_at_once() -> None:
    gate = OnlineGate([lambda x: x, lambda x: ASK], 0.5, horizon=2000, random_state=0)

    def work(number):
        for t in range(200):
            decision = gate.decide(t % 3, f"{number}/{t}")
            if decision.asks:
                gate.feedback(t % 3, decision.key)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gate.rounds == 1600 and gate.answered == gate.asked and not gate.waits
    assert gate.weights[0] > 0.9


# --- labels ------------------------------------------------------------------


@pytest.mark.parametrize("label", [None, math.nan, "green", ASK])
def test_an_invalid_label_is_refused_and_still_awaited(label) -> None:
    gate = OnlineGate([lambda x: ASK], 0.5, labels=["red", "blue"])
    gate.decide(None)
    with pytest.raises(DataError, match="label"):
        gate.feedback(label)
    assert gate.waits
    gate.feedback(np.str_("red"))


def test_an_expert_that_fails_or_returns_an_unknown_label_is_named() -> None:
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


def test_labels_and_an_awaited_label_are_kept_in_the_file(tmp_path) -> None:
    experts = [lambda x: "a", lambda x: ASK]
    gate = OnlineGate(experts, 0.5, horizon=5, labels=np.array(["a", "b"]), random_state=0)
    while not gate.decide(None).asks:
        pass
    gate.save(tmp_path / "gate.json")
    again = OnlineGate.load(tmp_path / "gate.json", experts)
    assert again.labels == ["a", "b"] and again.waits
    assert np.array_equal(again.feedback("b"), gate.feedback("b"))
    assert [file.name for file in tmp_path.iterdir()] == ["gate.json"]


def test_all_awaited_labels_are_kept_in_the_file(tmp_path) -> None:
    gate = OnlineGate([lambda x: "a", lambda x: ASK], 0.5, horizon=9, random_state=0)
    while len(gate.open_keys) < 4:
        gate.decide(None)
    gate.drop(gate.open_keys[1])
    gate.save(tmp_path / "gate.json")
    again = OnlineGate.load(tmp_path / "gate.json", [lambda x: "a", lambda x: ASK])
    assert again.open_keys == gate.open_keys and again.answer_rate == gate.answer_rate
    for key in reversed(gate.open_keys):
        assert np.array_equal(again.feedback("b", key), gate.feedback("b", key))
    assert again.dump() == gate.dump()


def test_the_state_of_other_experts_is_refused(tmp_path) -> None:
    OnlineGate(panel(3), 0.5).save(tmp_path / "gate.json")
    with pytest.raises(BundleError, match="of 3 experts, 4 are given"):
        OnlineGate.load(tmp_path / "gate.json", panel(4))


def test_the_gate_needs_numpy_alone(modules_after) -> None:
    code = """
from thrifty.serve import ASK, OnlineGate
gate = OnlineGate([lambda x: 0, lambda x: ASK], 0.5, horizon=9, random_state=0)
for x in range(9):
    if gate.decide(x).asks:
        gate.feedback(0)
"""
    loaded = {name.split(".")[0] for name in modules_after("-c", code)}
    assert not loaded & {"sklearn", "scipy", "pandas", "polars", "matplotlib"}


@pytest.mark.parametrize(
    "given",
    [{"cost": 1e-200}, {"cost": 5e-324}, {"cost": 10**400}, {"cost": 0.5, "horizon": 10**400},
     {"cost": 0.5, "changes": 10**400}],
)  # fmt: skip
def test_numbers_with_which_no_rate_can_be_computed_are_refused(given) -> None:
    with pytest.raises(DataError, match="online gate"):
        OnlineGate([lambda x: 0, lambda x: ASK], **given)


def test_the_smallest_cost_has_rates() -> None:
    gate = OnlineGate([lambda x: 0, lambda x: ASK], np.float64(1e-6), horizon=np.int64(10))
    assert gate.rates.gamma == 1.0
