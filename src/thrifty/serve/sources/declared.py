"""Sources declared in a TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from thrifty.errors import DataError, did_you_mean, raise_all
from thrifty.serve.sources.base import AsyncSource, Terms
from thrifty.serve.sources.secrets import REFERENCE, conceal, expand
from thrifty.untrusted import read_file, shown

__all__ = ["read_sources"]

# Largest size of a declaration, in bytes.
MAX_BYTES = 1 << 20
TERMS = {each.name for each in fields(Terms)} - {"features"}


def read_sources(
    path: str | os.PathLike[str], environ: Mapping[str, str] | None = None
) -> list[AsyncSource]:
    """Read the sources that a TOML file declares, one ``[[source]]`` each.

    Every source has a ``name``, a ``kind`` (http, sql, feature_store, replay or person) and the
    parameters of that kind and of `Terms`. ``${NAME}`` in a text stands for an environment
    variable, ``${file:PATH}`` for the text of a file.

    Raises
    ------
    DataError
        All that is wrong, at once. No message has the value of a secret.
    """
    name = os.fspath(path)
    try:
        document = tomllib.loads(read_file(name, MAX_BYTES, DataError).decode())
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror})") from None
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    except (ValueError, RecursionError) as error:  # also numbers and nesting without end
        raise DataError(f"{name}: it is no TOML ({error})") from None
    tables = document.pop("source", [])
    problems = [f"{key!r}: sources are declared as [[source]]" for key in document]
    if not isinstance(tables, list) or not tables:
        problems.append("it declares no source; write [[source]]")
        tables = []
    sources = []
    for i, table in enumerate(tables):
        label = f"source {shown(table.get('name', i + 1))}" if isinstance(table, dict) else "source"
        try:
            if not isinstance(table, dict):
                raise DataError(f"{label}: write [[source]]")
            sources.append(_build(label, table, Path(name).parent, environ))
        except DataError as error:
            problems.append(str(error))
    raise_all(DataError, name, problems)
    return sources


def _build(
    label: str, table: dict[str, Any], folder: Path, environ: Mapping[str, str] | None
) -> AsyncSource:
    """Return the source that one table declares."""
    given = dict(table)
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        known, near = ", ".join(KINDS), did_you_mean(str(kind), KINDS)
        raise DataError(f"{label}: kind {shown(kind)} is not one of {known}{near}")
    raise_all(DataError, label, _problems(kind, given))
    used: dict[str, str] = {}
    try:
        expanded = expand(given, environ, used)
    except DataError as error:
        raise DataError(f"{label}: {error}") from None
    try:
        return KINDS[kind][2](expanded, folder)
    except DataError as error:
        raise DataError(conceal(str(error), used)) from None
    except (TypeError, AttributeError):
        raise DataError(f"{label}: a parameter has another type than {kind} needs") from None


def _problems(kind: str, given: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the parameters of a source; values are not shown, being secrets."""
    required, optional, _ = KINDS[kind]
    allowed = {*required, *optional, *TERMS}
    problems = [f"{key!r} is missing" for key in ("name", *required) if key not in given]
    problems += [
        f"{key!r} is no parameter of {kind}{did_you_mean(key, allowed)}"
        for key in given
        if key not in allowed
    ]
    problems += [
        f"{key!r} is not a table such as {{ a = 'b' }}"
        for key in TABLES
        if not isinstance(given.get(key, {}), dict)
    ]
    problems += [f"{key!r} is not a text" for key in TEXTS if type(given.get(key, "")) is not str]
    if not isinstance(given.get("features", []), list | dict):
        problems.append("'features' is not a list of names")
    problems += [
        f"{key!r} is shown in receipts and errors, so it cannot refer to a secret"
        for key in SHOWN
        if REFERENCE.search(str(given.get(key)))
    ]
    return problems


def _http(given: dict[str, Any], folder: Path) -> AsyncSource:
    from thrifty.serve.sources.http import HttpSource

    return HttpSource(**given)


def _feature_store(given: dict[str, Any], folder: Path) -> AsyncSource:
    from thrifty.serve.sources.feature_store import FeatureStoreSource

    return FeatureStoreSource(**given)


def _sql(given: dict[str, Any], folder: Path) -> AsyncSource:
    from thrifty.serve.sources.sql import SqlSource

    return SqlSource(**given)


def _person(given: dict[str, Any], folder: Path) -> AsyncSource:
    from thrifty.serve.sources.person import PersonSource

    return PersonSource(**given)


def _replay(given: dict[str, Any], folder: Path) -> AsyncSource:
    from thrifty.serve.sources.replay import ReplaySource

    return ReplaySource.from_csv(path=folder / given.pop("table"), **given)


# Parameters that are tables, those that are texts, and those that everyone may see.
TABLES = ("values", "headers", "references", "entity")
TEXTS = (
    "name", "url", "method", "idempotency_header", "database", "query", "table", "by", "sold",
)  # fmt: skip
SHOWN = ("name", "features", "by")
Build = Callable[[dict[str, Any], Path], AsyncSource]
# Of every kind: the parameters that it needs, those that it may have, and what builds it.
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], Build]] = {
    "http": (("url", "values"), ("method", "headers", "body", "idempotency_header"), _http),
    "sql": (("database", "query", "features"), (), _sql),
    "feature_store": (("url", "references", "entity"), ("headers",), _feature_store),
    "replay": (("table", "by"), ("features",), _replay),
    "person": (("features",), (), _person),
}
