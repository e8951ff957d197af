"""Filling identifiers and values of a case into URLs and JSON documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import numpy as np

from thrifty.serve.sources.base import Query, UnsentError

__all__ = ["fill_json", "fill_url", "names_in", "variables"]

NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_ .-]*)\}")


def variables(query: Query) -> dict[str, Any]:
    """Return what a template may refer to: values by feature, and the context of the case."""
    values = {str(feature): value for feature, value in query.values.items()}
    return values | dict(query.context)


def names_in(template: Any) -> Iterator[str]:
    """Yield the names that a URL or a JSON document refers to, as ``{name}``."""
    if isinstance(template, str):
        yield from NAME.findall(template)
    elif isinstance(template, Mapping):
        for value in template.values():
            yield from names_in(value)
    elif isinstance(template, list):
        for value in template:
            yield from names_in(value)


def fill_url(template: str, found: Mapping[str, Any]) -> str:
    """Return a URL with percent-encoded values in place of their names.

    Examples
    --------
    >>> from thrifty.serve.sources.templates import fill_url
    >>> fill_url("https://example.com/people/{who}", {"who": "ann/../bob"})
    'https://example.com/people/ann%2F..%2Fbob'
    """
    return NAME.sub(lambda match: quote(_text(match[1], found), safe=""), template)


def fill_json(template: Any, found: Mapping[str, Any]) -> Any:
    """Return a JSON document with values in place of their names.

    A text that is a name and nothing else becomes the value itself, with its type.

    Examples
    --------
    >>> from thrifty.serve.sources.templates import fill_json
    >>> fill_json({"id": "{id}", "ref": "no. {id}"}, {"id": 17})
    {'id': 17, 'ref': 'no. 17'}
    """
    if isinstance(template, Mapping):
        return {key: fill_json(value, found) for key, value in template.items()}
    if isinstance(template, list):
        return [fill_json(value, found) for value in template]
    if not isinstance(template, str):
        return template
    whole = NAME.fullmatch(template)
    if whole is None:
        return NAME.sub(lambda match: _text(match[1], found), template)
    value = _value(whole[1], found)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _value(name: str, found: Mapping[str, Any]) -> Any:
    if name not in found:
        raise UnsentError(f"{name!r} is needed: pass it in the context of the case")
    value = found[name]
    return value.item() if isinstance(value, np.generic) else value


def _text(name: str, found: Mapping[str, Any]) -> str:
    value = _value(name, found)
    if value is None or str(value) in ("", ".", ".."):  # it would change the path of a URL
        raise UnsentError(f"{name!r} is needed: it is empty")
    return str(value)
