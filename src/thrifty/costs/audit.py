"""Check the prices of a model file before anything is built from them.

A model file may come from anyone. One problem per field is enough to refuse it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from thrifty.costs.money import price_fault
from thrifty.costs.structure import structure_problems
from thrifty.untrusted import is_count, is_list, is_text, shown

__all__ = ["AMOUNTS", "price_problems"]

FIELDS = ("names", "own", "group", "shared", "group_names", "evaluation", "calls", "unit")
# Fields that a model file has only if the price list has them.
OPTIONAL = ("requires", "panels", "delays", "delay_unit", "also")
# What another currency has of its own; columns, groups and structure are those of the main one.
AMOUNTS = ("own", "shared", "evaluation", "calls")


def price_problems(plain: object) -> list[str]:
    """List why `plain` cannot be what `BoundPrices.plain` returned.

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> from thrifty.costs.audit import price_problems
    >>> plain = Prices([1.0, 2.0]).bind(2).plain()
    >>> price_problems(plain), price_problems(plain | {"unit": 3})
    ([], ['unit is not text'])
    """
    if not isinstance(plain, Mapping):
        return ["not a table of fields"]
    if set(plain) - set(OPTIONAL) != set(FIELDS):
        missing, unknown = set(FIELDS) - set(plain), set(plain) - {*FIELDS, *OPTIONAL}
        return [f"missing fields {sorted(missing)}, unknown fields {sorted(map(shown, unknown))}"]
    problems = _amount_problems(plain)
    texts = {"group_names": plain["group_names"]}
    if plain["names"] is not None:
        texts["names"] = plain["names"]
    if isinstance(plain["calls"], dict):
        texts["calls"] = list(plain["calls"])
    for field, values in texts.items():
        # Names of columns may have line breaks, as those of tables do.
        if not is_list(values, partial(is_text, controls=field == "names")):
            problems.append(f"{field} is not a list of texts")
        elif len(set(values)) < len(values):
            problems.append(f"{field} contains a name twice")
    if not is_list(plain["group"], partial(is_count, least=-1)):
        problems.append("group is not a list of indices")
    for field in ("unit", "delay_unit"):
        if not is_text(plain.get(field, "")):
            problems.append(f"{field} is not text")
    # The fields can be compared with each other only if each is well formed.
    return problems or _mismatches(plain)


def _amount_problems(plain: Mapping[str, Any]) -> list[str]:
    """List the prices of one currency that are not prices."""
    problems = []
    for field, kind in (("own", list), ("shared", list), ("calls", dict)):
        values: Any = plain[field]
        if not isinstance(values, kind):
            problems.append(f"{field} is not a {kind.__name__} of prices")
            continue
        items = values.items() if isinstance(values, dict) else enumerate(values)
        faults = ((key, price_fault(price)) for key, price in items)
        problems += [f"{field}[{shown(key)}]: {fault}" for key, fault in faults if fault][:1]
    if fault := price_fault(plain["evaluation"]):
        problems.append(f"evaluation: {fault}")
    return problems


def _mismatches(plain: Mapping[str, Any]) -> list[str]:
    """List the fields that contradict each other."""
    problems = []
    n_features, n_groups = len(plain["own"]), len(plain["group_names"])
    if plain["names"] is not None and len(plain["names"]) != n_features:
        problems.append(f"{len(plain['names'])} names for {n_features} prices")
    if len(plain["group"]) != n_features:
        problems.append(f"{len(plain['group'])} entries in group for {n_features} prices")
    if len(plain["shared"]) != n_groups:
        problems.append(f"{len(plain['shared'])} shared prices for {n_groups} groups")
    if set(plain["group"]) - {-1} != set(range(n_groups)):
        problems.append("group refers to a group that does not exist, or a group has no member")
    delays = plain.get("delays", [0.0] * n_features)
    if not is_list(delays, lambda delay: price_fault(delay) is None, n_features, n_features):
        problems.append("delays is not a list of durations, one for each feature")
    return problems + structure_problems(plain, n_features) + _currency_problems(plain)


def _currency_problems(plain: Mapping[str, Any]) -> list[str]:
    """List why the other currencies are not prices of the same features, groups and calls."""
    also = plain.get("also", {})
    if not isinstance(also, dict) or ("also" in plain and not also):
        return ["also is not a table of currencies"]
    problems = []
    for name, amounts in also.items():
        if not is_text(name):
            problems.append(f"also {shown(name)} is not a name")
        elif not isinstance(amounts, dict) or set(amounts) != set(AMOUNTS):
            problems.append(f"also {shown(name)} does not have the fields {', '.join(AMOUNTS)}")
        elif faults := _amount_problems(amounts):
            problems += [f"also {shown(name)}: {fault}" for fault in faults]
        elif (
            len(amounts["own"]) != len(plain["own"])
            or len(amounts["shared"]) != len(plain["shared"])
            or set(amounts["calls"]) != set(plain["calls"])
        ):
            problems.append(f"also {shown(name)} is for other features, groups or calls")
    return problems
