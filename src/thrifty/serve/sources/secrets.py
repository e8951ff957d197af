"""Secrets in declarations: read from the environment or from files, never written down."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thrifty.errors import DataError

__all__ = ["expand"]

REFERENCE = re.compile(r"\$\{([^}]*)\}")
MAX_BYTES = 1 << 16


def expand(value: Any, environ: Mapping[str, str] | None = None) -> Any:
    """Return a declared value with its references replaced.

    ``${NAME}`` stands for an environment variable, ``${file:PATH}`` for the text of a file,
    without the end of its last line. Tables and lists are searched, too.

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
        return {key: expand(each, found) for key, each in value.items()}
    if isinstance(value, list):
        return [expand(each, found) for each in value]
    if not isinstance(value, str):
        return value

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("file:"):
            try:
                with Path(name.removeprefix("file:")).open(encoding="utf-8") as file:
                    return file.read(MAX_BYTES).rstrip("\r\n")
            except (OSError, ValueError) as error:
                raise DataError(f"${{{name}}}: cannot be read ({type(error).__name__})") from None
        if name not in found:
            raise DataError(f"${{{name}}}: there is no such environment variable")
        return found[name]

    return REFERENCE.sub(replace, value)
