"""The state of an online gate as a file: read back to the same bits, or refused."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from thrifty.errors import BundleError, DataError
from thrifty.serve import ASK, OnlineGate
from thrifty.serve.gate_file import _digest, dump, restore
from thrifty.serve.gate_rates import Rates

PANEL = [lambda x: 0, lambda x: 1, lambda x: ASK]
STATE = {
    "rounds": 5,
    "asked": 3,
    "explored": 1,
    "answered": 1,
    "expired": 0,
    "horizon": 8,
    "changes": 0,
    "cost": 0.1 + 0.2,
    "eta_factor": 2.0,
    "gamma_factor": 0.1 + 0.4,
    "logits": [0.0, -1e-300],
    "labels": ["a", 2, True],
    "open": [["2", ["a", None], 0.25, 1e9], ["b", [None, 2], 1.0, 0.0]],
    "random": {"state": 2**127 + 1, "inc": 3, "has_uint32": 1, "uinteger": 7},
}


def test_a_state_comes_back_to_the_same_bits() -> None:
    state = restore(dump(STATE))
    random = state.pop("random").bit_generator.state
    assert state == {k: v for k, v in STATE.items() if k != "random"} | {"online_gate": 3}
    assert random["state"] == {"state": 2**127 + 1, "inc": 3}
    assert (random["has_uint32"], random["uinteger"]) == (1, 7)


def test_the_generator_goes_on_where_it_was() -> None:
    generator = np.random.default_rng(5)
    generator.integers(10, size=3, dtype=np.uint32)
    plain = generator.bit_generator.state
    random = {**plain["state"], **{k: plain[k] for k in ("has_uint32", "uinteger")}}
    again = restore(dump(STATE | {"random": random}))["random"]
    assert again.random(4).tolist() == generator.random(4).tolist()


def test_a_state_of_format_2_has_the_rates_of_the_thesis() -> None:
    gate = OnlineGate(PANEL, 0.5, horizon=100, random_state=0)
    old = json.loads(json.loads(gate.dump())["state"]) | {"online_gate": 2}
    body = json.dumps({k: v for k, v in old.items() if not k.endswith("factor")})
    again = OnlineGate.restore(json.dumps({"state": body, "sha256": _digest(body)}).encode(), PANEL)
    assert again.rates == Rates.of(3, 0.5, 100)


def test_a_label_that_a_file_cannot_hold_is_refused(tmp_path) -> None:
    gate = OnlineGate([lambda x: ASK], 0.5, labels=[(1, 2), {3}])
    with pytest.raises(DataError, match="can be saved"):
        gate.save(tmp_path / "gate.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("at", range(0, 700, 23))
def test_a_damaged_state_is_refused(tmp_path, at) -> None:
    path = tmp_path / "gate.json"
    OnlineGate(PANEL, 0.5, labels=[0, 1], random_state=0).save(path)
    data = bytearray(path.read_bytes())
    at %= len(data)
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(BundleError, match="gate.json"):
        OnlineGate.load(path, PANEL)


@pytest.mark.parametrize(
    "change",
    [
        {"cost": 0.0},
        {"cost": "0.5"},
        {"cost": 1e-200},
        {"cost": 10**400},
        {"rounds": -1},
        {"asked": True},
        {"horizon": 0},
        {"logits": []},
        {"logits": [0.0, "x", 0.0]},
        {"logits": [0.0, 1e308, -1e308]},
        {"logits": [0.0, 10**400, 0.0]},
        {"open": None},
        {"open": {}},
        {"open": [["k", ["\ud800", None, None], 0.5, 0.0]]},
        {"open": [["k", [1, None], 0.5, 0.0]]},
        {"open": [["k", [1, None, 1], 0.0, 0.0]]},
        {"open": [["k", [1, None, 1], None, 0.0]]},
        {"open": [["k", [1, None, 1], 1.5, 0.0]]},
        {"open": [["k", [1, None, 1], 0.5, -1.0]]},
        {"open": [["", [1, None, 1], 0.5, 0.0]]},
        {"open": [["k", [1, None, 1], 0.5, 0.0]] * 2},
        {"open": [["k", [1, None, 1], 0.5]]},
        {"labels": ["\ud800"]},
        {"labels": [10**400]},
        {"open": [1]},
        {"open": [[1], 0, 0]},
        {"labels": "ab"},
        {"random": {}},
        {"random": {"state": -1, "inc": 1, "has_uint32": 0, "uinteger": 0}},
        {"eta_factor": 0},
        {"eta_factor": None},
        {"gamma_factor": 10**400},
        {"online_gate": 1},
        {"online_gate": 2},
        {"online_gate": 4},
        {"answered": -1},
        {"more": 1},
    ],
)
def test_a_state_with_a_correct_digest_is_still_checked(tmp_path, change) -> None:
    path = tmp_path / "gate.json"
    OnlineGate(PANEL, 0.5, random_state=0).save(path)
    body = json.dumps(json.loads(json.loads(path.read_text())["state"]) | change)
    path.write_text(json.dumps({"state": body, "sha256": _digest(body)}))
    with pytest.raises(BundleError):
        OnlineGate.load(path, PANEL)


@pytest.mark.parametrize(
    "text", ['{"state": "\\ud800", "sha256": ""}', '{"state": 5, "sha256": 5}', "[]"]
)
def test_what_is_no_state_is_refused(tmp_path, text) -> None:
    (tmp_path / "gate.json").write_text(text)
    with pytest.raises(BundleError, match="gate.json"):
        OnlineGate.load(tmp_path / "gate.json", PANEL)


def test_large_files_and_pipes_are_refused(tmp_path) -> None:
    with open(tmp_path / "large.json", "wb") as file:
        file.truncate(2**30)
    with pytest.raises(BundleError, match="large.json: the file is larger than 16 MiB"):
        OnlineGate.load(tmp_path / "large.json", PANEL)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BundleError, match="pipe: this is not a regular file"):
        OnlineGate.load(tmp_path / "pipe", PANEL)


def test_half_a_character_cannot_be_saved(tmp_path) -> None:
    with pytest.raises(DataError, match="can be saved"):
        OnlineGate(PANEL, 0.5, labels=["\ud800"]).save(tmp_path / "gate.json")
