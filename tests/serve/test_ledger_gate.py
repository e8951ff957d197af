"""A gate in a ledger: several processes decide, and any of them may learn."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from thrifty.errors import DataError, LedgerError
from thrifty.serve import ASK, Ledger, LedgerGate, OnlineGate

EXPERTS = [lambda x: "a", lambda x: "b", lambda x: ASK]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def test_two_processes_go_on_as_one_gate_would(path):
    alone = OnlineGate(EXPERTS, 0.5, horizon=100, random_state=0)
    with Ledger.open(path) as one, Ledger.open(path) as two:
        gates = [LedgerGate(each, "g", EXPERTS, cost=0.5, horizon=100, random_state=0)
                 for each in (one, two)]  # fmt: skip
        for t in range(40):
            due, found = alone.decide(t), gates[t % 2].decide(t)
            assert found == due
            if due.asks:
                expected = alone.feedback("b", due.key)
                assert np.array_equal(gates[(t + 1) % 2].feedback("b", found.key), expected)
        assert np.array_equal(gates[0].gate.weights, alone.weights)


def test_the_gate_survives_the_end_of_its_processes(path):
    with Ledger.open(path) as ledger:
        gate = LedgerGate(ledger, "g", [lambda x: ASK], cost=0.5)
        key = gate.decide(1).key
    with Ledger.open(path) as ledger:
        gate = LedgerGate(ledger, "g", [lambda x: ASK], cost=0.5)
        assert gate.gate.open_keys == (key,)
        gate.feedback("a")
        assert gate.gate.answered == 1


def test_labels_are_dropped_and_expire(path):
    with Ledger.open(path) as ledger:
        gate = LedgerGate(ledger, "g", [lambda x: ASK], cost=0.5)
        gate.drop(gate.decide(1).key)
        gate.decide(2)
        assert gate.expire(1000.0) == 0 and gate.expire(-1.0) == 1
        assert gate.gate.expired == 2


def test_threads_of_several_processes_lose_nothing(path):
    with Ledger.open(path) as one, Ledger.open(path) as two:
        gates = [LedgerGate(each, "g", EXPERTS, cost=0.5, random_state=0) for each in (one, two)]

        def work(number):
            for t in range(10):
                decision = gates[number % 2].decide(t, f"{number}/{t}")
                if decision.asks:
                    gates[(number + 1) % 2].feedback("b", decision.key)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = gates[0].gate
        assert found.rounds == 40 and found.answered == found.asked


def test_what_is_refused_is_not_written(path):
    with Ledger.open(path) as ledger:
        gate = LedgerGate(ledger, "g", [lambda x: ASK], cost=0.5)
        before = ledger.state("gate/g")
        with pytest.raises(DataError, match="no label is awaited"):
            gate.feedback("a")
        assert ledger.state("gate/g") == before


def test_the_gate_of_other_experts_is_refused(path):
    with Ledger.open(path) as ledger:
        LedgerGate(ledger, "g", EXPERTS, cost=0.5)
        with pytest.raises(LedgerError, match="gate/g: the state is of 3 experts, 1 are given"):
            LedgerGate(ledger, "g", EXPERTS[:1], cost=0.5)


def test_a_state_that_others_write_all_the_time_is_given_up(path, monkeypatch):
    with Ledger.open(path) as ledger:
        gate = LedgerGate(ledger, "g", EXPERTS, cost=0.5)
        monkeypatch.setattr(Ledger, "swap_state", lambda *_: False)
        with pytest.raises(LedgerError, match="could not be written"):
            gate.decide(1)
