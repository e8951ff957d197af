"""Small tables of every kind that an estimator reads, drawn column by column.

The values are kept as plain Python objects, as a walk is told them; `build` makes from them the
table that the batch reads. A missing number is None or NaN, a missing category None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FORMS", "Column", "Values", "available", "build", "fillers", "render"]

Values = NDArray[np.object_]

UNSEEN = "never seen"
# Large enough to pass every threshold, small enough for float32.
HUGE = 1e30


@dataclass(frozen=True)
class Column:
    """One column: `kind` is "float", "int", "bool", "category" or "text"."""

    name: str | int
    kind: str = "float"
    levels: tuple[str, ...] = ()


def render(column: Column, z: NDArray[np.float64]) -> list[Any]:
    """Standard normal numbers as values of a column."""
    if column.kind == "float":
        # Short in float32 too, so that the walk is told what the array holds.
        return [float(x) for x in z.astype(np.float32)]
    if column.kind == "int":
        return [round(3.0 * x) for x in z.tolist()]
    if column.kind == "bool":
        return [x > 0.0 for x in z.tolist()]
    # The last level is declared and never drawn.
    cuts = np.linspace(-1.0, 1.0, len(column.levels) - 2)
    return [column.levels[code] for code in np.digitize(z, cuts)]


def fillers(column: Column) -> tuple[Any, ...]:
    """Values to put in place of one that is not used; the same number for every column."""
    if column.kind in ("float", "int"):
        return (math.nan, HUGE, -HUGE, 0.0)
    if column.kind == "bool":
        return (None, True, False, None)
    return (None, UNSEEN, column.levels[0], column.levels[-1])


def build(form: str, columns: Sequence[Column], values: Values) -> Any:
    """The table of one of the `FORMS` that holds `values` (n, d)."""
    return FORMS[form](columns, values)


def available(form: str) -> bool:
    """Whether the package that `form` needs is installed."""
    return form not in ("pandas", "polars") or find_spec(form) is not None


def _float64(columns: Sequence[Column], values: Values) -> Any:
    return values.astype(np.float64)


def _float32(columns: Sequence[Column], values: Values) -> Any:
    return values.astype(np.float32)


def _pandas(columns: Sequence[Column], values: Values) -> Any:
    import pandas as pd

    def series(column: Column, cells: list[Any]) -> Any:
        if column.kind == "category":
            return pd.Categorical(cells, categories=_levels(column, cells))
        kind = {"bool": "boolean", "text": "str"}.get(column.kind, "float64")
        return pd.Series(cells, dtype="int64" if _whole(column, cells) else kind)

    return pd.DataFrame(
        {column.name: series(column, cells) for column, cells in _each(columns, values)}
    )


def _polars(columns: Sequence[Column], values: Values) -> Any:
    import polars as pl

    def series(column: Column, cells: list[Any]) -> Any:
        if column.kind == "category":
            return pl.Series(cells, dtype=pl.Enum(_levels(column, cells)))
        kind = {"bool": pl.Boolean, "text": pl.String}.get(column.kind, pl.Float64)
        return pl.Series(cells, dtype=pl.Int64 if _whole(column, cells) else kind)

    return pl.DataFrame(
        {str(column.name): series(column, cells) for column, cells in _each(columns, values)}
    )


FORMS: dict[str, Callable[[Sequence[Column], Values], Any]] = {
    "float64": _float64,
    "float32": _float32,
    "pandas": _pandas,
    "polars": _polars,
}


def _each(columns: Sequence[Column], values: Values) -> list[tuple[Column, list[Any]]]:
    return [(column, values[:, j].tolist()) for j, column in enumerate(columns)]


def _levels(column: Column, cells: list[Any]) -> list[str]:
    """Declared levels, and after them what was never declared."""
    strange = sorted({cell for cell in cells if cell is not None} - set(column.levels))
    return [*column.levels, *strange]


def _whole(column: Column, cells: list[Any]) -> bool:
    return column.kind == "int" and all(isinstance(cell, int) for cell in cells)
