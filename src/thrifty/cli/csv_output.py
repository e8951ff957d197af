"""Writing tables to CSV files that are safe to open in a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["safe_csv_parts", "to_safe_csv"]

# A spreadsheet takes a cell that starts with one of these for a formula, which may do anything.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\n")
# Rows that are turned into text at a time.
PART_ROWS = 50_000


def to_safe_csv(frame: DataFrame) -> str:
    """Return a table as CSV; a quote is put before text that a spreadsheet would run as a formula.

    Numbers stay as they are, also negative ones, and those that are written as text.

    Examples
    --------
    >>> import pandas as pd
    >>> from thrifty.cli.csv_output import to_safe_csv
    >>> print(to_safe_csv(pd.DataFrame({"id": ["=1+1", "-7"], "value": [-0.5, 2.0]})))
    id,value
    '=1+1,-0.5
    -7,2.0
    """
    return "".join(safe_csv_parts(frame))


def safe_csv_parts(frame: DataFrame, header: bool = True) -> Iterator[str]:
    """Yield the text of `to_safe_csv` in parts, so that a long table needs little memory.

    Without `header`, the names of the columns are left out: the frame continues another one.
    """
    for start in range(0, max(len(frame), 1), PART_ROWS):
        safe = frame.iloc[start : start + PART_ROWS].copy()
        for name in safe.columns:
            if safe[name].dtype.kind not in "biuf":
                safe[name] = safe[name].map(_safe_cell)
        safe.columns = [_safe_cell(name) for name in safe.columns]
        yield str(safe.to_csv(index=False, header=header and start == 0))


def _safe_cell(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula."""
    if not isinstance(cell, str):
        return cell
    # A bare carriage return would not be put in quotes, and start another row.
    cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    if not cell.startswith(FORMULA_STARTS):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
