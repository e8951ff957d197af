"""Price lists in CSV and TOML files.

A CSV file has the columns ``feature,price,group,shared``, in any order; the last two may be
empty or left out. ``shared`` is the price of the group in that row; rows of the same group that
state it must agree. ``price`` may be empty if the group has a shared price::

    feature,price,group,shared
    age,1.0,,
    chol,5.17,blood,2.10
    fbs,3.10,blood,
    thal,102.9,,

A TOML file can also hold the unit and the prices of evaluations and calls::

    unit = "CAD"
    evaluation = 0.01

    [prices]
    age = 1.0
    chol = 5.17
    fbs = 3.10
    thal = 102.9

    [groups.blood]
    shared = 2.10
    members = ["chol", "fbs"]

    [calls]
    remote = 0.5

A TOML file is UTF-8; a CSV file may also have semicolons or tabs between cells, decimal commas and
another encoding, as `thrifty.csv_files` finds out. All problems of a file are reported together: by
line for CSV, by key for TOML, where only a syntax error has a line.
"""

from __future__ import annotations

import csv
import io
import tomllib
from os import PathLike
from pathlib import Path
from typing import Any

from thrifty.costs.money import price_fault
from thrifty.csv_files import find_format, to_commas
from thrifty.errors import DataError, PriceError, did_you_mean, raise_all

__all__ = ["read_list"]

CSV_COLUMNS = ("feature", "price", "group", "shared")
TOML_KEYS = ("unit", "evaluation", "prices", "groups", "calls")
TOML_GROUP_KEYS = ("shared", "members")

Found = list[tuple[int, str]]
"""Problems of a CSV file, each with its line."""


def read_list(path: str | PathLike[str], unit: str | None = None) -> dict[str, Any]:
    """Read a price list and return the arguments for `Prices`.

    Raises
    ------
    PriceError
        If the file cannot be used; the message lists every problem.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from thrifty.costs.files import read_list
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "prices.csv")
    ...     _ = path.write_text("feature,price\\nage,1.0\\n")
    ...     read_list(path, unit="CAD")
    {'own': {'age': 1.0}, 'groups': {}, 'shared': {}, 'unit': 'CAD'}
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".toml"):
        raise PriceError(f"{path}: a price list is a .csv or a .toml file")
    text = _read_text(path)
    problems: list[str] = []
    arguments = _read_csv(text, problems) if suffix == ".csv" else _read_toml(text, problems)
    if unit is not None and arguments.setdefault("unit", unit) != unit:
        problems.append(f"the unit of the file is {arguments['unit']!r}, not {unit!r}")
    raise_all(PriceError, str(path), problems)
    return arguments


def _read_text(path: Path) -> str:
    """Read a TOML file, which is UTF-8, or a CSV file as people have them, with commas then."""
    if path.suffix.lower() == ".csv" and path.read_bytes().strip():
        try:
            csv_format = find_format(path)
        except DataError as error:
            raise PriceError(str(error)) from None
        with open(path, encoding=csv_format.encoding, newline="") as file:
            return to_commas(file.read(), csv_format)
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PriceError(f"{path}: not UTF-8 text; save the file as UTF-8") from None


def _read_csv(text: str, problems: list[str]) -> dict[str, Any]:
    """Read the rows of a CSV file; add what is wrong with them to `problems`."""
    found: Found = []
    own: dict[str, float] = {}
    groups: dict[str, list[str]] = {}
    shared: dict[str, float] = {}
    feature_line: dict[str, int] = {}
    shared_line: dict[str, int] = {}  # group -> the line that first states its shared price
    unpriced: dict[str, str] = {}  # feature -> its group, "" if it has none
    header, rows = _csv_rows(text, found)
    for line, cells in rows:
        if len(cells) > len(header):
            found.append((line, f"{len(cells)} cells where the header has {len(header)}"))
            continue
        row = dict.fromkeys(CSV_COLUMNS, "") | dict(zip(header, cells, strict=False))
        feature = row["feature"]  # verbatim; whitespace around the other cells is ignored
        price, group, shared_price = (row[column].strip() for column in CSV_COLUMNS[1:])
        if not feature.strip():
            found.append((line, "no feature"))
            continue
        if feature in feature_line:
            found.append((line, f"feature {feature!r} is already in line {feature_line[feature]}"))
            continue
        feature_line[feature] = line
        if price:
            own[feature] = _csv_price(line, "price", price, found)
        else:
            unpriced[feature] = group
        if group:
            groups.setdefault(group, []).append(feature)
        if shared_price and not group:
            found.append((line, f"shared price {shared_price} without a group"))
        elif shared_price:
            stated = _csv_price(line, "shared", shared_price, found)
            first = shared.setdefault(group, stated)
            first_line = shared_line.setdefault(group, line)
            if stated != first:
                both = f"{stated} here and {first} in line {first_line}"
                found.append((line, f"group {group!r} has the shared price {both}"))
    for feature, group in unpriced.items():
        if group not in shared:
            found.append((feature_line[feature], f"no price for {feature!r} (0 if it is free)"))
    problems += [f"line {line}: {problem}" for line, problem in sorted(found, key=lambda f: f[0])]
    return {"own": own, "groups": groups, "shared": shared}


def _csv_rows(text: str, found: Found) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Split a CSV file into its header and its other rows, with their lines.

    There are no rows if the header cannot be used; `found` then says why.
    """
    records: list[tuple[int, list[str]]] = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                records.append((line, cells))
            line = reader.line_num + 1  # a quoted cell can span several lines
    except csv.Error as error:
        found.append((line, str(error)))
    wanted = ",".join(CSV_COLUMNS)
    if not records:
        found.append((1, f"the file is empty; its first line must be {wanted}"))
        return [], []
    line, cells = records[0]
    header = [cell.strip().lower() for cell in cells]
    faults = []
    for name in dict.fromkeys(header):
        if name not in CSV_COLUMNS:
            hint = did_you_mean(name, CSV_COLUMNS)
            faults.append(f"unknown column {name!r}{hint} (columns: {wanted})")
        if header.count(name) > 1:
            faults.append(f"column {name!r} occurs twice")
    for name in CSV_COLUMNS[:2]:
        if name not in header:
            faults.append(f"no column {name!r} (columns: {wanted})")
    if not faults and len(records) == 1 and not found:
        faults = ["no features below the header"]
    found += [(line, fault) for fault in faults]
    return header, [] if faults else records[1:]


def _csv_price(line: int, column: str, text: str, found: Found) -> float:
    """Read a price from a cell; add it to `found` and return 0 if it is not a number."""
    try:
        value = float(text)
    except ValueError:
        remedy = "; write a decimal point" if "," in text else ""
        found.append((line, f"{column} {text!r} is not a number{remedy}"))
        return 0.0
    if fault := price_fault(value):
        found.append((line, f"{column} {fault}"))
    return value


def _read_toml(text: str, problems: list[str]) -> dict[str, Any]:
    """Read the tables of a TOML file; add what is wrong with them to `problems`."""
    try:
        file = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problems.append(str(error))
        return {}
    _check_keys("", file, TOML_KEYS, problems)
    groups = {}
    for name, value in _toml_table("groups", file.get("groups", {}), problems).items():
        groups[name] = _toml_table(f"groups.{name}", value, problems)
        _check_keys(f"[groups.{name}] ", groups[name], TOML_GROUP_KEYS, problems)
    shared = {name: group["shared"] for name, group in groups.items() if "shared" in group}
    arguments: dict[str, Any] = {
        "own": _toml_table("prices", file.get("prices", {}), problems),
        "groups": {name: group.get("members", []) for name, group in groups.items()},
        "shared": shared,
        "calls": _toml_table("calls", file.get("calls", {}), problems),
    }
    _check_prices("[prices] ", arguments["own"], problems)
    for name, members in arguments["groups"].items():
        if not isinstance(members, list) or not members:
            problems.append(f"[groups.{name}] has no list of members")
    _check_prices("[groups] shared price of ", shared, problems)
    _check_prices("[calls] ", arguments["calls"], problems)
    if "evaluation" in file:
        arguments["evaluation"] = file["evaluation"]
        _check_prices("", {"evaluation": file["evaluation"]}, problems)
    if "unit" in file:
        arguments["unit"] = file["unit"]
        if not isinstance(file["unit"], str):
            problems.append(f"unit: {file['unit']!r} is not text; put it in quotes")
    if not problems and not arguments["own"] and not groups:
        problems.append("no prices; add a table [prices]")
    return arguments


def _toml_table(name: str, value: Any, problems: list[str]) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    problems.append(f"{name!r} is not a table; write [{name}]")
    return {}


def _check_keys(
    where: str, table: dict[str, Any], known: tuple[str, ...], problems: list[str]
) -> None:
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known) or f" (keys: {', '.join(known)})"
            problems.append(f"{where}unknown key {key!r}{hint}")


def _check_prices(where: str, table: dict[str, Any], problems: list[str]) -> None:
    for key, price in table.items():
        # A dot in an unquoted key opens a nested table.
        dotted = "; put a name with a dot in quotes" if isinstance(price, dict) else ""
        if fault := price_fault(price):
            problems.append(f"{where}{key}: {fault}{dotted}")
