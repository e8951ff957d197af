"""Asking a server, or a function that may never come back."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np

from thrifty.bundle.cells import is_missing

__all__ = ["post", "within"]

# No honest answer for a batch of rows is larger.
LARGEST = 1 << 26


def post(address: str, table: Any, timeout: float | None) -> Any:
    """Send the rows of a table as JSON; give back what the server answers."""
    columns, rows = _listed(table)
    body = json.dumps({"columns": columns, "rows": rows}, allow_nan=False).encode()
    request = Request(address, body, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=timeout) as response:
            text = response.read(LARGEST + 1)
    except HTTPError as error:
        error.close()  # it holds the connection
        raise
    if len(text) > LARGEST:
        raise ValueError(f"the answer is larger than {LARGEST} bytes")
    return json.loads(text)


def within(seconds: float | None, act: Callable[[], Any]) -> Any:
    """What `act` gives; `TimeoutError` if it takes longer.

    A function cannot be stopped from outside: one that is late is left to itself.

    Examples
    --------
    >>> from thrifty.learn.endpoint import within
    >>> within(1.0, lambda: 3)
    3
    """
    if seconds is None:
        return act()
    found: dict[str, Any] = {}

    def run() -> None:
        try:
            found["value"] = act()
        except BaseException as error:
            found["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"no answer within {seconds:g} seconds")
    if "error" in found:
        raise found["error"]
    return found["value"]


def _listed(table: Any) -> tuple[list[Any], list[list[Any]]]:
    """Names, or positions, of the columns, and the rows as plain values."""
    if hasattr(table, "columns"):
        names: list[Any] = [str(name) for name in table.columns]
        lists = [table[name].to_list() for name in table.columns]
        rows = [list(row) for row in zip(*lists, strict=True)]
    else:
        array = np.asarray(table)
        names, rows = list(range(array.shape[1])), array.tolist()
    return names, [[_plain(value) for value in row] for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)
