"""Values as people type them, read the way their column wants them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thrifty.bundle import Column, Predictor
from thrifty.bundle.cells import Label
from thrifty.costs.faults import near
from thrifty.errors import DataError

__all__ = ["read_feature", "read_pair", "read_value"]

# What stands for a value that came back empty.
EMPTY = "?"
TRUTH = {"true": True, "false": False}
SHOWN = 12


def read_value(column: Column, text: str) -> Any:
    """Read a typed value: a number, or one of the column's labels; ``?`` is missing.

    Quotes around a text are taken off, so that any label can be typed.

    Examples
    --------
    >>> from thrifty.bundle import Column
    >>> from thrifty.serve.text import read_value
    >>> read_value(Column("age"), "63"), read_value(Column("sex", ("f", "m")), "m")
    (63.0, 'm')
    >>> read_value(Column("stage", (1, 2, 3)), "2"), read_value(Column("age"), "?")
    (2, None)
    >>> read_value(Column("sex", ("female", "male")), "femal")
    Traceback (most recent call last):
    ...
    thrifty.errors.DataError: 'sex': 'femal' is not one of 'female', 'male'; did you mean 'female'?
    """
    text = text.strip()
    if text == EMPTY:
        return None
    if column.categories is None:
        return _number(column, _unquoted(text))
    return _label(column, column.categories, _unquoted(text))


def read_feature(predictor: Predictor, text: str) -> str | int:
    """Read a typed feature: its name, or its position where features have no names."""
    schema = predictor.schema
    bare = text.strip()
    if not schema.named and bare.isdecimal():
        return schema.name(schema.index(int(bare)))
    return schema.name(schema.index(text if text in schema.names else bare))


def read_pair(predictor: Predictor, text: str) -> tuple[str, str] | None:
    """Split ``NAME=VALUE`` after the name of a feature; None where none stands in front."""
    signs = (i for i, sign in enumerate(text) if sign == "=")
    for i in signs:
        if _is_feature(predictor, text[:i]):
            return text[:i], text[i + 1 :]
    return None


def _unquoted(text: str) -> str:
    """Take the quotes off that surround a text."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _is_feature(predictor: Predictor, text: str) -> bool:
    try:
        read_feature(predictor, text)
    except DataError:
        return False
    return True


def _number(column: Column, text: str) -> float:
    if text.lower() in TRUTH:  # a column of True and False is one of numbers
        return float(TRUTH[text.lower()])
    try:
        number = float(text)
    except ValueError:
        hint = "; write a decimal point" if "," in text else ""
        raise DataError(f"{column.name!r}: {text!r} is not a number{hint}") from None
    if not abs(number) < float("inf"):
        raise DataError(f"{column.name!r}: {text!r} is not a finite number; {EMPTY} is missing")
    return number


def _label(column: Column, labels: tuple[Label, ...], text: str) -> Label:
    for label in labels:
        if str(label) == text:
            return label
    for label in labels:
        if _means(label, text):
            return label
    known = [str(label) for label in labels]
    raise DataError(f"{column.name!r}: {text!r} is not one of {_some(known)}{near(text, known)}")


def _means(label: Label, text: str) -> bool:
    """Whether a label that is no text, or is spelled in other case, was meant."""
    if isinstance(label, str):
        return label.casefold() == text.casefold()
    if isinstance(label, bool):
        return TRUTH.get(text.lower()) is label
    try:
        return float(text) == label
    except ValueError:
        return False


def _some(labels: Iterable[str]) -> str:
    shown = [repr(label) for label in labels]
    rest = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + rest
