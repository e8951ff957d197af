"""The state of an online gate as a file: JSON with a digest, checked before it is used."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.untrusted import LARGEST, is_count, is_list, is_number, is_text, parse_json, shown

__all__ = [
    "MAX_FACTOR",
    "MAX_OPEN",
    "MAX_STATE",
    "MIN_COST",
    "MIN_FACTOR",
    "OpenQuestion",
    "dump",
    "restore",
]

MAX_STATE = 2**24
"""Largest size of a state, in bytes."""

MIN_PROBABILITY = 1e-15  # far below that of exploring
MIN_COST = 1e-6
"""Smallest loss of asking: less would let the first horizon grow beyond all examples."""

MIN_FACTOR, MAX_FACTOR = 1e-3, 1e3
"""Smallest and largest multiple of the rates of the thesis."""

MAX_OPEN = 10_000
"""Most labels that are awaited at a time."""

FORMAT = 3
"""The present format.

In format 1, one label could be awaited, and its probability was not kept. Formats 1 and 2 have the
rates of the thesis.
"""

HEADING = "state of the online gate"
# Whole numbers of the state, with the smallest value that each can have.
COUNTS = {
    "rounds": 0, "asked": 0, "explored": 0, "answered": 0, "expired": 0, "horizon": 1, "changes": 0
}  # fmt: skip
FACTORS = ("eta_factor", "gamma_factor")
ENTRIES = {*COUNTS, *FACTORS, "online_gate", "cost", "logits", "labels", "open", "random"}
# Entries that earlier formats did not have.
LATER = {1: {*FACTORS, "answered", "expired"}, 2: {*FACTORS}, FORMAT: set[str]()}
# Entries of NumPy's PCG64 generator, with the number of values that each can have.
PCG64_RANGES = {"state": 2**128, "inc": 2**128, "has_uint32": 2, "uinteger": 2**32}


class OpenQuestion(NamedTuple):
    """An example whose label is awaited.

    Parameters
    ----------
    advice : list
        What each expert said.
    probability : float
        That with which the label was asked for.
    asked_at : float
        Time of the decision, in seconds.
    """

    advice: list[Any]
    probability: float
    asked_at: float


def dump(state: dict[str, Any]) -> bytes:
    """Return the bytes of a state; floats keep every bit.

    Raises
    ------
    DataError
        If a label cannot be written as JSON.
    """
    wrong = [label for label in state["labels"] or () if not _is_label(label)]
    said = [label for _, advice, _, _ in state["open"] for label in advice]
    wrong += [label for label in said if not (label is None or _is_label(label))]
    if wrong:
        raise DataError(
            f"labels: only text, numbers and booleans can be saved, not {shown(wrong[0])}"
        )
    body = json.dumps({"online_gate": FORMAT, **state}, allow_nan=False, sort_keys=True)
    return json.dumps({"state": body, "sha256": _digest(body)}, indent=1).encode("ascii")


def restore(data: bytes) -> dict[str, Any]:
    """Check the bytes of a state and return it, with `random` as a NumPy generator.

    Raises
    ------
    BundleError
        If they are damaged, malicious or of another format.
    """
    outer = parse_json(data, max_bytes=MAX_STATE, what=HEADING)
    if not isinstance(outer, dict) or set(outer) != {"state", "sha256"}:
        raise BundleError("this is not the state of an online gate")
    if not isinstance(outer["state"], str) or _digest(outer["state"]) != outer["sha256"]:
        raise BundleError("the state of the online gate is damaged: its digest differs")
    state: Any = parse_json(outer["state"].encode(), max_bytes=MAX_STATE, what=HEADING)
    number = state.get("online_gate") if isinstance(state, dict) else None
    if not is_count(number, 1, FORMAT):
        raise BundleError(f"the state of the online gate is not of format 1 to {FORMAT}")
    expected = ENTRIES - LATER[number]
    if set(state) != expected:
        raise BundleError(f"{HEADING}: expected the entries {sorted(expected)} of format {number}")
    if number == 1:
        state = _from_format_1(state)
    if number < FORMAT:
        state |= dict.fromkeys(FACTORS, 1.0)
    raise_all(BundleError, HEADING, _problems(state))
    random = state["random"]
    bits = np.random.PCG64()
    whole: Any = {"bit_generator": "PCG64", "state": {k: random[k] for k in ("state", "inc")}}
    bits.state = whole | {k: random[k] for k in ("has_uint32", "uinteger")}
    return {**state, "random": np.random.Generator(bits)}


def _from_format_1(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state of the format in which at most one label was awaited."""
    advice, asked = state["open"], state["asked"]
    n_open = int(advice is not None)
    answered = max(asked - n_open, 0) if is_count(asked) else 0
    question = [[str(asked), advice, None, 0.0]] if n_open else []
    return {**state, "open": question, "answered": answered, "expired": 0}


def _problems(state: dict[str, Any]) -> list[str]:
    """List the entries of a state that are malformed or contradict each other."""
    problems = [
        f"{name} is {shown(state[name])}"
        for name, least in COUNTS.items()
        if not is_count(state[name], least, 2**62 - 1)
    ]
    if not is_number(state["cost"], MIN_COST, 1):
        problems.append(f"cost is {shown(state['cost'])}")
    for name in FACTORS:
        by_default = name == "gamma_factor" and state[name] is None
        if not by_default and not is_number(state[name], MIN_FACTOR, MAX_FACTOR):
            problems.append(f"{name} is {shown(state[name])}")
    logits, questions, labels = state["logits"], state["open"], state["labels"]
    n_experts = len(logits) if isinstance(logits, list) else 0
    if not is_list(logits, partial(is_number, low=-LARGEST, high=LARGEST), least=1):
        problems.append("logits must be numbers, one for each expert")
    fits = partial(_is_question, n_experts=n_experts, is_old=state["online_gate"] == 1)
    if not is_list(questions, fits, most=MAX_OPEN):
        problems.append(
            f"open must list questions: key, advice of the {n_experts} experts, probability, time"
        )
    elif len({key for key, *_ in questions}) < len(questions):
        problems.append("open has a key twice")
    if labels is not None and not is_list(labels, _is_label):
        problems.append("labels must be text, numbers or booleans")
    random = state["random"]
    if not isinstance(random, dict) or set(random) != set(PCG64_RANGES):
        problems.append(f"random must have the entries {sorted(PCG64_RANGES)}")
    elif not all(is_count(random[k], 0, n - 1) for k, n in PCG64_RANGES.items()):
        problems.append("random is out of range")
    return problems


def _is_question(value: Any, n_experts: int, is_old: bool) -> bool:
    """Return whether a value is a key, advice (None stands for ASK), a probability and a time."""
    if not isinstance(value, list) or len(value) != 4:
        return False
    key, advice, probability, at = value
    said = is_list(advice, lambda each: each is None or _is_label(each), n_experts, n_experts)
    is_drawn = is_old if probability is None else is_number(probability, MIN_PROBABILITY, 1 + 1e-9)
    return is_text(key) and bool(key) and said and is_drawn and is_number(at, 0, LARGEST)


def _is_label(value: Any) -> bool:
    return type(value) is bool or is_number(value) or is_text(value, controls=True)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
