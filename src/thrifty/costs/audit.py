"""What is wrong with the prices of a model file, before anything is built of them.

A model file may come from anyone. One problem per field is enough to refuse it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thrifty.costs.faults import fault

__all__ = ["audit"]

FIELDS = frozenset(
    ["names", "own", "group", "shared", "group_names", "evaluation", "calls", "unit"]
)


def audit(plain: object) -> list[str]:
    """List what makes `plain` no output of `BoundPrices.plain`.

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> from thrifty.costs.audit import audit
    >>> plain = Prices([1.0, 2.0]).bind(2).plain()
    >>> audit(plain)
    []
    >>> audit(plain | {"own": [1.0, -2.0], "unit": 3})
    ['own[1]: -2.0 is negative; a price is 0 or more', 'unit is not text']
    """
    if not isinstance(plain, Mapping):
        return ["not a table of fields"]
    if set(plain) != FIELDS:
        missing, unknown = FIELDS - set(plain), set(plain) - FIELDS
        return [f"missing fields {sorted(missing)}, unknown fields {sorted(map(repr, unknown))}"]
    # The fields are compared with each other only once each is well formed.
    return _each(plain) or _together(plain)


def _each(plain: Mapping[str, Any]) -> list[str]:
    problems = [
        *_prices("own", plain["own"]),
        *_prices("shared", plain["shared"]),
        *_texts("group_names", plain["group_names"]),
        *_calls(plain["calls"]),
    ]
    if plain["names"] is not None:
        problems += _texts("names", plain["names"])
    if not isinstance(plain["group"], list) or any(type(g) is not int for g in plain["group"]):
        problems.append("group is not a list of positions")
    if reason := fault(plain["evaluation"]):
        problems.append(f"evaluation: {reason}")
    if not isinstance(plain["unit"], str):
        problems.append("unit is not text")
    return problems


def _together(plain: Mapping[str, Any]) -> list[str]:
    problems = []
    features, groups = len(plain["own"]), len(plain["group_names"])
    if plain["names"] is not None and len(plain["names"]) != features:
        problems.append(f"{len(plain['names'])} names for {features} prices")
    if len(plain["group"]) != features:
        problems.append(f"{len(plain['group'])} entries in group for {features} prices")
    if len(plain["shared"]) != groups:
        problems.append(f"{len(plain['shared'])} shared prices for {groups} groups")
    if set(plain["group"]) - {-1} != set(range(groups)):
        problems.append("group names a group that is not there, or a group has no member")
    return problems


def _prices(field: str, values: object) -> list[str]:
    if not isinstance(values, list):
        return [f"{field} is not a list"]
    faults = ((i, fault(value)) for i, value in enumerate(values))
    return [f"{field}[{i}]: {reason}" for i, reason in faults if reason][:1]


def _texts(field: str, values: object) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return [f"{field} is not a list of texts"]
    return [] if len(set(values)) == len(values) else [f"{field} holds a name twice"]


def _calls(calls: object) -> list[str]:
    if not isinstance(calls, dict) or not all(isinstance(name, str) for name in calls):
        return ["calls is not a table of prices"]
    faults = ((name, fault(price)) for name, price in calls.items())
    return [f"calls[{name!r}]: {reason}" for name, reason in faults if reason][:1]
