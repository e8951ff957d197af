"""Secrets in declarations: read from the environment or from files, never written down."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from thrifty.errors import DataError
from thrifty.untrusted import read_file

__all__ = ["REFERENCE", "conceal", "expand"]

REFERENCE = re.compile(r"\$\{([^}]*)\}")
"""A reference to a secret in a text."""

MAX_BYTES = 1 << 16


def expand(
    value: Any, environ: Mapping[str, str] | None = None, used: dict[str, str] | None = None
) -> Any:
    """Return a declared value with its references replaced.

    ``${NAME}`` stands for an environment variable, ``${file:PATH}`` for the text of a file,
    without the end of its last line. Tables and lists are searched, too. What was replaced by what
    is added to `used`.

    Raises
    ------
    DataError
        If a variable is not set or a file cannot be read; the message has the name only.

    Examples
    --------
    >>> from thrifty.serve.sources.secrets import expand
    >>> expand({"Authorization": "Bearer ${TOKEN}"}, {"TOKEN": "t0p"})
    {'Authorization': 'Bearer t0p'}
    """
    found = os.environ if environ is None else environ
    if isinstance(value, dict):
        return {key: expand(each, found, used) for key, each in value.items()}
    if isinstance(value, list):
        return [expand(each, found, used) for each in value]
    if not isinstance(value, str):
        return value

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("file:"):
            try:
                data = read_file(name.removeprefix("file:"), MAX_BYTES, DataError)
                text = data.decode().rstrip("\r\n")
            except DataError as error:
                raise DataError(f"${{{name}}}: {error}") from None
            except (OSError, ValueError) as error:
                raise DataError(f"${{{name}}}: cannot be read ({type(error).__name__})") from None
        elif name in found:
            text = found[name]
        else:
            raise DataError(f"${{{name}}}: there is no such environment variable")
        if used is not None:
            used[match[0]] = text
        return text

    return REFERENCE.sub(replace, value)


def conceal(text: str, used: Mapping[str, str]) -> str:
    """Return a text with references in place of the secrets that they stand for.

    Examples
    --------
    >>> from thrifty.serve.sources.secrets import conceal
    >>> conceal("no such method: t0p", {"${TOKEN}": "t0p"})
    'no such method: ${TOKEN}'
    """
    for reference, secret in used.items():
        if secret:
            text = text.replace(secret, reference)
    return text
