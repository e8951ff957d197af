"""Price lists in CSV and TOML files.

A CSV file has the columns ``feature`` and ``price``, and any of the others below, in any order;
their cells may be empty. ``shared`` is the price of the group in that row, and ``panel`` is ``yes``
if the group is only sold whole; rows of the same group that state them must agree. ``price`` may be
empty if the group has a shared price. ``requires`` lists what must be bought before, separated by
semicolons, and ``delay`` is how long one waits. ``price:NAME`` and ``shared:NAME`` are prices in
another currency, 0 where they are empty::

    feature,price,group,shared,panel,requires,delay,price:mSv
    age,1.0,,,,,,
    chol,5.17,blood,2.10,yes,,30,
    fbs,3.10,blood,,,,30,
    xray,20,,,,,10,0.1
    mri,300,,,,xray,45,

A TOML file can also hold the units and the prices of evaluations and calls::

    unit = "CAD"
    evaluation = 0.01
    delay_unit = "min"

    [prices]
    age = 1.0
    chol = 5.17
    fbs = 3.10
    xray = 20
    mri = 300

    [groups.blood]
    shared = 2.10
    members = ["chol", "fbs"]
    panel = true

    [requires]
    mri = ["xray"]

    [delays]
    blood = 30
    mri = 45

    [currencies.mSv.prices]
    xray = 0.1

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
from thrifty.csv_files import read_text
from thrifty.errors import DataError, PriceError, did_you_mean, raise_all

__all__ = ["read_list"]

CSV_COLUMNS = ("feature", "price", "group", "shared")
MORE_CSV_COLUMNS = ("panel", "requires", "delay")
TOML_KEYS = (
    "unit", "evaluation", "prices", "groups", "calls", "requires", "delays", "delay_unit",
    "currencies",
)  # fmt: skip
TOML_GROUP_KEYS = ("shared", "members", "panel")
TOML_CURRENCY_KEYS = ("prices", "shared", "evaluation", "calls")

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
    try:
        text = read_text(path)
    except DataError as error:
        raise PriceError(str(error)) from None
    problems: list[str] = []
    arguments = _read_csv(text, problems) if suffix == ".csv" else _read_toml(text, problems)
    if unit is not None and arguments.setdefault("unit", unit) != unit:
        problems.append(f"the unit of the file is {arguments['unit']!r}, not {unit!r}")
    raise_all(PriceError, str(path), problems)
    return arguments


def _read_csv(text: str, problems: list[str]) -> dict[str, Any]:
    """Read the rows of a CSV file; add what is wrong with them to `problems`."""
    found: Found = []
    header, rows = _csv_rows(text, found)
    prices = _CsvPrices([name.partition(":")[2] for name in header if ":" in name], found)
    for line, cells in rows:
        if len(cells) > len(header):
            found.append((line, f"{len(cells)} cells where the header has {len(header)}"))
            continue
        known = dict.fromkeys((*CSV_COLUMNS, *MORE_CSV_COLUMNS), "")
        row = known | dict(zip(header, cells, strict=False))
        feature = row["feature"]  # verbatim; whitespace around the other cells is ignored
        if not feature.strip():
            found.append((line, "no feature"))
        elif feature in prices.lines:
            found.append((line, f"feature {feature!r} is already in line {prices.lines[feature]}"))
        else:
            prices.add(line, feature, {column: cell.strip() for column, cell in row.items()})
    arguments = prices.arguments()
    problems += [f"line {line}: {problem}" for line, problem in sorted(found, key=lambda f: f[0])]
    return arguments


class _CsvPrices:
    """What the rows of a CSV file say, by feature and by group.

    Parameters
    ----------
    currencies : list of str
        Names of the other currencies.
    found : list
        Takes problems, with their lines.
    """

    def __init__(self, currencies: list[str], found: Found) -> None:
        self.found = found
        self.lines: dict[str, int] = {}  # line of each feature
        self.own: dict[str, float] = {}
        self.groups: dict[str, list[str]] = {}
        self.requires: dict[str, list[str]] = {}
        self.delays: dict[str, float] = {}
        self.others: dict[str, dict[str, float]] = {name: {} for name in currencies}
        # What is said about groups: by column and group, with the line that says it first.
        self.stated: dict[tuple[str, str], tuple[float | str, int]] = {}
        self.unpriced: dict[str, str] = {}  # feature -> its group, "" if it has none

    def add(self, line: int, feature: str, row: dict[str, str]) -> None:
        """Take a row."""
        self.lines[feature] = line
        group = row["group"]
        if group:
            self.groups.setdefault(group, []).append(feature)
        if not row["price"]:
            self.unpriced[feature] = group
        if row["requires"]:
            needed = (name.strip() for name in row["requires"].split(";"))
            self.requires[feature] = [name for name in needed if name]
        amounts = {"price": self.own, "delay": self.delays}
        amounts |= {f"price:{name}": prices for name, prices in self.others.items()}
        for column, cell in row.items():
            if cell and column in amounts:
                amounts[column][feature] = _csv_price(line, column, cell, self.found)
            elif cell and column.partition(":")[0] in ("shared", "panel"):
                self.state(line, column, cell, group)

    def state(self, line: int, column: str, cell: str, group: str) -> None:
        """Take what a row says about its group; all rows of the group must agree."""
        what = "shared price" if column == "shared" else column
        if not group:
            self.found.append((line, f"{what} {cell} without a group"))
            return
        value: float | str = cell.lower()
        if column != "panel":
            value = _csv_price(line, column, cell, self.found)
        elif value not in ("yes", "no"):
            self.found.append((line, f"panel {cell!r} is neither yes nor no"))
        first, first_line = self.stated.setdefault((column, group), (value, line))
        if value != first:
            both = f"{value} here and {first} in line {first_line}"
            self.found.append((line, f"group {group!r} has the {what} {both}"))

    def of_groups(self, column: str) -> dict[str, Any]:
        """Return what is stated in a column, by group."""
        return {g: value for (name, g), (value, _) in self.stated.items() if name == column}

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for `Prices`, and note which features have no price."""
        shared = self.of_groups("shared")
        for feature, group in self.unpriced.items():
            if group not in shared:
                missing = f"no price for {feature!r} (0 if it is free)"
                self.found.append((self.lines[feature], missing))
        optional = {
            "requires": self.requires,
            "panels": [group for group, on in self.of_groups("panel").items() if on == "yes"],
            "delays": self.delays,
            "also": {
                name: {"own": prices, "shared": self.of_groups(f"shared:{name}")}
                for name, prices in self.others.items()
            },
        }
        given = {part: value for part, value in optional.items() if value}
        return {"own": self.own, "groups": self.groups, "shared": shared, **given}


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
    wanted = ",".join((*CSV_COLUMNS, *MORE_CSV_COLUMNS, "price:NAME", "shared:NAME"))
    if not records:
        first = ",".join(CSV_COLUMNS)
        found.append((1, f"the file is empty; its first line must be {first}"))
        return [], []
    line, cells = records[0]
    header = []
    for cell in cells:
        kind, colon, currency = cell.partition(":")
        header.append(f"{kind.strip().lower()}{colon}{currency.strip()}")
    faults = []
    for name in dict.fromkeys(header):
        kind, _, currency = name.partition(":")
        of_currency = kind in ("price", "shared") and currency
        if name not in (*CSV_COLUMNS, *MORE_CSV_COLUMNS) and not of_currency:
            hint = did_you_mean(name, (*CSV_COLUMNS, *MORE_CSV_COLUMNS))
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
    if fault := price_fault(value, "delay" if column == "delay" else "price"):
        found.append((line, f"{column} {fault}"))
    return value


def _read_toml(text: str, problems: list[str]) -> dict[str, Any]:
    """Read the tables of a TOML file; add what is wrong with them to `problems`."""
    try:
        file = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers and nesting without end
        problems.append(str(error))
        return {}
    _check_keys("", file, TOML_KEYS, problems)
    groups = {}
    for name, value in _toml_table("groups", file.get("groups", {}), problems).items():
        groups[name] = _toml_table(f"groups.{name}", value, problems)
        _check_keys(f"[groups.{name}] ", groups[name], TOML_GROUP_KEYS, problems)
        if not isinstance(groups[name].get("panel", False), bool):
            problems.append(f"[groups.{name}] panel: write true or false")
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
    for key in ("unit", "delay_unit"):
        if key in file:
            arguments[key] = file[key]
            if not isinstance(file[key], str):
                problems.append(f"{key}: {file[key]!r} is not text; put it in quotes")
    arguments |= _toml_structure(file, groups, problems)
    if not problems and not arguments["own"] and not groups:
        problems.append("no prices; add a table [prices]")
    return arguments


def _toml_structure(
    file: dict[str, Any], groups: dict[str, Any], problems: list[str]
) -> dict[str, Any]:
    """Read what requires what, panels, delays and other currencies, where the file has them."""
    requires = _toml_table("requires", file.get("requires", {}), problems)
    for key, needed in requires.items():
        if not isinstance(needed, list):
            problems.append(f"[requires] {key}: {needed!r} is not a list")
    delays = _toml_table("delays", file.get("delays", {}), problems)
    _check_prices("[delays] ", delays, problems, "delay")
    also = {}
    for name, value in _toml_table("currencies", file.get("currencies", {}), problems).items():
        where = f"currencies.{name}"
        table = _toml_table(where, value, problems)
        _check_keys(f"[{where}] ", table, TOML_CURRENCY_KEYS, problems)
        parts = {"prices": "own", "shared": "shared", "calls": "calls"}
        lists = {key: _toml_table(f"{where}.{key}", table.get(key, {}), problems) for key in parts}
        for key, prices in lists.items():
            _check_prices(f"[{where}.{key}] ", prices, problems)
        also[name] = {parts[key]: prices for key, prices in lists.items()}
        if "evaluation" in table:
            also[name]["evaluation"] = table["evaluation"]
            _check_prices(f"[{where}] ", {"evaluation": table["evaluation"]}, problems)
    panels = [name for name, group in groups.items() if group.get("panel") is True]
    optional = {"requires": requires, "panels": panels, "delays": delays, "also": also}
    return {key: value for key, value in optional.items() if value}


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


def _check_prices(
    where: str, table: dict[str, Any], problems: list[str], noun: str = "price"
) -> None:
    for key, price in table.items():
        # A dot in an unquoted key opens a nested table.
        dotted = "; put a name with a dot in quotes" if isinstance(price, dict) else ""
        if fault := price_fault(price, noun):
            problems.append(f"{where}{key}: {fault}{dotted}")
