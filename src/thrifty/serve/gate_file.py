"""What an online gate has learnt, as a file: JSON with a digest, read without trust."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from thrifty.bundle.audit import parse
from thrifty.bundle.cells import is_label
from thrifty.errors import BundleError, DataError, raise_all

__all__ = ["dump", "restore"]

FORMAT = 1
HEADING = "state of the online gate"
NUMBERS = {"rounds": 0, "asked": 0, "explored": 0, "horizon": 1, "changes": 0}
ENTRIES = {*NUMBERS, "online_gate", "cost", "logits", "labels", "open", "random"}
WORD, HALF = 2**128, 2**32


def dump(state: dict[str, Any]) -> bytes:
    """The bytes of a state; floats keep every bit."""
    try:
        body = json.dumps({"online_gate": FORMAT, **state}, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise DataError(f"labels: only text, numbers and booleans can be saved: {error}") from None
    return json.dumps({"state": body, "sha256": _digest(body)}, indent=1).encode("ascii")


def restore(data: bytes) -> dict[str, Any]:
    """Audit the bytes of a state; `random` comes back as a generator.

    Raises
    ------
    BundleError
        If they are damaged, hostile or of a newer format.
    """
    outer = parse(data)
    if not isinstance(outer, dict) or set(outer) != {"state", "sha256"}:
        raise BundleError("this is not the state of an online gate")
    if not isinstance(outer["state"], str) or _digest(outer["state"]) != outer["sha256"]:
        raise BundleError("the state of the online gate is damaged: its digest differs")
    state = parse(outer["state"].encode())
    if not isinstance(state, dict) or state.get("online_gate") != FORMAT:
        raise BundleError(f"the state of the online gate is not of format {FORMAT}")
    if set(state) != ENTRIES:
        raise BundleError(f"{HEADING}: expected the entries {sorted(ENTRIES)}")
    raise_all(BundleError, HEADING, list(_problems(state)))
    state["random"] = _generator(state["random"])
    return state


def _problems(state: dict[str, Any]) -> Iterator[str]:
    for name, least in NUMBERS.items():
        if type(state[name]) is not int or not least <= state[name] < 2**62:
            yield f"{name} is {state[name]!r}"
    if not _is_number(state["cost"]) or not 0 < state["cost"] <= 1:
        yield f"cost is {state['cost']!r}"
    logits, said = state["logits"], state["open"]
    if not isinstance(logits, list) or not logits or not all(map(_is_number, logits)):
        yield "logits must be numbers, one for each expert"
        return
    if said is not None and not _are_labels([word for word in _listed(said) if word is not None]):
        yield "the open question does not hold labels"
    elif said is not None and len(said) != len(logits):
        yield f"the open question has {len(said)} opinions of {len(logits)} experts"
    if state["labels"] is not None and not _are_labels(state["labels"]):
        yield "labels must be text, numbers or booleans"


def _generator(plain: Any) -> np.random.Generator:
    due = {"state": WORD, "inc": WORD, "has_uint32": 2, "uinteger": HALF}
    if not isinstance(plain, dict) or set(plain) != set(due):
        raise BundleError(f"{HEADING}: random must have the entries {sorted(due)}")
    if not all(type(plain[name]) is int and 0 <= plain[name] < due[name] for name in due):
        raise BundleError(f"{HEADING}: random is out of range")
    bits = np.random.PCG64()
    words = {name: plain[name] for name in ("state", "inc")}
    whole: Any = {"bit_generator": "PCG64", "state": words}
    bits.state = whole | {name: plain[name] for name in ("has_uint32", "uinteger")}
    return np.random.Generator(bits)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _are_labels(values: Any) -> bool:
    return isinstance(values, list) and all(map(is_label, values))


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
