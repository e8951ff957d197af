"""The categories of a training column, or that it is one of numbers.

A guess that goes wrong here costs quality in silence, so a column that could be either, text
that is mostly numbers or a mixture of both, is refused with the remedy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.cells import (
    TO_NUMBERS,
    Label,
    at,
    first_row,
    is_missing,
    numbers,
    refuse_infinite,
    survey,
)
from thrifty.bundle.tables import is_numeric
from thrifty.errors import DataError

__all__ = ["MAX_CATEGORIES", "learn"]

# Codes 0..254 and "missing" fill the 256 values of the byte that the tree engine bins into.
MAX_CATEGORIES = 255


def learn(cells: NDArray[Any], declared: Sequence[Label] | None) -> tuple[Label, ...] | None:
    """Find the categories of a training column; None for a column of numbers."""
    if declared is not None:
        present = {cell for cell in cells.tolist() if not is_missing(cell)}
        return _counted(tuple(label for label in declared if label in present))
    first = {} if is_numeric(cells) else survey(cells)
    if "text" not in first:
        _refuse_empty(bool(np.isnan(refuse_infinite(numbers(cells))).all()))
        return None
    _refuse_mixtures(cells, first)
    return _counted(tuple(sorted({cell for cell in cells if isinstance(cell, str)})))


def _counted(categories: tuple[Label, ...]) -> tuple[Label, ...]:
    _refuse_empty(not categories)
    if len(categories) > MAX_CATEGORIES:
        raise DataError(
            f"has {len(categories)} categories, at most {MAX_CATEGORIES} fit; "
            "join the rare ones into one, or describe them by numbers"
        )
    return categories


def _refuse_empty(empty: bool) -> None:
    if empty:
        raise DataError("has no value at all; drop it")


def _refuse_mixtures(cells: NDArray[Any], first: Mapping[str, int]) -> None:
    """Refuse numbers among text, and text that is mostly numbers."""
    words = Counter(cell for cell in cells if isinstance(cell, str))
    n_written = sum(count for word, count in words.items() if _is_number(word))
    n_numbers = sum(map(_is_present_number, cells)) if "number" in first else 0
    if 2 * (n_written + n_numbers) > words.total() + n_numbers:
        odd = first_row(cells, lambda cell: isinstance(cell, str) and not _is_number(cell))
        if odd is None:
            raise DataError(f"holds numbers as text, {at(first['text'], cells)}; {TO_NUMBERS}")
        raise DataError(f"looks numeric but holds {at(odd, cells)}; {TO_NUMBERS}")
    if "number" in first:
        raise DataError(
            f"mixes text, {at(first['text'], cells)}, and numbers, "
            f"{at(first['number'], cells)}; make them all text or all numbers"
        )


def _is_present_number(cell: Any) -> bool:
    return not isinstance(cell, str) and not is_missing(cell)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and "_" not in text
    except ValueError:
        return False
