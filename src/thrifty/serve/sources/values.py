"""Values at the border: typed and checked before a model or a ledger sees them."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from thrifty.bundle import Schema
from thrifty.bundle.columns import is_missing, to_number
from thrifty.errors import DataError, LedgerError
from thrifty.serve.sources.rows import Feature
from thrifty.untrusted import is_list, parse_json

__all__ = ["check_values", "dump_values", "is_unicode", "load_json", "load_values"]

MAX_TEXT = 10_000
# Largest size of what a ledger keeps as JSON, in bytes.
MAX_JSON = 2**28


def check_values(
    schema: Schema, values: Mapping[Feature, Any]
) -> tuple[dict[Feature, Any], dict[Feature, str]]:
    """Return the values that can be used, as plain Python values, and what is wrong with others.

    A missing value of any type becomes None. A text that is no known category can be used: it
    counts as the model's schema says.

    Examples
    --------
    >>> from thrifty.bundle import Schema
    >>> from thrifty.serve.sources.values import check_values
    >>> schema = Schema.of({"age": [63, 41], "sex": ["m", "f"]})
    >>> check_values(schema, {"age": 50, "sex": float("nan")})
    ({'age': 50, 'sex': None}, {})
    >>> check_values(schema, {"age": "old", "sex": ["m"]})
    ({}, {'age': "is numeric; 'old' is not a number", 'sex': "['m'] is neither number nor text"})
    """
    good: dict[Feature, Any] = {}
    problems: dict[Feature, str] = {}
    for feature, raw in values.items():
        value = raw.item() if isinstance(raw, np.generic) else raw
        if is_missing(value):
            good[feature] = None
            continue
        if isinstance(value, Decimal):
            value = float(value)
        if not isinstance(value, bool | int | float | str):
            problems[feature] = f"{reprlib.repr(value)} is neither number nor text"
        elif isinstance(value, str) and len(value) > MAX_TEXT:
            problems[feature] = f"a text of {len(value)} characters is too long"
        elif isinstance(value, str) and not is_unicode(value):
            problems[feature] = "a text with half a character (a lone surrogate)"
        elif schema.columns[schema.index(feature)].categories is not None:
            good[feature] = value
        else:
            try:
                is_finite = math.isfinite(to_number(value))
            except DataError as error:
                problems[feature] = str(error)
                continue
            if is_finite:
                good[feature] = value
            else:
                problems[feature] = f"{reprlib.repr(value)} is not a finite number"
    return good, problems


def is_unicode(text: str) -> bool:
    """Return whether a text can be stored: JSON may hold half a character, a file cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def dump_values(values: Mapping[Feature, Any]) -> str:
    """Return plain values as JSON pairs: a feature may be a number, which no JSON key can be."""
    return json.dumps(list(values.items()), ensure_ascii=False, allow_nan=False)


def load_values(text: str) -> dict[Feature, Any]:
    """Return the values that `dump_values` wrote.

    Raises
    ------
    LedgerError
        If the text is damaged.
    """
    pairs = load_json(text)
    if not is_list(pairs, _is_pair):
        raise LedgerError("the ledger is damaged: values are no pairs of feature and value")
    return dict(pairs)


def load_json(text: str) -> Any:
    """Return what a ledger keeps as JSON.

    Raises
    ------
    LedgerError
        If the text is damaged.
    """
    return parse_json(text.encode(), max_bytes=MAX_JSON, what="the ledger", error=LedgerError)


def _is_pair(pair: Any) -> bool:
    """Return whether a plain value is a feature and its value."""
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    feature, value = pair
    is_plain = value is None or type(value) in (bool, int, float, str)
    return type(feature) in (int, str) and is_plain
