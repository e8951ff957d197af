"""Edits of a document: a tree of dicts, lists, plain values and arrays.

A document is never changed in place: `apply` copies what lies on the path of an edit and shares
the rest. An edit says where and what in full, so it means the same if others are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from fuzz.values import (
    PLAIN,
    TEXTS,
    alike,
    dump_json,
    hostile_array,
    other_elements,
    raw,
    tweak,
)

__all__ = ["Edit", "apply", "apply_all", "propose"]

DELETE = "delete"
SET = "set"
INSERT = "insert"


@dataclass(frozen=True, eq=False)
class Edit:
    """One change of a document.

    Parameters
    ----------
    path : tuple
        Keys and positions from the root to where the change is made.
    act : {"set", "insert", "delete"}
        "insert" puts a new entry into a list, or sets a key of a mapping.
    value : object
        What is set or inserted.
    """

    path: tuple[Any, ...]
    act: str
    value: Any = None

    def __str__(self) -> str:
        where = ascii("/".join(map(str, self.path)))[1:-1]
        if isinstance(self.value, np.ndarray):
            what = f"array {self.value.dtype} {self.value.shape}"
        else:
            what = ascii(self.value)[:120]
        return f"{self.act} {where}" + ("" if self.act == DELETE else f" = {what}")


def apply(document: Any, edit: Edit, depth: int = 0) -> Any:
    """Return a document with an edit made; the same one if there is no such path."""
    if depth == len(edit.path):
        return edit.value if edit.act == SET else document
    key = edit.path[depth]
    is_last = depth == len(edit.path) - 1
    if isinstance(document, dict):
        if key not in document and not (is_last and edit.act != DELETE):
            return document
        other = dict(document)
        if is_last and edit.act == DELETE:
            del other[key]
        else:
            other[key] = edit.value if is_last else apply(document[key], edit, depth + 1)
        return other
    if isinstance(document, list) and isinstance(key, int) and key <= len(document):
        if is_last and edit.act == INSERT:
            return [*document[:key], edit.value, *document[key:]]
        if key < len(document):
            middle = (
                [] if is_last and edit.act == DELETE else [apply(document[key], edit, depth + 1)]
            )
            return [*document[:key], *middle, *document[key + 1 :]]
    return document


def apply_all(document: Any, edits: Sequence[Edit]) -> Any:
    """Return a document with several edits made, one after the other."""
    for edit in edits:
        document = apply(document, edit)
    return document


def propose(document: Any, random: Random, donors: Sequence[Any], gentle: bool = False) -> Edit:
    """Draw an edit of a document; values may be taken from `donors`, other documents.

    A gentle edit keeps types and shapes, so that it passes the first checks.
    """
    path, value = _place(document, random)
    if gentle:
        other = (
            other_elements(value, random) if isinstance(value, np.ndarray) else alike(value, random)
        )
        return Edit(path, SET, other)
    if isinstance(value, np.ndarray):
        return Edit(path, *_array_change(value, random, donors))
    how = random.random()
    if isinstance(value, dict) and how < 0.5:
        name = random.choice([*value, *TEXTS[:6], "call", "other", "panels", "also", "0/base"])
        return Edit((*path, name), INSERT, _any_value(document, random, donors))
    if isinstance(value, list) and how < 0.3:
        at = random.randint(0, len(value))
        more = value[random.randrange(len(value))] if value and how < 0.2 else None
        return Edit(
            (*path, at), INSERT, _any_value(document, random, donors) if more is None else more
        )
    if how < 0.62:
        return Edit(path, SET, tweak(value, random))
    if how < 0.86:
        return Edit(path, SET, _any_value(document, random, donors))
    if how < 0.94 or not path:
        return Edit(path, DELETE)
    twice = f"{_json(value)}, {_json(path[-1])}: {_json(random.choice(PLAIN))}"
    return Edit(path, SET, raw(twice))


def _place(document: Any, random: Random) -> tuple[tuple[Any, ...], Any]:
    """Draw a place in a document, of any depth."""
    path: list[Any] = []
    value = document
    while isinstance(value, (dict, list)) and value:
        if len(path) > 1 and random.random() < 0.12:
            break
        key = (
            random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
        )
        path.append(key)
        value = value[key]
    return tuple(path), value


def _any_value(document: Any, random: Random, donors: Sequence[Any]) -> Any:
    """Return a hostile value, or one from elsewhere in this document or another one."""
    if random.random() < 0.6:
        return random.choice(PLAIN)
    origin = document if random.random() < 0.5 or not donors else random.choice(donors)
    value = _place(origin, random)[1]
    return value.reshape(-1)[:50].tolist() if isinstance(value, np.ndarray) else value


def _array_change(array: Any, random: Random, donors: Sequence[Any]) -> tuple[str, Any]:
    """Return an act on an array: mostly another array, sometimes one from another document."""
    how = random.random()
    if how < 0.06:
        return DELETE, None
    if how < 0.16 and donors:
        other = _place(random.choice(donors), random)[1]
        return SET, other if isinstance(other, np.ndarray) else array.reshape(-1)[:0]
    return SET, hostile_array(array, random)


def _json(value: Any) -> str:
    """Return a value as JSON, or null if it has none."""
    try:
        return dump_json(value).decode()
    except (TypeError, ValueError):
        return "null"
