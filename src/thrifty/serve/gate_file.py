"""The state of an online gate as a file: JSON with a digest, checked before it is used."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import numpy as np

from thrifty.bundle.columns import is_label
from thrifty.bundle.file import parse_json
from thrifty.errors import BundleError, DataError, raise_all

__all__ = ["dump", "restore"]

FORMAT = 1
HEADING = "state of the online gate"
# Whole numbers of the state, with the smallest value that each can have.
COUNTS = {"rounds": 0, "asked": 0, "explored": 0, "horizon": 1, "changes": 0}
ENTRIES = {*COUNTS, "online_gate", "cost", "logits", "labels", "open", "random"}
# Entries of NumPy's PCG64 generator, with the number of values that each can have.
PCG64_RANGES = {"state": 2**128, "inc": 2**128, "has_uint32": 2, "uinteger": 2**32}


def dump(state: dict[str, Any]) -> bytes:
    """Return the bytes of a state; floats keep every bit.

    Raises
    ------
    DataError
        If a label cannot be written as JSON.
    """
    try:
        body = json.dumps({"online_gate": FORMAT, **state}, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise DataError(f"labels: only text, numbers and booleans can be saved: {error}") from None
    return json.dumps({"state": body, "sha256": _digest(body)}, indent=1).encode("ascii")


def restore(data: bytes) -> dict[str, Any]:
    """Check the bytes of a state and return it, with `random` as a NumPy generator.

    Raises
    ------
    BundleError
        If they are damaged, malicious or of another format.
    """
    outer = parse_json(data)
    if not isinstance(outer, dict) or set(outer) != {"state", "sha256"}:
        raise BundleError("this is not the state of an online gate")
    if not isinstance(outer["state"], str) or _digest(outer["state"]) != outer["sha256"]:
        raise BundleError("the state of the online gate is damaged: its digest differs")
    state = parse_json(outer["state"].encode())
    if not isinstance(state, dict) or state.get("online_gate") != FORMAT:
        raise BundleError(f"the state of the online gate is not of format {FORMAT}")
    if set(state) != ENTRIES:
        raise BundleError(f"{HEADING}: expected the entries {sorted(ENTRIES)}")
    raise_all(BundleError, HEADING, _problems(state))
    random = state["random"]
    bits = np.random.PCG64()
    whole: Any = {"bit_generator": "PCG64", "state": {k: random[k] for k in ("state", "inc")}}
    bits.state = whole | {k: random[k] for k in ("has_uint32", "uinteger")}
    return state | {"random": np.random.Generator(bits)}


def _problems(state: dict[str, Any]) -> list[str]:
    """List the entries of a state that are malformed or contradict each other."""
    problems = []
    for name, least in COUNTS.items():
        if type(state[name]) is not int or not least <= state[name] < 2**62:
            problems.append(f"{name} is {state[name]!r}")
    if not _is_number(state["cost"]) or not 0 < state["cost"] <= 1:
        problems.append(f"cost is {state['cost']!r}")
    logits, advice, labels = state["logits"], state["open"], state["labels"]
    n_experts = len(logits) if isinstance(logits, list) else 0
    if not n_experts or not all(map(_is_number, logits)):
        problems.append("logits must be numbers, one for each expert")
    if advice is not None:
        # The advice of each expert on the example whose label is awaited; None stands for ASK.
        if not isinstance(advice, list) or len(advice) != n_experts:
            problems.append(f"open must have one entry for each of the {n_experts} experts")
        elif not all(label is None or is_label(label) for label in advice):
            problems.append("open must hold labels")
    if labels is not None and not (isinstance(labels, list) and all(map(is_label, labels))):
        problems.append("labels must be text, numbers or booleans")
    random = state["random"]
    if not isinstance(random, dict) or set(random) != set(PCG64_RANGES):
        problems.append(f"random must have the entries {sorted(PCG64_RANGES)}")
    elif not all(type(random[k]) is int and 0 <= random[k] < n for k, n in PCG64_RANGES.items()):
        problems.append("random is out of range")
    return problems


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
