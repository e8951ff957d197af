"""Price lists next to the Parquet files: published costs, or natural groups.

``<name>.costs.csv`` (feature, cost, group, discount_cost) says what a test costs as the first of
its group and what as a later one. The difference is what the group shares: a visit, a blood
sample. ``<name>.groups.csv`` (feature, group) only says which features are computed together; such
a group costs as much as it has features, once.
"""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path

from thrifty.costs import Prices
from thrifty.errors import PriceError, raise_all

__all__ = ["read_costs", "read_groups"]

COSTS_COLUMNS = ("feature", "cost", "group", "discount_cost")
GROUPS_COLUMNS = ("feature", "group")
# Prices have two decimals; rounding removes the error of differences such as 7.27 - 5.17.
DECIMALS = 6


def read_costs(path: Path, columns: Collection[str], unit: str) -> Prices:
    """Read a costs file: own price = discount_cost, shared price = cost - discount_cost.

    If the members of a group differ in cost - discount_cost, the group shares the smallest.

    Parameters
    ----------
    path : Path
        The costs file.
    columns : collection of str
        The features of the table; rows of the file for other features are ignored.
    unit : str
        Unit of the prices.

    Returns
    -------
    Prices

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from thrifty.data.pricelists import read_costs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "heart.costs.csv"
    ...     lines = ["feature,cost,group,discount_cost", "chol,7.27,A,5.17", "fbs,5.2,A,3.1"]
    ...     _ = path.write_text("\\n".join(lines))
    ...     read_costs(path, ["chol", "fbs"], "CAD").bind(["chol", "fbs"])
    BoundPrices(2 features, 1 group, CAD 10.37 in full)
    """
    rows, groups = _read_rows(path, COSTS_COLUMNS, columns)
    own: dict[str, float] = {}
    discount: dict[str, float] = {}
    problems = []
    for line, row in rows.items():
        feature = row["feature"]
        try:
            cost, own[feature] = float(row["cost"]), float(row["discount_cost"])
            discount[feature] = round(cost - own[feature], DECIMALS)
        except ValueError as error:
            problems.append(f"line {line}, {feature!r}: {error}")
    raise_all(PriceError, path.name, problems)
    shared = {name: min(discount[member] for member in groups[name]) for name in groups}
    return Prices(own, groups=groups, shared=shared, unit=unit)


def read_groups(path: Path, columns: Collection[str]) -> Prices:
    """Read a groups file: a group costs the number of its features, once; its members nothing.

    A feature of the table that is in no group costs 1.

    Parameters
    ----------
    path : Path
        The groups file.
    columns : collection of str
        The features of the table; rows of the file for other features are ignored.

    Returns
    -------
    Prices

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from thrifty.data.pricelists import read_groups
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "digits.groups.csv"
    ...     _ = path.write_text("feature,group\\nmor_0,mor\\nmor_1,mor\\n")
    ...     read_groups(path, ["mor_0", "mor_1"]).bind(["mor_0", "mor_1"])
    BoundPrices(2 features, 1 group, 2.00 in full)
    """
    _, groups = _read_rows(path, GROUPS_COLUMNS, columns)
    grouped = {feature for members in groups.values() for feature in members}
    own = {feature: 0.0 if feature in grouped else 1.0 for feature in columns}
    shared = {group: float(len(members)) for group, members in groups.items()}
    return Prices(own, groups=groups, shared=shared)


def _read_rows(
    path: Path, wanted: tuple[str, ...], columns: Collection[str]
) -> tuple[dict[int, dict[str, str]], dict[str, list[str]]]:
    """Read the rows of a file for `columns`, by line, and the members of each group.

    Raises a PriceError if one of the `wanted` columns of the file is missing, or a feature
    occurs twice.
    """
    keep = set(columns)
    rows: dict[int, dict[str, str]] = {}
    groups: dict[str, list[str]] = {}
    first_line: dict[str, int] = {}
    problems = []
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        missing = [name for name in wanted if name not in (reader.fieldnames or ())]
        raise_all(PriceError, path.name, [f"no column {name!r}" for name in missing])
        for cells in reader:
            row = {name: (cells[name] or "").strip() for name in wanted}
            feature, line = row["feature"], reader.line_num
            if feature not in keep:
                continue
            rows[line] = row
            if row["group"]:
                groups.setdefault(row["group"], []).append(feature)
            first = first_line.setdefault(feature, line)
            if first != line:
                problems.append(f"line {line}: {feature!r} is already in line {first}")
    raise_all(PriceError, path.name, problems)
    return rows, groups
