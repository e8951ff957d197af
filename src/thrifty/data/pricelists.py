"""Price lists that lie beside the Parquet files: published costs, or natural groups.

``<name>.costs.csv`` (feature, cost, group, discount_cost) says what a test costs as the first of
its group and what as a later one. The difference is what the group shares: a visit, a blood
sample. ``<name>.groups.csv`` (feature, group) says only which features are computed together;
such a group costs as many units as it has features, once.
"""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path

from thrifty.costs import Prices
from thrifty.errors import PriceError, raise_all

__all__ = ["by_family", "published"]

COSTS_COLUMNS = ("feature", "cost", "group", "discount_cost")
GROUPS_COLUMNS = ("feature", "group")
# Prices are money to the cent; rounding takes the dust of 7.27 - 5.17 away.
DECIMALS = 6


def published(path: Path, columns: Collection[str], unit: str) -> Prices:
    """Read a costs file: own price = discount_cost, shared price = cost - discount_cost.

    A group whose members differ in cost - discount_cost shares the smallest of them.

    Parameters
    ----------
    path : Path
        The costs file.
    columns : collection of str
        The features of the table; rows of the file for others are left out.
    unit : str
        Unit of the prices.

    Returns
    -------
    Prices

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from thrifty.data.pricelists import published
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "heart.costs.csv"
    ...     lines = ["feature,cost,group,discount_cost", "chol,7.27,A,5.17", "fbs,5.2,A,3.1"]
    ...     _ = path.write_text("\\n".join(lines))
    ...     prices = published(path, ["chol", "fbs"], "CAD")
    >>> round(prices.bind(["chol", "fbs"]).full, 2)
    10.37
    """
    rows = _rows(path, COSTS_COLUMNS, columns)
    numbers = _numbers(path, rows)
    groups = _groups(rows)
    shared = {
        group: min(
            round(cost - later, DECIMALS) for cost, later in map(numbers.__getitem__, members)
        )
        for group, members in groups.items()
    }
    own = {feature: later for feature, (_, later) in numbers.items()}
    return Prices(own, groups=groups, shared=shared, unit=unit)


def by_family(path: Path, columns: Collection[str]) -> Prices:
    """Read a groups file: a group costs the number of its features, once; its members nothing.

    A feature of the table that is in no group costs one.

    Parameters
    ----------
    path : Path
        The groups file.
    columns : collection of str
        The features of the table; rows of the file for others are left out.

    Returns
    -------
    Prices

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from thrifty.data.pricelists import by_family
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "digits.groups.csv"
    ...     _ = path.write_text("feature,group\\nmor_0,mor\\nmor_1,mor\\n")
    ...     prices = by_family(path, ["mor_0", "mor_1"])
    >>> prices.bind(["mor_0", "mor_1"]).full
    2.0
    """
    rows = _rows(path, GROUPS_COLUMNS, columns)
    groups = _groups(rows)
    grouped = {feature for members in groups.values() for feature in members}
    own = {feature: 0.0 if feature in grouped else 1.0 for feature in columns}
    shared = {group: float(len(members)) for group, members in groups.items()}
    return Prices(own, groups=groups, shared=shared)


def _rows(
    path: Path, wanted: tuple[str, ...], columns: Collection[str]
) -> dict[int, dict[str, str]]:
    """The rows of the file for `columns`, by line number; a feature may stand there once."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        missing = [name for name in wanted if name not in (reader.fieldnames or ())]
        raise_all(PriceError, path.name, [f"no column {name!r}" for name in missing])
        keep = set(columns)
        lines = ((reader.line_num, row) for row in reader)
        rows = {
            line: {name: (row[name] or "").strip() for name in wanted}
            for line, row in lines
            if (row["feature"] or "").strip() in keep
        }
    _check_once(path, rows)
    return rows


def _check_once(path: Path, rows: dict[int, dict[str, str]]) -> None:
    first: dict[str, int] = {}
    problems = [
        f"line {line}: {row['feature']!r} stands in line {first[row['feature']]} already"
        for line, row in rows.items()
        if first.setdefault(row["feature"], line) != line
    ]
    raise_all(PriceError, path.name, problems)


def _numbers(path: Path, rows: dict[int, dict[str, str]]) -> dict[str, tuple[float, float]]:
    numbers: dict[str, tuple[float, float]] = {}
    problems = []
    for line, row in rows.items():
        try:
            numbers[row["feature"]] = (float(row["cost"]), float(row["discount_cost"]))
        except ValueError as error:
            problems.append(f"line {line}, {row['feature']!r}: {error}")
    raise_all(PriceError, path.name, problems)
    return numbers


def _groups(rows: dict[int, dict[str, str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for row in rows.values():
        if row["group"]:
            groups.setdefault(row["group"], []).append(row["feature"])
    return groups
