"""The audit of a model file's header, before anything is built from it.

A file may come from anywhere. Nothing in it is trusted: JSON is read strictly (no duplicate
keys, no NaN, no infinity), every entry has one type and a range, and what is not known is
refused. The models, prices and schema audit the meaning of what they are handed.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from thrifty.bundle.categories import MAX_CATEGORIES
from thrifty.bundle.cells import Label, is_label
from thrifty.errors import BundleError

__all__ = [
    "FORMAT",
    "NEEDS",
    "audit_columns",
    "audit_header",
    "audit_name",
    "parse",
]

FORMAT = 1
"""The format that this version writes, and the newest that it reads."""

NEEDS = "0.1"
"""The first release that reads this format: what a reader that is too old must tell."""

PARTS: dict[str, type | tuple[type, ...]] = {
    "thrifty": int,
    "needs": str,
    "kind": str,
    "model": dict,
    "schema": dict,
    "classes": (dict, type(None)),
    "prices": dict,
    "knob": (dict, type(None)),
    "provenance": (dict, type(None)),
    "arrays": dict,
}
MAX_DEPTH = 64
RELEASE = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){0,2}", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9_]+([./-][A-Za-z0-9_]+)*", re.ASCII)


def parse(data: bytes) -> Any:
    """Read JSON strictly.

    Examples
    --------
    >>> from thrifty.bundle.audit import parse
    >>> parse(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    thrifty.errors.BundleError: the header names 'a' twice
    """
    try:
        plain = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_float=_finite,
            parse_constant=_finite,
        )
    except (ValueError, RecursionError) as error:
        if isinstance(error, BundleError):
            raise
        raise BundleError(f"the header is not sound JSON ({type(error).__name__})") from None
    _refuse_depth(plain, MAX_DEPTH)
    return plain


def audit_header(plain: Any) -> dict[str, Any]:
    """Check that the header has all its parts, each of the right type, and no other."""
    if not isinstance(plain, dict) or not _is(plain.get("thrifty"), int):
        raise BundleError("the header does not tell its format; this is no Thrifty model file")
    _refuse_other_formats(plain["thrifty"], plain.get("needs"))
    for part in plain.keys() ^ PARTS.keys():
        fault = "lacks" if part in PARTS else "has an unknown part"
        raise BundleError(f"the header {fault} {part!r}")
    for part, kind in PARTS.items():
        if not _is(plain[part], kind):
            raise BundleError(f"the header's {part!r} is of the wrong type")
    for name, entry in plain["arrays"].items():
        audit_name(name)
        if not isinstance(entry, dict) or entry.keys() != {"sha256", "dtype", "shape"}:
            raise BundleError(f"array {name!r} must have a sha256, a dtype and a shape")
    return plain


def audit_name(name: str) -> None:
    """Refuse names of arrays that could lead out of the folder ``arrays/``."""
    if len(name) > 200 or not NAME.fullmatch(name):
        raise BundleError(f"array name {name[:200]!r} is not made of plain words")


def audit_columns(plain: Any) -> tuple[bool, list[tuple[str | int, tuple[Label, ...] | None]]]:
    """Check the plain form of a schema: whether it is named, and (name, categories) pairs."""
    if not isinstance(plain, dict) or plain.keys() != {"named", "columns"}:
        raise BundleError("the schema must have 'named' and 'columns', nothing else")
    named, columns = plain["named"], plain["columns"]
    if not isinstance(named, bool) or not isinstance(columns, list) or not columns:
        raise BundleError("the schema must tell if it is named, and list at least one column")
    pairs = [_column(column) for column in columns]
    names = [name for name, _ in pairs]
    _refuse_names(names, named)
    return named, pairs


def _column(plain: Any) -> tuple[str | int, tuple[Label, ...] | None]:
    if not isinstance(plain, dict) or plain.keys() != {"name", "categories"}:
        raise BundleError("a column of the schema must have a name and categories")
    name, labels = plain["name"], plain["categories"]
    if labels is None:
        return name, None
    if not isinstance(labels, list) or not 1 <= len(labels) <= MAX_CATEGORIES:
        raise BundleError(f"column {name!r} must have 1 to {MAX_CATEGORIES} categories")
    if not all(is_label(label) for label in labels) or len(set(labels)) < len(labels):
        raise BundleError(f"column {name!r} has categories that are not distinct labels")
    return name, tuple(labels)


def _refuse_names(names: list[Any], named: bool) -> None:
    if not named and names != list(range(len(names))):
        raise BundleError("the columns of a nameless schema must count 0, 1, 2, ...")
    if named and not all(isinstance(name, str) for name in names):
        raise BundleError("the columns of a named schema must have text as names")
    if len(set(names)) < len(names):
        raise BundleError("the schema names a column twice")


def _refuse_other_formats(number: int, needs: Any) -> None:
    if number > FORMAT:
        release = f"Thrifty {needs} or newer" if _is_release(needs) else "a newer Thrifty"
        raise BundleError(
            f"the file has format {number}, this version reads up to {FORMAT}: it needs {release}"
        )
    if number < 1:
        raise BundleError(f"there is no format {number}")


def _is_release(text: Any) -> bool:
    return isinstance(text, str) and RELEASE.fullmatch(text) is not None


def _is(value: Any, kind: type | tuple[type, ...]) -> bool:
    """isinstance, but a bool is not an int."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return type(value) in kinds


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) < len(pairs):
        double, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise BundleError(f"the header names {double[:200]!r} twice")
    return plain


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BundleError(f"the header holds {text[:20]}, which is not a finite number")
    return value


def _refuse_depth(plain: Any, depth: int) -> None:
    if depth == 0:
        raise BundleError(f"the header is nested more than {MAX_DEPTH} deep")
    children = plain.values() if isinstance(plain, dict) else plain
    if isinstance(plain, (dict, list)):
        for child in children:
            _refuse_depth(child, depth - 1)
