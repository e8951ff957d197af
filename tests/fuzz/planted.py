"""A reader with bugs, as the fuzzer must find them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from thrifty.errors import DataError

__all__ = ["read_shelf"]


def read_shelf(path: Path) -> Any:
    """Read {"thing": {"size": ..., "parts": [...]}}; wrong about some sizes of some parts."""
    try:
        plain = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise DataError("this is no JSON") from None
    thing = plain.get("thing") if isinstance(plain, dict) else None
    if not isinstance(thing, dict) or not isinstance(thing.get("parts"), list):
        raise DataError("no thing with parts")
    size = thing.get("size")
    if isinstance(size, int) and size > 10:
        # Reached by an edit of the size; from there, a second edit meets the bug.
        room = size - 10
        if len(thing["parts"]) == 0:
            return 1 // len(thing["parts"]) + room
    return thing
