"""Costs of errors in CSV and TOML files.

A CSV file has the columns ``true,predicted,cost``::

    true,predicted,cost
    ill,well,500
    well,ill,100

A TOML file has a table for each true class::

    [costs.ill]
    well = 500

    [costs.well]
    ill = 100

All problems of a file are reported together.
"""

from __future__ import annotations

import csv
import io
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thrifty.csv_files import read_text
from thrifty.errors import DataError, did_you_mean, raise_all

__all__ = ["read_costs_file"]

COLUMNS = ["true", "predicted", "cost"]


def read_costs_file(path: Path, labels: Sequence[Any]) -> dict[tuple[Any, Any], float]:
    """Read what errors cost, by true and predicted class.

    Parameters
    ----------
    path : Path
        A .csv or a .toml file.
    labels : sequence
        The classes of the target.

    Raises
    ------
    DataError
        With all problems of the file.
    """
    problems: list[str] = []
    if path.suffix.lower() not in (".csv", ".toml"):
        raise DataError(f"{path}: give the costs of errors as a .csv or .toml file")
    text = read_text(path)
    read = _read_csv if path.suffix.lower() == ".csv" else _read_toml
    by_text = {str(label): label for label in labels}
    costs: dict[tuple[Any, Any], float] = {}
    for where, true, said, cost in read(text, problems):
        for name in (true, said):
            if name not in by_text:
                problems.append(f"{where}no class {name!r}{did_you_mean(name, by_text)}")
        amount = _number(cost)
        if amount is None:
            problems.append(f"{where}cost {cost!r} is not a finite number of 0 or more")
        if amount is None or not {true, said} <= by_text.keys():
            continue
        key = by_text[true], by_text[said]
        if key in costs:
            problems.append(f"{where}{true!r}, {said!r} is listed twice")
        costs[key] = amount
    if not problems:
        problems += [
            f"no cost for predicting {str(said)!r} where {str(true)!r} is true"
            for true in labels
            for said in labels
            if true != said and (true, said) not in costs
        ]
    raise_all(DataError, str(path), problems)
    return costs


def _read_csv(text: str, problems: list[str]) -> list[tuple[str, str, str, Any]]:
    """Return place, true class, predicted class and cost of each line."""
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        lines = [(reader.line_num, cells) for cells in reader]
    except csv.Error as error:
        problems.append(f"line {reader.line_num + 1}: {error}")
        return []
    header = [cell.strip().lower() for cell in lines[0][1]] if lines else []
    if sorted(header) != sorted(COLUMNS):
        problems.append(f"line 1: the columns are {','.join(header)}, not {','.join(COLUMNS)}")
        return []
    entries = []
    for line, cells in lines[1:]:
        if not any(cell.strip() for cell in cells):
            continue
        where = f"line {line}: "
        if len(cells) != len(header):
            problems.append(f"{where}{len(cells)} cells where the header has {len(header)}")
            continue
        row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        entries.append((where, row["true"], row["predicted"], row["cost"]))
    return entries


def _read_toml(text: str, problems: list[str]) -> list[tuple[str, str, str, Any]]:
    """Return place, true class, predicted class and cost of each entry."""
    try:
        file = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers and nesting without end
        problems.append(str(error))
        return []
    tables = file.get("costs")
    if file.keys() != {"costs"} or not isinstance(tables, dict):
        problems.append("the file must have tables such as [costs.ill], one for each true class")
        return []
    entries = []
    for true, table in tables.items():
        if not isinstance(table, dict):
            problems.append(f"{true!r} is not a table; write [costs.{true}]")
            continue
        entries += [(f"[costs.{true}] ", true, said, cost) for said, cost in table.items()]
    return entries


def _number(cost: Any) -> float | None:
    """Return a cost as a float; None if it is not a finite number of 0 or more."""
    try:
        amount = math.nan if isinstance(cost, bool) else float(cost)
    except (TypeError, ValueError, OverflowError):
        return None
    return amount if 0 <= amount < math.inf else None
