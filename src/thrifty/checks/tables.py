"""Small tables of every kind that an estimator reads.

The values are plain Python objects, as they are passed to a walk; `build` turns them into the table
that batch prediction reads. A missing number is None or NaN, a missing category None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNSEEN", "Column", "Values", "available", "build", "fillers", "render"]

Values = NDArray[np.object_]

# A category that no column declares.
UNSEEN = "never seen"
# Large enough to pass every threshold, small enough for float32.
HUGE = 1e30


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str or int
        What the feature is called; its position in a table without names.
    kind : {"float", "int", "bool", "category", "text"}
    levels : tuple of str
        The categories; the last one is declared but never drawn.
    """

    name: str | int
    kind: str = "float"
    levels: tuple[str, ...] = ()


def render(column: Column, z: NDArray[np.float64]) -> list[Any]:
    """Turn standard normal numbers into values of a column."""
    if column.kind == "float":
        # Exact in float32 too, so that a walk gets the number that the array holds.
        return [float(x) for x in z.astype(np.float32)]
    if column.kind == "int":
        return [round(3.0 * x) for x in z.tolist()]
    if column.kind == "bool":
        return [x > 0.0 for x in z.tolist()]
    # One interval for each level but the last.
    cuts = np.linspace(-1.0, 1.0, len(column.levels) - 2)
    return [column.levels[code] for code in np.digitize(z, cuts)]


def fillers(column: Column) -> tuple[Any, ...]:
    """Return four values to put in place of an unused one."""
    if column.kind in ("float", "int"):
        return (math.nan, HUGE, -HUGE, 0.0)
    if column.kind == "bool":
        return (None, True, False, None)
    return (None, UNSEEN, column.levels[0], column.levels[-1])


def available(form: str) -> bool:
    """Return whether the package that `form` needs is installed."""
    return form not in ("pandas", "polars") or find_spec(form) is not None


def build(form: str, columns: Sequence[Column], values: Values) -> Any:
    """Return `values` (n, d) as a table: "float64" or "float32" array, "pandas" or "polars"."""
    if form in ("float64", "float32"):
        return values.astype(form)
    cells = [(column, values[:, j].tolist()) for j, column in enumerate(columns)]
    if form == "pandas":
        import pandas as pd

        return pd.DataFrame({column.name: _pandas_column(column, some) for column, some in cells})
    import polars as pl

    return pl.DataFrame({str(column.name): _polars_column(column, some) for column, some in cells})


def _pandas_column(column: Column, cells: list[Any]) -> Any:
    import pandas as pd

    if column.kind == "category":
        return pd.Categorical(cells, categories=_levels(column, cells))
    kind = {"bool": "boolean", "text": "str"}.get(column.kind, "float64")
    return pd.Series(cells, dtype="int64" if _is_whole(column, cells) else kind)


def _polars_column(column: Column, cells: list[Any]) -> Any:
    import polars as pl

    if column.kind == "category":
        return pl.Series(cells, dtype=pl.Enum(_levels(column, cells)))
    kind = {"bool": pl.Boolean, "text": pl.String}.get(column.kind, pl.Float64)
    return pl.Series(cells, dtype=pl.Int64 if _is_whole(column, cells) else kind)


def _levels(column: Column, cells: list[Any]) -> list[str]:
    """Return the declared levels, followed by the undeclared ones among the cells."""
    undeclared = {cell for cell in cells if cell is not None} - set(column.levels)
    return [*column.levels, *sorted(undeclared)]


def _is_whole(column: Column, cells: list[Any]) -> bool:
    """Return whether a column holds integers only; fillers may turn it into floats."""
    return column.kind == "int" and all(isinstance(cell, int) for cell in cells)
