"""Read what may come from anyone: files, JSON, numbers, text and lists.

Model files, gate states, curves, models of other libraries and answers of servers are all read with
these functions, so that a value is refused for the same reasons everywhere. A predicate such as
`is_number` accepts a value or not; whoever asks says what is wrong, in an error of its own class.
Sizes are compared with their limits before anything is allocated.
"""

from __future__ import annotations

import json
import math
import os
import re
import reprlib
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, TypeGuard

from thrifty.errors import BundleError, ThriftyError

__all__ = [
    "LARGEST",
    "MAX_TEXT",
    "allowance",
    "claim",
    "escaped",
    "is_count",
    "is_list",
    "is_number",
    "is_text",
    "parse_json",
    "read_file",
    "shown",
]

LARGEST = 1e100
"""Largest absolute value of the parameters of a model: sums of products of two stay finite."""

MAX_TEXT = 10_000
"""Most characters of a name, a label or a category."""

MAX_FLOAT = sys.float_info.max
# Entries of a table that a message quotes.
MAX_SHOWN = 10
# Levels of lists and tables within each other.
MAX_DEPTH = 64
# An escape in JSON that may stand for half a character: UTF-8 itself cannot hold one.
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def is_number(value: Any, low: float = -MAX_FLOAT, high: float = MAX_FLOAT) -> bool:
    """Return whether a value is a finite number from `low` to `high`, and no truth value.

    Examples
    --------
    >>> from thrifty.untrusted import is_number
    >>> [is_number(value) for value in (1, 0.5, True, "1", float("nan"), 10**400)]
    [True, True, False, False, False, False]
    """
    return type(value) in (int, float) and low <= value <= high


def is_count(value: Any, least: int = 0, most: int = 2**62) -> TypeGuard[int]:
    """Return whether a value is a whole number from `least` to `most`."""
    return type(value) is int and least <= value <= most


def is_text(value: Any, most: int = MAX_TEXT, controls: bool = False) -> TypeGuard[str]:
    """Return whether a value is text of at most so many characters that can be written as UTF-8.

    With `controls`, it may hold line breaks and other control characters, as cells of tables do.

    Examples
    --------
    >>> from thrifty.untrusted import is_text
    >>> is_text("CAD"), is_text("a" * 20_000), is_text("\\x1b[31m"), is_text("\\ud800")
    (True, False, False, False)
    """
    if type(value) is not str or len(value) > most:
        return False
    if value.isprintable():
        return True
    allowed = not any("\ud800" <= c <= "\udfff" for c in value)
    return allowed and (controls or not any(c < " " or "\x7f" <= c <= "\x9f" for c in value))


def is_list(
    value: Any, fits: Callable[[Any], bool], least: int = 0, most: int = 2**62
) -> TypeGuard[list[Any]]:
    """Return whether a value is a list of `least` to `most` entries, all of which fit.

    Examples
    --------
    >>> from thrifty.untrusted import is_list, is_number
    >>> is_list([0.5, 1], is_number), is_list([0.5, None], is_number), is_list(5, is_number)
    (True, False, False)
    """
    return isinstance(value, list) and least <= len(value) <= most and all(map(fits, value))


def shown(value: Any) -> str:
    """Return how a message quotes a value: shortly, whatever its size, and without control codes.

    Examples
    --------
    >>> from thrifty.untrusted import shown
    >>> shown([[0.5] * 1000] * 1000)[:30], shown("\\x1b[31m")
    ('[[0.5, 0.5, 0.5, 0.5, 0.5, 0.5', "'\\\\x1b[31m'")
    """
    if isinstance(value, dict) and len(value) > MAX_SHOWN:
        return f"a table of {len(value)} entries"
    try:
        text = reprlib.repr(value)
    except ValueError:
        return "a whole number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:77]}..."


def escaped(text: str, keep: str = "") -> str:
    """Return text that a terminal shows as it is: all that does not print is written as an escape.

    That includes colors and cursor movements, line breaks, characters that change the direction of
    writing, and halves of characters. Those in `keep` stay.

    Examples
    --------
    >>> from thrifty.untrusted import escaped
    >>> escaped("red: \\x1b[31m, reversed: \\u202e")
    'red: \\\\x1b[31m, reversed: \\\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def read_file(
    path: str | os.PathLike[str], max_bytes: int, error: type[ThriftyError] = BundleError
) -> bytes:
    """Read a regular file of at most `max_bytes`.

    Raises
    ------
    ThriftyError
        An `error`, if it is larger, or a folder, a pipe or a device, from which one could read
        forever.
    OSError
        If there is no such file, or it cannot be read.
    """
    if "\0" in os.fspath(path):
        raise error("no file has a name with a NUL")
    if os.path.isdir(path):
        raise error("this is a folder, not a regular file")
    # Without blocking, as a pipe is opened only once somebody writes to it.
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, os.O_RDONLY | flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise error("this is not a regular file")
        if status.st_size > max_bytes:
            raise error(f"the file is larger than {_size(max_bytes)}")
        return file.read(status.st_size)


def parse_json(
    data: bytes,
    *,
    max_bytes: int,
    what: str = "the header",
    error: type[ThriftyError] = BundleError,
    finite: bool = True,
) -> Any:
    """Read JSON strictly.

    Parameters
    ----------
    data : bytes
    max_bytes : int
        Largest size.
    what : str
        How messages call it.
    error : class
        The class of errors.
    finite : bool
        Whether NaN and infinity, which JSON does not have but many programs write, are refused.

    Raises
    ------
    ThriftyError
        An `error`, if it is too large, not JSON, has a key twice, a number that does not fit into a
        float, half a character, or too many levels.

    Examples
    --------
    >>> from thrifty.untrusted import parse_json
    >>> parse_json(b'{"a": 1, "a": 2}', max_bytes=100)
    Traceback (most recent call last):
    ...
    thrifty.errors.BundleError: the header has the key 'a' twice
    """
    if len(data) > max_bytes:
        raise error(f"{what} is larger than {max_bytes} bytes")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        plain = dict(pairs)
        if len(plain) < len(pairs):
            key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            raise error(f"{what} has the key {shown(key)} twice")
        return plain

    def refuse(name: str) -> NoReturn:
        raise error(f"{what} holds {name}, which is not a finite number")

    try:
        text = data.decode("utf-8")
        constant: Any = refuse if finite else float
        plain = json.loads(text, object_pairs_hook=unique, parse_constant=constant)
    except (ValueError, RecursionError) as fault:
        if isinstance(fault, ThriftyError):
            raise
        raise error(f"{what} is not valid JSON ({type(fault).__name__})") from None
    may_have_halves = SURROGATE.search(data) is not None
    level = [plain]
    for _ in range(MAX_DEPTH):
        numbers = [value for value in level if type(value) is float]
        if finite and not all(map(math.isfinite, numbers)):
            raise error(f"{what} holds what is not a finite number")
        whole = [value for value in level if type(value) is int]
        if whole and not -MAX_FLOAT <= min(whole) <= max(whole) <= MAX_FLOAT:
            raise error(f"{what} holds a whole number that is not a finite number as a float")
        tables = [value for value in level if type(value) is dict]
        if may_have_halves:
            texts = [value for value in level if type(value) is str]
            texts += [key for table in tables for key in table]
            if not all(is_text(each, len(data), controls=True) for each in texts):
                raise error(f"{what} holds text with half a character")
        inner = [each for table in tables for each in table.values()]
        inner += [each for value in level if type(value) is list for each in value]
        level = inner
        if not level:
            return plain
    raise error(f"{what} has more than {MAX_DEPTH} levels")


_BYTES_LEFT: ContextVar[list[int] | None] = ContextVar("_BYTES_LEFT", default=None)


@contextmanager
def allowance(max_bytes: int) -> Iterator[None]:
    """Within this context, all that is built may take so much memory together; see `claim`.

    Examples
    --------
    >>> from thrifty.untrusted import allowance, claim
    >>> with allowance(1000):
    ...     claim(900, "a table")
    ...     claim(900, "a table")
    Traceback (most recent call last):
    ...
    thrifty.errors.BundleError: the model needs more memory than its file allows: 900 bytes for ...
    """
    token = _BYTES_LEFT.set([max_bytes])
    try:
        yield
    finally:
        _BYTES_LEFT.reset(token)


def claim(n_bytes: int, what: str) -> None:
    """Take memory from the allowance before it is allocated; outside of any there is no limit.

    A model claims what it may take at any time beyond the arrays of its file: tables that are
    products of two lengths, with which a small file could fill any memory.

    Raises
    ------
    BundleError
        If not so much is left.
    """
    left = _BYTES_LEFT.get()
    if left is not None:
        left[0] -= n_bytes
        if left[0] < 0:
            raise BundleError(
                f"the model needs more memory than its file allows: {n_bytes} bytes for {what}"
            )


def _size(n_bytes: int) -> str:
    """Format a limit."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if n_bytes >= size - 1:
            return f"{round(n_bytes / size)} {unit}"
    return f"{n_bytes} bytes"
