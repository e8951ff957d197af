"""Settings as plain values: what a finished piece of work was done with, and its digest."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Schema
from thrifty.costs import Prices
from thrifty.errors import DataError

__all__ = ["digest_of_rows", "digest_of_settings", "digest_of_table", "plain_settings"]

PRICES = ("own", "groups", "shared", "evaluation", "calls", "unit")
ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.IGNORECASE)


def plain_settings(value: Any) -> Any:
    """A value as JSON has it: estimators by class and parameters, prices by their parts.

    Raises
    ------
    DataError
        If the value cannot be told from another of its kind, such as a function.

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier.settings import plain_settings
    >>> plain_settings(GreedyMiserRegressor(penalty=0.5))["penalty"]
    0.5
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value if not isinstance(value, float) else _number(value)
    if isinstance(value, np.generic):
        return plain_settings(value.item())
    if isinstance(value, Mapping):
        return {f"{key!r}": plain_settings(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain_settings(entry) for entry in value]
    if isinstance(value, np.random.RandomState):
        return {"class": "RandomState", "state": plain_settings(value.get_state(legacy=False))}
    return {"class": _class(value), **_parts(value)}


def digest_of_settings(settings: Mapping[str, Any]) -> str:
    """SHA-256 of plain settings, whatever the order of their keys."""
    text = json.dumps(settings, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_table(X: Any, y: NDArray[Any], qid: NDArray[Any] | None) -> str:
    """SHA-256 of a table as it is read, with its target and queries."""
    schema = Schema.of(X)
    names = json.dumps(schema.plain(), sort_keys=True)
    return digest_of_rows(schema.encode(X), y, qid, names)


def digest_of_rows(
    encoded: NDArray[np.floating], y: NDArray[Any], qid: NDArray[Any] | None, names: str = ""
) -> str:
    """SHA-256 of encoded rows, target and queries."""
    digest = hashlib.sha256(names.encode())
    digest.update(str(encoded.shape).encode())
    digest.update(np.ascontiguousarray(encoded, dtype=np.float64).tobytes())
    for column in (y, qid):
        digest.update(json.dumps(None if column is None else column.tolist(), default=str).encode())
    return digest.hexdigest()


def _number(value: float) -> float | str:
    return value if np.isfinite(value) else repr(value)


def _class(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _parts(value: Any) -> dict[str, Any]:
    if isinstance(value, Prices):
        return {name: plain_settings(getattr(value, name)) for name in PRICES}
    if hasattr(value, "get_params"):
        return {name: plain_settings(part) for name, part in value.get_params(deep=False).items()}
    if ADDRESS.search(repr(value)):
        raise DataError(
            f"resume: {value!r} cannot be told from another of its kind, so what was done with it "
            "cannot be found again; leave resume out, or use a value that its repr describes"
        )
    return {"value": repr(value)}
