"""Price lists in files, as CSV or as TOML.

A CSV file has the columns ``feature,price,group,shared``, in any order; the last two
may be left out or empty. ``shared`` is the price of the row's group, and the rows of a
group that give it must agree. ``price`` may be empty where the group has a shared price::

    feature,price,group,shared
    age,1.0,,
    chol,5.17,blood,2.10
    fbs,3.10,blood,
    thal,102.9,,

A TOML file can also tell the unit and the prices of evaluations and calls::

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

Either file is UTF-8. All problems of a file are told at once: with their lines for CSV,
by their keys for TOML, where only what is no TOML at all has a line.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from thrifty.costs.faults import fault, near
from thrifty.errors import PriceError, raise_all

__all__ = ["read_list"]

COLUMNS = ("feature", "price", "group", "shared")
KEYS = ("unit", "evaluation", "prices", "groups", "calls")
GROUP_KEYS = ("shared", "members")


def read_list(path: str | PathLike[str], unit: str | None = None) -> dict[str, Any]:
    """Read a price list as the arguments of `Prices`.

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
    if path.suffix.lower() not in KINDS:
        raise PriceError(f"{path}: a price list is a {' or a '.join(KINDS)} file")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PriceError(f"{path}: not UTF-8 text; save the file as UTF-8") from None
    parsed = KINDS[path.suffix.lower()](text)
    if unit is not None and parsed.given.setdefault("unit", unit) != unit:
        parsed.problems.append(f"the file counts in {parsed.given['unit']!r}, not in {unit!r}")
    raise_all(PriceError, str(path), parsed.problems)
    return parsed.given


class _CsvList:
    """The rows of one CSV file, read in order."""

    def __init__(self, text: str) -> None:
        self.bad: list[tuple[int, str]] = []  # line, problem
        self.own: dict[str, float] = {}
        self.groups: dict[str, list[str]] = {}
        self.shared: dict[str, float] = {}
        self.seen: dict[str, int] = {}  # feature: its line
        self.told: dict[str, int] = {}  # group: the line that gave its shared price
        self.unpriced: dict[str, str] = {}  # feature: its group, "" for none
        self._read(self._records(text))
        tables = {"own": self.own, "groups": self.groups, "shared": self.shared}
        self.given: dict[str, Any] = dict(tables)
        self.bad.sort(key=lambda found: found[0])
        self.problems = [f"line {line}: {problem}" for line, problem in self.bad]

    def _records(self, text: str) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        line = 1
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield line, cells
                line = reader.line_num + 1  # a quoted cell can span lines
        except csv.Error as error:
            self._bad(line, str(error))

    def _read(self, records: Iterator[tuple[int, list[str]]]) -> None:
        line, cells = next(records, (1, []))
        header = [cell.strip().lower() for cell in cells]
        for problem in _header_problems(header):
            self._bad(line, problem)
        if self.bad:
            return
        for number, row in records:
            self._row(number, header, row)
        if not self.seen and not self.bad:
            self._bad(line, "no features below the header")
        self._check_unpriced()

    def _row(self, line: int, header: list[str], cells: list[str]) -> None:
        if len(cells) > len(header):
            self._bad(line, f"{len(cells)} cells where the header has {len(header)}")
            return
        row = dict.fromkeys(COLUMNS, "") | dict(zip(header, cells, strict=False))
        # A name is taken as it stands; spaces around the rest mean nothing.
        feature = row["feature"]
        price, group, shared = (row[column].strip() for column in COLUMNS[1:])
        if not feature.strip():
            self._bad(line, "no feature")
        elif feature in self.seen:
            self._bad(line, f"feature {feature!r} is in line {self.seen[feature]} already")
        else:
            self.seen[feature] = line
            self._own_price(line, feature, price, group)
            self._join(line, feature, group, shared)

    def _own_price(self, line: int, feature: str, price: str, group: str) -> None:
        if not price:
            self.unpriced[feature] = group
        else:
            self.own[feature] = self._number(line, "price", price)

    def _join(self, line: int, feature: str, group: str, shared: str) -> None:
        if group:
            self.groups.setdefault(group, []).append(feature)
        elif shared:
            self._bad(line, f"shared price {shared} without a group")
        if group and shared:
            self._share(line, group, self._number(line, "shared", shared))

    def _share(self, line: int, group: str, shared: float) -> None:
        first = self.shared.setdefault(group, shared)
        told = self.told.setdefault(group, line)
        if first != shared:
            self._bad(line, f"group {group!r} shares {shared} here and {first} in line {told}")

    def _check_unpriced(self) -> None:
        for feature, group in self.unpriced.items():
            if group not in self.shared:
                self._bad(self.seen[feature], f"no price for {feature!r} (0 for what is free)")

    def _number(self, line: int, column: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            remedy = "; write a decimal point" if "," in text else ""
            self._bad(line, f"{column} {text!r} is not a number{remedy}")
            return 0.0
        if reason := fault(value):
            self._bad(line, f"{column} {reason}")
        return value

    def _bad(self, line: int, problem: str) -> None:
        self.bad.append((line, problem))


def _header_problems(header: list[str]) -> list[str]:
    wanted = ",".join(COLUMNS)
    if not header:
        return [f"the file is empty; its first line is {wanted}"]
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        return ["the cells are not separated by commas"]
    problems = [
        f"unknown column {name!r}{near(name, COLUMNS)} (columns: {wanted})"
        for name in header
        if name not in COLUMNS
    ]
    twice = sorted({name for name in header if header.count(name) > 1})
    problems += [f"column {name!r} is there twice" for name in twice]
    missing = [name for name in COLUMNS[:2] if name not in header]
    return problems + [f"no column {name!r} (columns: {wanted})" for name in missing]


class _TomlList:
    """The tables of one TOML file."""

    def __init__(self, text: str) -> None:
        self.problems: list[str] = []
        self.given: dict[str, Any] = {}
        try:
            self._read(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            self.problems.append(str(error))

    def _read(self, file: dict[str, Any]) -> None:
        self._check_keys("", file, KEYS)
        groups = self._table("groups", file.get("groups", {}))
        tables = {name: self._table(f"groups.{name}", table) for name, table in groups.items()}
        for name, table in tables.items():
            self._check_keys(f"[groups.{name}] ", table, GROUP_KEYS)
        shared = {name: table["shared"] for name, table in tables.items() if "shared" in table}
        self.given = {
            "own": self._prices("[prices] ", self._table("prices", file.get("prices", {}))),
            "groups": {name: self._members(name, table) for name, table in tables.items()},
            "shared": self._prices("[groups] shared price of ", shared),
            "calls": self._prices("[calls] ", self._table("calls", file.get("calls", {}))),
        }
        self.given |= self._prices("", {k: file[k] for k in ("evaluation",) if k in file})
        self._take_unit(file)
        if not self.problems and not self.given["own"] and not groups:
            self.problems.append("no prices: add a table [prices]")

    def _take_unit(self, file: dict[str, Any]) -> None:
        if not isinstance(file.get("unit", ""), str):
            self.problems.append(f"unit: {file['unit']!r} is not text; put it in quotes")
        elif "unit" in file:
            self.given["unit"] = file["unit"]

    def _check_keys(self, where: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                hint = near(key, known) or f" (keys: {', '.join(known)})"
                self.problems.append(f"{where}unknown key {key!r}{hint}")

    def _table(self, name: str, value: Any) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        self.problems.append(f"{name!r} is not a table: write [{name}]")
        return {}

    def _members(self, name: str, table: dict[str, Any]) -> list[Any]:
        members = table.get("members")
        if isinstance(members, list) and members:
            return members
        self.problems.append(f"[groups.{name}] has no list of members")
        return []

    def _prices(self, where: str, table: dict[str, Any]) -> dict[str, Any]:
        for key, price in table.items():
            # An unquoted dot in a key opens a table of its own.
            dotted = "; quote a name that has a dot in it" if isinstance(price, dict) else ""
            if reason := fault(price):
                self.problems.append(f"{where}{key}: {reason}{dotted}")
        return table


KINDS: dict[str, type[_CsvList] | type[_TomlList]] = {".csv": _CsvList, ".toml": _TomlList}
